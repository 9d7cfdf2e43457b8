// Tools and which of them are to be called, as chat says it.
import type { ChatRequest, Tool, ToolChoice, Trait } from '../../../core/chat.ts'
import { isClosedObject } from '../../closed-schema.ts'
import type { Fields } from '../../json.ts'
import type { CallWords } from './calls-encode.ts'

/** Without tools there is nothing to choose among, and saying so is refused. */
export function encodeTools(request: ChatRequest, words: CallWords, lost: Set<Trait>): Fields {
  const { tools, toolChoice, parallelTools } = request
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool) => encodeTool(tool, words, lost)),
    tool_choice: toolChoice && encodeChoice(toolChoice, words),
    parallel_tool_calls: parallelTools,
  }
}

function encodeTool(tool: Tool, words: CallWords, lost: Set<Trait>): Fields {
  const { name, description, schema, cache } = tool
  if (cache !== undefined) lost.add('cache')
  const isStrict = tool.isStrict === true ? isClosedObject(schema) : tool.isStrict
  if (isStrict !== tool.isStrict) lost.add('tool_strict')
  return {
    type: 'function',
    function: {
      name: words.name(name),
      ...(description !== undefined && { description }),
      parameters: schema,
      ...(isStrict !== undefined && { strict: isStrict }),
    },
  }
}

function encodeChoice(choice: ToolChoice, words: CallWords): unknown {
  switch (choice.mode) {
    case 'named':
      return { type: 'function', function: { name: words.name(choice.name) } }
    case 'any':
      return 'required'
    default:
      return choice.mode
  }
}

// Tools and which of them are to be called, as this language says it: it is strict unless it is told otherwise, so that
// it is always told.
import type { ChatRequest, Tool, ToolChoice, Trait } from '../../../core/chat.ts'
import { isClosedObject } from '../../closed-schema.ts'
import type { Fields } from '../../json.ts'
import type { ToolNames } from '../../tool-names.ts'
import { noteCache } from './items-encode.ts'

/** Without tools there is nothing to choose among, and saying so is refused. */
export function encodeTools(request: ChatRequest, names: ToolNames, lost: Set<Trait>): Fields {
  const { tools, toolChoice, parallelTools } = request
  if (tools.length === 0) return {}
  return {
    tools: tools.map((tool) => encodeTool(tool, names, lost)),
    tool_choice: toolChoice && encodeChoice(toolChoice, names),
    parallel_tool_calls: parallelTools,
  }
}

function encodeTool(tool: Tool, names: ToolNames, lost: Set<Trait>): Fields {
  noteCache(tool, lost)
  const { description, schema } = tool
  const name = names.name(tool.name)
  const about = description === undefined ? {} : { description }
  const isStrict = tool.isStrict === true && isClosedObject(schema)
  if (tool.isStrict === true && !isStrict) lost.add('tool_strict')
  return { type: 'function', name, ...about, parameters: schema, strict: isStrict }
}

function encodeChoice(choice: ToolChoice, names: ToolNames): unknown {
  if (choice.mode === 'named') return { type: 'function', name: names.name(choice.name) }
  return choice.mode === 'any' ? 'required' : choice.mode
}

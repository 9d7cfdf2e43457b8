// Tools and what is said about their choice, which only means something where there are tools.
import type { ChatRequest, Tool, ToolChoice, Trait } from '../../../core/chat.ts'
import type { Target } from '../../codec.ts'
import { isFields, type Fields } from '../../json.ts'
import { encodeCache } from './blocks-encode.ts'
import { closeSchema } from './schema-encode.ts'
import { isForced, refusesForce } from './thinking-encode.ts'

const AUTO: ToolChoice = { mode: 'auto' }

export function encodeTools(request: ChatRequest, target: Target, lost: Set<Trait>): Fields {
  const { tools, toolChoice, parallelTools } = request
  if (tools.length === 0) return {}
  const list = { tools: onePerName(tools, lost).map((tool) => encodeTool(tool, lost)) }
  if (toolChoice === undefined && parallelTools === undefined) return list
  const choice = choiceFor(request, target, lost)
  return { ...list, tool_choice: encodeChoice(choice, parallelTools, lost) }
}

/** Suppliers refuse two of one name. The last one counts. */
function onePerName(tools: readonly Tool[], lost: Set<Trait>): readonly Tool[] {
  const last = new Map<string, Tool>()
  for (const tool of tools) {
    const other = last.get(tool.name)
    if (other !== undefined && !Bun.deepEquals(other, tool)) lost.add('tools')
    last.set(tool.name, tool)
  }
  return last.size === tools.length ? tools : [...last.values()]
}

function choiceFor(request: ChatRequest, target: Target, lost: Set<Trait>): ToolChoice {
  const { toolChoice = AUTO } = request
  if (!isForced(request) || !refusesForce(target)) return toolChoice
  lost.add('tool_choice')
  return AUTO
}

function encodeTool(tool: Tool, lost: Set<Trait>): Fields {
  const { name, description, cache } = tool
  return {
    name,
    ...(description === undefined ? {} : { description }),
    ...encodeInput(tool, lost),
    ...encodeCache(cache, lost),
  }
}

/** A model is held to a schema that leaves nothing open; to any other it is not. */
function encodeInput({ schema, isStrict }: Tool, lost: Set<Trait>): Fields {
  const input = encodeSchema(schema)
  if (isStrict !== true)
    return { input_schema: input, ...(isStrict === undefined ? {} : { strict: isStrict }) }
  const closed = closeSchema(input)
  if (closed !== undefined) return { input_schema: closed, strict: true }
  lost.add('tool_strict')
  return { input_schema: input }
}

/** It has to be that of an object, also for a tool that takes nothing. */
function encodeSchema(schema: unknown): Fields {
  if (!isFields(schema)) return { type: 'object', properties: {} }
  return schema['type'] === undefined ? { type: 'object', ...schema } : schema
}

/** Who calls no tool calls none at once, and is not told so. */
function encodeChoice(
  choice: ToolChoice,
  parallelTools: boolean | undefined,
  lost: Set<Trait>,
): Fields {
  if (choice.mode === 'none') {
    if (parallelTools === false) lost.add('parallel_tools')
    return { type: 'none' }
  }
  const mode = choice.mode === 'named' ? { type: 'tool', name: choice.name } : { type: choice.mode }
  return parallelTools === undefined ? mode : { ...mode, disable_parallel_tool_use: !parallelTools }
}

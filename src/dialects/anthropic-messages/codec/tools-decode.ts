// Tools and what is said about their choice. What the supplier would have to run itself is left out: nobody else has it.
import type { Tool, ToolChoice } from '../../../core/chat.ts'
import type { GatewayError } from '../../../core/problem.ts'
import { asFields, isFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { getText, unsupported } from '../../reader.ts'
import { decodeCache, withCache } from './blocks-decode.ts'
import { isDefault, wrong, type Spot } from './request-spot.ts'

const TOOL = '/tools/*'
const ADDED_TOOL = '/messages/*/content/*/tool'
const TOOL_FIELDS = new Set([
  'type',
  'name',
  'description',
  'input_schema',
  'strict',
  'cache_control',
])
const CHOICE_FIELDS = new Set(['type', 'name', 'disable_parallel_tool_use'])

export interface Toolbox {
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly parallelTools?: boolean
}

/** `added` are tools that are described among the messages. */
export function decodeTools(fields: Fields, added: readonly Fields[], lost: Lost): Toolbox {
  const list = Array.isArray(fields['tools']) ? fields['tools'] : []
  const gone = new Set<unknown>()
  const tools: Tool[] = []
  for (const [index, value] of list.entries()) {
    const tool = asFields(value)
    if (tool === undefined) throw wrong(`tools[${index}]`, 'must be an object')
    const spot = { param: `tools[${index}]`, pointer: TOOL, lost }
    if (isFields(tool['input_schema'])) tools.push(decodeTool(tool, spot))
    else {
      gone.add(tool['name'])
      lost.addNamed(TOOL, tool['type'])
    }
  }
  if (tools.length > 0) lost.note('tools', '/tools')
  const names = new Set<unknown>(tools.map(({ name }) => name))
  for (const tool of added) {
    if (names.has(tool['name'])) continue
    names.add(tool['name'])
    tools.push(decodeTool(tool, { param: 'messages', pointer: ADDED_TOOL, lost }))
    lost.note('tools', ADDED_TOOL)
  }
  return { tools, ...decodeChoice(fields['tool_choice'], tools, gone, lost) }
}

function decodeTool(tool: Fields, spot: Spot): Tool {
  const { type = 'custom', description, input_schema: schema, strict } = tool
  const { param, pointer, lost } = spot
  const name = getText(tool['name'], `${param}.name`)
  lost.addOthers(pointer, tool, TOOL_FIELDS, isDefault)
  if (type !== null && type !== 'custom') lost.add(`${pointer}/type`)
  const said = typeof description === 'string' ? { description } : {}
  const rule = typeof strict === 'boolean' ? { isStrict: strict } : {}
  if (typeof strict === 'boolean') lost.note('tool_strict', `${pointer}/strict`)
  const cache = decodeCache(tool, spot)
  return withCache<Tool>({ name, ...said, schema, ...rule }, cache)
}

function decodeChoice(
  value: unknown,
  tools: readonly Tool[],
  gone: ReadonlySet<unknown>,
  lost: Lost,
): Omit<Toolbox, 'tools'> {
  const choice = asFields(value)
  if (choice === undefined) return {}
  const { type, name, disable_parallel_tool_use: isSingle } = choice
  if (type === 'tool' && gone.has(name) && tools.every((tool) => tool.name !== name))
    throw goneTool()
  if (tools.length === 0) return {}
  lost.addOthers('/tool_choice', choice, CHOICE_FIELDS, isDefault)
  const toolChoice = decodeMode(choice)
  if (toolChoice === undefined) lost.add('/tool_choice')
  return {
    ...(toolChoice === undefined ? {} : { toolChoice }),
    ...(typeof isSingle === 'boolean' ? { parallelTools: !isSingle } : {}),
  }
}

function decodeMode({ type, name }: Fields): ToolChoice | undefined {
  if (type === 'auto' || type === 'any' || type === 'none') return { mode: type }
  if (type !== 'tool') return undefined
  return { mode: 'named', name: getText(name, 'tool_choice.name') }
}

function goneTool(): GatewayError {
  return unsupported(
    'tool_choice',
    '`tool_choice` names a tool that only a supplier of this language could run, and none is asked. Choose another tool, or let the model choose.',
  )
}

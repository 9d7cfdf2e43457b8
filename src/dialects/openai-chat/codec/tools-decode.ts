// The tools of a chat request and which of them are to be called, in their present and in their former spelling.
// Only functions are known elsewhere: what else is offered is lost, and cannot be asked for by name.
import type { CacheMark, Tool, ToolChoice } from '../../../core/chat.ts'
import { invalid, quoteName } from '../../../core/problem.ts'
import { isFields, type Fields } from '../../json.ts'
import { decodeCache } from './parts-cache.ts'
import type { Lost } from '../../lost.ts'
import {
  findBoolean,
  findFields,
  findList,
  findText,
  getFields,
  getText,
  isAbsent,
  told,
  unsupported,
} from '../../reader.ts'

export interface Toolbox {
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice | undefined
  readonly parallelTools: boolean | undefined
}

const TOOL_FIELDS = new Set(['type', 'function', 'cache_control'])
const FUNCTION_FIELDS = new Set(['name', 'description', 'parameters', 'strict'])
const FLAT_FIELDS = new Set([...FUNCTION_FIELDS, 'type', 'cache_control'])

/** What a function takes that does not say what it takes: nothing. */
const NO_INPUT = { type: 'object', properties: {} }

export function decodeTools(fields: Fields, lost: Lost): Toolbox {
  const offered = findList(fields['tools'], 'tools')
  const tools = [
    ...offered.flatMap((item, index) => decodeTool(item, `tools[${index}]`, lost)),
    ...findList(fields['functions'], 'functions').map((item, index) =>
      decodeFunction(getFields(item, `functions[${index}]`), {
        param: `functions[${index}]`,
        place: '/functions/*',
        known: FUNCTION_FIELDS,
        lost,
      }),
    ),
  ]
  if (tools.length > 0) noteTools(fields, lost)
  const choice = decodeChoice(fields, lost)
  const parallelTools = findBoolean(fields['parallel_tool_calls'], 'parallel_tool_calls')
  if (choice?.mode === 'named' && !tools.some(({ name }) => name === choice.name))
    throw offered.length > tools.length ? missing(choice.name) : unknown(choice.name)
  if (tools.length === 0) return { tools, toolChoice: undefined, parallelTools: undefined }
  return { tools, toolChoice: choice, parallelTools }
}

/** In their present and in their former spelling. */
function noteTools(fields: Fields, lost: Lost): void {
  for (const name of ['tools', 'functions'])
    if (!isAbsent(fields[name])) lost.note('tools', `/${name}`)
  const chooser = isAbsent(fields['tool_choice']) ? 'function_call' : 'tool_choice'
  if (!isAbsent(fields[chooser])) lost.note('tool_choice', `/${chooser}`)
}

function missing(name: string): Error {
  const text = `\`tool_choice\` asks for the tool \`${quoteName(name)}\`, which is no function and cannot be offered to suppliers of another language. Name a function, or leave \`tool_choice\` out.`
  return unsupported('tool_choice', text)
}

function unknown(name: string): Error {
  return invalid(
    'tool_choice',
    `\`tool_choice\` asks for the tool \`${quoteName(name)}\`, which is not in \`tools\`.`,
  )
}

function decodeTool(item: unknown, param: string, lost: Lost): readonly Tool[] {
  const fields = getFields(item, param)
  const kind = findText(fields['type'], `${param}.type`)
  const isNamed = !isAbsent(fields['function']) || !isAbsent(fields['name'])
  if ((kind ?? 'function') !== 'function' || !isNamed) {
    // By its first word, where it says nothing of its kind.
    const first = Object.keys(fields).find((name) => !isAbsent(fields[name]))
    lost.addNamed('/tools/*', kind ?? first)
    return []
  }
  const inner = findFields(fields['function'], `${param}.function`)
  const cache = decodeCache(fields, '/tools/*', lost)
  // Some clients leave the level between out.
  if (inner === undefined)
    return [decodeFunction(fields, { param, place: '/tools/*', known: FLAT_FIELDS, lost, cache })]
  lost.addOthers('/tools/*', fields, TOOL_FIELDS)
  const place = '/tools/*/function'
  return [
    decodeFunction(inner, {
      param: `${param}.function`,
      place,
      known: FUNCTION_FIELDS,
      lost,
      cache,
    }),
  ]
}

interface FunctionPlace {
  readonly param: string
  readonly place: string
  readonly known: ReadonlySet<string>
  readonly lost: Lost
  readonly cache?: CacheMark | undefined
}

function decodeFunction(fields: Fields, { param, place, known, lost, cache }: FunctionPlace): Tool {
  lost.addOthers(place, fields, known)
  if (!isAbsent(fields['strict'])) lost.note('tool_strict', `${place}/strict`)
  return told<Tool>({
    name: getText(fields['name'], `${param}.name`),
    description: findText(fields['description'], `${param}.description`),
    schema: findFields(fields['parameters'], `${param}.parameters`) ?? NO_INPUT,
    isStrict: findBoolean(fields['strict'], `${param}.strict`),
    cache,
  })
}

/** Before tools there were functions, and another field to choose among them. */
function decodeChoice(fields: Fields, lost: Lost): ToolChoice | undefined {
  const choice = fields['tool_choice']
  if (typeof choice === 'string') return decodeMode(choice, 'tool_choice')
  if (!isAbsent(choice)) return decodeNamed(getChoice(choice), lost)
  const former = fields['function_call']
  if (typeof former === 'string') return decodeMode(former, 'function_call')
  if (isAbsent(former)) return undefined
  const { name } = getFields(former, 'function_call')
  return { mode: 'named', name: getText(name, 'function_call.name') }
}

function decodeMode(word: string, param: string): ToolChoice {
  switch (word) {
    case 'auto':
    case 'none':
      return { mode: word }
    case 'required':
    case 'any':
      return { mode: 'any' }
    default:
      throw invalid(param, `\`${param}\` must be one of none, auto, required, or name a function.`)
  }
}

function getChoice(value: unknown): Fields {
  if (isFields(value)) return value
  throw invalid('tool_choice', '`tool_choice` must be a string or an object.')
}

function decodeNamed(choice: Fields, lost: Lost): ToolChoice {
  const kind = findText(choice['type'], 'tool_choice.type') ?? 'function'
  if (kind === 'allowed_tools') return decodeAllowed(choice, lost)
  if (kind === 'auto' || kind === 'none' || kind === 'any' || kind === 'required')
    return decodeMode(kind, 'tool_choice')
  if (kind !== 'function')
    throw unsupported(
      'tool_choice',
      '`tool_choice` asks for a tool that is no function, which suppliers of another language cannot be offered. Name a function, or leave `tool_choice` out.',
    )
  const inner = findFields(choice['function'], 'tool_choice.function')
  const name = inner === undefined ? choice['name'] : inner['name']
  return { mode: 'named', name: getText(name, 'tool_choice.function.name') }
}

/** All of the tools are allowed then; whether one has to be called is kept. */
function decodeAllowed(choice: Fields, lost: Lost): ToolChoice {
  lost.add('/tool_choice/allowed_tools')
  const inner = choice['allowed_tools']
  const mode = isFields(inner) ? inner['mode'] : choice['mode']
  return { mode: mode === 'required' ? 'any' : 'auto' }
}

// The tools of a request and which of them are to be called. Only functions are known elsewhere: what else is offered
// is lost, and cannot be asked for by name.
import type { Tool, ToolChoice } from '../../../core/chat.ts'
import { invalid, quoteName, type GatewayError } from '../../../core/problem.ts'
import { isClosedObject } from '../../closed-schema.ts'
import { isBlank, isFields, type Fields } from '../../json.ts'
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

const TOOL = '/tools/*'
const TOOL_FIELDS = new Set(['type', 'name', 'description', 'parameters', 'strict'])

/** What a function takes that does not say what it takes: nothing. */
const NO_INPUT = { type: 'object', properties: {} }

export function decodeTools(fields: Fields, lost: Lost): Toolbox {
  const offered = findList(fields['tools'], 'tools')
  const tools = offered.flatMap((item, index) => decodeTool(item, `tools[${index}]`, lost))
  const choice = decodeChoice(fields['tool_choice'], lost)
  const parallelTools = findBoolean(fields['parallel_tool_calls'], 'parallel_tool_calls')
  if (choice?.mode === 'named' && !tools.some(({ name }) => name === choice.name))
    throw offered.length > tools.length ? missing(choice.name) : unknown(choice.name)
  if (tools.length === 0) return { tools, toolChoice: undefined, parallelTools: undefined }
  return { tools, toolChoice: choice, parallelTools }
}

function missing(name: string): GatewayError {
  const text = `\`tool_choice\` asks for the tool \`${quoteName(name)}\`, which is no function and cannot be offered to suppliers of another language. Name a function, or leave \`tool_choice\` out.`
  return unsupported('tool_choice', text)
}

function unknown(name: string): GatewayError {
  return invalid(
    'tool_choice',
    `\`tool_choice\` asks for the tool \`${quoteName(name)}\`, which is not in \`tools\`.`,
  )
}

function decodeTool(item: unknown, param: string, lost: Lost): readonly Tool[] {
  const fields = getFields(item, param)
  const kind = findText(fields['type'], `${param}.type`)
  // Without a kind it is a function if it has a name.
  if (kind !== 'function' && (kind !== undefined || isAbsent(fields['name']))) {
    lost.addNamed(TOOL, kind)
    return []
  }
  lost.addOthers(TOOL, fields, TOOL_FIELDS, isUsual)
  const schema = findFields(fields['parameters'], `${param}.parameters`) ?? NO_INPUT
  const isStrict = decodeStrict(fields['strict'], schema, `${param}.strict`)
  // Without a word it is the schema that says it.
  if (isStrict === true)
    lost.note('tool_strict', `${TOOL}/${isAbsent(fields['strict']) ? 'parameters' : 'strict'}`)
  return [
    told<Tool>({
      name: getText(fields['name'], `${param}.name`),
      description: findText(fields['description'], `${param}.description`),
      schema,
      isStrict,
    }),
  ]
}

/**
 * Without a word this language is strict, and closes whatever a schema leaves open; others are not, and refuse an open
 * schema with the word for strict (seen in the maker's guide, 2026-11). So the word for it is added where it can be
 * kept, and the word against it says what others do anyway.
 */
function decodeStrict(value: unknown, schema: unknown, param: string): true | undefined {
  return (findBoolean(value, param) ?? isClosedObject(schema)) ? true : undefined
}

/** It is offered to the model from the beginning, and to the model alone. */
function isUsual(value: unknown, name: string): boolean {
  if (name === 'defer_loading' || name === 'async') return value === false || value === null
  if (name === 'allowed_callers')
    return isBlank(value) || (Array.isArray(value) && value.every((each) => each === 'direct'))
  return value === null
}

function decodeChoice(choice: unknown, lost: Lost): ToolChoice | undefined {
  if (isAbsent(choice)) return undefined
  if (typeof choice === 'string') return decodeMode(choice)
  if (!isFields(choice))
    throw invalid('tool_choice', '`tool_choice` must be a string or an object.')
  switch (findText(choice['type'], 'tool_choice.type')) {
    case 'function':
      return { mode: 'named', name: getText(choice['name'], 'tool_choice.name') }
    case 'allowed_tools':
      // All of the tools are allowed then; whether one has to be called is kept.
      lost.add('/tool_choice/allowed_tools')
      return { mode: choice['mode'] === 'required' ? 'any' : 'auto' }
    default:
      throw unsupported(
        'tool_choice',
        '`tool_choice` asks for a tool that is no function, which suppliers of another language cannot be offered. Name a function, or leave `tool_choice` out.',
      )
  }
}

function decodeMode(word: string): ToolChoice {
  if (word === 'auto' || word === 'none') return { mode: word }
  if (word === 'required') return { mode: 'any' }
  throw invalid(
    'tool_choice',
    '`tool_choice` must be one of none, auto, required, or name a function.',
  )
}

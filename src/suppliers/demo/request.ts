// Reads a chat-completions request as far as the demo supplier understands it. Null is absence, and
// only what would make an answer impossible is refused.
import { createHash } from 'node:crypto'
import { asList, isJson, type Json } from './json.ts'
import { badRequest, DemoRefusal } from './refusal.ts'

const STOPS_MAX = 16

export interface Message {
  readonly role: string
  readonly text: string
  readonly images: number
  readonly audio: number
  readonly files: number
}

export interface Tool {
  readonly name: string
  readonly parameters: unknown
}

export type ToolChoice =
  | { readonly mode: 'auto' | 'none' | 'required' }
  | { readonly mode: 'named'; readonly name: string }

export type Format =
  | { readonly type: 'text' | 'json_object' }
  | { readonly type: 'json_schema'; readonly schema: unknown }

export interface DemoRequest {
  /** Derived from the body: the same request gets the same ids. */
  readonly fingerprint: string
  readonly model: string
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice: ToolChoice
  readonly parallelCalls: boolean
  readonly format: Format
  readonly choices: number
  readonly stop: readonly string[]
  readonly maximum: number | undefined
  /** Undefined: not asked for. Otherwise how many alternatives to show. */
  readonly topLogprobs: number | undefined
  readonly reasons: boolean
  readonly stream: boolean
  readonly includeUsage: boolean
}

export function readRequest(body: string): DemoRequest {
  const json = parseBody(body)
  const model = json['model']
  if (typeof model !== 'string') throw missing('model')
  const tools = asList(json['tools']).flatMap(readTool)
  const effort = json['reasoning_effort'] ?? 'none'
  const options = json['stream_options']
  return {
    fingerprint: createHash('sha256').update(body).digest('hex').slice(0, 24),
    model,
    messages: readMessages(json['messages']),
    tools,
    toolChoice: readToolChoice(json['tool_choice'], tools),
    parallelCalls: json['parallel_tool_calls'] !== false,
    format: readFormat(json['response_format']),
    choices: readWhole(json, 'n', 128) ?? 1,
    stop: readStop(json['stop']),
    maximum: readWhole(json, 'max_completion_tokens') ?? readWhole(json, 'max_tokens'),
    topLogprobs: json['logprobs'] === true ? readTop(json['top_logprobs']) : undefined,
    reasons: typeof effort === 'string' && effort !== 'none',
    stream: json['stream'] === true,
    includeUsage: isJson(options) && options['include_usage'] === true,
  }
}

export function parseBody(body: string): Json {
  try {
    const json: unknown = JSON.parse(body)
    if (isJson(json)) return json
  } catch {
    // The parser's own words differ between runtimes; what follows is what clients know.
  }
  throw new DemoRefusal(400, {
    message: 'We could not parse the JSON body of your request.',
    type: 'invalid_request_error',
    code: null,
    param: null,
  })
}

export function missing(name: string): DemoRefusal {
  const message = `Missing required parameter: '${name}'.`
  return badRequest(message, name, 'missing_required_parameter')
}

function readMessages(value: unknown): readonly Message[] {
  if (value === undefined || value === null) throw missing('messages')
  const messages = asList(value).filter(isJson)
  if (messages.length === 0 || messages.length !== asList(value).length) {
    throw badRequest("Invalid 'messages': expected a list of at least one message.", 'messages')
  }
  return messages.map(readMessage)
}

function readMessage(message: Json, position: number): Message {
  const role = message['role']
  if (typeof role !== 'string') throw missing(`messages[${position}].role`)
  const content = message['content']
  const parts = asList(content).filter(isJson)
  const count = (type: string): number => parts.filter((part) => part['type'] === type).length
  const texts = parts.map((part) => part['text']).filter((text) => typeof text === 'string')
  return {
    role,
    text: typeof content === 'string' ? content : texts.join('\n'),
    images: count('image_url'),
    audio: count('input_audio'),
    files: count('file'),
  }
}

function readTool(value: unknown): readonly Tool[] {
  const described = isJson(value) ? value['function'] : undefined
  if (!isJson(described)) return []
  const { name, parameters } = described
  return typeof name === 'string' && name !== '' ? [{ name, parameters: parameters ?? {} }] : []
}

function readToolChoice(value: unknown, tools: readonly Tool[]): ToolChoice {
  const named = isJson(value) ? value['function'] : undefined
  const name = isJson(named) ? named['name'] : undefined
  if (typeof name === 'string') {
    if (tools.some((tool) => tool.name === name)) return { mode: 'named', name }
    throw badRequest(`Tool choice '${name}' not found in 'tools' parameter.`, 'tool_choice')
  }
  if (value !== 'required') return { mode: value === 'none' ? 'none' : 'auto' }
  if (tools.length > 0) return { mode: 'required' }
  throw badRequest("'tool_choice' is only allowed when 'tools' are specified.", 'tool_choice')
}

function readFormat(value: unknown): Format {
  if (!isJson(value)) return { type: 'text' }
  if (value['type'] === 'json_object') return { type: 'json_object' }
  if (value['type'] !== 'json_schema') return { type: 'text' }
  const described = value['json_schema']
  const schema = isJson(described) ? described['schema'] : undefined
  if (!isJson(schema)) throw missing('response_format.json_schema.schema')
  return { type: 'json_schema', schema }
}

function readStop(value: unknown): readonly string[] {
  const list = typeof value === 'string' ? [value] : asList(value)
  if (list.length > STOPS_MAX) {
    throw badRequest(`Invalid 'stop': expected at most ${STOPS_MAX} sequences.`, 'stop')
  }
  return list.filter((text) => typeof text === 'string' && text !== '').map(String)
}

/** A text that there must be. */
export function readText(json: Json, name: string): string {
  const text = json[name] ?? undefined
  if (text === undefined || text === '') throw missing(name)
  if (typeof text === 'string') return text
  throw badRequest(`Invalid '${name}': expected a text.`, name)
}

export function readWhole(
  json: Json,
  name: string,
  most = Number.MAX_SAFE_INTEGER,
): number | undefined {
  const value = json[name] ?? undefined
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 && value <= most) {
    return value
  }
  const range = most === Number.MAX_SAFE_INTEGER ? 'of at least 1' : `from 1 to ${most}`
  throw badRequest(`Invalid '${name}': expected a whole number ${range}.`, name)
}

function readTop(value: unknown): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 20)
    return value
  throw badRequest("Invalid 'top_logprobs': expected a whole number from 0 to 20.", 'top_logprobs')
}

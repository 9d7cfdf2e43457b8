// The demo supplier in the messages language: its requests are read into the same form, and the same answers are
// printed as blocks and named events.
import { createHash } from 'node:crypto'
import type { Call, Choice } from './answer.ts'
import { asList, isJson, type Json } from './json.ts'
import { SERVER_ERROR } from './models.ts'
import { badRequest, printError } from './refusal.ts'
import { parseBody, readWhole, type DemoRequest, type Message, type Tool } from './request.ts'
import type { Voice } from './script.ts'
import type { Streamed } from './stream.ts'
import { countPrompt, splitEvenly, splitWords } from './text.ts'

const ARGUMENT_FRAGMENTS = 3
const SIGNATURE = 'ZGVtbw=='
const REASONS = { stop: 'end_turn', length: 'max_tokens', tool_calls: 'tool_use' } as const

export function readMessagesRequest(body: string): DemoRequest {
  const request = read(body)
  if (request.maximum !== undefined) return request
  throw badRequest('max_tokens: Field required', 'max_tokens')
}

/** What is only to be counted needs no maximum. */
export interface DemoCount {
  readonly model: string
  readonly stream: false
  readonly input_tokens: number
}

export function countMessages(body: string): DemoCount {
  const request = read(body)
  return { model: request.model, stream: false, input_tokens: countPrompt(request) }
}

function read(body: string): DemoRequest {
  const json = parseBody(body)
  const { model, thinking } = json
  if (typeof model !== 'string') throw badRequest('model: Field required', 'model')
  const maximum = readWhole(json, 'max_tokens')
  const choice = isJson(json['tool_choice']) ? json['tool_choice'] : {}
  return {
    fingerprint: createHash('sha256').update(body).digest('hex').slice(0, 24),
    model,
    messages: [...readSystem(json['system']), ...readTurns(json['messages'])],
    tools: asList(json['tools']).flatMap(readTool),
    toolChoice: readToolChoice(choice),
    parallelCalls: choice['disable_parallel_tool_use'] !== true,
    format: { type: 'text' },
    choices: 1,
    stop: asList(json['stop_sequences']).filter((text) => typeof text === 'string'),
    maximum,
    topLogprobs: undefined,
    reasons: isJson(thinking) && thinking['type'] !== 'disabled',
    stream: json['stream'] === true,
    includeUsage: true,
  }
}

function readSystem(system: unknown): readonly Message[] {
  return system === undefined || system === null ? [] : [toMessage('system', system)]
}

function readTurns(value: unknown): readonly Message[] {
  const turns = asList(value).filter(isJson)
  if (turns.length === 0) throw badRequest('messages: at least one message is required', 'messages')
  return turns.flatMap(({ role, content }) => {
    const blocks = asList(content).filter(isJson)
    const results = blocks.filter(({ type }) => type === 'tool_result')
    if (results.length === 0) return [toMessage(String(role), content)]
    const others = blocks.filter(({ type }) => type !== 'tool_result')
    const tools = results.map((result) => toMessage('tool', result['content']))
    return others.length === 0 ? tools : [...tools, toMessage(String(role), others)]
  })
}

function toMessage(role: string, content: unknown): Message {
  const blocks = asList(content).filter(isJson)
  const count = (kind: string): number => blocks.filter(({ type }) => type === kind).length
  const texts = blocks.map(({ text }) => text).filter((text) => typeof text === 'string')
  return {
    role,
    text: typeof content === 'string' ? content : texts.join('\n'),
    images: count('image'),
    audio: 0,
    files: count('document'),
  }
}

function readTool(value: unknown): readonly Tool[] {
  if (!isJson(value) || !isJson(value['input_schema'])) return []
  const { name, input_schema: parameters } = value
  return typeof name === 'string' && name !== '' ? [{ name, parameters }] : []
}

function readToolChoice({ type, name }: Json): DemoRequest['toolChoice'] {
  if (type === 'tool' && typeof name === 'string') return { mode: 'named', name }
  return { mode: type === 'any' ? 'required' : type === 'none' ? 'none' : 'auto' }
}

export const messagesVoice: Voice = {
  stream: streamOf,
  whole: (request, choices, finish) => ({
    ...headOf(request),
    content: choices.flatMap(blocksOf).map(({ block, rest }) => ({ ...block, ...rest })),
    stop_reason: finish === null ? null : reasonOf(choices),
    stop_sequence: null,
  }),
  usage: usageOf,
  failure: `event: error\ndata: ${printError(SERVER_ERROR, 'messages')}\n\n`,
}

function headOf({ fingerprint, model }: DemoRequest): Json {
  return { id: `msg_demo_${fingerprint}`, type: 'message', role: 'assistant', model }
}

function reasonOf([choice]: readonly Choice[]): string {
  return REASONS[choice?.finish ?? 'stop']
}

function usageOf(request: DemoRequest, choices: readonly Choice[]): Json {
  return {
    input_tokens: countPrompt(request),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 0,
    output_tokens: choices.reduce((sum, { tokens }) => sum + tokens, 0),
  }
}

/** A block as it begins, what it has in the end, and the pieces in between. */
interface Block {
  readonly block: Json
  readonly rest: Json
  readonly deltas: readonly Json[]
}

function blocksOf({ reasoning, content, calls }: Choice): readonly Block[] {
  return [
    ...(reasoning === '' ? [] : [thinkingBlock(reasoning)]),
    ...(content === null ? [] : [textBlock(content)]),
    ...calls.map(callBlock),
  ]
}

function thinkingBlock(thinking: string): Block {
  return {
    block: { type: 'thinking', thinking: '', signature: '' },
    rest: { thinking, signature: SIGNATURE },
    deltas: [
      ...splitWords(thinking).map((piece) => ({ type: 'thinking_delta', thinking: piece })),
      { type: 'signature_delta', signature: SIGNATURE },
    ],
  }
}

function textBlock(text: string): Block {
  return {
    block: { type: 'text', text: '' },
    rest: { text },
    deltas: splitWords(text).map((piece) => ({ type: 'text_delta', text: piece })),
  }
}

function callBlock({ id, name, arguments: json }: Call): Block {
  const pieces = splitEvenly(json, ARGUMENT_FRAGMENTS)
  return {
    block: { type: 'tool_use', id: id.replace('call_', 'toolu_'), name, input: {} },
    rest: { input: parseInput(json) },
    deltas: pieces.map((piece) => ({ type: 'input_json_delta', partial_json: piece })),
  }
}

/** Cut off by the limit it is no JSON any more. */
function parseInput(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return {}
  }
}

function streamOf(
  request: DemoRequest,
  choices: readonly Choice[],
  reportsUsage: boolean,
): Streamed {
  const usage = usageOf(request, choices)
  const message = {
    ...headOf(request),
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 0 },
  }
  const blocks = choices
    .flatMap(blocksOf)
    .flatMap(({ block, deltas }, index) => [
      print('content_block_start', { index, content_block: block }),
      ...deltas.map((delta) => print('content_block_delta', { index, delta })),
      print('content_block_stop', { index }),
    ])
  const delta = { stop_reason: reasonOf(choices), stop_sequence: null }
  return {
    pieces: [print('message_start', { message }), print('ping', {}), ...blocks],
    closing:
      print('message_delta', { delta, ...(reportsUsage ? { usage } : {}) }) +
      print('message_stop', {}),
  }
}

function print(type: string, fields: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

// The demo supplier in the responses language: its requests are read into the same form, and the same answers are
// printed as items and numbered events.
import { createHash } from 'node:crypto'
import type { Call, Choice } from './answer.ts'
import { asList, isJson, type Json } from './json.ts'
import { SERVER_ERROR } from './models.ts'
import { badRequest, DemoRefusal } from './refusal.ts'
import { parseBody, readWhole, type DemoRequest, type Format, type Message } from './request.ts'
import type { Voice } from './script.ts'
import type { Streamed } from './stream.ts'
import { countPrompt, splitEvenly, splitWords } from './text.ts'

const CREATED = 1_767_225_600
const ARGUMENT_FRAGMENTS = 3
/** What it has thought, as it wants it back: there is nothing in it. */
const SEAL = 'ZGVtbw=='

export function readResponsesRequest(body: string): DemoRequest {
  const json = parseBody(body)
  const { model, reasoning } = json
  if (typeof model !== 'string') throw missing('model')
  const effort = isJson(reasoning) ? (reasoning['effort'] ?? reasoning['summary']) : undefined
  return {
    fingerprint: createHash('sha256').update(body).digest('hex').slice(0, 24),
    model,
    messages: [...readInstructions(json['instructions']), ...readInput(json['input'])],
    tools: asList(json['tools']).flatMap(readTool),
    toolChoice: readToolChoice(json['tool_choice']),
    parallelCalls: json['parallel_tool_calls'] !== false,
    format: readFormat(json['text']),
    choices: 1,
    stop: [],
    maximum: readWhole(json, 'max_output_tokens'),
    topLogprobs: undefined,
    reasons: typeof effort === 'string' && effort !== 'none',
    stream: json['stream'] === true,
    includeUsage: true,
  }
}

function missing(name: string): DemoRefusal {
  const message = `Missing required parameter: '${name}'.`
  return badRequest(message, name, 'missing_required_parameter')
}

function readInstructions(value: unknown): readonly Message[] {
  return typeof value === 'string' ? [toMessage('system', value)] : []
}

function readInput(value: unknown): readonly Message[] {
  if (typeof value === 'string') return [toMessage('user', value)]
  const items = asList(value).filter(isJson)
  if (items.length === 0) throw missing('input')
  return items.flatMap((item, position) => readItem(item, position))
}

/** What a model has thought or called before is nothing to answer. */
function readItem(item: Json, position: number): readonly Message[] {
  const { type = 'message', role, content, output, id } = item
  if (type === 'function_call_output') return [toMessage('tool', output)]
  if (type === 'item_reference')
    throw new DemoRefusal(404, {
      message: `Item with id '${String(id)}' not found.`,
      type: 'invalid_request_error',
      code: null,
      param: 'input',
    })
  if (type !== 'message') return []
  if (typeof role !== 'string') throw missing(`input[${position}].role`)
  return [toMessage(role, content)]
}

function toMessage(role: string, content: unknown): Message {
  const parts = asList(content).filter(isJson)
  const count = (kind: string): number => parts.filter(({ type }) => type === kind).length
  const texts = parts.map(({ text }) => text).filter((text) => typeof text === 'string')
  return {
    role,
    text: typeof content === 'string' ? content : texts.join('\n'),
    images: count('input_image'),
    audio: count('input_audio'),
    files: count('input_file'),
  }
}

function readTool(value: unknown): DemoRequest['tools'] {
  if (!isJson(value) || value['type'] !== 'function') return []
  const { name, parameters } = value
  return typeof name === 'string' && name !== '' ? [{ name, parameters: parameters ?? {} }] : []
}

function readToolChoice(value: unknown): DemoRequest['toolChoice'] {
  if (isJson(value) && value['type'] === 'function' && typeof value['name'] === 'string')
    return { mode: 'named', name: value['name'] }
  return { mode: value === 'required' ? 'required' : value === 'none' ? 'none' : 'auto' }
}

function readFormat(text: unknown): Format {
  const format = isJson(text) ? text['format'] : undefined
  if (!isJson(format)) return { type: 'text' }
  if (format['type'] === 'json_object') return { type: 'json_object' }
  if (format['type'] !== 'json_schema') return { type: 'text' }
  if (!isJson(format['schema'])) throw missing('text.format.schema')
  return { type: 'json_schema', schema: format['schema'] }
}

export const responsesVoice: Voice = {
  stream: streamOf,
  whole: (request, choices, finish) => ({
    ...responseOf(request, finish === null ? 'in_progress' : statusOf(choices)),
    output: choices.flatMap((choice) => itemsOf(request, choice)).map(({ whole }) => whole),
  }),
  usage: usageOf,
  // Flat, as the maker sends it. Its number cannot be known here: what came before may be any half of an answer.
  failure: `event: error\ndata: ${JSON.stringify({
    type: 'error',
    sequence_number: 0,
    code: SERVER_ERROR.type,
    message: SERVER_ERROR.message,
    param: null,
  })}\n\n`,
}

type Status = 'in_progress' | 'completed' | 'incomplete'

function statusOf([choice]: readonly Choice[]): Status {
  return choice?.finish === 'length' ? 'incomplete' : 'completed'
}

function responseOf({ fingerprint, model }: DemoRequest, status: Status): Json {
  return {
    id: `resp_demo_${fingerprint}`,
    object: 'response',
    created_at: CREATED,
    status,
    error: null,
    incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
    instructions: null,
    metadata: {},
    model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: null, summary: null },
    store: false,
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    usage: null,
  }
}

function usageOf(request: DemoRequest, choices: readonly Choice[]): Json {
  const input = countPrompt(request)
  const output = choices.reduce((sum, { tokens }) => sum + tokens, 0)
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: output,
    output_tokens_details: {
      reasoning_tokens: choices.reduce((sum, choice) => sum + choice.reasoningTokens, 0),
    },
    total_tokens: input + output,
  }
}

/** An item as it begins, as a whole, and the events in between. */
interface Item {
  readonly begun: Json
  readonly whole: Json
  readonly events: readonly Json[]
}

function itemsOf({ fingerprint }: DemoRequest, choice: Choice): readonly Item[] {
  const { reasoning, content, calls, finish } = choice
  const status = finish === 'length' ? 'incomplete' : 'completed'
  return [
    ...(reasoning === '' ? [] : [thoughtItem(`rs_demo_${fingerprint}`, reasoning)]),
    ...(content === null ? [] : [textItem(`msg_demo_${fingerprint}`, content, status)]),
    ...calls.map((call, place) => callItem(`fc_demo_${fingerprint}_${place}`, call, status)),
  ]
}

function thoughtItem(id: string, text: string): Item {
  const begun = { id, type: 'reasoning', summary: [], encrypted_content: SEAL }
  const part = { type: 'summary_text', text }
  const name = (event: string, fields: Json): Json => ({
    type: `response.reasoning_summary_${event}`,
    item_id: id,
    summary_index: 0,
    ...fields,
  })
  return {
    begun,
    whole: { ...begun, summary: [part] },
    events: [
      name('part.added', { part: { type: 'summary_text', text: '' } }),
      ...splitWords(text).map((delta) => name('text.delta', { delta })),
      name('text.done', { text }),
      name('part.done', { part }),
    ],
  }
}

function textItem(id: string, text: string, status: string): Item {
  const begun = { id, type: 'message', role: 'assistant', status: 'in_progress', content: [] }
  const part = { type: 'output_text', text, annotations: [], logprobs: [] }
  const name = (event: string, fields: Json): Json => ({
    type: `response.${event}`,
    item_id: id,
    content_index: 0,
    ...fields,
  })
  return {
    begun,
    whole: { ...begun, status, content: [part] },
    events: [
      name('content_part.added', { part: { ...part, text: '' } }),
      ...splitWords(text).map((delta) => name('output_text.delta', { delta, logprobs: [] })),
      name('output_text.done', { text, logprobs: [] }),
      name('content_part.done', { part }),
    ],
  }
}

function callItem(id: string, { id: callId, name, arguments: json }: Call, status: string): Item {
  const begun = {
    id,
    type: 'function_call',
    status: 'in_progress',
    call_id: callId,
    name,
    arguments: '',
  }
  const type = 'response.function_call_arguments'
  return {
    begun,
    whole: { ...begun, status, arguments: json },
    events: [
      ...splitEvenly(json, ARGUMENT_FRAGMENTS).map((delta) => ({
        type: `${type}.delta`,
        item_id: id,
        delta,
      })),
      { type: `${type}.done`, item_id: id, name, arguments: json },
    ],
  }
}

function streamOf(
  request: DemoRequest,
  choices: readonly Choice[],
  reportsUsage: boolean,
): Streamed {
  const items = choices.flatMap((choice) => itemsOf(request, choice))
  const begun = responseOf(request, 'in_progress')
  const status = statusOf(choices)
  const whole = {
    ...responseOf(request, status),
    output: items.map((item) => item.whole),
    ...(reportsUsage ? { usage: usageOf(request, choices) } : {}),
  }
  const events: readonly Json[] = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...items.flatMap(eventsOf),
    { type: `response.${status}`, response: whole },
  ]
  const printed = events.map(print)
  return { pieces: printed.slice(0, -1), closing: printed.at(-1) ?? '' }
}

function eventsOf(item: Item, index: number): readonly Json[] {
  return [
    { type: 'response.output_item.added', item: item.begun },
    ...item.events,
    { type: 'response.output_item.done', item: item.whole },
  ].map((event) => ({ ...event, output_index: index }))
}

function print({ type, ...fields }: Json, place: number): string {
  const data = JSON.stringify({ type, sequence_number: place, ...fields })
  return `event: ${String(type)}\ndata: ${data}\n\n`
}

// A supplier that speaks responses: its answers, its events, and how a configuration would describe it.
import { openaiResponses } from '../../src/dialects/openai-responses/index.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { ROOT_KEY, supplierAt, type Gateway } from './gateway.ts'

export const RESPONSES_PATH = '/v1/responses'

export const HELLO_RESPONSES = { model: 'test-model', max_output_tokens: 64, input: 'Hello' }

/** Comes to the same as `MESSAGES_USAGE`. */
export const RESPONSES_USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 18,
}

type Fields = Readonly<Record<string, unknown>>

export function messageItem(text: string, id = 'msg_1'): Fields {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }]
  return { id, type: 'message', status: 'completed', role: 'assistant', content }
}

export function callItem(call_id: string, name: string, input: string): Fields {
  const id = `fc_${call_id}`
  return { id, type: 'function_call', status: 'completed', call_id, name, arguments: input }
}

export function thoughtItem(text: string, encrypted_content: string): Fields {
  const summary = [{ type: 'summary_text', text }]
  return { id: 'rs_1', type: 'reasoning', summary, encrypted_content }
}

export function response(output: readonly Fields[], changes: object = {}): Fields {
  return {
    id: 'resp_1',
    object: 'response',
    created_at: 1,
    status: 'completed',
    error: null,
    incomplete_details: null,
    instructions: null,
    model: 'upstream-model',
    output,
    parallel_tool_calls: true,
    store: false,
    temperature: 1,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    metadata: {},
    usage: RESPONSES_USAGE,
    ...changes,
  }
}

/** Events in a row, each with its name and its number. */
export function printEvents(events: readonly Fields[], first = 0): string {
  return events
    .map((event, place) => ({ ...event, sequence_number: first + place }))
    .map((event: Fields) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`)
    .join('')
}

const BEGUN = response([], { status: 'in_progress', usage: null })

export const PREAMBLE: readonly Fields[] = [
  { type: 'response.created', response: BEGUN },
  { type: 'response.in_progress', response: BEGUN },
]

/** The beginning of a text, as far as these pieces of it. */
export function beginText(pieces: readonly string[], output_index = 0): readonly Fields[] {
  const at = { item_id: 'msg_1', output_index, content_index: 0 }
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] }
  const item = { ...messageItem(''), status: 'in_progress', content: [] }
  return [
    { type: 'response.output_item.added', output_index, item },
    { type: 'response.content_part.added', ...at, part },
    ...pieces.map((delta) => ({ type: 'response.output_text.delta', ...at, delta, logprobs: [] })),
  ]
}

export function endText(text: string, output_index = 0): readonly Fields[] {
  const at = { item_id: 'msg_1', output_index, content_index: 0 }
  const item = messageItem(text)
  const [part] = item['content'] as readonly Fields[]
  return [
    { type: 'response.output_text.done', ...at, text, logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index, item },
  ]
}

/** A call, in two pieces. */
export function callEvents(item: Fields, output_index = 0): readonly Fields[] {
  const at = { item_id: item['id'], output_index }
  const input = String(item['arguments'])
  const middle = Math.ceil(input.length / 2)
  return [
    {
      type: 'response.output_item.added',
      output_index,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    ...[input.slice(0, middle), input.slice(middle)].map((delta) => ({
      type: 'response.function_call_arguments.delta',
      ...at,
      delta,
    })),
    { type: 'response.function_call_arguments.done', ...at, arguments: input },
    { type: 'response.output_item.done', output_index, item },
  ]
}

export function completed(output: readonly Fields[], changes: object = {}): Fields {
  return { type: 'response.completed', response: response(output, changes) }
}

/** A text from the first event to the last. */
export function textEvents(text: string, pieces: readonly string[]): readonly Fields[] {
  return [...PREAMBLE, ...beginText(pieces), ...endText(text), completed([messageItem(text)])]
}

/** The two ways in which suppliers tell on a stream that they have failed. */
export function failedEvent(message: string): Fields {
  const error = { code: 'server_error', message }
  return {
    type: 'response.failed',
    response: response([], { status: 'failed', error, usage: null }),
  }
}

export function errorEvent(message: string): Fields {
  return { type: 'error', code: 'server_error', message, param: null }
}

export function responsesAt(origin: string, changes: Partial<Supplier> = {}): Supplier {
  return supplierAt(origin, {
    services: [{ dialect: openaiResponses, path: RESPONSES_PATH }],
    quirks: { usage: 'always' },
    ...changes,
  })
}

/** Posts with the root key; a string is sent as it is. */
export function postResponses(
  { url }: Pick<Gateway, 'url'>,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(url + RESPONSES_PATH, {
    method: 'POST',
    ...init,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${ROOT_KEY}`,
      ...(init.headers as Record<string, string> | undefined),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

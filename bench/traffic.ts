// What is asked and what is answered, byte for byte. The supplier sends these answers and the load
// generators expect them, so that a wrong byte anywhere in between breaks the run.

export const PATH = '/v1/chat/completions'
/** The supplier's own name for the model; a gateway is asked for another one. */
export const SUPPLIER_MODEL = 'bench-upstream'
export const EVENTS = 50
export const USAGE = { prompt_tokens: 251, completion_tokens: 48, total_tokens: 299 }

const CREATED = 1_760_000_000
const WORDS = 'the gateway reads, plans, holds, asks, relays and settles; "every" byte counts\n'

/** A chat request of this many bytes: an agent's long turn of many messages, quotes and line breaks. */
export function chatRequest(model: string, bytes: number, stream: boolean): string {
  const system = { role: 'system', content: 'Answer briefly and to the point.' }
  const messages = [system]
  const print = (): string =>
    JSON.stringify({ model, stream, temperature: 0.2, max_tokens: 512, messages })
  while (bytes - print().length > 2048)
    messages.push({ role: messages.length % 2 ? 'user' : 'assistant', content: WORDS.repeat(12) })
  const last = { role: 'user', content: '' }
  messages.push(last)
  // Counted in letters that need no escape, so that the size comes out to the byte.
  last.content = 'Sum this up. '.repeat(bytes).slice(0, Math.max(1, bytes - print().length))
  return print()
}

export const UNARY_ANSWER = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: CREATED,
  model: SUPPLIER_MODEL,
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: WORDS.repeat(4), refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
  system_fingerprint: 'fp_bench',
})

/** The events of a stream as they are written: a role, words, and a reason to stop. */
export const STREAM_EVENTS: readonly string[] = Array.from({ length: EVENTS }, (_, index) => {
  if (index === 0) return event([choice({ role: 'assistant', content: '' })])
  if (index === EVENTS - 1) return event([choice({}, 'stop')])
  return event([choice({ content: ` word ${index}` })])
})
export const USAGE_EVENT = event([], { usage: USAGE })
export const MARKER = 'data: [DONE]\n\n'
export const STREAM_ANSWER = STREAM_EVENTS.join('') + MARKER

function choice(delta: object, reason: string | null = null): object {
  return { index: 0, delta, logprobs: null, finish_reason: reason }
}

function event(choices: readonly object[], extra: object = {}): string {
  return `data: ${JSON.stringify({
    id: 'chatcmpl-bench',
    object: 'chat.completion.chunk',
    created: CREATED,
    model: SUPPLIER_MODEL,
    system_fingerprint: 'fp_bench',
    choices,
    ...extra,
  })}\n\n`
}

export const MESSAGES_PATH = '/v1/messages'

/** The same request in the language of messages. */
export function messagesRequest(model: string, bytes: number): string {
  const { system, rest } = splitSystem(chatRequest(model, bytes, true))
  return JSON.stringify({ ...rest, system })
}

interface ChatRequest {
  readonly max_tokens: number
  readonly messages: readonly { readonly role: string; readonly content: string }[]
}

function splitSystem(text: string): { readonly system: unknown; readonly rest: ChatRequest } {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- printed above
  const request = JSON.parse(text) as ChatRequest
  const [first, ...messages] = request.messages
  return { system: first?.content, rest: { ...request, messages } }
}

/** The same answer in the language of messages: as many events with words in them. */
export const MESSAGES_EVENTS: readonly string[] = [
  named('message_start', {
    message: {
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      model: SUPPLIER_MODEL,
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: USAGE.prompt_tokens, output_tokens: 1 },
    },
  }),
  named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ...Array.from({ length: EVENTS - 2 }, (_, index) =>
    named('content_block_delta', {
      index: 0,
      delta: { type: 'text_delta', text: ` word ${index + 1}` },
    }),
  ),
  named('content_block_stop', { index: 0 }),
]
export const MESSAGES_MARKER =
  named('message_delta', {
    delta: { stop_reason: 'end_turn', stop_sequence: null },
    usage: { output_tokens: USAGE.completion_tokens },
  }) + named('message_stop', {})

function named(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

export const RESPONSES_PATH = '/v1/responses'
export const NATIVE_PATH = '/v1/native/responses'

/** The same request as native agents send it. */
export function nativeRequest(model: string, bytes: number): string {
  const { system, rest } = splitSystem(chatRequest(model, bytes, true))
  const { messages, max_tokens: limit, ...others } = rest
  return JSON.stringify({
    ...others,
    instructions: system,
    max_output_tokens: limit,
    store: false,
    input: messages.map(({ role, content }) => ({
      type: 'message',
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text: content }],
    })),
  })
}

const ANSWER = { id: 'resp_bench', object: 'response', created_at: CREATED, model: SUPPLIER_MODEL }
const TEXT = { item_id: 'msg_bench', output_index: 0, content_index: 0 }

/** The same answer as events of responses. */
export const RESPONSES_EVENTS: readonly string[] = [
  numbered('response.created', 0, { response: { ...ANSWER, status: 'in_progress', output: [] } }),
  numbered('response.output_item.added', 1, {
    output_index: 0,
    item: {
      id: 'msg_bench',
      type: 'message',
      role: 'assistant',
      status: 'in_progress',
      content: [],
    },
  }),
  ...Array.from({ length: EVENTS - 2 }, (_, index) =>
    numbered('response.output_text.delta', index + 2, { ...TEXT, delta: ` word ${index + 1}` }),
  ),
]
export const RESPONSES_MARKER: string = numbered('response.completed', EVENTS, {
  response: {
    ...ANSWER,
    status: 'completed',
    output: [],
    usage: {
      input_tokens: USAGE.prompt_tokens,
      output_tokens: USAGE.completion_tokens,
      total_tokens: USAGE.prompt_tokens + USAGE.completion_tokens,
    },
  },
})

function numbered(type: string, sequence: number, fields: object): string {
  return named(type, { sequence_number: sequence, ...fields })
}

/** Comment lines are the one thing that a gateway may add to a stream. */
export function withoutComments(answer: string): string {
  return answer.replaceAll(/\n:[^\n]*/g, '').replaceAll(/\n{3,}/g, '\n\n')
}

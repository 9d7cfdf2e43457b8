// A supplier that speaks messages: its answers, its events, and how a configuration would describe it.
import { anthropicMessages } from '../../src/dialects/anthropic-messages/index.ts'
import { openaiChat } from '../../src/dialects/openai-chat/index.ts'
import type { Service, Supplier } from '../../src/suppliers/supplier.ts'
import { ROOT_KEY, supplierAt, type Gateway } from './gateway.ts'
import type { FakeRequest, Script } from './supplier.ts'

export const MESSAGES_PATH = '/v1/messages'

export const HELLO_MESSAGES = {
  model: 'test-model',
  max_tokens: 64,
  messages: [{ role: 'user', content: 'Hello' }],
}

export const MESSAGES_USAGE = {
  input_tokens: 3,
  cache_creation_input_tokens: 2,
  cache_read_input_tokens: 6,
  output_tokens: 7,
}

/** What `MESSAGES_USAGE` comes to at the prices of `supplierAt`. */
export const MESSAGES_COST = '0.00000585'

export function message(text: string, changes: object = {}): object {
  return {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'upstream-model',
    content: [{ type: 'text', text }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: MESSAGES_USAGE,
    ...changes,
  }
}

export function event(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`
}

export const START: string = event('message_start', {
  message: {
    ...message(''),
    content: [],
    stop_reason: null,
    usage: { ...MESSAGES_USAGE, output_tokens: 1 },
  },
})
export const PING: string = event('ping')
export const STOP: string = event('message_stop')

export function begin(index: number, block: object = { type: 'text', text: '' }): string {
  return event('content_block_start', { index, content_block: block })
}

export function say(text: string, index = 0): string {
  return event('content_block_delta', { index, delta: { type: 'text_delta', text } })
}

export function end(index: number): string {
  return event('content_block_stop', { index })
}

export function reason(stop = 'end_turn', usage: object = { output_tokens: 7 }): string {
  return event('message_delta', { delta: { stop_reason: stop, stop_sequence: null }, usage })
}

/** All of an answer but its closing marker. */
export const BODY: string = [START, PING, begin(0), say('H'), say('i'), end(0), reason()].join('')

export function overloaded(): string {
  return event('error', { error: { type: 'overloaded_error', message: 'Overloaded' } })
}

/** Answers what it is asked for, whole or as a stream. */
export const goodMessages: Script = (request, reply) => {
  if (!request.body.includes('"stream":true')) return reply.json(200, message('Hi'))
  const stream = reply.stream()
  stream.send(BODY + STOP)
  return stream.end()
}

export function isMessages({ head }: FakeRequest): boolean {
  return head.startsWith(`POST ${MESSAGES_PATH} `)
}

export const BOTH_SERVICES: readonly Service[] = [
  { dialect: openaiChat, path: '/v1/chat/completions' },
  {
    dialect: anthropicMessages,
    path: MESSAGES_PATH,
    signature: 'x-api-key',
    quirks: { usage: 'always' },
  },
]

export function messagesAt(origin: string, changes: Partial<Supplier> = {}): Supplier {
  return supplierAt(origin, {
    signature: 'x-api-key',
    services: [{ dialect: anthropicMessages, path: MESSAGES_PATH }],
    quirks: { usage: 'always' },
    ...changes,
  })
}

/** Posts with the root key as the language's own clients do; a string is sent as it is. */
export function postMessages(
  { url }: Pick<Gateway, 'url'>,
  body: unknown,
  init: RequestInit = {},
): Promise<Response> {
  return fetch(url + MESSAGES_PATH, {
    method: 'POST',
    ...init,
    headers: {
      'content-type': 'application/json',
      'x-api-key': ROOT_KEY,
      ...(init.headers as Record<string, string> | undefined),
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

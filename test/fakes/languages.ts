// Suppliers of every language that say the same thing, a gateway in front of them, and callers of every language.
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { HELLO, startGateway, supplierAt, type Gateway, type GatewayOptions } from './gateway.ts'
import {
  begin,
  BODY,
  end,
  HELLO_MESSAGES,
  message,
  messagesAt,
  overloaded,
  postMessages,
  reason,
  say,
  START,
  STOP,
} from './messages.ts'
import {
  errorEvent,
  HELLO_RESPONSES,
  messageItem,
  postResponses,
  PREAMBLE,
  beginText,
  printEvents,
  response,
  responsesAt,
  textEvents,
} from './response-supplier.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  type FakeSupplier,
  type Script,
} from './supplier.ts'

const open: { stop(): Promise<void> }[] = []

/** Ends what `house` has begun; for after each test. */
export async function closeHouses(): Promise<void> {
  for (const each of open.splice(0).toReversed()) await each.stop()
}

export interface House {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
}

export type Language = 'chat' | 'messages' | 'responses'

const DESCRIBED = { chat: supplierAt, messages: messagesAt, responses: responsesAt }

/** Suppliers in the order in which they are asked, each with the language that it speaks. */
export async function house(
  list: readonly (readonly [Language, Script])[],
  options: GatewayOptions & { readonly changes?: Partial<Supplier> } = {},
): Promise<House> {
  const { changes = {}, ...rest } = options
  const suppliers = await Promise.all(list.map(([, script]) => startFakeSupplier(script)))
  const described = list.map(([language], index) => {
    const own = { id: `${language}-${index + 1}`, ...changes }
    const { origin } = suppliers[index]!
    return DESCRIBED[language](origin, own)
  })
  const gateway = await startGateway({ suppliers: described, ...rest })
  open.push(...suppliers, gateway)
  return { gateway, suppliers }
}

export const CHAT_USAGE = {
  prompt_tokens: 11,
  completion_tokens: 7,
  total_tokens: 18,
  prompt_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
}

export const USAGE_CHUNK = `data: ${JSON.stringify({ choices: [], usage: CHAT_USAGE })}\n\n`
export const CHUNKS = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'H' }),
  chunk({ content: 'i' }),
  chunk({}, 'stop'),
]

/** Answers with what the language says for "Hi", whole or as a stream. */
export const GOOD: Readonly<Record<Language, Script>> = {
  chat: (request, reply) => {
    if (!isStream(request.body)) return reply.json(200, completion('Hi', CHAT_USAGE))
    const stream = reply.stream()
    stream.send(CHUNKS.join('') + USAGE_CHUNK + DONE)
    return stream.end()
  },
  messages: (request, reply) => {
    if (!isStream(request.body)) return reply.json(200, message('Hi'))
    const stream = reply.stream()
    stream.send(BODY + STOP)
    return stream.end()
  },
  responses: (request, reply) => {
    if (!isStream(request.body)) return reply.json(200, response([messageItem('Hi')]))
    const stream = reply.stream()
    stream.send(printEvents(textEvents('Hi', ['H', 'i'])))
    return stream.end()
  },
}

const EVENTS = textEvents('Hi', ['H', 'i'])
/** As many events as come before the second piece. */
const HALF = PREAMBLE.length + beginText(['H']).length

/** The stream that `GOOD` answers with, in pieces; and how it goes wrong. */
export interface Broken {
  /** Nothing that a caller could see. */
  readonly preamble: string
  /** Up to the first of two pieces of text. */
  readonly begun: string
  /** From the second piece to the end. */
  readonly rest: string
  /** The supplier says that it has failed. */
  readonly failing: string
}

export const BROKEN: Readonly<Record<Language, Broken>> = {
  chat: {
    preamble: CHUNKS[0]!,
    begun: CHUNKS.slice(0, 2).join(''),
    rest: CHUNKS.slice(2).join('') + USAGE_CHUNK + DONE,
    failing: 'data: {"error":{"message":"no"}}\n\n',
  },
  messages: {
    preamble: START,
    begun: START + begin(0) + say('H'),
    rest: say('i') + end(0) + reason() + STOP,
    failing: overloaded(),
  },
  responses: {
    preamble: printEvents(PREAMBLE),
    begun: printEvents(EVENTS.slice(0, HALF)),
    rest: printEvents(EVENTS.slice(HALF), HALF),
    failing: printEvents([errorEvent('no')], HALF),
  },
}

/** How a supplier of each language refuses a request. */
export const REFUSING: Readonly<Record<Language, (words: string) => object>> = {
  chat: (message) => ({ error: { message, type: 'invalid_request_error', code: 'bad_thing' } }),
  messages: (message) => ({ type: 'error', error: { type: 'invalid_request_error', message } }),
  responses: (message) => ({
    error: { message, type: 'invalid_request_error', param: null, code: 'bad_thing' },
  }),
}

export function isStream(body: Buffer): boolean {
  return body.includes('"stream":true')
}

export function streamed(text: string): Script {
  return (_, reply) => {
    const stream = reply.stream()
    stream.send(text)
    stream.end()
  }
}

export const unwell: Script = (_, reply) => reply.json(500, { error: { message: 'down' } })

export function ask(
  gateway: Gateway,
  language: Language,
  changes: object = {},
  init: RequestInit = {},
): Promise<Response> {
  if (language === 'chat') return gateway.chat({ ...HELLO, ...changes }, init)
  return language === 'messages'
    ? postMessages(gateway, { ...HELLO_MESSAGES, ...changes }, init)
    : postResponses(gateway, { ...HELLO_RESPONSES, ...changes }, init)
}

interface AnyAnswer {
  readonly choices?: readonly { readonly message: { readonly content: string } }[]
  readonly content?: readonly { readonly text: string }[]
  readonly output?: readonly { readonly content?: readonly { readonly text: string }[] }[]
}

/** What a person would read in an answer of any language. */
export async function textOf(response: Response): Promise<string> {
  const { choices, content, output = [] } = (await response.json()) as AnyAnswer
  const parts = content ?? output.flatMap((item) => item.content ?? [])
  return choices?.[0]?.message.content ?? parts.map(({ text }) => text).join('')
}

interface AnyFrame {
  readonly choices?: readonly { readonly delta: { readonly content?: string } }[]
  readonly delta?: string | { readonly text?: string }
}

/** The same of a stream, by its pieces. */
export function piecesOf(text: string): readonly string[] {
  return frames(text).flatMap((frame) => {
    const { choices, delta } = frame as AnyFrame
    const piece = typeof delta === 'string' ? delta : delta?.text
    const said = piece ?? choices?.[0]?.delta.content ?? ''
    return said === '' ? [] : [said]
  })
}

export async function sentTo(supplier: FakeSupplier, index = 0): Promise<Record<string, unknown>> {
  const { body } = await supplier.request(index)
  return JSON.parse(body.toString()) as Record<string, unknown>
}

export function frames(text: string): readonly Record<string, unknown>[] {
  return text.split('\n').flatMap((line) => {
    if (!line.startsWith('data: {')) return []
    return [JSON.parse(line.slice(6)) as Record<string, unknown>]
  })
}

// Suppliers of both languages that say the same thing, a gateway in front of them, and callers of both languages.
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { HELLO, startGateway, supplierAt, type Gateway, type GatewayOptions } from './gateway.ts'
import { BODY, HELLO_MESSAGES, message, messagesAt, postMessages, STOP } from './messages.ts'
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

export type Language = 'chat' | 'messages'

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
    return language === 'chat' ? supplierAt(origin, own) : messagesAt(origin, own)
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

export function ask(gateway: Gateway, language: Language, changes: object = {}): Promise<Response> {
  return language === 'chat'
    ? gateway.chat({ ...HELLO, ...changes })
    : postMessages(gateway, { ...HELLO_MESSAGES, ...changes })
}

/** What a person would read in an answer of either language. */
export async function textOf(response: Response): Promise<string> {
  const body = (await response.json()) as {
    choices?: { message: { content: string } }[]
    content?: { text: string }[]
  }
  return body.choices?.[0]?.message.content ?? body.content?.map(({ text }) => text).join('') ?? ''
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

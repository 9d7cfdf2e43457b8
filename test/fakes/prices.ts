// Suppliers whose bills a test can work out in its head: input is free and an output token costs 600
// nano-dollars, so that the most a call can cost is its maximum times that, and so is what it does cost.
import { parseUsd, printUsd, toNanoUsd, toPicoUsd } from '../../src/core/money.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { supplierAt, type Gateway } from './gateway.ts'
import { sendEvents, STOP } from './street.ts'
import { chunk, completion, DONE, type FakeReply, type Script } from './supplier.ts'

export const TOKEN_COST = 600

/** A supplier of `test-model` at these prices, in pico-dollars a token. */
export function pricedAt(
  origin: string,
  price: { readonly input: number; readonly output: number } = { input: 0, output: 600_000 },
  changes: Partial<Supplier> = {},
): Supplier {
  const rates = { input: toPicoUsd(price.input), output: toPicoUsd(price.output) }
  const route = {
    as: 'upstream-model',
    prices: [{ from: 0, price: rates }],
    ownedBy: 'maker',
  } as const
  return supplierAt(origin, { models: new Map([['test-model', route]]), ...changes })
}

/** A number for a body, exact. */
export function toUsd(nano: number): number {
  return Number(printUsd(toNanoUsd(nano)))
}

/** Whole nano-dollars of a number that an answer holds. */
export function toNano(usd: unknown): number {
  const sign = typeof usd === 'number' && usd < 0 ? -1 : 1
  const amount = typeof usd === 'number' ? parseUsd(Math.abs(usd)) : undefined
  if (amount === undefined) throw new Error(`${String(usd)} is no amount of money`)
  return sign * amount
}

export interface KeyState {
  readonly status: string
  readonly limit: number
  readonly used: number
  readonly held: number
  readonly resetsAt: string | null
}

/** A key as the management interface shows it, in nano-dollars. */
export async function readKey(gateway: Gateway, id: string): Promise<KeyState> {
  const response = await gateway.manage('GET', `/keys/${id}`)
  const key = (await response.json()) as Readonly<Record<string, unknown>>
  return {
    status: String(key['status']),
    limit: toNano(key['budget_limit']),
    used: toNano(key['budget_used']),
    held: toNano(key['budget_held']),
    resetsAt: key['resets_at'] as string | null,
  }
}

export interface Asked {
  readonly stream?: boolean
  readonly max_tokens?: number
  readonly messages: readonly { readonly content: string }[]
}

export function readAsked(body: Uint8Array): Asked {
  return JSON.parse(Buffer.from(body).toString()) as Asked
}

/** A whole answer that tells this usage, as it was asked: at once or as a stream. */
export function answerWith(reply: FakeReply, asked: Asked, usage: unknown, content = 'Hi'): void {
  const told = usage === undefined ? '' : `data: ${JSON.stringify({ choices: [], usage })}\n\n`
  if (asked.stream === true)
    sendEvents(reply, [chunk({ content }), STOP, told, DONE].filter(Boolean))
  else {
    const { usage: _, ...answer } = completion(content) as { usage: unknown }
    reply.json(200, usage === undefined ? answer : { ...answer, usage })
  }
}

export interface Maximal {
  readonly script: Script
  /** By the text of the prompt: the maximum that came with it. */
  readonly seen: ReadonlyMap<string, number | undefined>
}

/** Always uses as many tokens as it may, and remembers how many that were. */
export function createMaximal(promptTokens = 1): Maximal {
  const seen = new Map<string, number | undefined>()
  return {
    seen,
    script(request, reply) {
      const asked = readAsked(request.body)
      seen.set(asked.messages[0]!.content, asked.max_tokens)
      const tokens = asked.max_tokens ?? 0
      answerWith(reply, asked, { prompt_tokens: promptTokens, completion_tokens: tokens })
    },
  }
}

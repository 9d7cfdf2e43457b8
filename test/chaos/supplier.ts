// A supplier with a bill of its own, kept apart from every gateway: whoever asks pays for the prompt from the
// moment it is read, and for each token that is put out. Some requests it drops without a word, and bills.
import { readAsked, type Asked } from '../fakes/prices.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
} from '../fakes/supplier.ts'
import type { Random } from './random.ts'

export const IN_COST = 150
export const OUT_COST = 600
const PROMPT_TOKENS = 20
const OUTPUT_TOKENS_MAX = 40
/** One in so many whole answers costs a good part of what was set aside for it. */
const DEAR_ONE_IN = 6

export interface Bill {
  readonly supplier: string
  /** The maximum that came with the call: every call has another, so it names the call. */
  readonly marker: number
  tokens: number
  /** Nano-dollars. */
  cost: number
  /** It has said all there was, its usage included. */
  isWhole: boolean
}

export interface BillingSupplier extends FakeSupplier {
  readonly bills: readonly Bill[]
}

export interface Habits {
  readonly name: string
  /** One in so many requests is dropped before any answer; 0 is none. */
  readonly dropsOneIn: number
}

export async function startBilling(
  random: Random,
  { name, dropsOneIn }: Habits,
): Promise<BillingSupplier> {
  const bills: Bill[] = []
  const supplier = await startFakeSupplier(async (request, reply) => {
    const asked = readAsked(request.body)
    const bill = open(name, asked)
    bills.push(bill)
    await Bun.sleep(random.between(0, 12))
    if (dropsOneIn > 0 && random.oneIn(dropsOneIn)) return reply.reset()
    const tokens = random.between(1, OUTPUT_TOKENS_MAX)
    if (asked.stream === true) return stream(request, reply, { bill, tokens, random })
    put(bill, random.oneIn(DEAR_ONE_IN) ? random.between(1, bill.marker) : tokens)
    bill.isWhole = true
    return reply.json(200, { ...completion('word '.repeat(tokens)), usage: usageOf(bill) })
  })
  return { ...supplier, bills }
}

function open(supplier: string, { max_tokens: marker = 0 }: Asked): Bill {
  return { supplier, marker, tokens: 0, cost: PROMPT_TOKENS * IN_COST, isWhole: false }
}

function put(bill: Bill, tokens: number): void {
  bill.tokens += tokens
  bill.cost += tokens * OUT_COST
}

function usageOf({ tokens }: Bill): object {
  return { prompt_tokens: PROMPT_TOKENS, completion_tokens: tokens }
}

interface Telling {
  readonly bill: Bill
  readonly tokens: number
  readonly random: Random
}

/** Word by word with pauses, until all is said or nobody listens any more. */
async function stream(
  { closed }: FakeRequest,
  reply: FakeReply,
  { bill, tokens, random }: Telling,
): Promise<void> {
  const line = { isOpen: true }
  void closed.then(() => (line.isOpen = false))
  const out = reply.stream()
  for (let said = 0; said < tokens && line.isOpen; said++) {
    put(bill, 1)
    out.send(chunk({ content: 'word ' }))
    await Bun.sleep(random.between(0, 3))
  }
  if (!line.isOpen) return
  bill.isWhole = true
  out.send(chunk({}, 'stop'))
  out.send(`data: ${JSON.stringify({ choices: [], usage: usageOf(bill) })}\n\n${DONE}`)
  out.end()
}

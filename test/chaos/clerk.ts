// Whoever manages while calls run and processes die: puts money in and takes it back, raises limits, changes secrets.
// What has no answer is sent again, in the same words, to the next gateway.
import { ROOT_KEY } from '../fakes/gateway.ts'
import { toUsd } from '../fakes/prices.ts'
import type { Json } from '../fakes/tenants.ts'
import type { Door } from './door.ts'
import type { Random } from './random.ts'
import { HOLD, holds, type Caller, type Town } from './town.ts'

/** `lost`: nobody knows whether it was booked. `refused`: it was not. */
export type PaymentState = 'lost' | 'booked' | 'refused'

export interface Payment {
  /** In the words of the statement, and of no other. */
  readonly reason: string
  readonly wallet: string
  /** Nano-dollars; below zero where it is taken back. */
  readonly amount: number
  /** What makes it one: a reference, an Idempotency-Key, or both. */
  readonly hasReference: boolean
  readonly isOnce: boolean
  state: PaymentState
  /** How often it was sent. */
  sent: number
}

export interface Clerk {
  readonly payments: readonly Payment[]
  /** Secrets that were changed, and limits that were raised, as far as it was told. */
  readonly changes: { rotated: number; raised: number }
  /** Answers that nobody expected. */
  readonly surprises: readonly string[]
  /** Sends everything again that has no answer yet. */
  settle(url: string): Promise<void>
  end(): Promise<void>
}

export interface ClerkOptions {
  readonly town: Town
  readonly random: Random
  readonly door: Door
  readonly size: number
}

interface Told {
  readonly status: number
  readonly body: Json
  readonly error: Json
}

async function send(url: string, method: string, path: string, options: Json): Promise<Told> {
  const { once, ...body } = options
  const response = await fetch(`${url}/v1/manage${path}`, {
    method,
    headers: {
      authorization: `Bearer ${ROOT_KEY}`,
      'content-type': 'application/json',
      ...(typeof once === 'string' && { 'idempotency-key': once }),
    },
    body: JSON.stringify(body),
  })
  const parsed = (await response.json()) as Json
  return { status: response.status, body: parsed, error: (parsed['error'] ?? {}) as Json }
}

export function employ({ town, random, door, size }: ClerkOptions): Clerk {
  const payments: Payment[] = []
  const changes = { rotated: 0, raised: 0 }
  const surprises: string[] = []
  const state = { isOver: false }
  const pick = <Item>(items: readonly Item[]): Item => items[random.between(0, items.length - 1)]!

  const pay = async (url: string, payment: Payment): Promise<void> => {
    const { reason, wallet, amount, hasReference, isOnce } = payment
    payment.sent += 1
    const told = await send(url, 'POST', `/wallets/${wallet}/credits`, {
      amount_usd: toUsd(amount),
      reason,
      ...(hasReference && { reference: reason }),
      ...(isOnce && { once: reason }),
    })
    const known = stateAfter(payment, told)
    if (known === undefined)
      surprises.push(`${reason}: ${told.status} ${JSON.stringify(told.error)}`)
    payment.state = known ?? 'lost'
  }

  const think = (): Payment => {
    const isTaken = random.oneIn(2)
    const amount = random.between(1, (isTaken ? 6 : 8) * HOLD)
    const isOnce = random.oneIn(2)
    const payment: Payment = {
      reason: `payment ${payments.length}`,
      wallet: pick(town.wallets),
      amount: isTaken ? 0 - amount : amount,
      // Without either of the two nobody could send it again.
      hasReference: !isOnce || random.oneIn(2),
      isOnce,
      state: 'lost',
      sent: 0,
    }
    payments.push(payment)
    return payment
  }

  const rotate = async (url: string, caller: Caller): Promise<void> => {
    if (caller.rotations % 2 === 1) return
    const { isSure } = caller
    caller.rotations += 1
    // The oldest ends with the change, and maybe nobody is told that it was made.
    caller.previous = undefined
    caller.isSure = false
    try {
      const path = `/${caller.kind}/${caller.id}/rotate`
      const { status, body } = await send(url, 'POST', path, { overlap_seconds: 3600 })
      if (status !== 200) return
      // Where a change before this one was lost, it was the oldest that we knew.
      caller.previous = isSure ? caller.secret : undefined
      caller.secret = String(body['key'])
      caller.isSure = true
      changes.rotated += 1
    } finally {
      caller.rotations += 1
    }
  }

  const raise = async (url: string): Promise<void> => {
    const [path, limit] = pick([...town.limits])
    const next = limit + random.between(1, 4)
    town.limits.set(path, next)
    const field = path.startsWith('/keys') ? 'budget_limit' : 'spending_limit'
    const { status } = await send(url, 'PATCH', path, { [field]: holds(next) })
    if (status === 200) changes.raised += 1
  }

  const work = async (url: string): Promise<void> => {
    const lost = payments.find(({ state: known, sent }) => known === 'lost' && sent > 0)
    if (lost !== undefined && random.oneIn(2)) return pay(url, lost)
    if (random.oneIn(8)) return rotate(url, pick(town.callers))
    if (random.oneIn(8)) return raise(url)
    return pay(url, think())
  }

  const loop = async (): Promise<void> => {
    while (!state.isOver) {
      const url = await door.opened()
      if (url === undefined) return
      // The gateway may die under it; what became of it is asked of the next one.
      await door.within(() => work(url).catch(() => {}))
      await Bun.sleep(random.between(5, 40))
    }
  }

  const loops = Array.from({ length: size }, loop)
  return {
    payments,
    changes,
    surprises,
    async settle(url) {
      for (const payment of payments) if (payment.state === 'lost') await pay(url, payment)
    },
    async end() {
      state.isOver = true
      door.end()
      await Promise.all(loops)
    },
  }
}

/** Undefined where the answer fits nothing. */
function stateAfter({ amount, sent }: Payment, { status, error }: Told): PaymentState | undefined {
  const { code, param } = error
  if (status === 200) return 'booked'
  // The books could not be written, or the twin that was sent before is still at it.
  if (status >= 500 || code === 'operation_in_progress') return 'lost'
  if (status !== 409) return undefined
  const isKnown = param === 'reference' || code === 'payload_not_durable'
  if (isKnown) return sent > 1 ? 'booked' : undefined
  return code === 'conflict' && amount < 0 ? 'refused' : undefined
}

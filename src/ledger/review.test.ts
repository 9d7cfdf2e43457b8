// What is made of a call whose end nobody saw, from nothing but its records: it counts against its key until
// a rule or a person ends it, once.
import { hourOf } from '../core/hour.ts'
import { describe, expect, it } from 'bun:test'
import { toNanoUsd, toPicoUsd } from '../core/money.ts'
import type { AttemptNote, Terms } from '../core/record.ts'
import { askOf, endOf, holdOf, keyOf, openRoom, turns, type Room } from '../../test/fakes/ledger.ts'
import { MemoryStore, stateOf } from '../../test/fakes/memory-store.ts'
import { Book, type Operation } from './book.ts'
import type { LedgerPolicy } from './policy.ts'
import {
  attemptNote,
  estimateOf,
  progressNote,
  resolvedRow,
  resumedNote,
  reviewNote,
} from './review.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
/** As notes once were, which told no more. */
const FIRST: AttemptNote = { supplier: 'first' }
const SECOND: AttemptNote = { supplier: 'second' }

const STAND_IN = JSON.stringify([
  { supplier: 'first', region: 'EU', model: 'm', price: priceOf(1) },
  { supplier: 'first', region: 'EU', model: 'spare', price: priceOf(7) },
] satisfies Terms)

/** In nano-dollars a token. */
function priceOf(rate: number): Terms[number]['price'] {
  return { input: toPicoUsd(rate * 1000), output: toPicoUsd(rate * 1000) }
}

/** Of suppliers `first` and `second`. */
function termsOf(...rates: readonly { readonly input: number; readonly second: number }[]): string {
  const terms: Terms = rates.map(({ input, second }, index) => ({
    supplier: ['first', 'second'][index]!,
    region: 'EU',
    model: 'm',
    price: { ...priceOf(input), second: toPicoUsd(second) },
  }))
  return JSON.stringify(terms)
}

interface Past {
  readonly amount?: number
  readonly inputTokens?: number
  readonly asked?: readonly AttemptNote[]
  readonly terms?: string
  readonly outputTokens?: number
}

function lost({
  amount = 100,
  inputTokens = 5,
  asked = [],
  outputTokens = 0,
  ...change
}: Past = {}): Operation {
  const hold = holdOf({ at: NOON, amount: toNanoUsd(amount), inputTokens, stream: true, ...change })
  return new Book().adopt({ hold, reviewAt: NOON, asked, outputTokens })
}

describe('the estimate of a lost call', () => {
  it('is its input, at the price of whoever was asked first', () => {
    expect(estimateOf(lost({ inputTokens: 5 }))).toBe(toNanoUsd(5))
  })

  it('adds what is known to have been delivered', () => {
    expect(estimateOf(lost({ inputTokens: 5, outputTokens: 3 }))).toBe(toNanoUsd(5 + 30))
  })

  it('is at the price of whoever was asked last', () => {
    const operation = lost({ inputTokens: 5, outputTokens: 2, asked: [FIRST, SECOND] })
    expect(estimateOf(operation)).toBe(toNanoUsd(10 + 40))
  })

  it('is that of the model that was asked, where its supplier serves what stands in for it, too', () => {
    const asked = [{ supplier: 'first', model: 'spare', number: 2 }]
    expect(estimateOf(lost({ asked, terms: STAND_IN }))).toBe(toNanoUsd(5 * 7))
    expect(estimateOf(lost({ asked: [FIRST], terms: STAND_IN }))).toBe(toNanoUsd(5))
  })

  it('is at the first price when the records name nobody that the hold allows', () => {
    expect(estimateOf(lost({ asked: [{ supplier: 'nobody' }] }))).toBe(toNanoUsd(5))
  })

  it('is all that was held where it is not paid by the token', () => {
    const terms = termsOf({ input: 0, second: 5 })
    expect(estimateOf(lost({ terms }))).toBe(toNanoUsd(100))
  })

  it('is the part of it that whoever was asked last would have cost, where others are dearer', () => {
    const terms = termsOf({ input: 0, second: 5 }, { input: 0, second: 20 })
    expect(estimateOf(lost({ terms }))).toBe(toNanoUsd(25))
    expect(estimateOf(lost({ terms, asked: [FIRST, SECOND] }))).toBe(toNanoUsd(100))
  })

  it('is all of it where somebody is paid by the token as well', () => {
    const terms = termsOf({ input: 0, second: 5 }, { input: 3, second: 20 })
    expect(estimateOf(lost({ terms }))).toBe(toNanoUsd(100))
  })

  it('never exceeds what was held', () => {
    expect(estimateOf(lost({ amount: 20, outputTokens: 1_000_000 }))).toBe(toNanoUsd(20))
  })
})

describe('the row that ends a review', () => {
  it('tells what the hold told, and belongs to its hour', () => {
    const operation = lost({ asked: [SECOND], outputTokens: 2 })
    const { hold } = operation
    expect(resolvedRow(operation, 'charge_estimate')).toMatchObject({
      at: hold.at,
      requestId: hold.requestId,
      accountId: hold.accountId,
      keyId: hold.keyId,
      endpoint: hold.endpoint,
      supplier: 'second',
      region: 'US',
      stream: true,
      attempts: 2,
      state: 'settled',
      evidence: 'crashed',
      held: hold.amount,
      hour: hourOf(NOON),
      cost: toNanoUsd(50),
      overrun: toNanoUsd(0),
      status: 500,
      code: 'operation_unknown',
      count: 1,
    })
  })

  it('names the model that was asked, where its supplier serves what stands in for it, too', () => {
    const asked = [{ supplier: 'first', model: 'spare', number: 2 }]
    const row = resolvedRow(lost({ asked, terms: STAND_IN }), 'charge_estimate')
    expect(row).toMatchObject({ supplier: 'first', model: 'spare', attempts: 2 })
    expect(row.details).toMatchObject({ asked: 'm' })
  })

  it.each<readonly [attempts: number, asked: readonly AttemptNote[]]>([
    [1, []],
    [2, [SECOND]],
    [3, [SECOND, FIRST]],
    [1, [{ ...SECOND, model: 'm', number: 1 }]],
    [2, [{ ...SECOND, model: 'm', number: 2 }]],
    [2, [1, 2].map((number) => ({ ...SECOND, model: 'm', number }))],
  ])('counts %d attempts, whoever was the first: %j', (attempts, asked) => {
    expect(resolvedRow(lost({ asked }), 'charge_hold').attempts).toBe(attempts)
  })

  it('charges the estimate, or all that was held, and says by which rule', () => {
    const estimate = resolvedRow(lost(), 'charge_estimate')
    expect(Number(estimate.cost)).toBe(5)
    expect(estimate.details?.resolved?.by).toContain('charge_estimate')
    const all = resolvedRow(lost(), 'charge_hold')
    expect(Number(all.cost)).toBe(100)
    expect(all.details?.resolved?.by).toContain('charge_hold')
  })

  it('charges what somebody decided, up to what was held, and says who and why', () => {
    const decide = (cost: number): ReturnType<typeof resolvedRow> =>
      resolvedRow(lost(), { cost: toNanoUsd(cost), by: 'root', reason: 'seen on the bill' })
    expect(Number(decide(40).cost)).toBe(40)
    expect(Number(decide(101).cost)).toBe(100)
    expect(decide(40).details).toEqual({ resolved: { by: 'root', reason: 'seen on the bill' } })
  })

  it('tells what was asked for, where whoever was asked has the model under another name', () => {
    const { hold, ...others } = lost()
    const model = resolvedRow(lost(), 'charge_hold').model
    const named = { ...others, hold: { ...hold, model: 'nick' } } as Operation
    expect(resolvedRow(named, 'charge_hold')).toMatchObject({ model, details: { asked: 'nick' } })
    const plain = { ...others, hold: { ...hold, model } } as Operation
    expect(resolvedRow(plain, 'charge_hold').details).not.toHaveProperty('asked')
  })

  it('is void when it costs nothing', () => {
    const free = resolvedRow(lost({ inputTokens: 0 }), 'charge_estimate')
    expect(free).toMatchObject({ state: 'voided', cost: toNanoUsd(0), held: toNanoUsd(100) })
  })
})

describe('notes', () => {
  it('tell a later process of whom was asked, how far it came and that it is in review', () => {
    const hold = holdOf()
    const { open } = stateOf([
      { type: 'hold', hold },
      attemptNote(NOON, hold.requestId, { ...SECOND, model: 'm', number: 2 }),
      progressNote(NOON, hold.requestId, 5),
      progressNote(NOON, hold.requestId, 9),
      reviewNote(NOON + 7, hold.requestId),
    ])
    const asked = [{ supplier: 'second', model: 'm', number: 2 }]
    expect(open).toEqual([{ hold, reviewAt: NOON + 7, asked, outputTokens: 9 }])
  })

  it('tell for how long the books could not be written, in whole milliseconds', () => {
    const record = resumedNote(NOON, 1234.567)
    if (record.type !== 'note') throw new Error('no note')
    expect(record.note).toMatchObject({ at: NOON, kind: 'resumed', requestId: undefined })
    expect(JSON.parse(record.note.body)).toEqual({ downMs: 1235 })
  })
})

const KEY = keyOf(1000)
const MINUTE_MS = 60_000

/** A process that was killed with one call of 100 under way, and the one that was started after it. */
async function restart(policy: Partial<LedgerPolicy> = {}, wait = MINUTE_MS): Promise<Room> {
  const before = await openRoom({ keys: [KEY] })
  const { operation } = await before.ledger.hold(askOf(KEY, 100))
  before.ledger.noteProgress(operation, 3)
  await turns()
  return again(before, policy, wait)
}

async function again(
  { ledger, store, clock }: Room,
  policy: Partial<LedgerPolicy> = {},
  wait = MINUTE_MS,
): Promise<Room> {
  store.crash()
  // What is left of the dead process must not go on.
  await ledger.close()
  clock.sleep(wait)
  return openRoom({ store, clock, policy, keys: [KEY] })
}

function standing({ ledger }: Room): readonly [used: number, held: number] {
  const { used, held } = ledger.budgetOf('key_1')
  return [used, held]
}

function reviewed({ ledger }: Room): Operation {
  const [operation] = ledger.reviews()
  if (operation === undefined) throw new Error('nothing is in review')
  return operation
}

function ends({ store: { records } }: Room): readonly number[] {
  return records.flatMap((record) => (record.type === 'audit' ? [Number(record.row.cost)] : []))
}

describe('a call whose process died', () => {
  it('is in review, durably, before the next process begins its work', async () => {
    const room = await restart()
    expect(room.ledger.reviews()).toHaveLength(1)
    expect(room.store.records.at(-1)).toMatchObject({ type: 'note', note: { kind: 'review' } })
    expect(room.notes).toEqual([
      'warn: calls under way when the last process ended, and now in review: 1',
    ])
  })

  it('keeps a process from its work that cannot write so', async () => {
    const before = await openRoom({ keys: [KEY] })
    await before.ledger.hold(askOf(KEY, 100))
    const store = new MemoryStore()
    store.records.push(...before.store.records)
    store.fail()
    let problem: unknown
    await openRoom({ store }).catch((thrown: unknown) => (problem = thrown))
    expect(problem).toBeInstanceOf(Error)
  })

  it('counts against its key, and is no reason to refuse one for good', async () => {
    const room = await restart()
    expect(standing(room)).toEqual([0, 100])
    const { fit } = await room.ledger.hold(askOf(KEY, 900))
    expect(fit.amount).toBe(toNanoUsd(900))
    const seen: unknown[] = []
    room.ledger.hold(askOf(KEY, 1)).catch((thrown: unknown) => seen.push(thrown))
    await turns()
    room.clock.advance(1000)
    await turns()
    expect(seen).toMatchObject([{ code: 'capacity_exceeded' }])
  })

  it.each<readonly [LedgerPolicy['recovery'], number]>([
    ['charge_estimate', 5 + 30],
    ['charge_hold', 100],
  ])('is ended after ten minutes by the rule, and once: %s', async (recovery, cost) => {
    const room = await restart({ recovery })
    const { hold, reviewAt } = reviewed(room)
    expect(room.ledger.resolvesAt(hold.requestId)).toBe(reviewAt + 10 * MINUTE_MS)
    room.clock.advance(10 * MINUTE_MS - 1)
    await turns()
    expect(standing(room)).toEqual([0, 100])
    room.clock.advance(1000)
    await turns()
    expect(standing(room)).toEqual([cost, 0])
    expect(room.ledger.reviews()).toEqual([])
    room.clock.advance(20 * MINUTE_MS)
    await turns()
    expect(ends(room)).toEqual([cost])
    expect(room.halts).toEqual([])
  })

  it('is kept until somebody decides where the operator wants that', async () => {
    const room = await restart({ recovery: 'keep' })
    expect(room.ledger.resolvesAt(reviewed(room).hold.requestId)).toBeUndefined()
    room.clock.sleep(24 * 60 * MINUTE_MS)
    await turns()
    expect(standing(room)).toEqual([0, 100])
    const resolution = { cost: toNanoUsd(42), by: 'root', reason: 'seen on the bill' }
    expect(await room.ledger.resolve(reviewed(room), resolution)).toBe(true)
    expect(standing(room)).toEqual([42, 0])
  })

  it('is ended as soon as its time has come by another policy', async () => {
    const room = await restart({ recovery: 'keep' })
    room.clock.advance(5 * MINUTE_MS)
    room.ledger.policy = {
      ...room.ledger.policy,
      recovery: 'charge_hold',
      recoveryAfterMs: MINUTE_MS,
    }
    room.clock.advance(1000)
    await turns()
    expect(standing(room)).toEqual([100, 0])
  })

  it('is ended once, however many decide at once, and nothing stops for that', async () => {
    const room = await restart({ recovery: 'charge_hold' })
    const operation = reviewed(room)
    const resolution = { cost: toNanoUsd(42), by: 'root', reason: 'seen on the bill' }
    room.store.stall()
    const decided = [1, 2, 3].map(() =>
      room.ledger.resolve(operation, resolution).catch(({ code }: { code: string }) => code),
    )
    room.clock.advance(20 * MINUTE_MS)
    room.store.recover()
    expect(await Promise.all(decided)).toEqual([false, 'conflict', 'conflict'])
    const late = await room.ledger.resolve(operation, resolution).catch(() => 'refused')
    expect(late).toBe('refused')
    await turns()
    expect(ends(room)).toEqual([42])
    expect(standing(room)).toEqual([42, 0])
    expect(room.halts).toEqual([])
  })

  it('is no call that runs: that one cannot be decided by hand', async () => {
    const room = await restart()
    const { operation } = await room.ledger.hold(askOf(KEY, 50))
    const resolution = { cost: toNanoUsd(0), by: 'root', reason: 'a mistake' }
    const decided = room.ledger.resolve(operation, resolution).catch(() => 'refused')
    expect(await decided).toBe('refused')
    expect(await room.ledger.end(operation, endOf(operation, 20))).toBe(true)
    expect(room.halts).toEqual([])
  })

  it('is ended when the books can be written, if they cannot when its time has come', async () => {
    const room = await restart({ recovery: 'charge_hold' })
    room.store.fail()
    room.clock.advance(11 * MINUTE_MS)
    await turns()
    expect(standing(room)).toEqual([0, 100])
    room.store.recover()
    room.clock.advance(2000)
    await turns()
    expect(standing(room)).toEqual([100, 0])
    expect(ends(room)).toEqual([100])
  })

  it('does not wait anew after one more restart', async () => {
    const first = await restart()
    first.clock.advance(9 * MINUTE_MS)
    const second = await again(first)
    expect(second.notes).toEqual([])
    second.clock.advance(1000)
    await turns()
    expect(standing(second)).toEqual([35, 0])
    const third = await again(second)
    expect(standing(third)).toEqual([35, 0])
    expect(third.ledger.reviews()).toEqual([])
  })

  it('is ended in time although the books are a day ahead of the clock', async () => {
    const before = await openRoom({ keys: [KEY] })
    await before.ledger.hold(askOf(KEY, 100))
    before.clock.jump(-24 * 60 * MINUTE_MS)
    const room = await again(before)
    expect(room.notes[0]).toStartWith('warn: the clock is 86340 s behind the books')
    room.clock.advance(9 * MINUTE_MS)
    await turns()
    expect(standing(room)).toEqual([0, 100])
    room.clock.advance(MINUTE_MS)
    await turns()
    expect(standing(room)).toEqual([5, 0])
  })

  it('is charged to the hour of its hold', async () => {
    const room = await restart({ recovery: 'charge_hold' }, 48 * 60 * MINUTE_MS)
    room.ledger.put(keyOf(1000, { budgetPeriod: 'daily' }))
    expect(standing(room)).toEqual([0, 0])
    room.clock.advance(10 * MINUTE_MS)
    await turns()
    expect(standing(room)).toEqual([0, 0])
    room.ledger.put(KEY)
    expect(standing(room)).toEqual([100, 0])
  })
})

describe('another supplier', () => {
  it('that is asked is noted, and the estimate is at its price', async () => {
    const before = await openRoom({ keys: [KEY] })
    const { operation } = await before.ledger.hold(askOf(KEY, 100))
    const asked = { supplier: 'second', model: 'm', number: 2 }
    before.ledger.noteAttempt(operation, asked)
    await turns()
    const room = await again(before)
    expect(reviewed(room).asked).toEqual([asked])
    expect(estimateOf(reviewed(room))).toBe(toNanoUsd(10))
  })
})

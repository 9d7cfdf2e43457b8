// Room for a call at the edges: sums that no number holds, money that only a decision sets free, and input that
// nobody had the time to count. None of it stops the process, and every refusal says what is true.
import { describe, expect, it } from 'bun:test'
import {
  askOf,
  boundOf,
  endOf,
  keyOf,
  openRoom,
  turns,
  type Room,
} from '../../test/fakes/ledger.ts'
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { Operation } from './book.ts'
import type { HoldAsk } from './ledger.ts'
import type { LedgerPolicy } from './policy.ts'

const MOST = Number.MAX_SAFE_INTEGER
const THOUSAND_USD = 1_000_000_000_000
const MINUTE_MS = 60_000

async function take({ ledger }: Room, key: KeyRecord, most: number): Promise<Operation> {
  const { operation } = await ledger.hold(askOf(key, most))
  return operation
}

/** Refused at once: nothing is waited for but what waits for nothing itself. */
async function refusal({ ledger }: Room, ask: HoldAsk): Promise<GatewayError> {
  let problem: unknown
  ledger.hold(ask).catch((thrown: unknown) => (problem = thrown))
  await turns()
  if (!(problem instanceof GatewayError)) throw new Error(`not refused at once: ${String(problem)}`)
  return problem
}

function printed({ details }: GatewayError): Readonly<Record<string, unknown>> {
  return JSON.parse(JSON.stringify(details)) as Readonly<Record<string, unknown>>
}

describe('a call of a key without a budget', () => {
  it.each([THOUSAND_USD + 1, MOST])('holds a thousand dollars and no more: %i', async (most) => {
    const key = keyOf(undefined)
    const room = await openRoom({ keys: [key] })
    const bound = boundOf(most)
    const { operation, fit } = await room.ledger.hold(askOf(key, most))
    expect(operation.hold.amount).toBe(toNanoUsd(THOUSAND_USD))
    expect(fit).toEqual({ ...bound.whole()!, amount: toNanoUsd(THOUSAND_USD) })
  })

  it('is told to come back while more is held than can be counted, and what is held comes back exactly', async () => {
    const key = keyOf(undefined)
    const room = await openRoom({ keys: [key] })
    const running: Operation[] = []
    for (let held = THOUSAND_USD; held <= MOST; held += THOUSAND_USD)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      running.push(await take(room, key, THOUSAND_USD))
    expect(running).toHaveLength(9007)
    const problem = await refusal(room, askOf(key, THOUSAND_USD))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryAfter: 1 })
    expect(printed(problem)).toMatchObject({ limit_usd: null, held_usd: 9_007_000 })
    await room.ledger.end(running[0]!, endOf(running[0]!, 3))
    running.push(await take(room, key, THOUSAND_USD))
    await Promise.all(running.slice(1).map((each) => room.ledger.end(each, endOf(each, 0))))
    expect(room.ledger.budgetOf('key_1')).toMatchObject({
      used: toNanoUsd(3),
      held: toNanoUsd(0),
    })
    expect(room.halts).toEqual([])
  })
})

describe('a sum past the exact range', () => {
  it('of what was spent stays at its end, exhausts every limit and stops nothing', async () => {
    const free = keyOf(undefined)
    const room = await openRoom({ keys: [free] })
    for (const cost of [MOST, MOST, 1]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const operation = await take(room, free, 10)
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await room.ledger.end(operation, endOf(operation, cost))).toBe(true)
    }
    expect(room.ledger.budgetOf('key_1').used).toBe(toNanoUsd(MOST))
    room.clock.sleep(60 * MINUTE_MS)
    const operation = await take(room, free, 10)
    await room.ledger.end(operation, endOf(operation, MOST))
    for (const budgetPeriod of ['daily', 'rolling', 'monthly'] as const) {
      const key = keyOf(MOST, { budgetPeriod })
      room.ledger.put(key)
      expect(room.ledger.budgetOf('key_1').used).toBe(toNanoUsd(MOST))
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      expect(await refusal(room, askOf(key, 1))).toMatchObject({ code: 'budget_exceeded' })
    }
    expect(room.halts).toEqual([])
  })
})

describe('a budget that calls in review keep busy', () => {
  async function restart(policy: Partial<LedgerPolicy>, key: KeyRecord): Promise<Room> {
    const { ledger, store, clock } = await openRoom({ keys: [key] })
    await ledger.hold(askOf(key, 700_000_000))
    store.crash()
    await ledger.close()
    return openRoom({ store, clock, policy, keys: [key] })
  }

  const key = keyOf(1_000_000_000)

  it('refuses at once and says what it waits for, and until when', async () => {
    const room = await restart({}, key)
    const problem = await refusal(room, askOf(key, 400_000_000))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryAfter: 60 })
    expect(problem.message).toContain('in review')
    expect(problem.message).toContain('2026-01-15T12:10:00.000Z')
    expect(printed(problem)).toMatchObject({
      held_usd: 0.7,
      review_usd: 0.7,
      resolves_at: '2026-01-15T12:10:00.000Z',
      resolve: expect.stringContaining('/v1/manage/reviews/'),
    })
    room.clock.advance(9.5 * MINUTE_MS)
    expect(await refusal(room, askOf(key, 400_000_000))).toMatchObject({ retryAfter: 30 })
  })

  it('is not worth a retry where only somebody can decide', async () => {
    const room = await restart({ recovery: 'keep' }, key)
    const problem = await refusal(room, askOf(key, 400_000_000))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryable: false })
    expect(problem.retryAfter).toBeUndefined()
    expect(printed(problem)).toMatchObject({ review_usd: 0.7, resolves_at: null })
  })

  it('is waited for where a running call would set enough free', async () => {
    const room = await restart({}, key)
    const running = await take(room, key, 200_000_000)
    const granted = room.ledger.hold(askOf(key, 300_000_000))
    await turns()
    await room.ledger.end(running, endOf(running, 0))
    expect((await granted).fit.amount).toBe(toNanoUsd(300_000_000))
  })

  it('is not waited for any longer when the running call has spent too much for that', async () => {
    const room = await restart({}, key)
    const running = await take(room, key, 200_000_000)
    let problem: unknown
    room.ledger.hold(askOf(key, 300_000_000)).catch((thrown: unknown) => void (problem = thrown))
    await turns()
    expect(problem).toBeUndefined()
    await room.ledger.end(running, endOf(running, 1))
    await turns()
    expect(problem).toMatchObject({ code: 'capacity_exceeded', retryAfter: 60 })
  })

  it('refuses for good what would not fit without them, either', async () => {
    const room = await restart({}, key)
    const problem = await refusal(room, askOf(key, 1_000_000_001))
    expect(problem).toMatchObject({ code: 'budget_exceeded', status: 402 })
  })

  it('shows them apart, until they are decided', async () => {
    const room = await restart({}, key)
    const half = { held: toNanoUsd(700_000_000), inReview: toNanoUsd(700_000_000) }
    expect(room.ledger.budgetOf('key_1')).toMatchObject(half)
    const [operation] = room.ledger.reviews()
    room.store.stall()
    const resolution = { cost: toNanoUsd(1), by: 'root', reason: 'seen on the bill' }
    const resolved = room.ledger.resolve(operation!, resolution)
    expect(room.ledger.budgetOf('key_1')).toMatchObject({ ...half, inReview: toNanoUsd(0) })
    // From now on it is a matter of moments.
    const granted = room.ledger.hold(askOf(key, 400_000_000))
    await turns()
    room.store.recover()
    expect(await resolved).toBe(true)
    expect((await granted).fit.amount).toBe(toNanoUsd(400_000_000))
    expect(room.ledger.budgetOf('key_1').inReview).toBe(toNanoUsd(0))
  })
})

describe('a call whose input could not be counted in time', () => {
  const key = keyOf(100)

  /** Its bytes cost 150, and its tokens 10 at least. */
  function uncounted(least = 10): HoldAsk {
    return askOf(key, 150, {
      tighten: (isWorthwhile) =>
        Promise.resolve(isWorthwhile(boundOf(least)) ? ('late' as const) : ('final' as const)),
    })
  }

  it('is told to come back, since it may fit', async () => {
    const room = await openRoom({ keys: [key] })
    const problem = await refusal(room, uncounted())
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryAfter: 1 })
    expect(problem.message).toContain('could not be counted')
  })

  it('is refused for good where no count could have helped', async () => {
    const room = await openRoom({ keys: [key] })
    expect(await refusal(room, uncounted(101))).toMatchObject({ code: 'budget_exceeded' })
  })

  it('waits in line where running calls keep out even its bytes', async () => {
    const room = await openRoom({ keys: [key] })
    const running = await take(room, key, 60)
    const granted = room.ledger.hold({ ...uncounted(), bound: boundOf(90) })
    await turns()
    await room.ledger.end(running, endOf(running, 0))
    expect((await granted).fit.amount).toBe(toNanoUsd(90))
  })

  it('is a call that failed where the count itself breaks, and nothing stays held', async () => {
    const room = await openRoom({ keys: [key] })
    const broken = askOf(key, 150, { tighten: () => Promise.reject(new Error('no thread')) })
    // oxlint-disable-next-line typescript/await-thenable -- it is one, says the type of bun:test
    await expect(room.ledger.hold(broken)).rejects.toThrow('no thread')
    expect(room.ledger.budgetOf('key_1').held).toBe(toNanoUsd(0))
    expect(room.halts).toEqual([])
  })
})

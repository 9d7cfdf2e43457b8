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
  walletOf,
  type Room,
} from '../../test/fakes/ledger.ts'
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import type { PayerChain } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { WalletRecord } from '../core/tenancy.ts'
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

function chainOf(...ids: readonly string[]): PayerChain {
  return ids.map((walletId) => ({ link: 'caller', walletId }))
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

describe('a call that only payers keep out', () => {
  const key = keyOf(undefined)
  const short = walletOf({ creditLine: toNanoUsd(1_000_000_000) })

  async function openShort(store?: Room['store'], clock?: Room['clock']): Promise<Room> {
    const known = store === undefined || clock === undefined ? {} : { store, clock }
    return openRoom({ ...known, keys: [key], wallets: [short] })
  }

  it('has its input counted before it is refused', async () => {
    const room = await openShort()
    const counted = { tighten: () => Promise.resolve(boundOf(900_000_000)) }
    const { fit } = await room.ledger.hold(askOf(key, 1_100_000_000, counted))
    expect(fit.amount).toBe(toNanoUsd(900_000_000))
  })

  it('is not counted where nobody is there to pay, or no count could help', async () => {
    const room = await openShort()
    let isWorthwhile: boolean | undefined
    const tighten: HoldAsk['tighten'] = async (isWorth) => {
      isWorthwhile = isWorth(boundOf(1_000_000_001))
      return 'final'
    }
    const problem = await refusal(room, askOf(key, 1_100_000_000, { tighten }))
    expect(problem).toMatchObject({ code: 'billing_limit_reached', status: 403, retryable: false })
    expect(isWorthwhile).toBe(false)
    const payers = () => [{ link: 'project', walletId: undefined }] as const
    expect(await refusal(room, askOf(key, 1, { tighten, payers }))).toMatchObject({
      code: 'payment_required',
      status: 402,
    })
    expect(isWorthwhile).toBe(false)
  })

  it('is told to come back where nobody had the time to count it', async () => {
    const room = await openShort()
    const tighten: HoldAsk['tighten'] = async (isWorth) => (isWorth(boundOf(1)) ? 'late' : 'final')
    const problem = await refusal(room, askOf(key, 1_100_000_000, { tighten }))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', retryAfter: 1 })
    expect(problem.message).toContain('could not be counted')
  })

  it('is told of calls in review that hold the money of its payer', async () => {
    const { ledger, store, clock } = await openShort()
    await ledger.hold(askOf(key, 700_000_000))
    store.crash()
    await ledger.close()
    const problem = await refusal(await openShort(store, clock), askOf(key, 400_000_000))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryAfter: 60 })
    expect(printed(problem)).toMatchObject({
      wallet_id: 'wal_1',
      held_usd: 0.7,
      review_usd: 0.7,
      resolves_at: '2026-01-15T12:10:00.000Z',
      payers: [
        {
          link: 'caller',
          wallet_id: 'wal_1',
          why: 'busy',
          available_usd: 0.3,
          mend: expect.stringContaining('POST /v1/manage/reviews/{request_id}'),
        },
      ],
    })
  })

  /** A call of so much is in review with this wallet. */
  async function restart(
    amount: number,
    wallet: WalletRecord,
    policy: Partial<LedgerPolicy> = {},
  ): Promise<Room> {
    const { ledger, store, clock } = await openRoom({ keys: [key], wallets: [wallet] })
    await ledger.hold(askOf(key, amount))
    store.crash()
    await ledger.close()
    return openRoom({ store, clock, policy, keys: [key], wallets: [wallet] })
  }

  it('is told of calls in review that keep it out by a spending limit alone', async () => {
    const limited = walletOf({ spendingLimit: toNanoUsd(1_000_000_000) })
    const room = await restart(700_000_000, limited)
    const problem = await refusal(room, askOf(key, 400_000_000))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', retryAfter: 60 })
    expect(problem.message).toContain('in review')
  })

  it('is told what is in review apart from what calls hold that run', async () => {
    const room = await restart(500_000_000, short)
    await take(room, key, 300_000_000)
    const problem = await refusal(room, askOf(key, 600_000_000))
    expect(printed(problem)).toMatchObject({ held_usd: 0.8, review_usd: 0.5 })
  })

  it('is not worth a retry where only somebody can decide on what its payer holds', async () => {
    const room = await restart(700_000_000, short, { recovery: 'keep' })
    const problem = await refusal(room, askOf(key, 400_000_000))
    expect(problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryable: false })
    expect(problem.retryAfter).toBeUndefined()
    expect(printed(problem)).toMatchObject({ review_usd: 0.7, resolves_at: null })
  })

  it('waits where what its payer holds in review is decided', async () => {
    const room = await restart(700_000_000, short)
    const [operation] = room.ledger.reviews()
    expect(room.ledger.walletState('wal_1').inReview).toBe(toNanoUsd(700_000_000))
    room.store.stall()
    const resolution = { cost: toNanoUsd(1), by: 'root', reason: 'seen on the bill' }
    const resolved = room.ledger.resolve(operation!, resolution)
    expect(room.ledger.walletState('wal_1').inReview).toBe(toNanoUsd(0))
    const granted = room.ledger.hold(askOf(key, 400_000_000))
    await turns()
    room.store.recover()
    await resolved
    expect((await granted).fit.amount).toBe(toNanoUsd(400_000_000))
  })

  it('is told the figures of whoever came nearest to paying', async () => {
    const wallets = [
      walletOf({ id: 'wal_far', creditLine: toNanoUsd(5) }),
      walletOf({ id: 'wal_near', creditLine: toNanoUsd(8) }),
    ]
    const room = await openRoom({ keys: [key], wallets })
    for (const ids of [
      ['wal_far', 'wal_near'],
      ['wal_near', 'wal_far'],
    ]) {
      const problem = await refusal(room, askOf(key, 10, { payers: () => chainOf(...ids) }))
      expect(printed(problem)).toMatchObject({ wallet_id: 'wal_near' })
    }
  })

  it('is told of each place what would mend it, and nothing that would not', async () => {
    const limits = { spendingLimit: toNanoUsd(5), spendingPeriod: 'daily' } as const
    const wallets = [
      walletOf({ id: 'wal_poor', creditLine: toNanoUsd(5) }),
      walletOf({ id: 'wal_limited', ...limits }),
      walletOf({ id: 'wal_both', creditLine: toNanoUsd(4), ...limits }),
      walletOf({ id: 'wal_closed', endedAt: 1 }),
    ]
    const room = await openRoom({ keys: [key], wallets })
    const told = async (ids: readonly (string | undefined)[]) => {
      const chain = ids.map((walletId) => ({ link: 'caller', walletId }) as const)
      const problem = await refusal(room, askOf(key, 10, { payers: () => chain }))
      const { payers = [], raise } = printed(problem)
      const places = payers as readonly { why: string; mend: string }[]
      return { raise, message: problem.message, places }
    }
    const credit = (id: string): string =>
      `credit it, by POST /v1/manage/wallets/${id}/credits, or raise its credit line, by PATCH /v1/manage/wallets/${id}`
    const raise = (id: string): string =>
      `raise its spending limit, by PATCH /v1/manage/wallets/${id}, or wait until 2026-01-16T00:00:00.000Z`
    const { places } = await told([undefined, 'wal_closed', 'wal_poor', 'wal_limited', 'wal_both'])
    expect(places.map(({ why, mend }) => [why, mend])).toEqual([
      ['none', 'open a wallet for whoever stands here, by POST /v1/manage/wallets'],
      ['closed', 'open another in its place, by POST /v1/manage/wallets'],
      ['funds', credit('wal_poor')],
      ['limit', raise('wal_limited')],
      ['funds', `${credit('wal_both')}; and ${raise('wal_both')}`],
    ])
    const limited = await told(['wal_limited'])
    expect(limited.raise).toBe(`the holder of the root key: ${raise('wal_limited')}`)
    expect(limited.message).not.toContain('credited')
    expect((await told(['wal_poor'])).message).not.toContain('limit raised')
    const mixed = await told(['wal_poor', 'wal_limited'])
    expect(mixed.message).toContain('credited')
    expect(mixed.message).toContain('spending limit raised')
  })

  it('is refused where it is free and its payer owes more than it may, as by its key', async () => {
    const room = await openRoom({ keys: [key], wallets: [short] })
    const spent = await take(room, key, 1_000_000_000)
    await room.ledger.end(spent, endOf(spent, 1_000_000_000))
    expect((await take(room, key, 0)).hold.amount).toBe(toNanoUsd(0))
    room.ledger.putWallet(walletOf({ creditLine: toNanoUsd(1) }))
    for (const fitsBudget of [true, false]) {
      const problem = await refusal(room, askOf({ ...key, fitsBudget }, 0))
      expect(problem).toMatchObject({ code: 'billing_limit_reached', status: 403 })
    }
    expect(room.halts).toEqual([])
  })

  it('is held at the most that it can cost, where whoever has no end would hold a thousand dollars', async () => {
    const most = THOUSAND_USD + 5
    const rich = walletOf({ creditLine: toNanoUsd(2 * THOUSAND_USD) })
    const room = await openRoom({ keys: [key], wallets: [rich] })
    expect((await take(room, key, most)).hold.amount).toBe(toNanoUsd(most))
    const endless = askOf(key, 0, { bound: boundOf(undefined) })
    expect(await refusal(room, endless)).toMatchObject({ code: 'billing_limit_reached' })
  })

  it('is told to come back while more is held of its payer than can be counted', async () => {
    const rich = walletOf({ creditLine: toNanoUsd(MOST) })
    const room = await openRoom({ keys: [key], wallets: [rich] })
    await room.ledger.credit('wal_1', toNanoUsd(MOST), async () => {})
    await take(room, keyOf(undefined, { id: 'key_2' }), MOST)
    expect(await refusal(room, askOf(key, 1))).toMatchObject({
      code: 'capacity_exceeded',
      retryAfter: 1,
    })
    expect(room.halts).toEqual([])
  })

  it('waits for a wallet and not for its key, and goes on when a call of another key ends', async () => {
    const other = keyOf(undefined, { id: 'key_2' })
    const room = await openShort()
    const running = await take(room, other, 800_000_000)
    const granted = room.ledger.hold(askOf(key, 900_000_000))
    await turns()
    await room.ledger.end(running, endOf(running, 100_000_000))
    expect((await granted).fit.amount).toBe(toNanoUsd(900_000_000))
  })

  it.each<readonly [first: string, second: string]>([
    ['wal_busy', 'wal_poor'],
    ['wal_poor', 'wal_busy'],
  ])('waits where one payer has nothing and another is busy: %s, %s', async (first, second) => {
    const wallets = [
      walletOf({ id: 'wal_busy', creditLine: toNanoUsd(10) }),
      walletOf({ id: 'wal_poor', creditLine: toNanoUsd(5) }),
    ]
    const room = await openRoom({ keys: [key], wallets })
    const payers = (): PayerChain => chainOf(first, second)
    const { operation } = await room.ledger.hold(askOf(key, 8, { payers }))
    const granted = room.ledger.hold(askOf(key, 9, { payers }))
    await turns()
    await room.ledger.end(operation, endOf(operation, 0))
    expect((await granted).operation.wallet?.id).toBe('wal_busy')
  })

  it('takes a quarter of what is left where calls of other keys share its payer', async () => {
    const room = await openShort()
    await take(room, keyOf(undefined, { id: 'key_2' }), 200_000_000)
    const bound = boundOf(5_000_000_000, 1)
    const { fit } = await room.ledger.hold(askOf(key, 0, { bound }))
    expect(fit.amount).toBe(toNanoUsd(200_000_000))
  })

  it('goes on when its key is changed so that less will do', async () => {
    const room = await openShort()
    await take(room, keyOf(undefined, { id: 'key_2' }), 900_000_000)
    let current = keyOf(undefined, { fitsBudget: false })
    const bound = boundOf(500_000_000, 1)
    const granted = room.ledger.hold(askOf(current, 0, { bound, current: () => current }))
    await turns()
    current = key
    room.ledger.put(key)
    expect((await granted).fit.amount).toBe(toNanoUsd(25_000_000))
  })

  it('goes on when what another key held of its payer could not be made durable', async () => {
    const room = await openShort()
    room.store.stall()
    const other = askOf(keyOf(undefined, { id: 'key_2' }), 800_000_000)
    const failed = room.ledger.hold(other).catch((thrown: unknown) => thrown)
    const granted = room.ledger.hold(askOf(key, 900_000_000))
    await turns()
    // The store stays well: it knows the Idempotency-Key of the other already.
    room.store.onRefused = () => room.store.recover()
    room.store.fail(new GatewayError('operation_in_progress'))
    expect(await failed).toMatchObject({ code: 'operation_in_progress' })
    expect((await granted).fit.amount).toBe(toNanoUsd(900_000_000))
  })

  it('goes on with whoever else is asked by then', async () => {
    const room = await openRoom({ keys: [key], wallets: [short, walletOf({ id: 'wal_2' })] })
    await take(room, key, 800_000_000)
    let payers = chainOf('wal_1')
    const granted = room.ledger.hold(askOf(key, 900_000_000, { payers: () => payers }))
    await turns()
    payers = chainOf('wal_2')
    room.ledger.put(key)
    expect((await granted).operation.wallet?.id).toBe('wal_2')
  })

  it('is refused when the wallet is closed while it waits, and a running call still ends', async () => {
    const room = await openShort()
    const running = await take(room, key, 800_000_000)
    let problem: unknown
    room.ledger.hold(askOf(key, 900_000_000)).catch((thrown: unknown) => (problem = thrown))
    await turns()
    room.ledger.putWallet({ ...short, endedAt: 1 })
    await turns()
    expect(problem).toMatchObject({ code: 'payment_required' })
    expect(await room.ledger.end(running, endOf(running, 5))).toBe(true)
    expect(room.ledger.walletState('wal_1')).toMatchObject({ balance: -5n, held: 0 })
  })
})

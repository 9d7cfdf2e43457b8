// The books of a running gateway: what is granted, refused, waited for and made durable, with a store that
// fails and a clock that only moves when it is told to.
import { describe, expect, it } from 'bun:test'
import type { AuditRow } from '../core/audit.ts'
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { LedgerRecord } from '../core/record.ts'
import {
  askOf,
  boundOf,
  endOf,
  keyOf,
  openRoom,
  turns,
  type Room,
} from '../../test/fakes/ledger.ts'
import type { MemoryStore } from '../../test/fakes/memory-store.ts'
import type { Operation } from './book.ts'
import type { Granted } from './ledger.ts'

const DAY_MS = 86_400_000

interface Watched<Value> {
  value?: Value
  problem?: unknown
}

/** What became of a promise so far. */
function watch<Value>(promise: Promise<Value>): Watched<Value> {
  const seen: Watched<Value> = {}
  promise.then(
    (value) => (seen.value = value),
    (thrown: unknown) => (seen.problem = thrown),
  )
  return seen
}

async function problemOf(promise: Promise<unknown>): Promise<GatewayError> {
  const seen = watch(promise)
  await turns()
  if (!(seen.problem instanceof GatewayError)) throw new Error('no problem was raised')
  return seen.problem
}

async function take(room: Room, key: KeyRecord, most: number): Promise<Operation> {
  const { operation } = await room.ledger.hold(askOf(key, most))
  return operation
}

function standing({ ledger }: Room, keyId = 'key_1'): readonly [used: number, held: number] {
  const { used, held } = ledger.budgetOf(keyId)
  return [used, held]
}

function rowsOf({ records }: MemoryStore): readonly AuditRow[] {
  return records.flatMap((record) => (record.type === 'audit' ? [record.row] : []))
}

function notesOf({ records }: MemoryStore, kind: string): readonly LedgerRecord[] {
  return records.filter((record) => record.type === 'note' && record.note.kind === kind)
}

function codeOf({ problem }: Watched<unknown>): string | undefined {
  return problem instanceof GatewayError ? problem.code : undefined
}

describe('a hold', () => {
  it('is granted when it is durable, and counts before that', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    room.store.stall()
    const seen = watch(room.ledger.hold(askOf(key, 60)))
    await turns()
    expect(seen).toEqual({})
    expect(standing(room)).toEqual([0, 60])
    room.store.recover()
    await turns()
    expect(seen.value?.operation.hold).toMatchObject({ keyId: 'key_1', amount: toNanoUsd(60) })
    expect(room.store.records).toHaveLength(1)
  })

  it('that cannot be made durable is withdrawn, and the caller told to come back', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    room.store.fail()
    const problem = await problemOf(room.ledger.hold(askOf(key, 60)))
    expect(problem).toMatchObject({ code: 'billing_unavailable', status: 503, retryAfter: 1 })
    expect(standing(room)).toEqual([0, 0])
    expect(room.ledger.openCount).toBe(0)
    expect(room.store.records).toEqual([])
    expect(room.halts).toEqual([])
  })

  it('names the budget that allowed it, and the time and hour of the books', async () => {
    const key = keyOf(100, { budgetPeriod: 'daily' })
    const room = await openRoom({ keys: [key] })
    const { hold } = await take(room, key, 60)
    const at = room.clock.now()
    expect(hold).toMatchObject({ limit: toNanoUsd(100), period: 'daily', at, hour: at / 3_600_000 })
    room.ledger.put(keyOf(undefined))
    const free = await take(room, key, 60)
    expect(free.hold).toMatchObject({ limit: undefined, period: undefined })
  })

  it('of a key without a budget is the whole worst case, or a thousand dollars where nothing bounds it', async () => {
    const key = keyOf(undefined)
    const room = await openRoom({ keys: [key] })
    const bounded = await take(room, key, 60)
    expect(bounded.hold.amount).toBe(toNanoUsd(60))
    const { fit } = await room.ledger.hold(askOf(key, 0, { bound: boundOf(undefined) }))
    expect(fit.amount).toBe(toNanoUsd(1_000_000_000_000))
  })

  it.each([0, 1, 37, 499])(
    'is granted to exactly %p of 500 who ask at once, with room for as many',
    async (count) => {
      const key = keyOf(count * 10)
      const room = await openRoom({ keys: [key] })
      const seen = Array.from({ length: 500 }, () => watch(room.ledger.hold(askOf(key, 10))))
      await turns()
      expect(seen.filter(({ value }) => value !== undefined)).toHaveLength(count)
      expect(standing(room)).toEqual([0, count * 10])
      room.clock.advance(1000)
      await turns()
      const refused = seen.flatMap((each) => codeOf(each) ?? [])
      expect(refused).toHaveLength(500 - count)
      expect(new Set(refused)).toEqual(
        new Set([count === 0 ? 'budget_exceeded' : 'capacity_exceeded']),
      )
      expect(standing(room)).toEqual([0, count * 10])
    },
  )

  it('is bound by a limit from the moment in which it is set', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const running = await take(room, key, 60)
    room.ledger.put(keyOf(50))
    expect(await problemOf(room.ledger.hold(askOf(key, 51)))).toMatchObject({ status: 402 })
    const seen = watch(room.ledger.hold(askOf(key, 1)))
    await turns()
    expect(seen).toEqual({})
    await room.ledger.end(running, endOf(running, 49))
    await turns()
    expect(seen.value?.operation.hold.amount).toBe(toNanoUsd(1))
    expect(standing(room)).toEqual([49, 1])
  })

  it('is cut down to what is left where the key allows that', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const { fit } = await room.ledger.hold(askOf(key, 0, { bound: boundOf(500, 20) }))
    expect(fit.amount).toBe(toNanoUsd(100))
    const strict = { ...key, fitsBudget: false }
    const room2 = await openRoom({ keys: [strict] })
    const refused = room2.ledger.hold(askOf(strict, 0, { bound: boundOf(500, 20) }))
    expect(await problemOf(refused)).toMatchObject({ code: 'budget_exceeded' })
  })

  it('is asked for a closer bound before it is refused, and only then', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    let counted = 0
    const tighten = (): Promise<ReturnType<typeof boundOf>> => {
      counted += 1
      return Promise.resolve(boundOf(40))
    }
    await room.ledger.hold(askOf(key, 60, { tighten }))
    expect(counted).toBe(0)
    const { fit } = await room.ledger.hold(askOf(key, 60, { tighten }))
    expect(counted).toBe(1)
    expect(fit.amount).toBe(toNanoUsd(40))
  })
})

describe('a hold under an Idempotency-Key that the store has seen before', () => {
  it('is refused alone: others go on, and nothing stays held', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    room.store.fail(new GatewayError('operation_in_progress'))
    const problem = await problemOf(room.ledger.hold(askOf(key, 60)))
    room.store.recover()
    expect(problem.code).toBe('operation_in_progress')
    expect(room.ledger.downSince).toBeUndefined()
    expect(standing(room)).toEqual([0, 0])
    expect((await take(room, key, 100)).hold.amount).toBe(toNanoUsd(100))
  })
})

describe('a refusal', () => {
  it('for money that is spent is final, and can be checked against the key', async () => {
    const key = keyOf(1_000_000_000, { budgetPeriod: 'daily' })
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 900_000_000)
    await room.ledger.end(operation, endOf(operation, 800_000_000))
    const problem = await problemOf(room.ledger.hold(askOf(key, 200_000_001)))
    expect(problem).toMatchObject({ code: 'budget_exceeded', status: 402, retryable: false })
    expect(JSON.stringify(problem.details)).toBe(
      '{"limit_usd":1,"used_usd":0.8,"held_usd":0,"estimate_usd":0.200000001,' +
        '"resets_at":"2026-01-16T00:00:00.000Z",' +
        '"raise":"the holder of the root key, by PATCH /v1/manage/keys/key_1"}',
    )
  })

  it('for money that running calls hold is worth a retry', async () => {
    const key = keyOf(1_000_000_000)
    const room = await openRoom({ keys: [key] })
    await take(room, key, 900_000_000)
    const seen = watch(room.ledger.hold(askOf(key, 200_000_000)))
    await turns()
    room.clock.advance(1000)
    await turns()
    expect(seen.problem).toMatchObject({ code: 'capacity_exceeded', status: 429, retryAfter: 1 })
    expect(JSON.stringify((seen.problem as GatewayError).details)).toContain(
      '"used_usd":0,"held_usd":0.9,"estimate_usd":0.2',
    )
  })
})

describe('a call that others keep out', () => {
  async function busy(): Promise<{
    readonly room: Room
    readonly key: KeyRecord
    readonly running: Operation
    readonly waiting: Watched<Granted>
  }> {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const running = await take(room, key, 80)
    const waiting = watch(room.ledger.hold(askOf(key, 50)))
    await turns()
    expect(waiting).toEqual({})
    return { room, key, running, waiting }
  }

  it('goes on when one of them ends', async () => {
    const { room, running, waiting } = await busy()
    room.clock.advance(999)
    await room.ledger.end(running, endOf(running, 50))
    await turns()
    expect(waiting.value?.operation.hold.amount).toBe(toNanoUsd(50))
    expect(standing(room)).toEqual([50, 50])
  })

  it('goes on when the limit is raised', async () => {
    const { room, waiting } = await busy()
    room.ledger.put(keyOf(129))
    await turns()
    expect(waiting).toEqual({})
    room.ledger.put(keyOf(130))
    await turns()
    expect(waiting.value?.operation.hold.amount).toBe(toNanoUsd(50))
  })

  it('goes on when the limit is taken away', async () => {
    const { room, waiting } = await busy()
    room.ledger.put(keyOf(undefined))
    await turns()
    expect(waiting.value?.operation.hold).toMatchObject({ limit: undefined })
  })

  it('is refused for good as soon as what it needs is spent', async () => {
    const { room, running, waiting } = await busy()
    await room.ledger.end(running, endOf(running, 51))
    await turns()
    expect(waiting.problem).toMatchObject({ code: 'budget_exceeded', status: 402 })
    expect(standing(room)).toEqual([51, 0])
  })

  it('is told to come back after a second', async () => {
    const { room, running, waiting } = await busy()
    room.clock.advance(999)
    await turns()
    expect(waiting).toEqual({})
    room.clock.advance(1)
    await turns()
    expect(waiting.problem).toMatchObject({ code: 'capacity_exceeded', status: 429 })
    await room.ledger.end(running, endOf(running, 0))
    await turns()
    expect(standing(room)).toEqual([0, 0])
  })

  it('goes on in the order of arrival, and no more go on than there is room for', async () => {
    const { room, key, running, waiting } = await busy()
    const second = watch(room.ledger.hold(askOf(key, 50)))
    const third = watch(room.ledger.hold(askOf(key, 50)))
    await turns()
    await room.ledger.end(running, endOf(running, undefined))
    await turns()
    expect(waiting.value).toBeDefined()
    expect(second.value).toBeDefined()
    expect(third).toEqual({})
    expect(standing(room)).toEqual([0, 100])
  })

  it('waits while what the other has set free is not durably free', async () => {
    const { room, running, waiting } = await busy()
    room.store.stall()
    const ending = watch(room.ledger.end(running, endOf(running, undefined)))
    await turns()
    expect([ending, waiting]).toEqual([{}, {}])
    room.store.recover()
    await turns()
    expect(ending.value).toBe(true)
    expect(waiting.value).toBeDefined()
  })
})

describe('a line of calls', () => {
  it('is told at once when the books cannot be written', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    await take(room, key, 100)
    const waiting = [10, 20].map((most) => watch(room.ledger.hold(askOf(key, most))))
    await turns()
    room.store.fail()
    room.ledger.put(keyOf(110))
    await turns()
    expect(waiting.map(codeOf)).toEqual(['billing_unavailable', 'billing_unavailable'])
    expect(standing(room)).toEqual([0, 100])
  })
})

describe('an end', () => {
  it('counts when it is durable, and not before', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 60)
    room.store.stall()
    const seen = watch(room.ledger.end(operation, endOf(operation, 25)))
    await turns()
    expect(seen).toEqual({})
    expect(standing(room)).toEqual([0, 60])
    room.store.recover()
    await turns()
    expect(seen.value).toBe(true)
    expect(standing(room)).toEqual([25, 0])
    expect(room.clock.listeners()).toBe(1)
  })

  it('that is void gives everything back', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 60)
    expect(await room.ledger.end(operation, endOf(operation, undefined))).toBe(true)
    expect(standing(room)).toEqual([0, 0])
  })

  it('is waited for two seconds when the store does not answer, and counts when it does', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 60)
    room.store.stall()
    const seen = watch(room.ledger.end(operation, endOf(operation, 25)))
    room.clock.advance(1000)
    await turns()
    expect(seen).toEqual({})
    room.clock.advance(1000)
    await turns()
    expect(seen.value).toBe(false)
    expect(standing(room)).toEqual([0, 60])
    room.store.recover()
    await turns()
    expect(standing(room)).toEqual([25, 0])
    expect(rowsOf(room.store)).toHaveLength(1)
    expect(room.ledger.downSince).toBeUndefined()
  })

  it('is waited for by whoever closes the books, unless they cannot be written', async () => {
    const key = keyOf(100)
    const room = await openRoom({ keys: [key] })
    expect(room.ledger.isIdle).toBe(true)
    const operation = await take(room, key, 60)
    room.store.stall()
    void room.ledger.end(operation, endOf(operation, 25))
    expect(room.ledger.isIdle).toBe(false)
    room.store.fail()
    await turns()
    expect([room.ledger.isIdle, room.ledger.openCount]).toEqual([true, 1])
  })

  it('in a later period is charged to that of its hold', async () => {
    const key = keyOf(100, { budgetPeriod: 'daily' })
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 60)
    room.clock.sleep(DAY_MS)
    expect(standing(room)).toEqual([0, 0])
    await room.ledger.end(operation, endOf(operation, 25))
    expect(standing(room)).toEqual([0, 0])
    room.ledger.put(keyOf(100, { budgetPeriod: 'monthly' }))
    expect(standing(room)).toEqual([25, 0])
  })
})

describe('books that cannot be written', () => {
  async function failing(): Promise<{
    readonly room: Room
    readonly key: KeyRecord
    readonly operations: readonly [Operation, Operation]
  }> {
    const key = keyOf(1000)
    const room = await openRoom({ keys: [key] })
    const operations = [await take(room, key, 60), await take(room, key, 70)] as const
    room.store.fail()
    return { room, key, operations }
  }

  it('let an answer go at once, and keep its hold', async () => {
    const { room, operations } = await failing()
    expect(await room.ledger.end(operations[0], endOf(operations[0], 25))).toBe(false)
    expect(standing(room)).toEqual([0, 130])
    expect(room.ledger.downSince).toBe(room.clock.elapsed())
  })

  it('refuse new calls and say so once, however long it lasts', async () => {
    const { room, key, operations } = await failing()
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    for (let minute = 0; minute < 3; minute++) {
      room.clock.advance(60_000)
      expect(await problemOf(room.ledger.hold(askOf(key, 1)))).toMatchObject({ status: 503 })
    }
    expect(standing(room)).toEqual([0, 130])
    expect(room.notes).toEqual([
      'error: the books cannot be written; new calls are refused until they can',
    ])
  })

  it('are written later, with what the callers were not told, and calls go on', async () => {
    const { room, key, operations } = await failing()
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    const row = endOf(operations[1], 30, { stream: true })
    await room.ledger.end(operations[1], row)
    room.clock.advance(5000)
    await turns()
    room.store.recover()
    expect(await problemOf(room.ledger.hold(askOf(key, 1)))).toMatchObject({ status: 503 })
    room.clock.advance(1000)
    await turns()
    expect(rowsOf(room.store).map(({ code, cost }) => [code, Number(cost)])).toEqual([
      ['supplier_settlement_failed', 25],
      ['streaming_settlement_failed', 30],
    ])
    expect(standing(room)).toEqual([55, 0])
    expect(room.ledger.downSince).toBeUndefined()
    expect(notesOf(room.store, 'resumed')).toMatchObject([{ note: { body: '{"downMs":6000}' } }])
    await take(room, key, 60)
    room.clock.advance(60_000)
    await turns()
    expect(rowsOf(room.store)).toHaveLength(2)
  })

  it('keep the code of a call that had failed anyway', async () => {
    const { room, operations } = await failing()
    const row = endOf(operations[0], undefined, { code: 'provider_error', status: 502 })
    await room.ledger.end(operations[0], row)
    room.store.recover()
    room.clock.advance(1000)
    await turns()
    expect(rowsOf(room.store)).toEqual([row])
  })

  it('lose no end that fails while earlier ones are written', async () => {
    const { room, operations } = await failing()
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    room.store.recover()
    room.store.stall()
    const slow = watch(room.ledger.end(operations[1], endOf(operations[1], 30)))
    room.clock.advance(1000)
    room.store.fail()
    await turns()
    expect(slow.value).toBe(false)
    expect(room.store.records).toHaveLength(2)
    room.store.recover()
    room.clock.advance(1000)
    await turns()
    expect(
      rowsOf(room.store)
        .map(({ cost }) => Number(cost))
        .sort((one, other) => one - other),
    ).toEqual([25, 30])
    expect(standing(room)).toEqual([55, 0])
  })

  it('are written once when the store is slow to take them', async () => {
    const { room, operations } = await failing()
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    room.store.recover()
    room.store.stall()
    room.clock.advance(10_000)
    expect(room.store.waiting).toBe(1)
    room.store.recover()
    await turns()
    room.clock.advance(10_000)
    await turns()
    expect(rowsOf(room.store)).toHaveLength(1)
    expect(standing(room)).toEqual([25, 70])
  })

  it('are written at the end of the process if they can be', async () => {
    const { room, operations } = await failing()
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    room.store.recover()
    await room.ledger.close()
    expect(rowsOf(room.store)).toHaveLength(1)
    expect(room.clock.listeners()).toBe(0)
  })

  it('are noticed by a hold as well, and by a note that nobody waits for', async () => {
    const { room, key, operations } = await failing()
    room.ledger.noteProgress(operations[0], 5)
    await turns()
    expect(room.ledger.downSince).toBeDefined()
    room.store.recover()
    room.clock.advance(1000)
    await turns()
    await take(room, key, 1)
    room.store.fail()
    await problemOf(room.ledger.hold(askOf(key, 1)))
    expect(room.ledger.downSince).toBeDefined()
  })

  it('stop the process when the disk lies', async () => {
    const { room, key, operations } = await failing()
    const lie = new GatewayError('billing_unavailable', 'sync failed', { details: { fatal: true } })
    room.store.fail(lie)
    await room.ledger.end(operations[0], endOf(operations[0], 25))
    expect(room.halts).toEqual([lie])
    await problemOf(room.ledger.hold(askOf(key, 1)))
    expect(room.halts).toEqual([lie, lie])
  })
})

describe('what a budget shows', () => {
  it('is what is enforced, also when the clock is set', async () => {
    const key = keyOf(100, { budgetPeriod: 'daily' })
    const room = await openRoom({ keys: [key] })
    const operation = await take(room, key, 100)
    await room.ledger.end(operation, endOf(operation, 100))
    const resetsAt = Date.UTC(2026, 0, 16)
    room.clock.jump(DAY_MS)
    expect(room.ledger.budgetOf('key_1')).toMatchObject({ used: toNanoUsd(100), resetsAt })
    room.clock.advance(599_000)
    expect(await problemOf(room.ledger.hold(askOf(key, 1)))).toMatchObject({ status: 402 })
    expect(room.notes).toHaveLength(1)
    expect(room.notes[0]).toStartWith('warn: the clock jumped by 86400 s')
    room.clock.jump(-2 * DAY_MS)
    room.clock.advance(3_600_000)
    expect(room.ledger.budgetOf('key_1')).toMatchObject({ used: toNanoUsd(100), resetsAt })
  })

  it('of a key that nobody has called is nothing', async () => {
    const room = await openRoom({ keys: [keyOf(5, { budgetPeriod: 'rolling' })] })
    expect(room.ledger.budgetOf('key_1')).toEqual({
      limit: toNanoUsd(5),
      period: 'rolling',
      used: toNanoUsd(0),
      held: toNanoUsd(0),
      inReview: toNanoUsd(0),
      resetsAt: undefined,
    })
  })
})

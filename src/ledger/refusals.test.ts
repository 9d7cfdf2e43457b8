// Refusals leave rows, but a client that runs wild leaves one a second of each kind, and none is uncounted.
import { describe, expect, it } from 'bun:test'
import { array, assert, constantFrom, nat, property, record } from 'fast-check'
import type { AuditRow } from '../core/audit.ts'
import { createFakeClock, type FakeClock } from '../../test/fakes/clock.ts'
import { openRoom, refusedRow } from '../../test/fakes/ledger.ts'
import { Refusals } from './refusals.ts'

const KINDS_MAX = 10_000

function open(): {
  readonly clock: FakeClock
  readonly refusals: Refusals
  readonly rows: AuditRow[]
} {
  const clock = createFakeClock()
  const rows: AuditRow[] = []
  const refusals = new Refusals(clock, (records) => {
    for (const record of records) if (record.type === 'audit') rows.push(record.row)
  })
  clock.everySecond({ tick: () => refusals.tick() })
  return { clock, refusals, rows }
}

function counts(rows: readonly AuditRow[]): readonly number[] {
  return rows.map(({ count }) => count)
}

describe('refusals', () => {
  it('leave a row at once when there was none lately', () => {
    const { refusals, rows } = open()
    const row = refusedRow()
    refusals.note(row)
    expect(rows).toEqual([row])
  })

  it('that are alike leave one row a second, the last of them, with how many it stands for', () => {
    const { clock, refusals, rows } = open()
    for (let times = 1; times <= 100; times++)
      refusals.note(refusedRow({ requestId: `req_${times}` }))
    expect(counts(rows)).toEqual([1])
    clock.advance(1000)
    expect(counts(rows)).toEqual([1, 99])
    expect(rows[1]?.requestId).toBe('req_100')
    clock.advance(500)
    refusals.note(refusedRow())
    refusals.note(refusedRow())
    clock.advance(499)
    expect(counts(rows)).toEqual([1, 99])
    clock.advance(501)
    expect(counts(rows)).toEqual([1, 99, 2])
  })

  it('after a quiet second leave a row at once again', () => {
    const { clock, refusals, rows } = open()
    refusals.note(refusedRow())
    clock.advance(2000)
    expect(counts(rows)).toEqual([1])
    refusals.note(refusedRow())
    expect(counts(rows)).toEqual([1, 1])
  })

  it('of another key, or for another reason, are counted apart', () => {
    const { refusals, rows } = open()
    refusals.note(refusedRow({ keyId: 'key_1', code: 'budget_exceeded' }))
    refusals.note(refusedRow({ keyId: 'key_2', code: 'budget_exceeded' }))
    refusals.note(refusedRow({ keyId: 'key_1', code: 'rate_limit_exceeded' }))
    expect(rows).toHaveLength(3)
  })

  it('that were counted and not yet written are written at the end', () => {
    const { refusals, rows } = open()
    for (let times = 0; times < 5; times++) refusals.note(refusedRow())
    refusals.tick(true)
    expect(counts(rows)).toEqual([1, 4])
    refusals.tick(true)
    expect(counts(rows)).toEqual([1, 4])
  })

  it('of more kinds than can be counted leave no row until the next second', () => {
    const { clock, refusals, rows } = open()
    for (let kind = 0; kind <= KINDS_MAX; kind++)
      refusals.note(refusedRow({ keyId: `key_${kind}` }))
    expect(rows).toHaveLength(KINDS_MAX)
    clock.advance(1000)
    refusals.note(refusedRow({ keyId: 'key_new' }))
    expect(rows).toHaveLength(KINDS_MAX + 1)
  })

  it('are all counted, and never twice in a second of one kind', () => {
    const steps = array(
      record({ keyId: constantFrom('key_1', 'key_2'), times: nat(5), wait: nat(1500) }),
      { maxLength: 30 },
    )
    assert(
      property(steps, (steps) => {
        const { clock, refusals, rows } = open()
        const writtenAt = new Map<string, number[]>()
        let seen = 0
        const look = (): void => {
          for (const { keyId } of rows.slice(seen))
            writtenAt.set(keyId, [...(writtenAt.get(keyId) ?? []), clock.elapsed()])
          seen = rows.length
        }
        clock.everySecond({ tick: look })
        for (const { keyId, times, wait } of steps) {
          for (let time = 0; time < times; time++) refusals.note(refusedRow({ keyId }))
          look()
          clock.advance(wait)
        }
        for (const moments of writtenAt.values())
          for (const [index, moment] of moments.entries())
            expect(moment - (moments[index - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1000)
        refusals.tick(true)
        expect(counts(rows).reduce((sum, count) => sum + count, 0)).toBe(
          steps.reduce((sum, { times }) => sum + times, 0),
        )
      }),
    )
  })
})

describe('a ledger', () => {
  it('writes refusals once a second, and what is left at its end', async () => {
    const room = await openRoom()
    for (let times = 0; times < 3; times++) room.ledger.refuse(refusedRow())
    room.clock.advance(1000)
    for (let times = 0; times < 4; times++) room.ledger.refuse(refusedRow())
    await room.ledger.close()
    const written = room.store.records.flatMap((each) => (each.type === 'audit' ? [each.row] : []))
    expect(counts(written)).toEqual([1, 2, 4])
  })
})

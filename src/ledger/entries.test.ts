// What a record books: two accounts by one amount each time, and nothing at all unless money moved.
import { describe, expect, it } from 'bun:test'
import { Clerk, payerText } from '../../test/fakes/books.ts'
import type { AuditRow } from '../core/audit.ts'
import { toNanoUsd } from '../core/money.ts'
import { bookTo, entriesOf, sumOf, type Accounts } from './entries.ts'

const clerk = new Clerk()
const hold = clerk.hold('key_a', 500_000)!

function booked(change: Partial<AuditRow>): readonly string[] {
  const row = clerk.end(hold, change)
  return entriesOf({ type: 'audit', row }).map(
    ({ debit, credit, amount }) => `${debit} ${credit} ${amount}`,
  )
}

const SUSPENSE = {
  tries: [
    { supplier: 'slow', region: 'EU', evidence: 'unknown', suspense: toNanoUsd(9) },
    { supplier: 'closed', region: 'EU', evidence: 'unsent' },
  ],
} as const

describe('a settled call', () => {
  it('debits its key in the hour of its hold, and the operator for what ran over', () => {
    expect(
      booked({ state: 'settled', cost: toNanoUsd(7), overrun: toNanoUsd(2), details: SUSPENSE }),
    ).toEqual([
      `key/key_a/${hold.hour} supplier/first 7`,
      'overrun supplier/first 2',
      'suspense/slow supplier/slow 9',
    ])
  })

  it('is paid by the wallet that its hold names', () => {
    expect(booked({ state: 'settled', cost: toNanoUsd(7), payer: payerText() })).toEqual([
      `key/key_a/${hold.hour} supplier/first 7`,
      'payer/wal_a payments 7',
    ])
  })

  it('books nothing where it cost nothing', () => {
    expect(booked({ state: 'settled' })).toEqual([])
  })
})

it('a void call books only what its attempts may have cost', () => {
  expect(booked({ state: 'voided', cost: toNanoUsd(7), details: SUSPENSE })).toEqual([
    'suspense/slow supplier/slow 9',
  ])
})

it('refusals, holds and notes book nothing', () => {
  expect(booked({ state: 'refused', cost: toNanoUsd(7) })).toEqual([])
  expect(entriesOf({ type: 'hold', hold })).toEqual([])
  const note = { at: 0, kind: 'review', requestId: 'req_a', body: '{}' } as const
  expect(entriesOf({ type: 'note', note })).toEqual([])
})

it('a credit moves money between the grants and its wallet, one way or the other', () => {
  const body = { account: 'acc_a', wallet: 'wal_a', by: 'k', reason: 'r', reference: null }
  const entries = (amount: number): unknown => {
    const text = JSON.stringify({ ...body, amount })
    const note = { at: 0, kind: 'credit', requestId: 'req_a', body: text } as const
    return entriesOf({ type: 'note', note })
  }
  expect(entries(5)).toEqual([{ debit: 'grants', credit: 'wallet/wal_a', amount: 5 }])
  expect(entries(-5)).toEqual([{ debit: 'wallet/wal_a', credit: 'grants', amount: 5 }])
  expect(entries(0.5)).toEqual([])
})

it('accounts add up without hours, beyond what a number holds, and to zero', () => {
  const accounts: Accounts = new Map()
  const largest = toNanoUsd(Number.MAX_SAFE_INTEGER)
  for (const hour of [5, 6, 7]) {
    const row = clerk.end(hold, { state: 'settled', cost: largest, hour })
    bookTo(accounts, entriesOf({ type: 'audit', row }))
  }
  const sum = 3n * BigInt(Number.MAX_SAFE_INTEGER)
  expect([...accounts]).toEqual([
    ['key/key_a', sum],
    ['supplier/first', -sum],
  ])
  expect(sumOf(accounts)).toBe(0n)
})

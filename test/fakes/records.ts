// The books as they stand in the database of a gateway, read beside it and without its help: what a test
// believes of them must not come from the code that it tests.
import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { dirname, join } from 'node:path'
import { verifyBooks } from '../../src/ledger/check/verify.ts'
import { inspectLedger } from '../../src/store/sqlite/inspect.ts'
import type { Gateway } from './gateway.ts'

export interface HoldLine {
  /** Its place in the chain. */
  readonly number: number
  readonly request_id: string
  readonly key_id: string
  readonly hour: number
  readonly amount: number
  readonly budget_limit: number | null
  readonly max_tokens: number
}

/** An audit row: the end of a hold, or a refusal. */
export interface EndLine {
  readonly number: number
  readonly request_id: string
  readonly key_id: string
  /** The place of the hold that it ends. */
  readonly hold: number | null
  readonly status: number
  readonly code: string | null
  readonly state: string
  readonly evidence: string | null
  readonly supplier: string | null
  readonly held: number | null
  readonly hour: number | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number
  readonly overrun: number
  readonly count: number
  readonly attempts: number
  /** JSON. */
  readonly details: string | null
}

export interface NoteLine {
  readonly number: number
  readonly kind: string
  readonly request_id: string | null
}

export interface Records {
  readonly holds: readonly HoldLine[]
  readonly ends: readonly EndLine[]
  readonly notes: readonly NoteLine[]
}

const HOLDS = `
  SELECT holds.number, request_id, name AS key_id, hour, amount, budget_limit, max_tokens
  FROM holds JOIN names ON names.number = key ORDER BY holds.number`
const ENDS = `
  SELECT sequence AS number, request_id, name AS key_id, hold, status, code, state, evidence, supplier,
    held, hour, input_tokens, output_tokens, cost, overrun, count, attempts, details
  FROM audit JOIN names ON names.number = key ORDER BY sequence`
// Without what management writes down of itself: it is no word about a call.
const NOTES = `
  SELECT number, kind, request_id FROM notes WHERE kind <> 'action' ORDER BY number`

/** Where a gateway of the tests keeps its data. */
export function dataOf({ file }: Gateway): string {
  return join(dirname(file), 'data')
}

/** All of one moment. */
export function readRecords(folder: string): Records {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    return database.transaction(() => ({
      holds: database.query<HoldLine, []>(HOLDS).all(),
      ends: database.query<EndLine, []>(ENDS).all(),
      notes: database.query<NoteLine, []>(NOTES).all(),
    }))()
  } finally {
    database.close(true)
  }
}

/** Holds that nothing has ended yet. */
export function openHolds({ holds, ends }: Records): readonly HoldLine[] {
  const ended = new Set(ends.map(({ hold }) => hold))
  return holds.filter(({ number }) => !ended.has(number))
}

/** Ends of holds, without what was refused. */
export function endsOf({ ends }: Records): readonly EndLine[] {
  return ends.filter(({ state }) => state !== 'refused')
}

/** The whole chain, every operation and every sum, by the program's own check. */
export async function expectSoundBooks(folder: string): Promise<void> {
  const ledger = inspectLedger(folder)
  try {
    const { faults, isClean } = await verifyBooks(ledger)
    expect(faults).toEqual([])
    expect(isClean).toBe(true)
  } finally {
    ledger.close()
  }
}

// Writes what the ledger decides. What somebody waits for fails to his face; the end of a call that cannot be written
// is kept and tried until it can, and meanwhile nothing new is held.
import type { AuditRow } from '../core/audit.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'
import type { LedgerRecord } from '../core/record.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Operation } from './book.ts'
import { resumedNote } from './review.ts'

export interface PenParts {
  readonly store: Pick<Store, 'append'>
  readonly clock: Clock
  readonly log: Log
  /** The books are in an impossible state, or the disk lies: nothing may be written any more. */
  readonly halt: (fault: Error) => void
  /** The books' own time. */
  readonly now: () => number
  /** A late end is durable. */
  readonly ended: (operation: Operation, row: AuditRow) => void
}

interface Late {
  readonly operation: Operation
  readonly row: AuditRow
}

export class Pen {
  readonly #parts: PenParts
  /** Ends that could not be written yet. */
  #late: Late[] = []
  #downSince: number | undefined
  #catchingUp: Promise<void> | undefined

  constructor(parts: PenParts) {
    this.#parts = parts
  }

  /** Since when nothing can be written, in elapsed time; undefined while all is well. */
  get downSince(): number | undefined {
    return this.#downSince
  }

  get isBehind(): boolean {
    return this.#downSince !== undefined || this.#late.length > 0
  }

  append(records: readonly LedgerRecord[]): Promise<void> {
    return this.#parts.store.append(records)
  }

  /** For what nobody waits for, and what is no money. */
  writeLater(records: readonly LedgerRecord[]): void {
    if (this.#downSince !== undefined) return
    this.append(records).catch((cause: unknown) => this.fail(cause))
  }

  /** An end that could not be written, and will be as soon as it can. */
  delay(operation: Operation, row: AuditRow, cause: unknown): void {
    this.fail(cause)
    this.#late.push({ operation, row: asLate(row) })
  }

  fail(cause: unknown): void {
    if (cause instanceof GatewayError && cause.details?.['fatal'] === true) {
      this.#parts.halt(cause)
      return
    }
    if (this.#downSince !== undefined) return
    this.#downSince = this.#parts.clock.elapsed()
    this.#parts.log.note(
      'error',
      'the books cannot be written; new calls are refused until they can',
      { cause: describeCause(cause) },
    )
  }

  catchUp(): Promise<void> {
    this.#catchingUp ??= this.#writeLate().finally(() => (this.#catchingUp = undefined))
    return this.#catchingUp
  }

  /** What fails while earlier ends are written is late itself, and has no other chance than this. */
  async close(): Promise<void> {
    await this.#catchingUp
    if (this.#late.length > 0) await this.catchUp()
  }

  async #writeLate(): Promise<void> {
    const { clock, log, now, ended } = this.#parts
    const late = this.#late
    this.#late = []
    const since = this.#downSince ?? clock.elapsed()
    try {
      await this.append([
        ...late.map(({ row }): LedgerRecord => ({ type: 'audit', row })),
        resumedNote(now(), clock.elapsed() - since),
      ])
      this.#downSince = undefined
      for (const { operation, row } of late) ended(operation, row)
      log.note('info', `the books can be written again; ${late.length} calls were settled late`)
    } catch (thrown) {
      this.#late = [...late, ...this.#late]
      this.fail(thrown)
    }
  }
}

/** Tells in the audit that the answer went out before its books were closed. */
function asLate(row: AuditRow): AuditRow {
  const code = row.stream ? 'streaming_settlement_failed' : 'supplier_settlement_failed'
  return row.code === undefined ? { ...row, code } : row
}

function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause === undefined
    ? cause.message
    : `${cause.message} ${describeCause(cause.cause)}`
}

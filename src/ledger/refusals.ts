// Calls that were refused after their key was known. Each kind of refusal of a key gets a row at once and
// then one a second at most, with how many it stands for: a client that runs wild cannot fill the disk.
import type { AuditRow } from '../core/audit.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import type { LedgerRecord } from '../core/record.ts'

const QUIET_MS = 1_000
/** Kinds that are counted at once; beyond it refusals leave no row until the next second. */
const KINDS_MAX = 10_000

interface Kind {
  readonly since: number
  /** The last one that was not written, and how many there were. */
  row: AuditRow | undefined
  count: number
}

export class Refusals implements Ticker {
  readonly #clock: Clock
  readonly #write: (records: readonly LedgerRecord[]) => void
  readonly #kinds = new Map<string, Kind>()

  constructor(clock: Clock, write: (records: readonly LedgerRecord[]) => void) {
    this.#clock = clock
    this.#write = write
  }

  note(row: AuditRow): void {
    const name = `${row.keyId} ${row.code}`
    const kind = this.#kinds.get(name)
    if (kind !== undefined) {
      kind.row = row
      kind.count += 1
      return
    }
    if (this.#kinds.size >= KINDS_MAX) return
    this.#kinds.set(name, { since: this.#clock.elapsed(), row: undefined, count: 0 })
    this.#write([{ type: 'audit', row }])
  }

  /** Once a second, and at the end. */
  tick(isLast = false): void {
    const now = this.#clock.elapsed()
    const records: LedgerRecord[] = []
    for (const [name, kind] of this.#kinds) {
      if (!isLast && now - kind.since < QUIET_MS) continue
      this.#kinds.delete(name)
      if (kind.row === undefined) continue
      records.push({ type: 'audit', row: { ...kind.row, count: kind.count } })
      this.#kinds.set(name, { since: now, row: undefined, count: 0 })
    }
    if (records.length > 0) this.#write(records)
  }
}

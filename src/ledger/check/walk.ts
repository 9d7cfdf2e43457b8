// Walks a chain link by link: numbers without a gap, and each hash made of the one before and of the
// record's own text. One broken link is one fault, however long the chain behind it.
import type { LedgerRecord } from '../../core/record.ts'
import { link, textOf } from '../../store/chain.ts'
import type { ChainedRecord, ChainPlace } from '../../store/store.ts'
import type { FaultList } from './findings.ts'

/** Places that are remembered, to check what a note says of one. */
const PLACES_KEPT = 256

export class ChainWalk {
  last: ChainPlace
  readonly #faults: FaultList
  readonly #recent: ChainPlace[] = []
  /** What the next link may hang on: nothing is known behind a gap, and two things behind a wrong hash. */
  #hooks: readonly string[]

  constructor(after: ChainPlace, faults: FaultList) {
    this.last = after
    this.#faults = faults
    this.#hooks = [after.hash]
  }

  see({ number, hash, record }: ChainedRecord): void {
    const isNext = this.#checkNumber(number, record)
    const text = textOf(record)
    const made = (isNext ? this.#hooks : []).map((previous) => link(previous, text))
    if (made.length === 0 || made.includes(hash)) this.#hooks = [hash]
    else {
      this.#faults.add(
        'its hash is not that of the record before and its own content',
        number,
        requestIdOf(record),
      )
      this.#hooks = [hash, ...made]
    }
    this.last = { number, hash }
    this.#recent[number % PLACES_KEPT] = this.last
  }

  /** The hash of a record that was seen lately. */
  hashOf(number: number): string | undefined {
    const place = this.#recent[number % PLACES_KEPT]
    return place?.number === number ? place.hash : undefined
  }

  #checkNumber(number: number, record: LedgerRecord): boolean {
    const expected = this.last.number + 1
    if (number === expected) return true
    if (number > expected) {
      const missing = number - expected
      this.#faults.add(
        missing === 1 ? 'is missing' : `and ${missing - 1} more are missing`,
        expected,
      )
    } else this.#faults.add('stands behind a higher number', number, requestIdOf(record))
    return false
  }
}

function requestIdOf(record: LedgerRecord): string | undefined {
  if (record.type === 'hold') return record.hold.requestId
  return record.type === 'audit' ? record.row.requestId : record.note.requestId
}

// Records into the database, inside the transaction of a group: their places in the chain, the sums that
// follow from them, and the marks that keep the next start short. This runs on every call.
import type { Database } from 'bun:sqlite'
import type { AuditRow } from '../../core/audit.ts'
import { link, textOf } from '../chain.ts'
import type { Item, Operation, Operations } from '../operations.ts'
import type { ChainPlace } from '../store.ts'
import { createBalances } from './balances.ts'
import { createInserts } from './inserts.ts'
import { MARK_RECORDS, writeRecovery } from './marks.ts'
import { createNames } from './names.ts'
import { createRuns } from './runs.ts'
import { createSums } from './sums.ts'

/** What a start knows of the records before it. */
export interface Recovered {
  readonly head: ChainPlace
  /** The latest time of any hold or note. */
  readonly at: number
  readonly operations: Operations
}

export interface Books {
  /** Numbers and hashes are given here, so that what is rolled back leaves no gap. */
  write(items: readonly Item[], head: ChainPlace): ChainPlace
  /** Notes where the chain stands and what is open, so that no start need read what is before. */
  mark(head: ChainPlace): void
  /** After a rollback, or when names were removed. */
  forget(): void
}

export function createBooks(database: Database, recovered: Recovered): Books {
  const { operations } = recovered
  const names = createNames(database)
  const inserts = createInserts(database, names)
  const sums = createSums(database, names)
  const balances = createBalances(database)
  const runs = createRuns(database)
  let { at } = recovered

  const mark = (head: ChainPlace): void =>
    writeRecovery(database, { ...head, at, open: operations.numbers() })

  const book = (row: AuditRow, { hold }: Operation): void => {
    sums.book(row, hold.hour)
    balances.charge(row)
  }

  return {
    write(items, head) {
      let { number, hash } = head
      for (const item of items) {
        const { record, operation } = item
        number += 1
        hash = link(hash, textOf(record))
        inserts.insert(item, number, hash)
        runs.follow(number)
        // The books have a time of their own, and every note tells it, too.
        if (record.type === 'note') {
          at = Math.max(at, record.note.at)
          balances.follow(record.note)
        }
        if (operation === undefined) continue
        if (record.type === 'audit') book(record.row, operation)
        else operation.number = number
        at = Math.max(at, operation.hold.at)
      }
      sums.flush()
      balances.flush()
      const place = { number, hash }
      if (Math.floor(number / MARK_RECORDS) > Math.floor(head.number / MARK_RECORDS)) mark(place)
      return place
    },
    mark,
    forget() {
      names.forget()
      sums.forget()
      balances.forget()
    },
  }
}

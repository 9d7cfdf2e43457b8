// The only writer of the database. Whatever is appended in one turn of the event loop is committed
// together, after the turn: a commit costs more than the records in it. This runs on every call.
import type { Database } from 'bun:sqlite'
import { asGatewayError } from '../../core/problem.ts'
import type { LedgerRecord } from '../../core/record.ts'
import type { Item } from '../operations.ts'
import { createBooks, type Recovered } from './books.ts'
import { appendFailed, isLost } from './failure.ts'

export interface Writer {
  append(batch: readonly LedgerRecord[]): Promise<void>
  /** Rare work in a transaction of its own; what it throws undoes it. */
  transact<Result>(work: () => Result): Result
  /** Commits what is queued, and notes what a start must know of all records before this moment. */
  mark(): void
  /** To be called after names were removed, before anything else is written. */
  forgetNames(): void
  /** Commits what is queued. Whatever is appended later is refused. */
  close(): void
}

export function createWriter(database: Database, recovered: Recovered): Writer {
  const { operations } = recovered
  const books = createBooks(database, recovered)
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  let { head } = recovered
  let queue: Item[] = []
  let group: PromiseWithResolvers<void> | undefined
  let closed = false
  /** After this nothing is written any more. */
  let lost: Error | undefined

  const transact = <Result>(work: () => Result): Result => {
    if (lost !== undefined) throw lost
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (thrown) {
      // SQLite itself has already rolled back after some failures, such as a full disk.
      if (database.inTransaction) database.run('ROLLBACK')
      books.forget()
      if (thrown instanceof Error && isLost(thrown)) lost = thrown
      throw thrown
    }
  }

  const writeQueue = () => books.write(queue, head)

  const flush = (): void => {
    if (group === undefined) return
    const waiters = group
    try {
      head = transact(writeQueue)
      waiters.resolve()
    } catch (thrown) {
      operations.undo(queue)
      waiters.reject(appendFailed(thrown))
    } finally {
      group = undefined
      queue = []
    }
  }

  return {
    append(batch) {
      if (closed) return Promise.reject(appendFailed(new Error('the store is closed')))
      try {
        operations.take(batch, queue)
      } catch (thrown) {
        return Promise.reject(asGatewayError(thrown))
      }
      if (group === undefined) {
        group = Promise.withResolvers()
        setImmediate(flush)
      }
      return group.promise
    },
    transact,
    mark() {
      flush()
      transact(() => books.mark(head))
    },
    forgetNames: () => books.forget(),
    close() {
      closed = true
      flush()
    },
  }
}

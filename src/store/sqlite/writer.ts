// The only writer of the database. Whatever is appended in one turn of the event loop is committed
// together, after the turn: a commit costs more than the records in it. This runs on every call.
import type { Database, Statement } from 'bun:sqlite'
import { asGatewayError, type GatewayError } from '../../core/problem.ts'
import type { LedgerRecord } from '../../core/record.ts'
import type { Item, Operations } from '../operations.ts'
import type { ChainPlace } from '../store.ts'
import { createBooks, type Books, type Recovered } from './books.ts'
import { appendFailed, isLost } from './failure.ts'

export class Writer {
  readonly #database: Database
  readonly #operations: Operations
  readonly #books: Books
  readonly #begin: Statement
  readonly #commit: Statement
  #head: ChainPlace
  #queue: Item[] = []
  #works: (() => void)[] = []
  #group: PromiseWithResolvers<void> | undefined
  #isClosed = false
  /** After this nothing is written any more. */
  #lost: Error | undefined

  constructor(database: Database, recovered: Recovered) {
    this.#database = database
    this.#operations = recovered.operations
    this.#books = createBooks(database, recovered)
    this.#begin = database.prepare('BEGIN IMMEDIATE')
    this.#commit = database.prepare('COMMIT')
    this.#head = recovered.head
  }

  append(batch: readonly LedgerRecord[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(isOver())
    try {
      this.#operations.take(batch, this.#queue)
    } catch (thrown) {
      return Promise.reject(asGatewayError(thrown))
    }
    return this.#ensureGroup()
  }

  /** Does this in the transaction of the group at hand: it is durable with what is appended in this turn. */
  join(work: () => void): Promise<void> {
    if (this.#isClosed) return Promise.reject(isOver())
    this.#works.push(work)
    return this.#ensureGroup()
  }

  /** A change and the records that tell of it, in a transaction of their own. */
  commit<Result>(batch: readonly LedgerRecord[], work: () => Result): Result {
    // What came before stands before it in the chain.
    this.#flush()
    const items: Item[] = []
    this.#operations.take(batch, items)
    try {
      const [result, place] = this.transact(() => {
        const done = work()
        return [done, this.#books.write(items, this.#head)] as const
      })
      this.#head = place
      return result
    } catch (thrown) {
      this.#operations.undo(items)
      throw thrown
    }
  }

  /** Rare work in a transaction of its own; what it throws undoes it. */
  transact<Result>(work: () => Result): Result {
    if (this.#lost !== undefined) throw this.#lost
    this.#begin.run()
    try {
      const result = work()
      this.#commit.run()
      return result
    } catch (thrown) {
      // SQLite itself has already rolled back after some failures, such as a full disk.
      if (this.#database.inTransaction) this.#database.run('ROLLBACK')
      this.#books.forget()
      if (thrown instanceof Error && isLost(thrown)) this.#lost = thrown
      throw thrown
    }
  }

  /** Commits what is queued, and notes what a start must know of all records before this moment. */
  mark(): void {
    this.#flush()
    this.transact(() => this.#books.mark(this.#head))
  }

  /** To be called after names were removed, before anything else is written. */
  forgetNames(): void {
    this.#books.forget()
  }

  /** Commits what is queued. Whatever is appended later is refused. */
  close(): void {
    this.#isClosed = true
    this.#flush()
  }

  #ensureGroup(): Promise<void> {
    if (this.#group === undefined) {
      this.#group = Promise.withResolvers()
      setImmediate(this.#flush)
    }
    return this.#group.promise
  }

  readonly #flush = (): void => {
    if (this.#group === undefined) return
    const waiters = this.#group
    try {
      this.#head = this.transact(this.#writeQueue)
      waiters.resolve()
    } catch (thrown) {
      this.#operations.undo(this.#queue)
      waiters.reject(appendFailed(thrown))
    } finally {
      this.#group = undefined
      this.#queue = []
      this.#works = []
    }
  }

  readonly #writeQueue = (): ChainPlace => {
    const place = this.#books.write(this.#queue, this.#head)
    for (const work of this.#works) work()
    return place
  }
}

function isOver(): GatewayError {
  return appendFailed(new Error('the store is closed'))
}

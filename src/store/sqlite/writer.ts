// The only writer of the database. Whatever is appended in one turn of the event loop is committed
// together, after the turn: a commit costs more than the rows in it. This runs on every call.
import type { Database } from 'bun:sqlite'
import type { AuditRow } from '../../core/audit.ts'
import { GatewayError } from '../../core/problem.ts'
import type { StoreRecord } from '../store.ts'
import { createNames, type Names } from './names.ts'
import { createRuns } from './runs.ts'

export interface Writer {
  append(batch: readonly StoreRecord[]): Promise<void>
  /** Rare work in a transaction of its own; what it throws undoes it. */
  transact<Result>(work: () => Result): Result
  /** Commits what is queued. Whatever is appended later is refused. */
  close(): void
}

const INSERT_AUDIT = `
  INSERT INTO audit (
    at, request_id, account, project_id, key, endpoint, model, supplier, region,
    input_tokens, output_tokens, cost, latency_ms, first_token_ms, status, code, stream, attempts
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

export function createWriter(database: Database): Writer {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  const names = createNames(database)
  const writeAudit = createAuditInsert(database, names)
  let queue: StoreRecord[] = []
  let group: PromiseWithResolvers<void> | undefined
  let closed = false

  const transact = <Result>(work: () => Result): Result => {
    begin.run()
    try {
      const result = work()
      commit.run()
      return result
    } catch (thrown) {
      // SQLite itself has already rolled back after some failures, such as a full disk.
      if (database.inTransaction) database.run('ROLLBACK')
      names.forget()
      throw thrown
    }
  }

  const writeQueue = (): void => {
    for (const record of queue) writeAudit(record.row)
  }

  const flush = (): void => {
    if (group === undefined) return
    const waiters = group
    try {
      transact(writeQueue)
      waiters.resolve()
    } catch (thrown) {
      waiters.reject(unavailable(thrown))
    } finally {
      group = undefined
      queue = []
    }
  }

  return {
    append(batch) {
      if (closed) return Promise.reject(unavailable(new Error('the store is closed')))
      if (group === undefined) {
        group = Promise.withResolvers()
        setImmediate(flush)
      }
      for (const record of batch) queue.push(record)
      return group.promise
    },
    transact,
    close() {
      closed = true
      flush()
    },
  }
}

function createAuditInsert(database: Database, names: Names): (row: AuditRow) => void {
  const insert = database.prepare(INSERT_AUDIT)
  const runs = createRuns(database)
  return (row) => {
    const { lastInsertRowid } = insert.run(
      row.at,
      row.requestId,
      names.numberOf(row.accountId),
      row.projectId ?? null,
      names.numberOf(row.keyId),
      row.endpoint,
      row.model,
      row.supplier ?? null,
      row.region ?? null,
      row.inputTokens ?? null,
      row.outputTokens ?? null,
      row.cost,
      row.latencyMs,
      row.firstTokenMs ?? null,
      row.status,
      row.code ?? null,
      row.stream ? 1 : 0,
      row.attempts,
    )
    runs.follow(Number(lastInsertRowid))
  }
}

function unavailable(cause: unknown): GatewayError {
  return new GatewayError('billing_unavailable', 'The record of this call could not be stored.', {
    cause,
  })
}

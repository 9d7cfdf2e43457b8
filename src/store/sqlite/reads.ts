// The main thread's side of the reader. The Worker starts with the first read and may die at any time:
// its open reads are then refused and the next read starts another.
import { Worker } from 'node:worker_threads'
import { GatewayError } from '../../core/problem.ts'
// A compiled program holds a copy of the file, and only this form of import yields the path of that.
// @ts-expect-error -- `file` exports the path, whatever the file itself exports
// oxlint-disable-next-line import/default -- the same
import readerPath from './reader.ts' with { type: 'file' }
import { isRow, type Row } from './rows.ts'

export interface Reads {
  query(sql: string, ...parameters: Parameter[]): Promise<readonly Row[]>
  close(): Promise<void>
}

/** By place, or all by their names in one record. */
export type Parameter = string | number | Readonly<Record<`:${string}`, string | number | null>>

/** `close` ends the Worker once the reads before it are answered. */
type ReaderMessage = ReadRequest | 'close'

interface ReadRequest {
  readonly id: number
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/** Enough for any console; beyond it the reader is too far behind to be worth waiting for. */
const PENDING_MAX = 256

interface Session {
  readonly worker: Worker
  readonly pending: Map<number, PromiseWithResolvers<readonly Row[]>>
  readonly ended: Promise<void>
}

export function startReader(file: string): Worker {
  return new Worker(String(readerPath), { workerData: file })
}

export function createReads(start: () => Worker): Reads {
  let session: Session | undefined
  let lastId = 0
  let closed = false

  const forget = (): void => {
    session = undefined
  }

  return {
    query(sql, ...parameters) {
      if (closed) return Promise.reject(unavailable(new Error('the store is closed')))
      session ??= openSession(start(), forget)
      if (session.pending.size >= PENDING_MAX)
        return Promise.reject(unavailable(new Error(`${PENDING_MAX} reads are waiting`)))
      const waiter = Promise.withResolvers<readonly Row[]>()
      lastId += 1
      session.pending.set(lastId, waiter)
      postLater(session.worker, { id: lastId, sql, parameters })
      return waiter.promise
    },
    async close() {
      closed = true
      if (session === undefined) return
      const { worker, ended } = session
      postLater(worker, 'close')
      await ended
    },
  }
}

function openSession(worker: Worker, forget: () => void): Session {
  const pending: Session['pending'] = new Map()
  const end = Promise.withResolvers<void>()
  let cause: unknown
  worker.on('message', (message: unknown) => settle(pending, message))
  worker.on('error', (thrown: unknown) => {
    cause = thrown
  })
  worker.on('exit', () => {
    forget()
    end.resolve()
    const failure = unavailable(new Error('the reader ended', { cause }))
    for (const waiter of pending.values()) waiter.reject(failure)
    pending.clear()
  })
  return { worker, pending, ended: end.promise }
}

function settle(pending: Session['pending'], message: unknown): void {
  if (!isRow(message)) return
  const { id, rows, failure } = message
  const waiter = typeof id === 'number' ? pending.get(id) : undefined
  if (waiter === undefined || typeof id !== 'number') return
  pending.delete(id)
  if (Array.isArray(rows) && rows.every(isRow)) waiter.resolve(rows)
  else waiter.reject(unavailable(new Error(`the read failed: ${String(failure)}`)))
}

/**
 * In the next turn of the loop. Whoever asks on an answer would else be answered in the same turn, and so
 * on: many such readers would keep the loop from its sockets, and with them every call.
 */
function postLater(worker: Worker, message: ReaderMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  setImmediate(() => worker.postMessage(message))
}

export function unavailable(cause: unknown): GatewayError {
  return new GatewayError('service_unavailable', 'The store cannot answer at the moment.', {
    retryAfter: 1,
    cause,
  })
}

// A store that keeps records in memory and loses none. It can be told to fail and to take its time, and what
// it has kept can be loaded as a real one loads it: from the records alone.
import type {
  LedgerRecord,
  OpenOperation,
  ProgressNote,
  AttemptNote,
  CreditNote,
} from '../../src/core/record.ts'
import type { NanoUsd } from '../../src/core/money.ts'
import type { PayerTerms } from '../../src/core/payer.ts'
import type { BalanceSum, LedgerState, Store } from '../../src/store/store.ts'

type Batch = readonly LedgerRecord[]

interface Pending {
  readonly batch: Batch
  readonly resolve: () => void
  readonly reject: (cause: unknown) => void
}

export class MemoryStore implements Pick<Store, 'append'> {
  /** What is durable, in order. */
  readonly records: LedgerRecord[] = []
  /** Told of every batch in the moment in which it is handed over, durable or not. */
  onAppend: (batch: Batch) => void = () => {}
  /** Told of every record that became durable. */
  onDurable: (record: LedgerRecord) => void = () => {}
  /** Told of every batch that was refused. */
  onRefused: (batch: Batch) => void = () => {}
  #cause: Error | undefined
  #isStalled = false
  #pending: Pending[] = []

  append(batch: Batch): Promise<void> {
    this.onAppend(batch)
    if (this.#isStalled) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#pending.push({ batch, resolve, reject })
      return promise
    }
    if (this.#cause !== undefined) {
      this.onRefused(batch)
      return Promise.reject(this.#cause)
    }
    this.#keep(batch)
    return Promise.resolve()
  }

  /** From now on, and for all that waits, nothing becomes durable. */
  fail(cause: Error = new Error('the disk is full')): void {
    this.#cause = cause
    this.#isStalled = false
    for (const { batch, reject } of this.#takePending()) {
      this.onRefused(batch)
      reject(cause)
    }
  }

  /** From now on nothing is answered. */
  stall(): void {
    this.#isStalled = true
  }

  /** All is well again, and what waited becomes durable. */
  recover(): void {
    this.#cause = undefined
    this.#isStalled = false
    for (const { batch, resolve } of this.#takePending()) {
      this.#keep(batch)
      resolve()
    }
  }

  /** The process dies. Of what waited so many batches had reached the disk, and nobody was told of any. */
  crash(kept = 0): void {
    for (const { batch } of this.#takePending().slice(0, kept)) this.#keep(batch)
    this.#cause = undefined
    this.#isStalled = false
  }

  /** How many batches wait. */
  get waiting(): number {
    return this.#pending.length
  }

  load(): LedgerState {
    return stateOf(this.records)
  }

  #takePending(): readonly Pending[] {
    const pending = this.#pending
    this.#pending = []
    return pending
  }

  #keep(batch: Batch): void {
    for (const record of batch) {
      this.records.push(record)
      this.onDurable(record)
    }
  }
}

type Mutable<Type> = { -readonly [Name in keyof Type]: Type[Name] }

/** The books as the records tell them. */
export function stateOf(records: Iterable<LedgerRecord>): LedgerState {
  const open = new Map<string, Mutable<OpenOperation>>()
  const spent = new Map<string, Mutable<LedgerState['spent'][number]>>()
  const balances = new Map<string, BalanceSum>()
  const spend = (ownerId: string, hour: number, amount: NanoUsd): void => {
    const known = spent.get(`${ownerId} ${hour}`)
    if (known === undefined) spent.set(`${ownerId} ${hour}`, { ownerId, hour, amount })
    else known.amount = (known.amount + amount) as NanoUsd
  }
  const move = (walletId: string, put: number, taken: number): void => {
    const { credited = 0n, charged = 0n } = balances.get(walletId) ?? {}
    const sums = { credited: credited + BigInt(put), charged: charged + BigInt(taken) }
    balances.set(walletId, { walletId, ...sums, before: 0n })
  }
  let at = 0
  for (const record of records) {
    if (record.type === 'hold') {
      const { hold } = record
      at = Math.max(at, hold.at)
      open.set(hold.requestId, { hold, reviewAt: undefined, asked: [], outputTokens: 0 })
    } else if (record.type === 'note') {
      at = Math.max(at, record.note.at)
      takeNote(record.note, open)
      if (record.note.kind === 'credit') {
        const { wallet, amount } = JSON.parse(record.note.body) as CreditNote
        move(wallet, amount, 0)
      }
    } else if (record.row.hour !== undefined) {
      const { requestId, keyId, hour, cost, payer } = record.row
      open.delete(requestId)
      spend(keyId, hour, cost)
      if (payer === undefined || cost === 0) continue
      const { wallet } = JSON.parse(payer) as PayerTerms
      spend(wallet, hour, cost)
      move(wallet, 0, cost)
    }
  }
  return {
    at,
    spent: [...spent.values()].filter(({ amount }) => amount > 0),
    balances: [...balances.values()],
    open: [...open.values()],
  }
}

function takeNote(
  { at, kind, requestId = '', body }: Extract<LedgerRecord, { type: 'note' }>['note'],
  open: ReadonlyMap<string, Mutable<OpenOperation>>,
): void {
  const operation = open.get(requestId)
  if (operation === undefined) return
  if (kind === 'review') operation.reviewAt = at
  if (kind === 'progress') operation.outputTokens = (JSON.parse(body) as ProgressNote).outputTokens
  if (kind === 'attempt') operation.asked = [...operation.asked, JSON.parse(body) as AttemptNote]
}

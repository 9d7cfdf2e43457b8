// The operations that have begun and not ended, and the rule that a record must fit them: what no honest
// ledger would append is refused before it is written, alone, whatever the database would have made of it. What a
// column does not take counts as such: it would make every commit fail that it is in, and be tried for ever.
import type { AuditRow } from '../core/audit.ts'
import { GatewayError } from '../core/problem.ts'
import type { HoldRecord, LedgerRecord, NoteRecord } from '../core/record.ts'

export interface Operation {
  readonly hold: HoldRecord
  /** The hold's place in the chain; 0 until it is written. */
  number: number
}

/** A record with the operation that it begins or ends. */
export interface Item {
  readonly record: LedgerRecord
  readonly operation: Operation | undefined
}

export class Operations {
  readonly #open = new Map<string, Operation>()

  constructor(open: Iterable<Operation>) {
    for (const operation of open) this.#open.set(operation.hold.requestId, operation)
  }

  /** Adds a batch to what is to be written; where one record cannot be, none is added. */
  take(batch: readonly LedgerRecord[], items: Item[]): void {
    const start = items.length
    try {
      for (const record of batch) items.push({ record, operation: this.#follow(record) })
    } catch (thrown) {
      this.undo(items.splice(start))
      throw thrown
    }
  }

  /** These records were not written after all. */
  undo(items: readonly Item[]): void {
    for (const { record, operation } of items.toReversed()) {
      if (operation === undefined) continue
      const { requestId } = operation.hold
      if (record.type === 'hold') this.#open.delete(requestId)
      else this.#open.set(requestId, operation)
    }
  }

  /** The places of their holds. */
  numbers(): readonly number[] {
    return Array.from(this.#open.values(), ({ number }) => number)
  }

  #follow(record: LedgerRecord): Operation | undefined {
    if (record.type === 'hold') return this.#begin(record.hold)
    if (record.type === 'audit') return this.#end(record.row)
    checkNote(record.note)
    return undefined
  }

  #begin(hold: HoldRecord): Operation {
    const { requestId } = hold
    checkHold(hold)
    expect(!this.#open.has(requestId), 'a call is held twice', requestId)
    const operation = { hold, number: 0 }
    this.#open.set(requestId, operation)
    return operation
  }

  #end(row: AuditRow): Operation | undefined {
    const { requestId, state, held } = row
    checkRow(row)
    const isFree = row.cost === 0 && row.overrun === 0
    expect(state === 'settled' || isFree, 'what is not settled costs something', requestId)
    expect((state === 'refused') === (held === undefined), 'a state belies its hold', requestId)
    if (held === undefined) return undefined
    const operation = this.#open.get(requestId)
    expect(operation !== undefined, 'a call ends that is not held', requestId)
    const { hold } = operation
    const isSame = hold.amount === held && hold.hour === row.hour && hold.keyId === row.keyId
    expect(isSame, 'a call ends as another than was held', requestId)
    this.#open.delete(requestId)
    return operation
  }
}

function checkHold(hold: HoldRecord): void {
  const { requestId, amount, limit, accountId, keyId, endpoint, model, terms } = hold
  expect(isAmount(amount) && isAmount(limit ?? 0), 'a hold is no amount', requestId)
  expect(isWhole(hold.at) && isWhole(hold.hour), 'a time is no number', requestId)
  const isCounted = isWhole(hold.inputTokens) && isWhole(hold.maxTokens)
  expect(isCounted, 'tokens are no number', requestId)
  const isNamed = isText(accountId) && isText(keyId) && isText(endpoint) && isText(model)
  expect(isNamed && isText(requestId) && isText(terms), 'a name is no text', requestId)
}

function checkRow(row: AuditRow): void {
  const { requestId, accountId, keyId, endpoint, model } = row
  expect(isMoneyOf(row), 'a cost is no amount', requestId)
  expect(isTimeOf(row), 'a time is no number', requestId)
  expect(isUsageOf(row), 'tokens are no number', requestId)
  const isCounted = isWhole(row.status) && isWhole(row.attempts) && isWhole(row.count)
  expect(isCounted, 'a figure is no number', requestId)
  const isNamed = isText(accountId) && isText(keyId) && isText(endpoint) && isText(model)
  expect(isNamed && isText(requestId) && isText(row.state), 'a name is no text', requestId)
}

/** What a try has in suspense is added up beside what the call costs. */
function isMoneyOf({ cost, overrun, held, details }: AuditRow): boolean {
  const areTries = details?.tries?.every(({ suspense }) => isAmount(suspense ?? 0)) ?? true
  return isAmount(cost) && isAmount(overrun) && isAmount(held ?? 0) && areTries
}

/** A clock's fraction is a figure, too. */
function isTimeOf({ at, hour, latencyMs }: AuditRow): boolean {
  return isWhole(at) && isWhole(hour ?? 0) && Number.isFinite(latencyMs)
}

function isUsageOf({ inputTokens, outputTokens }: AuditRow): boolean {
  return isWhole(inputTokens ?? 0) && isWhole(outputTokens ?? 0)
}

function checkNote({ at, kind, requestId = '', body }: NoteRecord): void {
  expect(isWhole(at), 'a time is no number', requestId)
  expect(isText(kind) && isText(body), 'a note is no text', requestId)
}

function isAmount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function isWhole(value: number): boolean {
  return Number.isSafeInteger(value)
}

/** A type says so already, and is no proof where figures and texts come from outside. */
function isText(value: unknown): boolean {
  return typeof value === 'string'
}

/** `fatal`, because books that were told the impossible are not to be trusted with more. */
function expect(condition: boolean, what: string, requestId: string): asserts condition {
  if (condition) return
  throw new GatewayError('internal_error', undefined, {
    details: { fatal: true },
    cause: new Error(`The books were told the impossible: ${what} (${requestId}).`),
  })
}

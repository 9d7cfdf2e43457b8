// The operations that have begun and not ended, and the rule that a record must fit them: what no honest
// ledger would append is refused before it is written, alone, whatever the database would have made of it. What a
// column does not take counts as such: it would make every commit fail that it is in, and be tried for ever.
import type { AuditRow } from '../core/audit.ts'
import type { Claim } from '../core/claim.ts'
import { GatewayError } from '../core/problem.ts'
import type { HoldRecord, LedgerRecord, NoteRecord } from '../core/record.ts'
import { readCredit } from './credit.ts'
import { readPayer } from './payer.ts'

/** As SHA-256 is printed, in either way. */
const HASH = /^[\w+/=-]+$/

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
  /** Of the holds that are to be written with the next commit. */
  readonly #claims = new Set<string>()
  readonly #isClaimed: (claim: string) => boolean

  /** `isClaimed` tells what is durable of claims. */
  constructor(open: Iterable<Operation>, isClaimed: (claim: string) => boolean) {
    for (const operation of open) this.#open.set(operation.hold.requestId, operation)
    this.#isClaimed = isClaimed
  }

  /** Adds a batch to what is to be written; where one record cannot be, none is added. */
  take(batch: readonly LedgerRecord[], items: Item[]): void {
    const start = items.length
    // What was to be written before is, or never will be.
    if (start === 0) this.#claims.clear()
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
      const { requestId, claim } = operation.hold
      if (record.type !== 'hold') this.#open.set(requestId, operation)
      else {
        this.#open.delete(requestId)
        if (claim !== undefined) this.#claims.delete(claim.id)
      }
    }
  }

  /** The places of their holds. */
  numbers(): readonly number[] {
    return Array.from(this.#open.values(), ({ number }) => number)
  }

  /** The request ids of those that have a claim. */
  claimed(): readonly string[] {
    const ids: string[] = []
    for (const { hold } of this.#open.values())
      if (hold.claim !== undefined) ids.push(hold.requestId)
    return ids
  }

  #follow(record: LedgerRecord): Operation | undefined {
    if (record.type === 'hold') return this.#begin(record.hold)
    if (record.type === 'audit') return this.#end(record.row)
    checkNote(record.note)
    return undefined
  }

  #begin(hold: HoldRecord): Operation {
    const { requestId, claim } = hold
    checkHold(hold)
    expect(!this.#open.has(requestId), 'a call is held twice', requestId)
    if (claim !== undefined) this.#claim(claim.id)
    const operation = { hold, number: 0 }
    this.#open.set(requestId, operation)
    return operation
  }

  /** The last guard of what is done once. Nothing is wrong with the books: another was quicker. */
  #claim(id: string): void {
    if (this.#claims.has(id) || this.#isClaimed(id)) throw inProgress()
    this.#claims.add(id)
  }

  #end(row: AuditRow): Operation | undefined {
    const { requestId, state, held } = row
    checkRow(row)
    const isFree = row.cost === 0 && row.overrun === 0
    expect(state === 'settled' || isFree, 'what is not settled costs something', requestId)
    expect((state === 'refused') === (held === undefined), 'a state belies its hold', requestId)
    // What was held has the payer of its hold, which was looked at then.
    const isPaid = held !== undefined || row.payer === undefined || isPayer(row.payer)
    expect(isPaid, 'a payer is none', requestId)
    if (held === undefined) return undefined
    const operation = this.#open.get(requestId)
    expect(operation !== undefined, 'a call ends that is not held', requestId)
    const { hold } = operation
    const isSame = hold.amount === held && hold.hour === row.hour && hold.keyId === row.keyId
    expect(isSame, 'a call ends as another than was held', requestId)
    expect(hold.payer === row.payer, 'another pays than was held', requestId)
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
  expect(hold.payer === undefined || isPayer(hold.payer), 'a payer is none', requestId)
  expect(hold.claim === undefined || isClaim(hold.claim), 'a claim is none', requestId)
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

/** It must name a wallet, since it is booked by that, and be what a check of the books can read. */
function isPayer(payer: string): boolean {
  return isText(payer) && readPayer(payer) !== undefined
}

/** Both are hashes, and stand in the text of the chain as they are. */
function isClaim({ id, fingerprint }: Claim): boolean {
  return isHash(id) && isHash(fingerprint)
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && HASH.test(value)
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

function checkNote(note: NoteRecord): void {
  const { at, kind, requestId = '', body } = note
  expect(isWhole(at), 'a time is no number', requestId)
  expect(isText(kind) && isText(body), 'a note is no text', requestId)
  const isFit = kind !== 'credit' || readCredit(note) !== undefined
  expect(isFit, 'a credit is none', requestId)
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

/** Under one Idempotency-Key one thing is done, once. */
export function inProgress(): GatewayError {
  return new GatewayError('operation_in_progress', undefined, { retryAfter: 1 })
}

/** `fatal`, because books that were told the impossible are not to be trusted with more. */
function expect(condition: boolean, what: string, requestId: string): asserts condition {
  if (condition) return
  throw new GatewayError('internal_error', undefined, {
    details: { fatal: true },
    cause: new Error(`The books were told the impossible: ${what} (${requestId}).`),
  })
}

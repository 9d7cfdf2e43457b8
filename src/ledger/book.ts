// What every key has spent and holds, what every wallet pays, and every operation without an end: the one state that
// decides and is shown. Nothing here waits or writes; each change is checked, and one that cannot be is a fault.
import type { AuditRow } from '../core/audit.ts'
import type { AttemptNote, HoldRecord, OpenOperation, SpentHour } from '../core/record.ts'
import { readPayer } from '../store/payer.ts'
import type { BalanceSum } from '../store/store.ts'
import { assertLedger } from './fault.ts'
import { Purse } from './purse.ts'
import { Wallet } from './wallet.ts'

/** `held → settled | voided | review`, `review → settled | voided`, and no other way. */
export type OperationState = 'held' | 'review' | 'settled' | 'voided'

export interface Operation {
  readonly hold: HoldRecord
  readonly purse: Purse
  /** Who pays; undefined where it was held before there were payers. */
  readonly wallet: Wallet | undefined
  state: OperationState
  /** Its last record is on its way to the store. */
  isEnding: boolean
  /** Since when nobody knows how it ended, by the books' time; 0 while it runs. */
  reviewAt: number
  /** Who was asked, and what was delivered, as far as the records tell. */
  asked: readonly AttemptNote[]
  outputTokens: number
}

export class Book {
  readonly #purses = new Map<string, Purse>()
  readonly #wallets = new Map<string, Wallet>()
  readonly #open = new Map<string, Operation>()

  purse(keyId: string): Purse {
    const known = this.#purses.get(keyId)
    if (known !== undefined) return known
    const purse = new Purse(keyId)
    this.#purses.set(keyId, purse)
    return purse
  }

  /** One that nobody has told about is closed. */
  wallet(walletId: string): Wallet {
    const known = this.#wallets.get(walletId)
    if (known !== undefined) return known
    const wallet = new Wallet(walletId)
    this.#wallets.set(walletId, wallet)
    return wallet
  }

  find(requestId: string): Operation | undefined {
    return this.#open.get(requestId)
  }

  /** Every operation without an end. */
  open(): Iterable<Operation> {
    return this.#open.values()
  }

  get openCount(): number {
    return this.#open.size
  }

  /** Sets money aside. Whoever asks has found that there is enough; the book makes sure of it. */
  grant(hold: HoldRecord, wallet?: Wallet): Operation {
    const purse = this.purse(hold.keyId)
    const rest = purse.rest(hold.at)
    assertLedger(hold.amount >= 0, 'a hold is below nothing', hold.requestId)
    assertLedger(
      rest === undefined || hold.amount <= rest,
      'a hold exceeds what is left of its budget',
      hold.requestId,
    )
    assertLedger(
      wallet === undefined || wallet.canFund(hold.amount, hold.at),
      'a hold exceeds what its payer has left',
      hold.requestId,
    )
    return this.#put(hold, purse, wallet)
  }

  /** Takes over what an earlier process has granted, whatever the limits are by now. */
  adopt({ hold, reviewAt, asked, outputTokens }: OpenOperation): Operation {
    const operation = this.#put(hold, this.purse(hold.keyId), this.#payerOf(hold))
    if (reviewAt !== undefined) this.review(operation, reviewAt)
    operation.asked = asked
    operation.outputTokens = outputTokens
    return operation
  }

  adoptSpent({ ownerId, hour, amount }: SpentHour): void {
    const purse = isWallet(ownerId) ? this.wallet(ownerId).purse : this.purse(ownerId)
    purse.spend(hour, amount)
  }

  adoptBalance(balance: BalanceSum): void {
    this.wallet(balance.walletId).adopt(balance)
  }

  /** The hold never became durable, so nothing was sent and nothing is owed. */
  withdraw(operation: Operation): void {
    assertLedger(
      operation.state === 'held' && !operation.isEnding,
      'a hold that counts is withdrawn',
      operation.hold.requestId,
    )
    this.#release(operation, 'voided')
  }

  review(operation: Operation, at: number): void {
    assertLedger(
      operation.state === 'held' && !operation.isEnding,
      `an operation that is ${operation.state} goes into review`,
      operation.hold.requestId,
    )
    operation.state = 'review'
    operation.reviewAt = at
    operation.purse.enterReview(operation.hold)
    operation.wallet?.purse.enterReview(operation.hold)
  }

  /** Its last record is made; from now on there can be no other. */
  beginEnd(operation: Operation, row: AuditRow): void {
    const { hold } = operation
    const isOpen = operation.state === 'held' || operation.state === 'review'
    assertLedger(isOpen && !operation.isEnding, 'an operation ends twice', hold.requestId)
    assertLedger(
      row.requestId === hold.requestId && row.keyId === hold.keyId,
      "an end is another call's",
      hold.requestId,
    )
    assertLedger(
      row.hour === hold.hour && row.held === hold.amount,
      'an end does not belong to its hold',
      hold.requestId,
    )
    assertLedger(row.payer === hold.payer, 'an end names another payer', hold.requestId)
    // Before it is written, not after: a record is final.
    const { state, cost, overrun } = row
    assertLedger(state === 'settled' || state === 'voided', 'an end is no end', hold.requestId)
    assertLedger(cost >= 0 && overrun >= 0, 'an end costs less than nothing', hold.requestId)
    assertLedger(state === 'settled' || cost === 0, 'a void call costs something', hold.requestId)
    if (operation.state === 'review') {
      operation.purse.leaveReview(hold)
      operation.wallet?.purse.leaveReview(hold)
    }
    operation.isEnding = true
  }

  /** Its last record is durable: what was held is free, and what was used is spent. */
  end(operation: Operation, { state, cost }: AuditRow): void {
    const { hold, purse, wallet } = operation
    assertLedger(operation.isEnding, 'an end was not begun', hold.requestId)
    this.#release(operation, state === 'settled' ? 'settled' : 'voided')
    purse.spend(hold.hour, cost)
    wallet?.charge(hold.hour, cost)
  }

  #payerOf({ payer, requestId }: HoldRecord): Wallet | undefined {
    if (payer === undefined) return undefined
    const terms = readPayer(payer)
    assertLedger(terms !== undefined, 'a hold names a payer that cannot be read', requestId)
    return this.wallet(terms.wallet)
  }

  #put(hold: HoldRecord, purse: Purse, wallet: Wallet | undefined): Operation {
    const { requestId, hour, amount } = hold
    assertLedger(!this.#open.has(requestId), 'an operation is held twice', requestId)
    // All or nothing: a sum that would leave the exact range must not stop between the two.
    assertLedger(
      purse.canKeep(amount) && (wallet?.purse.canKeep(amount) ?? true),
      'more is held than can be counted',
      requestId,
    )
    purse.keep(hour, amount)
    purse.running += 1
    wallet?.keep(hold)
    const operation: Operation = {
      hold,
      purse,
      wallet,
      state: 'held',
      isEnding: false,
      reviewAt: 0,
      asked: [],
      outputTokens: 0,
    }
    this.#open.set(hold.requestId, operation)
    return operation
  }

  #release(operation: Operation, state: 'settled' | 'voided'): void {
    const { hold, purse, wallet } = operation
    assertLedger(this.#open.delete(hold.requestId), 'an operation is not open', hold.requestId)
    purse.keep(hold.hour, 0 - hold.amount)
    purse.running -= 1
    wallet?.release(hold)
    operation.state = state
  }
}

/** Ids say by their prefix what they name. */
function isWallet(ownerId: string): boolean {
  return ownerId.startsWith('wal_')
}

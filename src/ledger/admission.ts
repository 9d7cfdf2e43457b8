// Sets money aside for a call: key and payer in one step, durable before it counts. What only running calls keep out
// waits in line for a moment; everything else is refused at once, after its input was counted.
import { hourOf } from '../core/hour.ts'
import type { Claim } from '../core/claim.ts'
import type { KeyRecord } from '../core/key.ts'
import type { PayerChain } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { HoldRecord } from '../core/record.ts'
import type { Book, Operation } from './book.ts'
import type { Bound, Fit } from './cost/bound.ts'
import type { Uncounted } from './cost/counter.ts'
import type { Lines } from './line.ts'
import { payerRefusal, type PayerShortage } from './payer-refusal.ts'
import type { Pen } from './pen.ts'
import {
  budgetExceeded,
  capacityExceeded,
  heldInReview,
  ledgerUnavailable,
  notCounted,
  tooMuchHeld,
  type Shortage,
} from './refusal.ts'
import { roomOf, type Asked, type Hindrance, type Payment } from './room.ts'

/** What is to be set aside. */
export interface HoldRequest {
  readonly key: KeyRecord
  /** What the call is made for. */
  readonly projectId: string | undefined
  /** The Idempotency-Key that it was asked under. */
  readonly claim: Claim | undefined
  readonly requestId: string
  readonly endpoint: string
  readonly model: string
  readonly stream: boolean
  readonly terms: string
  /** What the input is thought to be. */
  readonly inputTokens: number
  readonly bound: Bound
}

/** What a call asks for, and what it can say to it before it is refused. */
export interface HoldAsk extends HoldRequest {
  /**
   * Finds a closer bound, which costs time: asked only before a refusal, and no more than it must where even
   * the closest that there could be is not worth it.
   */
  tighten(isWorthwhile: (closest: Bound) => boolean): Promise<Bound | Uncounted>
  /** Who is asked to pay, in order, as things stand at this moment. */
  payers(): PayerChain
  /** The key as it is after a while; throws when it is no key any more. */
  current(): KeyRecord
}

export interface Granted {
  readonly operation: Operation
  readonly fit: Fit
}

/** What would be granted. */
export interface Foreseen {
  readonly fit: Fit
  /** The JSON of `PayerTerms`. */
  readonly payer: string
}

/** A closer bound; `hope`: the closest that there could be, where it could not be found out in time. */
interface Tightened {
  readonly bound: Bound
  readonly hope: Bound | undefined
}

export interface AdmissionParts {
  readonly book: Book
  readonly lines: Lines
  readonly pen: Pen
  /** The books' own time. */
  readonly now: () => number
  /** Throws where nothing may be begun any more. */
  readonly checkRunning: () => void
  /** Told of what the book throws; gives what is to be thrown. */
  readonly judge: (thrown: unknown) => Error
  /** Until the rule has ended the last review; undefined where only somebody can. */
  readonly reviewsLeftMs: () => number | undefined
}

/** What a call asks for as it stands after a while. */
interface Renewed {
  readonly request: HoldRequest
  readonly asked: Asked
}

export class Admission {
  readonly #parts: AdmissionParts

  constructor(parts: AdmissionParts) {
    this.#parts = parts
  }

  /** Resolves when the hold is durable. */
  hold(ask: HoldAsk): Promise<Granted> {
    const { book, now, pen } = this.#parts
    if (pen.downSince !== undefined) return Promise.reject(ledgerUnavailable(undefined))
    const { key, bound } = ask
    const asked = { key, bound, purse: book.purse(key.id), chain: ask.payers() }
    const time = now()
    const found = roomOf(book, asked, time)
    return 'obstacle' in found
      ? this.#makeRoom(ask, asked)
      : this.#grant({ request: ask, asked }, found, time)
  }

  /** What would be held for it and who would pay, as things stand; throws what it would be refused with. */
  async foresee(ask: HoldAsk): Promise<Foreseen> {
    const { book, checkRunning, now, pen } = this.#parts
    checkRunning()
    if (pen.downSince !== undefined) throw ledgerUnavailable(undefined)
    const { key, bound } = ask
    const first = { key, bound, purse: book.purse(key.id), chain: ask.payers() }
    const found = roomOf(book, first, now())
    if (!('obstacle' in found)) return { fit: found.fit, payer: found.terms }
    const closer = await this.#tighten(ask, first)
    const asked = { ...first, bound: closer.bound }
    const again = roomOf(book, asked, now())
    if (!('obstacle' in again)) return { fit: again.fit, payer: again.terms }
    throw again.obstacle === 'running'
      ? this.#busy(asked, again)
      : this.#final(asked, again, closer.hope)
  }

  async #grant({ request, asked }: Renewed, payment: Payment, now: number): Promise<Granted> {
    const { lines, pen } = this.#parts
    const { fit, wallet } = payment
    if (!asked.purse.canKeep(fit.amount)) throw tooMuchHeld(this.#shortage(asked))
    if (!wallet.purse.canKeep(fit.amount))
      throw payerRefusal(this.#payerShortage(asked), 'busy', undefined)
    const operation = this.#take(holdOf(request, asked, payment, now), payment)
    try {
      await pen.append([{ type: 'hold', hold: operation.hold }])
    } catch (thrown) {
      this.#withdraw(operation)
      const isTaken = isClaimed(thrown)
      if (!isTaken) pen.fail(thrown)
      lines.wake(operation.hold.keyId)
      lines.wake(wallet.id)
      throw isTaken ? thrown : ledgerUnavailable(thrown)
    }
    return { operation, fit }
  }

  /** Before a call is refused its input is counted; what only running calls keep out waits in line. */
  async #makeRoom(ask: HoldAsk, first: Asked): Promise<Granted> {
    const { lines } = this.#parts
    const { bound, hope } = await this.#tighten(ask, first)
    const { promise, resolve, reject } = Promise.withResolvers<Granted>()
    let last: Hindrance | undefined
    let asked = first
    const retry = (): readonly string[] | undefined => {
      try {
        const key = ask.current()
        asked = { key, bound, purse: first.purse, chain: ask.payers() }
        const found = this.#retry({ request: { ...ask, bound, key }, asked }, hope)
        if (!(found instanceof Promise)) {
          last = found
          return found.names
        }
        resolve(found)
      } catch (thrown) {
        reject(thrown)
      }
      return undefined
    }
    const giveUp = (): void => reject(this.#busy(asked, last))
    const names = retry()
    if (names !== undefined && !lines.join(names, { retry, giveUp })) giveUp()
    return promise
  }

  async #tighten(ask: HoldAsk, first: Asked): Promise<Tightened> {
    const { book, now } = this.#parts
    let closest = ask.bound
    const closer = await ask.tighten((found) => {
      closest = found
      return !isFinal(roomOf(book, { ...first, bound: found }, now()))
    })
    const bound = typeof closer === 'string' ? ask.bound : closer
    return { bound, hope: closer === 'late' ? closest : undefined }
  }

  /** What keeps it out while that is only running calls. */
  #retry(renewed: Renewed, hope?: Bound): Promise<Granted> | Hindrance {
    const { book, checkRunning, now, pen } = this.#parts
    checkRunning()
    if (pen.downSince !== undefined) throw ledgerUnavailable(undefined)
    const time = now()
    const { asked } = renewed
    const found = roomOf(book, asked, time)
    if (!('obstacle' in found)) return this.#grant(renewed, found, time)
    if (found.obstacle === 'running') return found
    throw this.#final(asked, found, hope)
  }

  /** Why it is refused; where its input could not be counted in time, and that might help, for that. */
  #final(asked: Asked, found: Hindrance, hope: Bound | undefined): Error {
    const { book, now } = this.#parts
    const hoped = hope === undefined ? found : roomOf(book, { ...asked, bound: hope }, now())
    return this.#refusal(asked, 'obstacle' in hoped ? hoped : { ...found, obstacle: 'running' })
  }

  #refusal(asked: Asked, { by, obstacle }: Hindrance): Error {
    const { reviewsLeftMs } = this.#parts
    if (by === 'payers') return payerRefusal(this.#payerShortage(asked), obstacle, reviewsLeftMs())
    const shortage = this.#shortage(asked)
    if (obstacle === 'running') return notCounted(shortage)
    return obstacle === 'review'
      ? heldInReview(shortage, reviewsLeftMs())
      : budgetExceeded(shortage)
  }

  /** It has waited for running calls, or cannot. */
  #busy(asked: Asked, last: Hindrance | undefined): Error {
    return last?.by === 'payers'
      ? payerRefusal(this.#payerShortage(asked), 'busy', undefined)
      : capacityExceeded(this.#shortage(asked))
  }

  #shortage({ key, purse, bound }: Asked): Shortage {
    return { key, purse, now: this.#parts.now(), estimate: bound.whole()?.amount }
  }

  #payerShortage(asked: Asked): PayerShortage {
    return { asked, wallets: this.#parts.book, now: this.#parts.now() }
  }

  #take(hold: HoldRecord, { wallet }: Payment): Operation {
    try {
      return this.#parts.book.grant(hold, wallet)
    } catch (thrown) {
      throw this.#parts.judge(thrown)
    }
  }

  #withdraw(operation: Operation): void {
    try {
      this.#parts.book.withdraw(operation)
    } catch (thrown) {
      throw this.#parts.judge(thrown)
    }
  }
}

/** The store knows its Idempotency-Key already, which says nothing against the store. */
function isClaimed(thrown: unknown): boolean {
  return thrown instanceof GatewayError && thrown.code === 'operation_in_progress'
}

/** Nothing that could be found out of the input would help. */
function isFinal(found: Payment | Hindrance): boolean {
  return 'obstacle' in found && (found.obstacle === 'spent' || found.obstacle === 'nobody')
}

function holdOf(
  request: HoldRequest,
  { key, purse }: Asked,
  { fit, terms: payer }: Payment,
  now: number,
): HoldRecord {
  return {
    at: now,
    hour: hourOf(now),
    requestId: request.requestId,
    accountId: key.accountId,
    projectId: request.projectId,
    keyId: key.id,
    endpoint: request.endpoint,
    model: request.model,
    stream: request.stream,
    amount: fit.amount,
    limit: purse.limit,
    period: purse.limit === undefined ? undefined : purse.period,
    inputTokens: request.inputTokens,
    maxTokens: fit.outputTokens,
    terms: request.terms,
    payer,
    claim: request.claim,
  }
}

// The desk of Idempotency-Keys: what is asked under one is done once. What runs is known here, before anyone
// waits for anything; what has run is in the store, with its answer where that was kept.
import type { Place } from '../core/chain.ts'
import type { Claim } from '../core/claim.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import type { KeyRecord } from '../core/key.ts'
import type { GatewayError } from '../core/problem.ts'
import { pathOf } from '../http/router.ts'
import type { AuditRepository, ClaimRepository, KeptClaim } from '../store/store.ts'
import { packAnswer, unpackAnswer, type AnswerHead, type KeptAnswer } from './answer.ts'
import {
  callNotKept,
  changeNotKept,
  inConflict,
  inProgress,
  inReview,
  invalidKey,
  type ClaimedWork,
} from './claim-refusal.ts'
import { PROJECT_HEADER } from './directory.ts'
import { Shelf } from './shelf.ts'
import type { Vault } from './vault.ts'

/** What the operator decides about kept answers. */
export interface ClaimPolicy {
  readonly keepMs: number
  /** The largest answer that is kept; 0: none is. */
  readonly answerBytesMax: number
  /** What all of them may take on disk together. */
  readonly totalBytesMax: number
}

export interface ClaimParts {
  readonly claims: ClaimRepository
  /** What became of calls. */
  readonly audit: Pick<AuditRepository, 'find'>
  /** The books: which operations have no end yet, and what time it is there. */
  readonly ledger: {
    find(requestId: string): { readonly state: string } | undefined
    /** When the rule ends a review; undefined where only somebody can. */
    resolvesAt(requestId: string): number | undefined
    now(): number
  }
  readonly vault: Vault
  readonly clock: Clock
  readonly policy: ClaimPolicy
  readonly warn: (text: string) => void
}

/** A request under an Idempotency-Key. */
export interface ClaimedRequest {
  readonly key: KeyRecord
  /** As it was sent. */
  readonly header: string
  readonly requestId: string
  readonly request: Request
  readonly body: Uint8Array
  readonly work: ClaimedWork
  /** Counts that an answer is shown again; throws where that is too often. */
  readonly meter?: () => void
}

/** What was answered before. */
export interface Replay extends KeptAnswer {
  readonly requestId: string
}

/** All answers that are being gathered or written, so that no number of callers fills the memory. */
const GATHERED_BYTES_MAX = 64 * 1_048_576
const SWEEP_MS = 60_000
const HEADER = /^[\x20-\x2b\x2d-\x7e]{1,255}$/
const IDEMPOTENCY_HEADER = 'idempotency-key'

/** Undefined without one. Two of them arrive joined by a comma, which no key holds. */
export function readIdempotencyKey(headers: Headers): string | undefined {
  const header = headers.get(IDEMPOTENCY_HEADER)
  if (header === null) return undefined
  if (!HEADER.test(header)) throw invalidKey()
  return header
}

export class Claims implements Ticker {
  policy: ClaimPolicy
  readonly #parts: ClaimParts
  /** By the claim's id. */
  readonly #running = new Map<string, Ticket>()
  /** What could not be written yet. */
  #late: Ticket[] = []
  #ticking: Place | undefined
  #sweptMs: number
  #isBusy = false
  /** What is kept on disk, or about to be. */
  readonly #shelf = new Shelf()
  /** Of a ticket: bytes of answers in memory. */
  gathered = 0

  constructor(parts: ClaimParts) {
    this.policy = parts.policy
    this.#parts = parts
    this.#sweptMs = parts.clock.elapsed()
  }

  /** Before any request: what an earlier process kept takes room. */
  async open(): Promise<void> {
    this.#ticking = this.#parts.clock.everySecond(this)
    for (const size of await this.#parts.claims.sizes()) this.#shelf.add(size)
  }

  /** What could not be written yet has no other chance than this. To be awaited before the store is closed. */
  async close(): Promise<void> {
    this.#ticking?.leave()
    if (this.#late.length > 0) await this.#catchUp()
  }

  /**
   * The ticket of a request that is the first under its key, or what the first was answered; throws where
   * neither can be. The key is taken before anything is waited for: of many at once, one goes on.
   */
  async begin(asked: ClaimedRequest): Promise<Ticket | Replay> {
    const claim = claimOf(asked)
    const other = this.#running.get(claim.id)
    if (other !== undefined) {
      if (other.record.fingerprint !== claim.fingerprint) throw inConflict(other.requestId)
      const found = await other.found
      if (found === undefined) throw inProgress(other.requestId)
      asked.meter?.()
      return found
    }
    const found = Promise.withResolvers<Replay | undefined>()
    // Nobody may be there to hear of it but the one that asked first.
    found.promise.catch(() => {})
    const parts = { desk: this, found: found.promise, accountId: asked.key.accountId }
    const ticket = new Ticket(claim, asked.requestId, parts)
    this.#running.set(claim.id, ticket)
    try {
      const replay = await this.#look(claim, asked)
      found.resolve(replay)
      if (replay === undefined) return ticket
      ticket.release()
      return replay
    } catch (thrown) {
      found.reject(thrown)
      ticket.release()
      throw thrown
    }
  }

  /** Of a ticket: whether an answer can be kept at all. */
  canKeep({ accountId }: Ticket): boolean {
    const { answerBytesMax, totalBytesMax } = this.policy
    if (answerBytesMax === 0 || !this.#shelf.hasRoom(accountId, 1, totalBytesMax)) return false
    return this.#parts.vault.canSeal()
  }

  /** Of a ticket: whether so much more may be gathered. */
  hasRoom({ accountId }: Ticket, ownBytes: number, moreBytes: number): boolean {
    const { answerBytesMax, totalBytesMax } = this.policy
    const bytes = ownBytes + moreBytes
    if (bytes > answerBytesMax || this.gathered + moreBytes > GATHERED_BYTES_MAX) return false
    return this.#shelf.hasRoom(accountId, bytes, totalBytesMax)
  }

  /** Of a ticket: takes the room for what it will write; false where there is none. */
  takeRoom({ accountId }: Ticket, bytes: number): boolean {
    if (!this.#shelf.hasRoom(accountId, bytes, this.policy.totalBytesMax)) return false
    this.#shelf.add({ accountId, bytes })
    return true
  }

  seal(answer: Uint8Array, { record, requestId }: Ticket): Uint8Array | undefined {
    return this.#parts.vault.seal(answer, contextOf(record.id, requestId))
  }

  /** Of a ticket: writes its last word, in one commit with whatever is appended in this turn. */
  async write(ticket: Ticket): Promise<void> {
    try {
      await (ticket.answer === undefined
        ? this.free(ticket.record.id)
        : this.#keep(ticket, ticket.answer))
      ticket.close()
    } catch {
      // The end of the operation was not written either, and the ledger tells of it. Both are tried again.
      this.#late.push(ticket)
    }
  }

  /** What a claim was for has not happened: it is gone, in one commit with whatever is appended in this turn. */
  async free(claimId: string): Promise<void> {
    this.#shelf.free(await this.#parts.claims.drop(claimId))
  }

  async #keep({ record, accountId }: Ticket, answer: Uint8Array): Promise<void> {
    const isKept = await this.#parts.claims.keep(record.id, answer)
    if (!isKept) this.#shelf.free([{ accountId, bytes: answer.length }])
  }

  /** The claim of a change that wrote none itself. Never rejects. */
  async add({ record, requestId, accountId }: Ticket): Promise<void> {
    const at = this.#parts.ledger.now()
    try {
      await this.#parts.claims.add({ ...record, requestId, accountId, at })
    } catch {
      // The change is made, and its answer must not say otherwise. Those that matter have written their own.
    }
  }

  /** Of a ticket: it is over, and what is known of it is in the store. */
  forget(ticket: Ticket): void {
    const { id } = ticket.record
    // The key may be free and taken again since.
    if (this.#running.get(id) === ticket) this.#running.delete(id)
  }

  /** Of the clock. */
  tick(): void {
    if (this.#late.length > 0) void this.#catchUp()
    const now = this.#parts.clock.elapsed()
    if (now - this.#sweptMs < SWEEP_MS || this.#isBusy) return
    void this.#sweep(now)
  }

  async #catchUp(): Promise<void> {
    const late = this.#late
    this.#late = []
    await Promise.all(late.map((ticket) => this.write(ticket)))
  }

  /** Some at a time; where there were any there may be more, which the next tick removes. */
  async #sweep(now: number): Promise<void> {
    this.#isBusy = true
    try {
      const before = this.#parts.ledger.now() - this.policy.keepMs
      const { count, freed } = await this.#parts.claims.sweep(before)
      this.#shelf.free(freed)
      if (count === 0) this.#sweptMs = now
    } catch (thrown) {
      this.#sweptMs = now
      const why = thrown instanceof Error ? thrown.message : String(thrown)
      this.#parts.warn(`old answers could not be removed, and will be later: ${why}`)
    } finally {
      this.#isBusy = false
    }
  }

  /** Undefined where nothing was done under this key, or nothing that still counts. */
  async #look(claim: Claim, asked: ClaimedRequest): Promise<Replay | undefined> {
    const known = await this.#parts.claims.find(claim.id)
    if (known === undefined) return undefined
    const { requestId } = known
    const operation = this.#parts.ledger.find(requestId)
    if (operation === undefined && this.#isOld(known)) {
      // Before the new one is written: the store knows each key once.
      await this.free(claim.id)
      return undefined
    }
    if (known.fingerprint !== claim.fingerprint) throw inConflict(requestId)
    if (operation?.state === 'review')
      throw inReview(requestId, this.#parts.ledger.resolvesAt(requestId))
    if (operation !== undefined) throw inProgress(requestId)
    // Whoever may not have it does not make the gateway read and open it.
    if (known.hasAnswer) asked.meter?.()
    const answer = await this.#openAnswer(known)
    if (answer === undefined) throw await this.#notKept(requestId, asked)
    return { ...answer, requestId }
  }

  /** Rare, and so worth a look at what became of it. */
  async #notKept(requestId: string, { key, work }: ClaimedRequest): Promise<GatewayError> {
    if (work === 'change') return changeNotKept(requestId)
    return callNotKept(requestId, await this.#parts.audit.find(key.accountId, requestId))
  }

  #isOld({ at }: KeptClaim): boolean {
    return this.#parts.ledger.now() - at >= this.policy.keepMs
  }

  async #openAnswer({ id, requestId, hasAnswer }: KeptClaim): Promise<KeptAnswer | undefined> {
    const answer = hasAnswer ? await this.#parts.claims.answer(id) : undefined
    if (answer === undefined) return undefined
    const opened = this.#parts.vault.open(answer, contextOf(id, requestId))
    return opened === undefined ? undefined : unpackAnswer(opened)
  }
}

interface TicketParts {
  readonly desk: Claims
  readonly accountId: string
  /** What the store knew of the key when the ticket was asked for. */
  readonly found: Promise<Replay | undefined>
}

/** The right to do what is asked under a key. It has one last word, and whatever comes later changes nothing. */
export class Ticket {
  readonly record: Claim
  readonly requestId: string
  readonly accountId: string
  readonly found: TicketParts['found']
  /** Sealed. Undefined: what it was for has not happened. */
  answer: Uint8Array | undefined
  readonly #desk: Claims
  #pieces: Uint8Array[] = []
  #size = 0
  #isKeeping: boolean | undefined
  #isOver = false

  constructor(record: Claim, requestId: string, { desk, found, accountId }: TicketParts) {
    this.record = record
    this.requestId = requestId
    this.accountId = accountId
    this.found = found
    this.#desk = desk
  }

  /** The answer will be kept, as far as one can tell. */
  get isKeeping(): boolean {
    this.#isKeeping ??= this.#desk.canKeep(this)
    return this.#isKeeping
  }

  /** A piece of the answer, which may be used for something else afterwards. */
  add(piece: Uint8Array): void {
    if (!this.isKeeping || this.#isOver) return
    if (!this.#desk.hasRoom(this, this.#size, piece.length)) return this.#giveUp()
    this.#pieces.push(piece.slice())
    this.#size += piece.length
    this.#desk.gathered += piece.length
  }

  /** Keeps what was added, in one commit with whatever is appended in this turn. Never rejects. */
  keep(head: AnswerHead): Promise<void> {
    if (this.#isOver) return Promise.resolve()
    const packed = this.isKeeping ? packAnswer(head, this.#pieces) : undefined
    const sealed = packed === undefined ? undefined : this.#desk.seal(packed, this)
    if (sealed === undefined || !this.#desk.takeRoom(this, sealed.length)) {
      this.release()
      return Promise.resolve()
    }
    this.answer = sealed
    return this.#write()
  }

  /** What it was for has not happened: the key is free again, in one commit too. */
  drop(): void {
    if (!this.#isOver) void this.#write()
  }

  /** Nothing is written: there was nothing to tell, or there is no more. */
  release(): void {
    if (!this.#isOver) this.close()
  }

  /** Of the desk: its last word is written. */
  close(): void {
    this.#isOver = true
    this.#giveUp()
    this.#desk.forget(this)
  }

  #write(): Promise<void> {
    this.#isOver = true
    return this.#desk.write(this)
  }

  #giveUp(): void {
    this.#isKeeping = false
    this.#desk.gathered -= this.#size
    this.#size = 0
    this.#pieces = []
  }
}

function claimOf({ key, header, request, body }: ClaimedRequest): Claim {
  const { method, url, headers } = request
  const query = url.includes('?') ? url.slice(url.indexOf('?')) : ''
  const project = headers.get(PROJECT_HEADER) ?? ''
  const fingerprint = new Bun.SHA256()
    // None of these holds a line break, so no two requests look alike.
    .update(`${method}\n${pathOf(url)}${query}\n${project}\n`)
    .update(body)
    .digest('hex')
  return { id: new Bun.SHA256().update(`${key.id}\n${header}`).digest('hex'), fingerprint }
}

function contextOf(claimId: string, requestId: string): string {
  return `${claimId} ${requestId}`
}

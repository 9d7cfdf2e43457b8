// Keeps the tokens of sign-ins fresh. One renewal at a time for each of them, whoever waits for it; what it brings is
// durable before anybody uses it, and a process that dies in between asks again with what it had.
import type { Identities, Identity, NewTokens } from '../../access/identities.ts'
import { Chain } from '../../core/chain.ts'
import type { Clock } from '../../core/clock.ts'
import type { SealedTokens } from '../../core/identity.ts'
import { AttemptFailure } from '../../upstream/failure.ts'
import { Lifeline } from '../../upstream/lifeline.ts'
import { Course } from './course.ts'
import type { Grant, Issuer } from './issuer.ts'
import { findTrouble, removed, renewedNoMore, unavailable } from './trouble.ts'

export interface RenewalParts {
  readonly identities: Identities
  readonly clock: Clock
  readonly warn: (text: string, extra?: Readonly<Record<string, unknown>>) => void
}

/** How long an issuer may take for all of its answer. */
const ANSWER_MS = 30_000
/** Before a token ends, another one is got while it is used on. */
const AHEAD_MS = 300_000
/** Nearer to its end than this it could end on its way. */
const LAST_MS = 30_000

export class Renewals {
  readonly #parts: RenewalParts
  readonly #courses = new WeakMap<Identity, Course>()
  readonly #flights = new Set<Promise<string>>()
  readonly #living = new Chain<Lifeline>()

  constructor(parts: RenewalParts) {
    this.#parts = parts
  }

  /** The token to call with now; a promise only where it must be renewed first. Rejects with an `AttemptFailure`. */
  token(identity: Identity, issuer: Issuer): string | Promise<string> {
    const present = this.#findPresent(identity)
    const leftMs = this.#leftOf(identity)
    const aheadMs = aheadOf(identity.record.tokens)
    if (present !== undefined && leftMs > aheadMs) return present
    const flight = this.#join(identity, issuer)
    if (present === undefined)
      return flight instanceof AttemptFailure ? Promise.reject(flight) : flight
    const isLast = leftMs <= Math.min(LAST_MS, aheadMs / 2)
    if (!isLast || flight instanceof AttemptFailure) return present
    return flight.catch((thrown: unknown) => {
      // Whatever has become of the renewal: a token that is still good will do.
      const rest = this.#findPresent(identity)
      if (rest === undefined) throw thrown
      return rest
    })
  }

  /** A supplier has refused this token: the one that is good now. Rejects with an `AttemptFailure`. */
  async renew(identity: Identity, issuer: Issuer, refused: string): Promise<string> {
    if (identity.tokens?.accessToken === refused) this.#courseOf(identity).isSpent = true
    return this.token(identity, issuer)
  }

  /** A supplier refuses the token that was just got: yet another one would burn renewals and change nothing. */
  markVain(identity: Identity): void {
    this.#courseOf(identity).markVain(this.#parts.clock.elapsed())
  }

  /** Whether a supplier that refuses this sign-in is better believed for a while. */
  isVain(identity: Identity): boolean {
    return this.#courseOf(identity).isVain(this.#parts.clock.elapsed())
  }

  /** Resolves when none is under way: what an issuer has given should be saved before a process ends. */
  async settle(): Promise<void> {
    while (this.#flights.size > 0) await Promise.allSettled(this.#flights)
  }

  /** Undefined where it must not be called with. */
  #findPresent(identity: Identity): string | undefined {
    if (findTrouble(identity) !== undefined || this.#courseOf(identity).isSpent) return undefined
    return this.#leftOf(identity) > 0 ? identity.tokens?.accessToken : undefined
  }

  /** Milliseconds; one whose end nobody told is used until it is refused. */
  #leftOf({ record: { tokens } }: Identity): number {
    const { expiresAt } = tokens
    return expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - this.#parts.clock.now()
  }

  /** Whatever was found out about tokens that have been replaced says nothing about the new ones. */
  #courseOf(identity: Identity): Course {
    const known = this.#courses.get(identity)
    if (known !== undefined && isAbout(known, identity)) return known
    const course = new Course(identity.record.tokens.sealed)
    this.#courses.set(identity, course)
    return course
  }

  /** The renewal that is under way, or one that begins now; a failure where nobody is asked. */
  #join(identity: Identity, issuer: Issuer): Promise<string> | AttemptFailure {
    const trouble = findTrouble(identity)
    if (trouble !== undefined) return trouble
    const course = this.#courseOf(identity)
    if (course.flight !== undefined) return course.flight
    if (course.isRefused || identity.record.tokens.refusedAt !== undefined)
      return renewedNoMore(identity)
    const pauseMs = course.pauseLeft(this.#parts.clock.elapsed())
    return pauseMs > 0 ? unavailable(identity, pauseMs) : this.#begin(identity, issuer, course)
  }

  /** It belongs to nobody: whoever waits for it may leave, and it may fail with nobody there. */
  #begin(identity: Identity, issuer: Issuer, course: Course): Promise<string> {
    const flight = this.#fly(identity, issuer, course).finally(() => {
      course.flight = undefined
      this.#flights.delete(flight)
    })
    course.flight = flight
    this.#flights.add(flight)
    flight.catch(() => {})
    return flight
  }

  async #fly(identity: Identity, issuer: Issuer, course: Course): Promise<string> {
    course.unsaved ??= await this.#ask(identity, issuer, course)
    // Somebody has signed in again meanwhile, or removed it: what was got belongs to what was there before.
    if (course.unsaved === undefined) return this.token(identity, issuer)
    await this.#save(identity, issuer, course)
    const trouble = findTrouble(identity)
    if (trouble !== undefined) throw trouble
    const token = identity.tokens?.accessToken
    // Nothing has failed and yet nothing was kept: there is no such sign-in any more.
    if (token === undefined || isAbout(course, identity)) throw removed(identity)
    return token
  }

  /** Undefined where what the issuer says does not count any more. */
  async #ask(identity: Identity, issuer: Issuer, course: Course): Promise<NewTokens | undefined> {
    // Before it is asked: the token's time begins at some moment from here.
    const askedAt = this.#parts.clock.now()
    const grant = await this.#request(identity, issuer)
    if (!isAbout(course, identity)) return undefined
    if (grant.kind === 'refused') {
      course.isRefused = true
      await this.#refuse(identity, grant.why)
      throw renewedNoMore(identity)
    }
    if (grant.kind === 'unavailable') {
      this.#tell(identity, course, grant.why)
      const pauseMs = course.pause(this.#parts.clock.elapsed(), grant.waitMs)
      throw unavailable(identity, pauseMs)
    }
    const { secrets, lifetimeMs } = grant
    const expiresAt = lifetimeMs === undefined ? undefined : askedAt + lifetimeMs
    return { secrets, expiresAt, renewedAt: askedAt }
  }

  async #request(identity: Identity, issuer: Issuer): Promise<Grant> {
    const caller = { signal: new AbortController().signal, keepOpen: () => {}, letGo: () => {} }
    const lifeline = new Lifeline(this.#parts.clock, caller, this.#living)
    lifeline.expect('token', ANSWER_MS)
    try {
      return await issuer.renew(identity.tokens ?? {}, lifeline)
    } finally {
      lifeline.release()
    }
  }

  /** Throws where it is not durable: the old tokens are what a process would begin with, so nobody may use the new. */
  async #save(identity: Identity, issuer: Issuer, course: Course): Promise<void> {
    const { identities, clock } = this.#parts
    try {
      await identities.keep(identity, course.unsaved!)
    } catch (thrown) {
      // The border to the store, for which callers wait as they do for the issuer.
      this.#tell(identity, course, `what was got could not be saved: ${nameOf(thrown)}`)
      const pauseMs = course.pause(clock.elapsed())
      // The issuer may know the old tokens no more, so this does not wait for the next caller.
      clock.after(pauseMs, { tick: () => this.#saveAgain(identity, issuer, course) })
      throw unavailable(identity, pauseMs)
    }
  }

  #saveAgain(identity: Identity, issuer: Issuer, course: Course): void {
    const isWanted = course.flight === undefined && isAbout(course, identity)
    if (isWanted) void this.#begin(identity, issuer, course)
  }

  async #refuse(identity: Identity, why: string): Promise<void> {
    const { identities, clock, warn } = this.#parts
    warn(
      `a native sign-in is renewed no more and ends with the token that it has. Sign in again with \`gateway native login --id ${identity.id}\`.`,
      { ...describe(identity), why },
    )
    try {
      await identities.refuse(identity, clock.now())
    } catch (thrown) {
      // The border to the store. This process knows it, and the next one asks the issuer once more.
      const extra = { ...describe(identity), why: nameOf(thrown) }
      warn('it could not be saved that a native sign-in is renewed no more', extra)
    }
  }

  /** Once, until it is renewed: calls come by the thousand. */
  #tell(identity: Identity, { hasFailed }: Course, why: string): void {
    if (hasFailed) return
    this.#parts.warn(
      'a native sign-in could not be renewed. Calls go on with the token that it has while that is good, and it is tried again.',
      { ...describe(identity), why },
    )
  }
}

/** Milliseconds before its end; a token that lives shortly is not renewed all the time. */
function aheadOf({ expiresAt, renewedAt }: SealedTokens): number {
  if (expiresAt === undefined || renewedAt === undefined) return AHEAD_MS
  return Math.min(AHEAD_MS, (expiresAt - renewedAt) / 10)
}

function isAbout({ sealed }: Course, { record }: Identity): boolean {
  return record.tokens.sealed === sealed
}

function describe({ record }: Identity): Readonly<Record<string, unknown>> {
  return { identity: record.id, name: record.name, supplier: record.supplierId }
}

/** Not its text, which may hold anything. */
function nameOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.name : typeof thrown
}

// Ends one attempt when it takes too long or its caller has gone. Deadlines are checked once a second
// against the clock that was handed in, so an attempt sets no timer of its own.
import { Chain, type Place } from '../core/chain.ts'
import type { Clock, Ticker } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'
import type { Lookout, Reach } from './reach.ts'

/** The reason of an abort that the caller caused. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone'
  /** What is known of a supplier that is not at work for it; undefined: it may be. */
  readonly evidence: 'unsent' | 'refused' | undefined

  constructor(evidence?: 'unsent' | 'refused') {
    super('the caller has gone')
    this.evidence = evidence
  }
}

/** The status under which a caller's leaving is recorded. */
export const CALLER_LEFT = 499

/** The caller's side of a call, as far as an attempt must know it. */
export interface CallerLine {
  /** Fires when the caller has gone. */
  readonly signal: AbortSignal
  /** Lets the answer take its time: without this the server cuts a silent connection. */
  keepOpen(): void
  /** Gives the connection its usual limits back. */
  letGo(): void
}

/** How long a supplier may take to say what an answer used whose caller has gone at its end. */
const LINGER_MS = 2_000

// A controller that never fired is as good as new, and a new one for every call is work for the garbage
// collector above all. Bounded by what a burst leaves behind.
const SPARE_MAX = 256
const spare: AbortController[] = []

// To be told of a caller's leaving costs a tenth of a short call, and short calls are over before anyone
// leaves. So all who are young are listened to together, a moment later; who has left by then is noticed.
const YOUNG_MS = 50
const young = new Chain<Lifeline>()
let isGrowing = false

function growUp(): void {
  isGrowing = false
  for (const lifeline of young) lifeline.listen()
}

export class Lifeline implements Ticker {
  readonly #controller = spare.pop() ?? new AbortController()
  readonly #clock: Clock
  readonly #caller: CallerLine
  /** Undefined while the caller is not listened to. */
  #left: AbortSignal | undefined
  readonly #living: Place
  readonly #ticking: Place
  readonly #youth: Place
  #deadline = Number.POSITIVE_INFINITY
  #waitingFor = ''
  #limitMs = 0
  #isReleased = false
  #isRenewed = false
  #isKept = false
  #isLingering = false
  #isWorthwhile: (() => boolean) | undefined
  #lingerMs = LINGER_MS
  #onRelease: (() => void) | undefined
  /** Undefined while no answer is waited for, and where nobody can find out. */
  #reach: Reach | undefined
  #origin = ''
  #answers = 0
  /** Undefined for the first second, in which most calls are answered. */
  #lookout: Lookout | undefined

  /** `living` lists every attempt under way; this one is in it until it is released. */
  constructor(clock: Clock, caller: CallerLine, living: Chain<Lifeline>) {
    this.#clock = clock
    this.#caller = caller
    this.#living = living.join(this)
    this.#ticking = clock.everySecond(this)
    this.#youth = young.join(this)
    if (isGrowing) return
    isGrowing = true
    setTimeout(growUp, YOUNG_MS)
  }

  /** From now on a leaving of the caller is heard at once; one that has happened ends the attempt. */
  listen(): void {
    this.#youth.leave()
    if (this.#isReleased || this.#left !== undefined) return
    this.#left = this.#caller.signal
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- one attempt at a time, and cheaper
    this.#left.onabort = () => void this.leave()
    if (this.#left.aborted) this.leave()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** The caller has gone, and the attempt goes on for what there is left to hear. */
  get isLingering(): boolean {
    return this.#isLingering
  }

  /** From now on, what is waited for must come within `limitMs`. Who lingers gets no more time than it has. */
  expect(waitingFor: string, limitMs: number): void {
    const deadline = this.#clock.elapsed() + limitMs
    this.#waitingFor = waitingFor
    this.#limitMs = limitMs
    this.#deadline = this.#isLingering ? Math.min(this.#deadline, deadline) : deadline
    this.#isRenewed = false
  }

  /** The request goes to this origin. If it stays silent, it is found out whether anybody is there. */
  sentTo(reach: Reach, origin: string): void {
    this.#unwatch()
    this.#reach = reach
    this.#origin = origin
    this.#answers = reach.answers
  }

  /** The answer has begun. */
  heard(): void {
    this.#reach?.heard()
    this.#unwatch()
    this.#reach = undefined
  }

  #unwatch(): void {
    if (this.#lookout === undefined) return
    this.#lookout.leave()
    this.#lookout = undefined
  }

  /** Something came: the time allowed for the next begins anew, as exactly as the ticks tell. */
  renew(): void {
    // Who lingers waits for one thing: a supplier that talks on must not keep it here.
    if (!this.#isLingering) this.#isRenewed = true
  }

  /** Ends the attempt now; what is still under way at the supplier is cancelled. */
  abort(reason: Error): void {
    if (this.#isReleased) return
    this.#controller.abort(reason)
    this.release()
  }

  /** The attempt is over: nothing of it may be under way any more. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#living.leave()
    this.#ticking.leave()
    this.#unwatch()
    if (this.#isKept) this.#caller.letGo()
    this.#youth.leave()
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- the same
    if (this.#left !== undefined) this.#left.onabort = null
    if (!this.#controller.signal.aborted && spare.length < SPARE_MAX) spare.push(this.#controller)
    this.#onRelease?.()
  }

  /** Told once, when the attempt is over. */
  onRelease(listener: () => void): void {
    this.#onRelease = listener
  }

  /** While this holds, there is something left to hear that is worth some time after the caller has gone. */
  lingerWhile(isWorthwhile: () => boolean, lingerMs = LINGER_MS): void {
    this.#isWorthwhile = isWorthwhile
    this.#lingerMs = lingerMs
  }

  /** The caller has gone. True when that ends the attempt, false while it lingers. */
  leave(): boolean {
    if (this.#isWorthwhile?.() !== true) this.abort(new CallerGone())
    else if (!this.#isLingering) this.expect('usage', this.#lingerMs)
    this.#isLingering = !this.signal.aborted
    return !this.#isLingering
  }

  /** Of the clock. */
  tick(): void {
    // Short calls, which are most, never come here and are spared the work.
    if (!this.#isKept) {
      this.#caller.keepOpen()
      this.#isKept = true
      this.listen()
    }
    if (this.#isReleased) return
    const now = this.#clock.elapsed()
    if (this.#isRenewed) this.#deadline = now + this.#limitMs
    this.#isRenewed = false
    if (now < this.#deadline) return this.#look()
    if (this.#isLingering) return this.abort(new CallerGone())
    const seconds = Math.round(this.#limitMs / 1000)
    const text = `The supplier sent no ${this.#waitingFor} within ${seconds} seconds.`
    this.abort(new GatewayError('provider_timeout', text))
  }

  /** Nobody is where the request went. */
  lost(reason: GatewayError): void {
    this.abort(this.#isLingering ? new CallerGone() : reason)
  }

  /** Whoever has waited for a while wants to know whether there is anybody to wait for. */
  #look(): void {
    if (this.#reach === undefined) return
    const sentAt = this.#deadline - this.#limitMs
    const sent = { origin: this.#origin, sentAt, answers: this.#answers }
    this.#lookout ??= this.#reach.watch(sent, this)
    this.#lookout.look(this.#clock)
  }
}

// Whether a way may be used, judged by what became of the calls that went there: after failures in a row it is
// left alone for a while, longer each time, and then one real call finds out whether it is back. A call that set
// out before the way was closed says nothing about how it is now, and what one caller alone suffers closes nothing
// that works for others.
import { WAIT_MAX_MS } from '../suppliers/rate-headers.ts'
import { LISTED, PROBING, RESTING, WAITING } from './reason.ts'
import { Run, Served } from './witness.ts'

/** Failures in a row after which a way rests: of the line to it, and of whoever answers there. */
const LOCAL_MAX = 5
const REMOTE_MAX = 5
/** The first rest; the second is twice as long, and so on. */
export const REST_MS = 30_000
/** Also of what only a person can mend: it is looked at again now and then. */
export const REST_MAX_MS = 300_000
/** Of a supplier that is busy and does not say for how long. */
const BACK_OFF_MS = 1_000
const BACK_OFF_MAX_MS = 60_000
/** So long open and without a failure, and one rest less counts. */
const CALM_MS = 30_000
/** Whoever is to find out and takes longer keeps nobody else from it. */
const PROBE_MS = 30_000

export type Side = 'local' | 'remote'

/** What a call takes along: the higher, the later it set out, as far as that matters. */
export type Pass = number

/** What went wrong, in a word or two, and how long it is left alone where that is enough. */
export interface Blow {
  readonly why: string
  /** Of the first rest. */
  readonly restMs: number
  /** The key whose call it was; nothing where it does not matter. */
  readonly by?: string | undefined
}

/** As it is shown. */
export interface CircuitView {
  readonly state: 'ready' | 'waiting' | 'resting' | 'probing'
  /** Milliseconds until it may be asked again; 0 where it may be. */
  readonly remainingMs: number
  /** What went wrong last; undefined once nothing speaks against it any more. */
  readonly why: string | undefined
  readonly localFailures: number
  readonly remoteFailures: number
  /** Rests that the next one is made longer by. */
  readonly rests: number
}

export class Circuit {
  /** Nothing is or was wrong: the one look that most calls take. */
  isClear = true
  #waitingUntil = 0
  #restingUntil = 0
  /** It was closed, and nobody has answered since. */
  #isUnproven = false
  /** The last that was given out. */
  #latest: Pass = 0
  /** Of whoever comes now; lower ones are of those who set out before it was closed. */
  #current: Pass = 0
  /** Of the one call that finds out whether it is back, and since when it does. */
  #probe: Pass | undefined
  #probeAt = 0
  #local = 0
  readonly #remote = new Run()
  #rests = 0
  /** Refusals in a row because it was too busy, and how often it was left alone for them. */
  readonly #busy = new Run()
  #backOffs = 0
  readonly #served = new Served()
  #calmSince = 0
  #why: string | undefined

  /** What stands against asking it now: one of the reasons. */
  standing(now: number): number {
    if (this.isClear) return LISTED
    if (now < this.#waitingUntil) return WAITING
    if (now < this.#restingUntil) return RESTING
    return this.#isProbed(now) ? PROBING : LISTED
  }

  /** Milliseconds until what stands against it now is over: a pause that was asked for, else a rest. */
  remaining(now: number): number {
    const pause = this.#waitingUntil - now
    return pause > 0 ? pause : Math.max(0, this.#restingUntil - now)
  }

  /** Closed, and not known to be back. */
  get isClosed(): boolean {
    return this.#isUnproven
  }

  /** The first to come after a rest finds out whether it is over, and must say what became of it. */
  enter(now: number): Pass {
    if (this.isClear || !this.#isUnproven || this.#isProbed(now)) return this.#current
    if (now < this.#waitingUntil || now < this.#restingUntil) return this.#current
    this.#probe = ++this.#latest
    this.#probeAt = now
    return this.#probe
  }

  /** A call is over, with or without a verdict: if it was to find out, the next one is. */
  leave(pass: Pass): void {
    if (pass === this.#probe) this.#probe = undefined
  }

  /**
   * Somebody is there and works. Whoever was let in while it was closed, for want of anyone else, is as good a proof
   * as the one who was sent to find out. A pause that the supplier has asked for still holds.
   */
  proved(pass: Pass, now: number): void {
    if (this.isClear || !this.#isToday(pass)) return
    if (this.#isUnproven) this.#open(pass, now)
    this.#restingUntil = 0
    this.#busy.clear()
    this.#backOffs = 0
    this.#local = 0
    this.review(now)
  }

  #open(pass: Pass, now: number): void {
    this.#isUnproven = false
    this.#probe = undefined
    // Whoever found out goes on as any other call, and what becomes of it counts.
    this.#current = pass
    this.#remote.clear()
    this.#calmSince = now
  }

  /** The line is fine; of whoever answers there it says nothing. */
  reached(pass: Pass, now: number): void {
    if (this.isClear || !this.#isToday(pass)) return
    this.#local = 0
    this.review(now)
  }

  /** A call of this key went well to its end. */
  finished(pass: Pass, now: number, by = ''): void {
    if (!this.#isToday(pass)) return
    this.#served.note(by, now)
    if (this.isClear) return
    this.#local = 0
    this.#remote.clear()
    this.review(now)
  }

  /** One more in a row; of the call that was to find out it is enough. */
  failed(pass: Pass, side: Side, blow: Blow, now: number): void {
    if (!this.#counts(pass)) return
    this.review(now)
    this.isClear = false
    this.#calmSince = now
    this.#why = blow.why
    const isMany = side === 'local' ? this.#addLocal() : this.#addRemote(blow, now)
    if (isMany) this.#rest(blow, now)
  }

  #addLocal(): boolean {
    this.#local += 1
    return this.#isUnproven || this.#local >= LOCAL_MAX
  }

  #addRemote({ by = '' }: Blow, now: number): boolean {
    this.#remote.add(by)
    const isMany = this.#isUnproven || this.#remote.count >= REMOTE_MAX
    return isMany && !this.#isOwnTrouble(this.#remote, by, now)
  }

  /** Nobody but this key has it, and somebody else has lately been served well. */
  #isOwnTrouble(run: Run, by: string, now: number): boolean {
    return !run.isShared && this.#served.hasOther(by, now)
  }

  /** Once is enough. */
  broke(pass: Pass, blow: Blow, now: number): void {
    if (this.#counts(pass)) this.#rest(blow, now)
  }

  /** Closed by whoever watches from outside, unless it is closed already. */
  close(blow: Blow, now: number): void {
    if (!this.#isUnproven) this.#rest(blow, now)
  }

  /** The supplier said for how long, and that it is busy: time alone ends it. */
  wait(ms: number, why: string, now: number): void {
    this.isClear = false
    this.#why = why
    this.#waitingUntil = Math.max(this.#waitingUntil, now + Math.min(ms, WAIT_MAX_MS))
  }

  /** The supplier said for how long, and that it does not work: then one call finds out. */
  pause(pass: Pass, ms: number, why: string, now: number): void {
    if (pass === this.#probe) this.#rest({ why, restMs: REST_MS }, now)
    else if (this.#counts(pass)) this.#shut(why)
    this.wait(ms, why, now)
  }

  /**
   * Busy, and it did not say for how long: our own guess, which a call that has no other choice may ignore. Whoever
   * does so is told the same, and makes it no longer.
   */
  backOff(pass: Pass, { why, by = '' }: Omit<Blow, 'restMs'>, now: number, draw: number): void {
    if (!this.#counts(pass) || now < this.#restingUntil) return
    this.isClear = false
    this.#why = why
    this.#busy.add(by)
    if (this.#isOwnTrouble(this.#busy, by, now)) return
    const ms = Math.min(BACK_OFF_MAX_MS, BACK_OFF_MS * 2 ** this.#backOffs)
    this.#backOffs += 1
    this.#restingUntil = now + ms * (0.5 + draw / 2)
    this.#renew()
  }

  /** Lets go of what time has healed: without it a way that is well again would be looked at twice for ever. */
  review(now: number): void {
    if (this.isClear || this.#isUnproven) return
    const calm = Math.floor((now - this.#calmSince) / CALM_MS)
    if (this.#rests > 0 && calm > 0) {
      this.#rests = Math.max(0, this.#rests - calm)
      this.#calmSince += calm * CALM_MS
    }
    if (now < this.#waitingUntil) return
    const trouble = this.#local + this.#remote.count + this.#busy.count
    if (trouble === 0) this.#why = undefined
    this.isClear = trouble + this.#rests === 0
  }

  view(now: number): CircuitView {
    return {
      state: this.#stateAt(now),
      remainingMs: Math.max(0, this.#waitingUntil - now, this.#restingUntil - now),
      why: this.#why,
      localFailures: this.#local,
      remoteFailures: this.#remote.count,
      rests: this.#rests,
    }
  }

  #stateAt(now: number): CircuitView['state'] {
    const standing = this.standing(now)
    if (standing === WAITING) return 'waiting'
    if (standing === RESTING) return 'resting'
    return this.#isUnproven ? 'probing' : 'ready'
  }

  #isProbed(now: number): boolean {
    return this.#probe !== undefined && now - this.#probeAt < PROBE_MS
  }

  #isToday(pass: Pass): boolean {
    return pass >= this.#current
  }

  /** While it is closed nobody makes that longer but the one who finds out. */
  #counts(pass: Pass): boolean {
    return this.#isUnproven ? pass === this.#probe : this.#isToday(pass)
  }

  #rest({ why, restMs }: Blow, now: number): void {
    this.review(now)
    this.#rests += 1
    this.#restingUntil = now + Math.min(REST_MAX_MS, restMs * this.#rests)
    this.#shut(why)
  }

  #shut(why: string): void {
    this.isClear = false
    this.#isUnproven = true
    this.#why = why
    this.#local = 0
    this.#remote.clear()
    this.#renew()
  }

  /** Whoever is under way from now on belongs to yesterday. */
  #renew(): void {
    this.#current = ++this.#latest
    this.#probe = undefined
  }
}

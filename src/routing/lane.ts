// One way to a model: a supplier, one of its credentials, the model and the region. What is learned of it
// outlives the configuration that named it; calls enter and leave it.
import type { Clock } from '../core/clock.ts'
import { RateWindow } from '../access/rate.ts'
import { RateReader } from '../suppliers/rate-headers.ts'
import type { AttemptFailure } from '../upstream/failure.ts'
import { Average } from './average.ts'
import { Circuit, REST_MS, type Blow, type CircuitView, type Pass } from './circuit.ts'
import { Quota } from './quota.ts'
import { isRequested, judge, type Judgement } from './judge.ts'
import { FULL, LISTED, PROBING, RESTING, WAITING } from './reason.ts'
import { NOBODY, Silence } from './silence.ts'

/** What all models share that are called with one credential; not an account of this gateway. */
export class SupplierAccount {
  readonly circuit = new Circuit()
  /** Reads what the supplier tells of its limits. */
  readonly rates = new RateReader()
  /** Calls under way. */
  inFlight = 0
  /** How many there may be. */
  parallelMax = Number.POSITIVE_INFINITY
  /** How many may begin in a minute; undefined: any number. */
  requestsPerMinute: number | undefined
  readonly #window = new RateWindow()

  get isFull(): boolean {
    return this.inFlight >= this.parallelMax
  }

  /** A call begins. The last that may begin in a minute closes the door for the others until there is room again. */
  begin(now: number): void {
    this.inFlight += 1
    const limit = this.requestsPerMinute
    if (limit === undefined) return
    this.#window.take(now, limit)
    const waitMs = this.#window.waitMs(now, limit)
    if (waitMs > 0) this.circuit.wait(waitMs, 'requests_per_minute', now)
  }
}

/** A pause that was asked for is kept whoever else rests; a rest is longer than a probe. */
const BY_WEIGHT: readonly number[] = [WAITING, RESTING, PROBING]

export class Lane {
  /** The same for the same way, whatever the configuration calls it. */
  readonly id: string
  readonly account: SupplierAccount
  readonly circuit = new Circuit()
  readonly quota = new Quota()
  /** Until the first content of a stream, and of a whole answer. */
  readonly first = new Average()
  readonly whole = new Average()
  /** Of those who wait for a stream to begin: a whole answer takes as long as it is. */
  readonly silence = new Silence()
  /** Only callers know its model, by the supplier's own name for it. */
  readonly isOpen: boolean

  constructor(id: string, account: SupplierAccount, isOpen = false) {
    this.id = id
    this.account = account
    this.isOpen = isOpen
  }

  /** What stands against asking it now: one of the reasons. */
  standing(now: number): number {
    const { circuit, account } = this
    const standing =
      circuit.isClear && account.circuit.isClear
        ? LISTED
        : (this.#blocker(now)?.standing(now) ?? LISTED)
    return account.isFull && standing < FULL ? FULL : standing
  }

  /** Milliseconds until what stands against it now is over. */
  remaining(now: number): number {
    return this.#blocker(now)?.remaining(now) ?? 0
  }

  /** As it is shown: its own figures, and the state and reason of whoever stands in the way. */
  view(now: number): CircuitView {
    const own = this.circuit.view(now)
    const blocker = this.#blocker(now) ?? this.circuit
    // Between a rest and the call that finds out, nobody is in the way, and it is still not known to be back.
    const isAccount = blocker === this.account.circuit || own.state === 'ready'
    if (!isAccount) return own
    const { state, remainingMs, why } = this.account.circuit.view(now)
    return { ...own, state, remainingMs, why: why ?? own.why }
  }

  /** Of the model and the account, the one that says more clearly that nobody is to be asked. */
  #blocker(now: number): Circuit | undefined {
    const own = this.circuit.standing(now)
    const shared = this.account.circuit.standing(now)
    for (const reason of BY_WEIGHT) {
      if (own === reason) return this.circuit
      if (shared === reason) return this.account.circuit
    }
    return undefined
  }

  /** Among the credentials of one supplier: the lower, the better. */
  pressure(now: number): number {
    return (this.account.inFlight + 1) / this.quota.share(now)
  }

  /** The supplier has begun to answer; only worth it where there is another credential to choose. */
  hear(response: Response, clock: Clock): void {
    this.quota.note(this.account.rates.read(response, clock.now()), clock.elapsed())
  }

  /** Lets go of what time has healed. */
  review(now: number): void {
    const { circuit, account } = this
    if (!circuit.isClear) circuit.review(now)
    if (!account.circuit.isClear) account.circuit.review(now)
  }

  /** A call of this key. */
  enter(now: number, awaited: Awaited = 'first', key = ''): Visit {
    return new Visit(this, now, awaited, key)
  }
}

/**
 * What a call waits for, as far as it is measured: the first content of a stream, or the whole answer. Whoever names
 * its supplier is not: nobody is to make it look slow to others by what is asked of it alone.
 */
export type Awaited = 'first' | 'whole' | 'unmeasured'

/** One attempt while it is under way, and what it proves. */
export class Visit {
  readonly #lane: Lane
  readonly #at: number
  readonly #awaited: Awaited
  readonly #key: string
  readonly #pass: Pass
  readonly #accountPass: Pass
  readonly #number: number
  #isOver = false

  constructor(lane: Lane, now: number, awaited: Awaited, key: string) {
    this.#lane = lane
    this.#at = now
    this.#awaited = awaited
    this.#key = key
    lane.account.begin(now)
    this.#pass = lane.circuit.enter(now)
    this.#accountPass = lane.account.circuit.enter(now)
    this.#number = awaited === 'first' ? lane.silence.begin() : NOBODY
  }

  /** What was awaited has come. */
  answered(now: number): void {
    const { circuit, account, silence } = this.#lane
    if (this.#awaited !== 'unmeasured') this.#lane[this.#awaited].add(now - this.#at, now)
    silence.heard()
    circuit.proved(this.#pass, now)
    account.circuit.proved(this.#accountPass, now)
  }

  /** It refused the request for what it is. That proves the line, and not that it would do what it is there for. */
  refused(now: number): void {
    this.#lane.silence.heard()
    this.#lane.circuit.reached(this.#pass, now)
  }

  /** The answer came whole. */
  finished(now: number): void {
    this.#lane.circuit.finished(this.#pass, now, this.#key)
  }

  failed(failure: AttemptFailure, now: number, draw: number): void {
    const judgement = judge(failure, this.#lane.isOpen)
    if (isWord(judgement)) this.#lane.silence.heard()
    this.#suffer(judgement, now, draw)
  }

  /** Broke off after content had come, with this code. */
  broke(code: string, now: number): void {
    if (this.#isOver || isRequested(code)) return
    const blow = { why: code, restMs: REST_MS, by: this.#key }
    this.#lane.circuit.failed(this.#pass, 'remote', blow, now)
  }

  /** Left once; what comes later changes nothing. */
  leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { circuit, account, silence } = this.#lane
    account.inFlight -= 1
    silence.end(this.#number)
    circuit.leave(this.#pass)
    account.circuit.leave(this.#accountPass)
  }

  #suffer(judgement: Judgement, now: number, draw: number): void {
    const { circuit, account } = this.#lane
    switch (judgement.kind) {
      case 'failure':
        return circuit.failed(this.#pass, judgement.side, this.#own(judgement.blow), now)
      case 'account':
        return account.circuit.broke(this.#accountPass, judgement.blow, now)
      case 'wait':
        return circuit.wait(judgement.waitMs, judgement.why, now)
      case 'pause':
        return circuit.pause(this.#pass, judgement.waitMs, judgement.why, now)
      case 'busy':
        return circuit.backOff(this.#pass, { why: judgement.why, by: this.#key }, now, draw)
      case 'nothing':
        return undefined
    }
  }

  #own(blow: Blow): Blow {
    return { ...blow, by: this.#key }
  }
}

/** Somebody there has said something, be it a refusal. */
function isWord(judgement: Judgement): boolean {
  return judgement.kind !== 'nothing' && !('side' in judgement && judgement.side === 'local')
}

const LANES_MAX = 10_000
/** Names of models at an open supplier are the callers' own: they take no room from others. */
const OPEN_MAX = 1_000

interface LaneName {
  readonly account: string
  readonly model: string
  readonly isOpen: boolean
}

/** Outlives the routes: a change of the configuration does not change what was learned. */
export class Lanes {
  /** Whoever was asked for last is last. */
  readonly #lanes = new Map<string, Lane>()
  readonly #open = new Map<string, Lane>()
  readonly #signIns = new Map<string, Lane>()
  /** As long as anybody has a lane of it: sign-ins come and go. */
  readonly #accounts = new Map<string, WeakRef<SupplierAccount>>()

  /** By texts that say all there is to tell one from another, without secrets. */
  of(account: string, model: string, isOpen = false): Lane {
    const lane = { account, model, isOpen }
    return isOpen
      ? this.#find(this.#open, OPEN_MAX, lane)
      : this.#find(this.#lanes, LANES_MAX, lane)
  }

  /** However many an account signs in, they take no room from the suppliers of the configuration. */
  ofSignIn(account: string, model: string): Lane {
    return this.#find(this.#signIns, LANES_MAX, { account, model, isOpen: false })
  }

  /** Lets go of what time has healed. */
  review(now: number): void {
    for (const lanes of [this.#lanes, this.#open, this.#signIns])
      for (const lane of lanes.values()) lane.review(now)
    for (const [name, account] of this.#accounts)
      if (account.deref() === undefined) this.#accounts.delete(name)
  }

  #find(lanes: Map<string, Lane>, most: number, { account, model, isOpen }: LaneName): Lane {
    const id = `${account} ${model}`
    const lane = lanes.get(id) ?? new Lane(id, this.#account(account), isOpen)
    lanes.delete(id)
    lanes.set(id, lane)
    // What nobody has named for long goes first.
    if (lanes.size > most) lanes.delete(lanes.keys().next().value!)
    return lane
  }

  #account(name: string): SupplierAccount {
    const known = this.#accounts.get(name)?.deref()
    if (known !== undefined) return known
    const account = new SupplierAccount()
    this.#accounts.set(name, new WeakRef(account))
    return account
  }
}

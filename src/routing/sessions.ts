// Keeps the calls of a session with whoever answered it before, because that is where its prompt is cached. A pin
// is a wish and no right: whoever may not answer a call is not made to by it.
import { randomBytes } from 'node:crypto'
import type { Lane } from './lane.ts'
import { Pace } from './pace.ts'
import { Pin, Pins } from './pins.ts'
import { LISTED } from './reason.ts'
import type { Route } from './routes.ts'
import type { SessionId } from './session-id.ts'

export interface SessionPolicy {
  /** How long a session without a call is remembered. */
  readonly idleMs: number
  /** How many are remembered; 0 is none at all. */
  readonly max: number
  /** Whether calls that name no session are taken together by how they begin. */
  readonly infers: boolean
}

/** What a caller is told: it stayed, it is the first call, or somebody else answers from now on. */
export type SessionState = 'kept' | 'new' | 'moved'

/** Whose session it is, and for what is asked. */
export interface SessionScope {
  readonly accountId: string
  readonly route: Pick<Route, 'name' | 'candidates'>
}

/** Where a session is remembered. */
interface PinPlace {
  readonly accountId: string
  readonly key: string
}

/** One call's part in a session. */
export class Session {
  readonly #sessions: Sessions
  readonly #place: PinPlace
  /** The lane that answered last; undefined for the first call. */
  readonly pin: string | undefined
  /** It has become slow there, and somebody else is not known to be as slow. */
  readonly isSlow: boolean
  state: SessionState = 'new'

  constructor(sessions: Sessions, place: PinPlace, pin: string | undefined, isSlow: boolean) {
    this.#sessions = sessions
    this.#place = place
    this.pin = pin
    this.isSlow = isSlow
  }

  /** Somebody answered; `firstMs` is the time to the first content of a stream. */
  answered(lane: Lane, now: number, firstMs: number | undefined): void {
    this.state = this.pin === undefined ? 'new' : this.pin === lane.id ? 'kept' : 'moved'
    this.#sessions.keep(this.#place, lane.id, now, firstMs)
  }
}

export class Sessions {
  // Copied for every call, which is cheaper than to begin with the secret each time.
  readonly #hasher = new Bun.CryptoHasher('sha256', randomBytes(32))
  /** Of each account: none makes room for itself at the cost of those who have less. */
  readonly #pins = new Map<string, Pins>()
  #size = 0
  #policy: SessionPolicy

  constructor(policy: SessionPolicy) {
    this.#policy = policy
  }

  get policy(): SessionPolicy {
    return this.#policy
  }

  set policy(policy: SessionPolicy) {
    this.#policy = policy
    while (this.#size > policy.max) this.#dropOldest(this.#largest())
  }

  get size(): number {
    return this.#size
  }

  /** Nothing is remembered until somebody has answered. */
  open({ text, isFirst }: SessionId, scope: SessionScope, now: number): Session {
    const { accountId } = scope
    const place = { accountId, key: this.#keyOf(text, scope) }
    const pin = isFirst ? undefined : this.#pins.get(accountId)?.find(place.key)
    if (pin === undefined || this.#isIdle(pin, now))
      return new Session(this, place, undefined, false)
    return new Session(this, place, pin.lane, isSlow(pin, scope.route, now))
  }

  keep({ accountId, key }: PinPlace, lane: string, now: number, firstMs: number | undefined): void {
    const own = this.#pins.get(accountId) ?? this.#open(accountId)
    const pin = own.find(key) ?? this.#add(own, new Pin(key, lane, now))
    // Elsewhere it begins anew: what was usual there says nothing about what is here.
    if (pin.lane !== lane || this.#isIdle(pin, now)) pin.pace = undefined
    pin.lane = lane
    pin.at = now
    if (firstMs !== undefined) (pin.pace ??= new Pace()).add(firstMs)
    own.touch(pin)
    while (this.#size > this.#policy.max) this.#dropOldest(this.#victim(own))
  }

  #open(accountId: string): Pins {
    const own = new Pins(accountId)
    this.#pins.set(accountId, own)
    return own
  }

  #add(own: Pins, pin: Pin): Pin {
    this.#dropIdle(own, pin.at)
    own.add(pin)
    this.#size += 1
    return pin
  }

  #isIdle({ at }: Pin, now: number): boolean {
    return now - at >= this.#policy.idleMs
  }

  /** Two for each that comes: so they go, and no call pays for many. */
  #dropIdle(own: Pins, now: number): void {
    for (let looks = 0; looks < 2; looks++) {
      const { oldest } = own
      if (oldest === undefined || !this.#isIdle(oldest, now)) return
      own.drop(oldest)
      this.#size -= 1
    }
  }

  /** Whoever has more than its share makes the room that it needs. */
  #victim(own: Pins): Pins {
    return own.size * this.#pins.size > this.#policy.max ? own : this.#largest()
  }

  #largest(): Pins {
    let largest: Pins | undefined
    for (const pins of this.#pins.values())
      if (largest === undefined || pins.size > largest.size) largest = pins
    return largest!
  }

  #dropOldest(pins: Pins): void {
    pins.drop(pins.oldest!)
    this.#size -= 1
    if (pins.size === 0) this.#pins.delete(pins.accountId)
  }

  /** One account's name for a session says nothing about another's, and the table itself tells nobody any. */
  #keyOf(id: string, { accountId, route }: SessionScope): string {
    const text = JSON.stringify([accountId, route.name, id])
    return this.#hasher.copy().update(text).digest('base64')
  }
}

/** Not where everybody else who serves the same model is known to be as slow, or not to be asked now. */
function isSlow({ lane, pace }: Pin, { candidates }: SessionScope['route'], now: number): boolean {
  const slowMs = pace?.slowness()
  if (slowMs === undefined) return false
  const rank = candidates.find((each) => each.lane.id === lane)?.rank
  return candidates.some(
    (each) =>
      each.rank === rank &&
      each.lane.id !== lane &&
      each.lane.standing(now) === LISTED &&
      each.lane.first.expected(now) < slowMs,
  )
}

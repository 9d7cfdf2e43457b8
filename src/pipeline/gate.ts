// How many calls run at once, of one key and of all. A neighbour that sends thousands takes its own
// places and not everyone's; management and health stand outside of the gate.
import { Chain, type Place } from '../core/chain.ts'
import { GatewayError } from '../core/problem.ts'

export interface GateLimits {
  /** Calls under way at once: of all keys, and of one. */
  readonly inFlightMax: number
  readonly inFlightKeyMax: number
}

export class Gate {
  readonly #byKey = new Map<string, Chain<true>>()
  readonly #all = new Chain<true>()

  /** Lets a call of the key in until it leaves its place. */
  enter(keyId: string, limits: GateLimits): Slot {
    if (this.#all.size >= limits.inFlightMax) throw full()
    const own = this.#byKey.get(keyId) ?? this.#open(keyId)
    if (own.size >= limits.inFlightKeyMax) throw tooMany(limits.inFlightKeyMax)
    return new Slot(own.join(true), this.#all.join(true))
  }

  /** Calls under way. */
  get size(): number {
    return this.#all.size
  }

  /** Refuses early, before a body is read that could not be served. */
  check({ inFlightMax }: GateLimits): void {
    if (this.#all.size >= inFlightMax) throw full()
  }

  #open(keyId: string): Chain<true> {
    const chain = new Chain<true>()
    this.#byKey.set(keyId, chain)
    return chain
  }
}

export class Slot implements Place {
  readonly #own: Place
  readonly #common: Place

  constructor(own: Place, common: Place) {
    this.#own = own
    this.#common = common
  }

  /** Left once; what comes later changes nothing. */
  leave(): void {
    this.#own.leave()
    this.#common.leave()
  }
}

function full(): GatewayError {
  return new GatewayError(
    'service_unavailable',
    'The gateway runs as many calls as it may. Try again in a moment.',
    { retryAfter: 1 },
  )
}

function tooMany(most: number): GatewayError {
  return new GatewayError(
    'capacity_exceeded',
    `This key has ${most} calls under way, which is as many as it may have. Wait for one of them to end.`,
    { retryAfter: 1, details: { limit_in_flight: most } },
  )
}

// The places of answers that outlive their callers: so many at once, and none takes them all.
import { Chain, type Place } from '../core/chain.ts'

const DRAINS_MAX = 128

/** An account takes no more of them than it leaves free, so none takes them all. */
export class Drains {
  readonly #all = new Chain<true>()
  readonly #byAccount = new Map<string, Chain<true>>()

  /** Undefined where there is none. */
  join(accountId: string): Place | undefined {
    const own = this.#byAccount.get(accountId) ?? this.#open(accountId)
    if (own.size >= DRAINS_MAX - this.#all.size) return undefined
    const places = [own.join(true), this.#all.join(true)]
    return { leave: () => places.forEach((place) => place.leave()) }
  }

  #open(accountId: string): Chain<true> {
    const chain = new Chain<true>()
    this.#byAccount.set(accountId, chain)
    return chain
  }
}

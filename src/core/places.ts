// Places that many want at once: so many there are, and nobody takes them all.
import { Chain, type Place } from './chain.ts'

/** One owner takes no more of them than it leaves free, and than one may have. */
export class Places {
  readonly #max: number
  readonly #ownMax: number
  readonly #all = new Chain<true>()
  readonly #byOwner = new Map<string, Chain<true>>()

  constructor(max: number, ownMax: number = max) {
    this.#max = max
    this.#ownMax = ownMax
  }

  /** Undefined where there is none. */
  join(ownerId: string): Place | undefined {
    const own = this.#byOwner.get(ownerId) ?? this.#open(ownerId)
    if (own.size >= Math.min(this.#max - this.#all.size, this.#ownMax)) return undefined
    const places = [own.join(true), this.#all.join(true)]
    return { leave: () => places.forEach((place) => place.leave()) }
  }

  #open(ownerId: string): Chain<true> {
    const chain = new Chain<true>()
    this.#byOwner.set(ownerId, chain)
    return chain
  }
}

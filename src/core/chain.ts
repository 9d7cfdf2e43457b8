// A list that anyone may join and leave at any time, at a constant price and without hashing: every call
// does so several times, and a set costs it ten times as much. Who leaves while the list is walked is
// passed over, and nobody else loses a turn by it.

/** A place in a list. */
export interface Place {
  leave(): void
}

export class Chain<Item> {
  readonly #ends = new Link<Item>(undefined, undefined)
  /** Only places count themselves. */
  size = 0

  join(item: Item): Place {
    const link = new Link(item, this)
    const ends = this.#ends
    link.before = ends.before
    link.after = ends
    ends.before.after = link
    ends.before = link
    this.size += 1
    return link
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (let link = this.#ends.after; link !== this.#ends; link = link.after)
      if (link.item !== undefined) yield link.item
  }
}

class Link<Item> implements Place {
  item: Item | undefined
  before: Link<Item> = this
  /** Kept by who has left, so that a walk that stands there finds its way back into the list. */
  after: Link<Item> = this
  readonly #chain: Chain<Item> | undefined

  constructor(item: Item | undefined, chain: Chain<Item> | undefined) {
    this.item = item
    this.#chain = chain
  }

  leave(): void {
    if (this.item === undefined || this.#chain === undefined) return
    this.item = undefined
    this.before.after = this.after
    this.after.before = this.before
    this.#chain.size -= 1
  }
}

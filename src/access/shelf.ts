// How much room kept answers take, and whose they are. Each account may fill what it leaves for the others and no
// more: one alone gets half of the whole, and a second one still finds as much as it takes.
import type { KeptBytes } from '../store/store.ts'

export class Shelf {
  readonly #own = new Map<string, number>()
  #all = 0

  /** Whether so many bytes more of this account fit in so many in all. */
  hasRoom(accountId: string, moreBytes: number, totalBytesMax: number): boolean {
    const own = this.#own.get(accountId) ?? 0
    return own + moreBytes <= totalBytesMax - this.#all - moreBytes
  }

  /** Below zero: they are gone. */
  add({ accountId, bytes }: KeptBytes): void {
    const own = (this.#own.get(accountId) ?? 0) + bytes
    if (own > 0) this.#own.set(accountId, own)
    else this.#own.delete(accountId)
    this.#all += bytes
  }

  free(freed: readonly KeptBytes[]): void {
    for (const { accountId, bytes } of freed) this.add({ accountId, bytes: -bytes })
  }
}

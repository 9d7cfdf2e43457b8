// When keys were last used, written down once a minute and at the end. A moment that gets lost with the
// process costs a minute of knowledge, so no request waits for any of it.
import type { Clock, Ticker } from '../core/clock.ts'
import type { KeyRepository, KeyUse } from '../store/store.ts'
import type { Keyring } from './keyring.ts'

const EVERY_MS = 60_000
/** So many at once, a second apart: about a millisecond of a thread that has calls to serve. */
const PIECE = 250

export interface UseParts {
  readonly keyring: Pick<Keyring, 'takeUses'>
  readonly keys: Pick<KeyRepository, 'touch'>
  readonly clock: Pick<Clock, 'elapsed'>
}

/** To be called every second. */
export class KeyUses implements Ticker {
  readonly #parts: UseParts
  /** Taken from the ring and not yet written. */
  readonly #left = new Map<string, KeyUse>()
  #takenMs: number
  #isWriting = false

  constructor(parts: UseParts) {
    this.#parts = parts
    this.#takenMs = parts.clock.elapsed()
  }

  tick(): void {
    const now = this.#parts.clock.elapsed()
    if (now - this.#takenMs >= EVERY_MS) {
      this.#takenMs = now
      this.#take()
    }
    if (this.#left.size > 0 && !this.#isWriting)
      void this.#write([...this.#left.values()].slice(0, PIECE))
  }

  /** Writes all there is. To be awaited before the store is closed. */
  async flush(): Promise<void> {
    this.#take()
    if (this.#left.size > 0) await this.#write([...this.#left.values()])
  }

  #take(): void {
    for (const use of this.#parts.keyring.takeUses()) this.#left.set(use.id, use)
  }

  async #write(uses: readonly KeyUse[]): Promise<void> {
    this.#isWriting = true
    try {
      await this.#parts.keys.touch(uses)
      // Whoever was used again meanwhile has another entry, which is still to be written.
      for (const use of uses) if (this.#left.get(use.id) === use) this.#left.delete(use.id)
    } catch {
      // A store that cannot write has told so elsewhere; what is left is tried again with the next tick.
    } finally {
      this.#isWriting = false
    }
  }
}

// What calls and tools are called by in a chat request. Suppliers refuse long names and ids, so that these are shortened,
// the same one in the same way wherever it stands; who answers by a short name is heard by the caller's own.
import type { Quirks } from '../../quirk.ts'

/** Longer ones are refused (opencode #3523, 2025-10). Claude Code's begin with those of a server and of a plugin. */
const NAME_LENGTH_MAX = 64
/** Longer ones are refused (opencode #12653, 2026-02). */
const ID_LENGTH_MAX = 40

const NINE = /^[a-zA-Z0-9]{9}$/
const NINE_LENGTH = 9
const HASH_LENGTH = 8

export class CallWords {
  readonly #callIds: Quirks['callIds']
  readonly #names = new Map<string, string>()

  constructor({ callIds }: Quirks) {
    this.#callIds = callIds
  }

  /** The names that were shortened, by what was made of them. */
  get names(): ReadonlyMap<string, string> {
    return this.#names
  }

  name(own: string): string {
    if (own.length <= NAME_LENGTH_MAX) return own
    const beginning = own.slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1)
    const short = `${beginning}_${hash(own, HASH_LENGTH)}`
    this.#names.set(short, own)
    return short
  }

  id(own: string): string {
    if (this.#callIds === 'nine') return NINE.test(own) ? own : hash(own, NINE_LENGTH)
    return own.length <= ID_LENGTH_MAX ? own : `call_${hash(own, NINE_LENGTH)}`
  }
}

/** The same letters and digits for the same text. */
function hash(text: string, length: number): string {
  return Bun.hash.wyhash(text).toString(36).padStart(length, '0').slice(-length)
}

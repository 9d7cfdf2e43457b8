// What tools are called by in a request that we write. Suppliers refuse long names, so that these are shortened, the same
// one in the same way wherever it stands; who answers by a short name is heard by the caller's own.

/** Longer ones are refused (opencode #3523, 2025-10). Claude Code's begin with those of a server and of a plugin. */
const NAME_LENGTH_MAX = 64
const HASH_LENGTH = 8

export class ToolNames {
  readonly #names = new Map<string, string>()

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
}

/** The same letters and digits for the same text. */
export function hash(text: string, length: number): string {
  return Bun.hash.wyhash(text).toString(36).padStart(length, '0').slice(-length)
}

// Remembers what was made of a short row of numbers, and finds it again without making anything: this is asked
// once for every call.

/** Beyond it everything is forgotten at once: what is in use is soon there again. */
const KEPT_MAX = 512

interface Kept<Value> {
  readonly key: Uint16Array
  readonly value: Value
}

export class Recall<Value> {
  readonly #buckets = new Map<number, Kept<Value>[]>()
  #size = 0

  /** What was kept for the first `length` of the key. */
  find(key: Uint16Array, length: number): Value | undefined {
    const bucket = this.#buckets.get(digest(key, length))
    if (bucket === undefined) return undefined
    for (const kept of bucket) if (isSame(kept.key, key, length)) return kept.value
    return undefined
  }

  keep(key: Uint16Array, length: number, value: Value): void {
    if (this.#size >= KEPT_MAX) {
      this.#buckets.clear()
      this.#size = 0
    }
    this.#size += 1
    const number = digest(key, length)
    const kept = { key: key.slice(0, length), value }
    const bucket = this.#buckets.get(number)
    if (bucket === undefined) this.#buckets.set(number, [kept])
    else bucket.push(kept)
  }
}

function digest(key: Uint16Array, length: number): number {
  let sum = length
  for (let index = 0; index < length; index++) sum = Math.imul(sum, 31) + key[index]!
  return sum
}

function isSame(kept: Uint16Array, key: Uint16Array, length: number): boolean {
  if (kept.length !== length) return false
  for (let index = 0; index < length; index++) if (kept[index] !== key[index]) return false
  return true
}

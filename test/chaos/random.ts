// Chance that can be had again: the same seed gives the same numbers in the same order.

export interface Random {
  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number
  /** True in one of so many cases. */
  oneIn(cases: number): boolean
}

export function createRandom(seed: number): Random {
  let state = seed >>> 0
  // The generator known as mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
  return {
    between: (from, to) => from + Math.floor(next() * (to - from + 1)),
    oneIn: (cases) => next() * cases < 1,
  }
}

// Work that many want done and that only a few may do at a time. Whoever has waited longest comes next,
// and whoever wants another turn waits again, so nobody's is ever far away.

export interface Turns {
  /** Does the work when its turn has come; the turn ends with the work, however that ends. */
  take<Result>(work: () => Result | Promise<Result>): Promise<Result>
}

export function createTurns(atOnceMax: number): Turns {
  const waiting: (() => void)[] = []
  let taken = 0

  /** A turn that somebody waits for is handed on and never free in between. */
  const pass = (): void => {
    const next = waiting.shift()
    if (next === undefined) taken -= 1
    else next()
  }

  return {
    async take(work) {
      if (taken < atOnceMax) taken += 1
      else await new Promise<void>((resolve) => waiting.push(resolve))
      try {
        return await work()
      } finally {
        pass()
      }
    },
  }
}

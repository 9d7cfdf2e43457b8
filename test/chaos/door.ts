// Where everybody waits while there is no gateway, and whether anybody is still inside.

export interface Door {
  /** Resolves with the address of a gateway; undefined when all is over. */
  opened(): Promise<string | undefined>
  /** Whoever does something is inside meanwhile. */
  within<Result>(work: () => Promise<Result>): Promise<Result>
  open(url: string): void
  close(): void
  end(): void
  /** Resolves when nobody is inside. */
  empty(): Promise<void>
}

export function createDoor(): Door {
  let gate = Promise.withResolvers<string | undefined>()
  let isOpen = false
  let inside = 0
  const waiting: (() => void)[] = []
  return {
    opened: () => gate.promise,
    async within(work) {
      inside += 1
      try {
        return await work()
      } finally {
        inside -= 1
        if (inside === 0) for (const wake of waiting.splice(0)) wake()
      }
    },
    open(url) {
      isOpen = true
      gate.resolve(url)
    },
    close() {
      // Whoever waits already must not be left behind at a gate that nobody opens.
      if (isOpen) gate = Promise.withResolvers()
      isOpen = false
    },
    end: () => gate.resolve(undefined),
    async empty() {
      if (inside > 0) await new Promise<void>((resolve) => waiting.push(resolve))
    },
  }
}

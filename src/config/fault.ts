// What is wrong with a configuration, found on a floor that knows no file: where it stands in the tree of
// the file, and what to write instead. Whoever has the file adds line and column.

export type ConfigPath = readonly (string | number)[]

export class ConfigFault extends Error {
  override readonly name = 'ConfigFault'
  readonly path: ConfigPath
  /** Whatever else was found at the same time. */
  readonly others: readonly ConfigFault[]

  constructor(path: ConfigPath, message: string, others: readonly ConfigFault[] = []) {
    super(message)
    this.path = path
    this.others = others
  }
}

/** Each fault by itself, those that came along with another one included. */
export function spreadFaults(faults: readonly ConfigFault[]): readonly ConfigFault[] {
  return faults.flatMap(({ path, message, others }) => [
    new ConfigFault(path, message),
    ...spreadFaults(others),
  ])
}

/** Collects what is wrong in several places, so that one does not hide the next. */
export class Faults {
  readonly #found: ConfigFault[] = []

  /** What was found, or undefined where it is at fault. */
  collect<Found>(find: () => Found): Found | undefined {
    try {
      return find()
    } catch (thrown) {
      // Kept for `gather`; whatever is no fault of the file goes on up.
      if (!(thrown instanceof ConfigFault)) throw thrown
      this.#found.push(...spreadFaults([thrown]))
      return undefined
    }
  }

  get isEmpty(): boolean {
    return this.#found.length === 0
  }

  /** All of them as one, to be thrown. */
  gather(): Error {
    const [first, ...others] = this.#found
    if (first === undefined) return new Error('nothing was found wrong')
    return new ConfigFault(first.path, first.message, others)
  }
}

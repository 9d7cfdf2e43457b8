// The text of a file by line and column, both counted from 1 as editors do.

export interface Place {
  readonly line: number
  readonly column: number
}

export class Text {
  readonly whole: string
  readonly lines: readonly string[]
  readonly #starts: readonly number[]

  constructor(whole: string) {
    this.whole = whole
    this.lines = whole.split(/\r?\n/)
    const starts = [0]
    for (let at = whole.indexOf('\n'); at >= 0; at = whole.indexOf('\n', at + 1))
      starts.push(at + 1)
    this.#starts = starts
  }

  /** Where a line begins. */
  startOf(line: number): number {
    return this.#starts[line - 1] ?? this.whole.length
  }

  placeOf(offset: number): Place {
    const at = Math.min(Math.max(offset, 0), this.whole.length)
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#starts[middle] ?? 0) <= at) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: at - (this.#starts[low] ?? 0) + 1 }
  }

  lineAt(line: number): string {
    return this.lines[line - 1] ?? ''
  }

  /** What is left of the line from here on. */
  restFrom(offset: number): string {
    const { line, column } = this.placeOf(offset)
    return this.lineAt(line).slice(column - 1)
  }
}

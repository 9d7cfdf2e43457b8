// The gateway's books after a load. A gateway that is fast because it forgot to write something down
// has not won anything, so calls are counted there, too.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import type { Contender } from './candidates/candidate.ts'
import type { Tally } from './load/load.ts'
import { USAGE } from './traffic.ts'

export interface Books {
  /** Calls that were answered, with what they used. */
  readonly whole: number
  /** Calls that the load generator itself cut off. */
  readonly cut: number
  /** Everything else, which should not be. */
  readonly wrong: number
}

const CALLER_LEFT = 499

export function readBooks(dataFolder: string): Books {
  const database = new Database(join(dataFolder, 'gateway.db'), { readonly: true })
  try {
    const { rows, whole, cut } = database
      .query<{ rows: number; whole: number; cut: number }, [number, number, number]>(
        `SELECT count(*) AS rows,
           total(status = 200 AND input_tokens = ? AND output_tokens = ?) AS whole,
           total(status = ?) AS cut
         FROM audit`,
      )
      .get(USAGE.prompt_tokens, USAGE.completion_tokens, CALLER_LEFT)!
    return { whole, cut, wrong: rows - whole - cut }
  } finally {
    database.close(true)
  }
}

/** What is missing or strange in the books after so many calls; undefined when nothing is. */
export function bookProblem(before: Books, after: Books, calls: number): string | undefined {
  const whole = after.whole - before.whole
  const wrong = after.wrong - before.wrong
  if (whole >= calls && wrong === 0) return undefined
  return `the audit has ${whole} whole rows for ${calls} answered calls, and ${wrong} wrong ones`
}

/** What the load generator saw answered, to be held against the books of those who keep any. */
export class CallCount {
  readonly #contenders: readonly Contender[]
  readonly #before: ReadonlyMap<string, Books>
  readonly #answered = new Map<string, number>()
  readonly #failures: string[] = []

  constructor(contenders: readonly Contender[]) {
    this.#contenders = contenders
    this.#before = readAll(contenders)
  }

  add({ id }: Contender, { calls, failed, complaint }: Tally): void {
    this.#answered.set(id, (this.#answered.get(id) ?? 0) + calls - failed)
    if (failed > 0) this.#failures.push(`${id}: ${failed} of ${calls} calls failed: ${complaint}`)
  }

  problems(): readonly string[] {
    const after = readAll(this.#contenders)
    const missing = [...after].flatMap(([id, books]) => {
      const before = this.#before.get(id) ?? books
      const problem = bookProblem(before, books, this.#answered.get(id) ?? 0)
      return problem === undefined ? [] : [`${id}: ${problem}`]
    })
    return [...this.#failures, ...missing]
  }
}

function readAll(contenders: readonly Contender[]): ReadonlyMap<string, Books> {
  return new Map(
    contenders.flatMap(({ id, dataFolder }) =>
      dataFolder === undefined ? [] : [[id, readBooks(dataFolder)] as const],
    ),
  )
}

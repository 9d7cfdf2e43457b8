// What stops a start or a reload, as a person reads it: where it stands, what is wrong and what to write
// instead. An excerpt holds no secret by the time it comes here.
import type { ConfigPath } from './fault.ts'

export interface ConfigProblem {
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  readonly column: number
  readonly path: ConfigPath
  readonly message: string
  /** The line of the file with a mark under the place; empty where there is none to show. */
  readonly excerpt: string
}

/** Its message is fit to be printed as it is. */
export class ConfigurationError extends Error {
  override readonly name = 'ConfigurationError'
  readonly problems: readonly ConfigProblem[]

  constructor(message: string, problems: readonly ConfigProblem[] = []) {
    super(message)
    this.problems = problems
  }
}

/** One error for everything that is wrong with a file. */
export function refuseFile(
  file: string,
  problems: readonly ConfigProblem[],
  more = 0,
): ConfigurationError {
  const total = problems.length + more
  const count = total === 1 ? 'a problem' : `${total} problems`
  const texts = problems.map((problem) => printProblem(problem))
  if (more > 0) texts.push(`and ${more} more`)
  return new ConfigurationError([`${file} has ${count}:`, ...texts].join('\n\n'), problems)
}

/** `gateway.yaml:12:5  suppliers.main.region  what is wrong`, and the line itself below. */
export function printProblem(problem: ConfigProblem): string {
  const { file, line, column, path, message, excerpt } = problem
  const words = [`${file}:${line}:${column}`, printPath(path), message]
  const head = words.filter((word) => word !== '').join('  ')
  return excerpt === '' ? head : `${head}\n${excerpt}`
}

/** Names that hold more than letters, digits, - and _ are quoted, so that dots keep one meaning. */
export function printPath(path: ConfigPath): string {
  return path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`
      const name = /^\w[\w-]*$/.test(step) ? step : JSON.stringify(step)
      return index === 0 ? name : `.${name}`
    })
    .join('')
}

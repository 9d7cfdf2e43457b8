// What is wrong with suppliers, told to the operator: callers hear of it only when nobody else could
// answer. The same thing is told once a minute at most, with how often it came.
import type { Clock } from '../core/clock.ts'
import type { GatewayError } from '../core/problem.ts'
import type { Log } from './log.ts'

const QUIET_MS = 60_000

interface Told {
  readonly at: number
  untold: number
}

export class Trouble {
  readonly #log: Log
  readonly #clock: Clock
  /** By supplier and by what is wrong, of which there are few. */
  readonly #told = new Map<string, Told>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** An attempt failed, and the next supplier was asked. */
  failed(supplier: string, { code, status, message, origin }: GatewayError): void {
    // What a supplier said in its own words is the caller's, and may repeat what the caller said.
    const text = origin === undefined ? message : `it answered ${status}.`
    this.#tell(supplier, `${code} ${status}`, text + hint(status))
  }

  /** What cannot be read cannot be billed. */
  unread(supplier: string, model: string): void {
    this.#tell(supplier, 'usage', `it told a usage of ${model} that cannot be read.`)
  }

  #tell(supplier: string, what: string, text: string): void {
    const name = `${supplier} ${what}`
    const now = this.#clock.elapsed()
    const told = this.#told.get(name)
    if (told !== undefined && now - told.at < QUIET_MS) {
      told.untold += 1
      return
    }
    this.#told.set(name, { at: now, untold: 0 })
    const untold = told?.untold ?? 0
    const again = untold > 0 ? ` (${untold} more since the last line)` : ''
    this.#log.note('warn', `supplier ${supplier}: ${text}${again}`, { supplier })
  }
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ' Check its credential.'
  if (status === 402) return ' Check its account.'
  if (status === 404) return ' Check the names of its models and its origin.'
  return ''
}

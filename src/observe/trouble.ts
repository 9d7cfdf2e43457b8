// Failures of suppliers, told to the operator: callers hear of one of them only when nobody else could
// answer. The same failure is told once a minute at most, with how often it came.
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
  /** By supplier and code, of which there are few. */
  readonly #told = new Map<string, Told>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  note(supplier: string, { code, status, message, origin }: GatewayError): void {
    const name = `${supplier} ${code} ${status}`
    const now = this.#clock.elapsed()
    const told = this.#told.get(name)
    if (told !== undefined && now - told.at < QUIET_MS) {
      told.untold += 1
      return
    }
    this.#told.set(name, { at: now, untold: 0 })
    const again =
      told !== undefined && told.untold > 0 ? ` (${told.untold} more since the last line)` : ''
    // What a supplier said in its own words is the caller's, and may repeat what the caller said.
    const text = origin === undefined ? message : `it answered ${status}.`
    this.#log.note('warn', `supplier ${supplier}: ${text}${hint(status)}${again}`, {
      supplier,
      code,
    })
  }
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ' Check its credential.'
  if (status === 402) return ' Check its account.'
  if (status === 404) return ' Check the names of its models and its origin.'
  return ''
}

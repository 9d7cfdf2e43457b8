// What is wrong with suppliers and with the books, told to the operator: callers hear of a supplier only when
// nobody else could answer. The same thing is told once a minute at most, with how often it came.
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
  /** By whom it is about and by what is wrong, of which there are few. */
  readonly #told = new Map<string, Told>()

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** An attempt failed, and the next supplier was asked. */
  failed(supplier: string, { code, status, message, origin }: GatewayError): void {
    // What a supplier said in its own words is the caller's, and may repeat what the caller said.
    const text = origin === undefined ? message : `it answered ${status}.`
    // A sign-in is not the operator's to check, and the text says what its people have to do.
    const advice = code === 'native_token_error' ? '' : hint(status)
    this.#tell(supplier, `${code} ${status}`, text + advice)
  }

  /** What cannot be read cannot be billed. */
  unread(supplier: string, model: string): void {
    this.#tell(supplier, 'usage', `it told a usage of ${model} that cannot be read.`)
  }

  /** A call could not be booked. Many fail of one cause, and the first of them is named. */
  unbooked(id: string, code: string, cause: string): void {
    const again = this.#again(`books ${code} ${cause}`)
    if (again !== undefined) this.#log.note('error', code + again, { id, cause })
  }

  #tell(supplier: string, what: string, text: string): void {
    const again = this.#again(`${supplier} ${what}`)
    if (again !== undefined)
      this.#log.note('warn', `supplier ${supplier}: ${text}${again}`, { supplier })
  }

  /** How often it came since it was told; undefined where it was told a moment ago. */
  #again(name: string): string | undefined {
    const now = this.#clock.elapsed()
    const told = this.#told.get(name)
    if (told !== undefined && now - told.at < QUIET_MS) {
      told.untold += 1
      return undefined
    }
    this.#told.set(name, { at: now, untold: 0 })
    const untold = told?.untold ?? 0
    return untold > 0 ? ` (${untold} more since the last line)` : ''
  }
}

function hint(status: number): string {
  if (status === 401 || status === 403) return ' Check its credential.'
  if (status === 402) return ' Check its account.'
  if (status === 404) return ' Check the names of its models and its origin.'
  return ''
}

// Looks at all ways once a second: closes those that have become far slower than their like or have fallen silent,
// lets go of what time has healed, and tells the operator what was closed and what is back. No call waits for it.
import type { Clock, Ticker } from '../core/clock.ts'
import type { Log } from '../observe/log.ts'
import { REST_MAX_MS, REST_MS, type Circuit } from './circuit.ts'
import type { Lane, Lanes } from './lane.ts'
import { LISTED } from './reason.ts'
import type { Candidate, Routes } from './routes.ts'

/** So many times as slow as the others, and by so much, is no bad luck. */
const SLOW_FACTOR = 5
const SLOW_MS = 1_000
/** Silence is none where it is usual: so many times as long as an answer takes, and at least so long. */
const SILENT_FACTOR = 10
const SILENT_MS = 5_000
/** More names than this are not told in one line. */
const NAMES_MAX = 5

export interface WatchParts {
  /** Of the configuration in force. */
  readonly routes: () => Routes
  readonly lanes: Lanes
  readonly clock: Clock
  readonly log: Log
}

export class Watch implements Ticker {
  readonly #parts: WatchParts
  #routes: Routes | undefined
  /** Those who serve the same model. */
  #groups: readonly (readonly Candidate[])[] = []
  /** What was told to be closed. */
  readonly #told = new Set<Circuit>()

  constructor(parts: WatchParts) {
    this.#parts = parts
  }

  tick(): void {
    const now = this.#parts.clock.elapsed()
    this.#parts.lanes.review(now)
    for (const group of this.#current()) {
      for (const { lane } of group) if (isSilent(lane, now)) close(lane, 'silent', now)
      for (const lane of findSlow(group, now)) close(lane, 'slow', now)
    }
    this.#tell(now)
  }

  #current(): readonly (readonly Candidate[])[] {
    const routes = this.#parts.routes()
    if (routes === this.#routes) return this.#groups
    this.#routes = routes
    this.#groups = candidatesOf(routes)
    // Whoever is no longer served is neither back nor away.
    const lanes = this.#groups.flat().map(({ lane }) => lane)
    const known = new Set(lanes.flatMap(({ circuit, account }) => [circuit, account.circuit]))
    for (const circuit of this.#told) if (!known.has(circuit)) this.#told.delete(circuit)
    return this.#groups
  }

  #tell(now: number): void {
    const changed = new Set<Circuit>()
    const lines = new Map<string, Line>()
    const look = (candidate: Candidate, circuit: Circuit): void => {
      if (circuit.isClosed === this.#told.has(circuit)) return
      changed.add(circuit)
      addTo(lines, candidate, circuit, now)
    }
    for (const group of this.#groups)
      for (const candidate of group) {
        look(candidate, candidate.lane.circuit)
        look(candidate, candidate.lane.account.circuit)
      }
    for (const circuit of changed)
      if (circuit.isClosed) this.#told.add(circuit)
      else this.#told.delete(circuit)
    for (const line of lines.values()) this.#say(line)
  }

  #say({ who, models, supplier, isAccount, what, level }: Line): void {
    const shown = models.slice(0, NAMES_MAX).join(', ')
    const more = models.length > NAMES_MAX ? ` and ${models.length - NAMES_MAX} more` : ''
    const which = isAccount ? 'all its models' : shown + more
    this.#parts.log.note(level, `supplier ${who}: ${what}: ${which}`, { supplier })
  }
}

/** Of the models themselves: whoever stands in for one is listed where it stands for itself. */
export function candidatesOf(routes: Routes): readonly (readonly Candidate[])[] {
  const own = routes.models.filter(({ aliasOf }) => aliasOf === undefined)
  return own.map(({ id }) => routes.find(id)?.candidates.filter(({ rank }) => rank === 0) ?? [])
}

function close(lane: Lane, why: string, now: number): void {
  lane.circuit.close({ why, restMs: REST_MS }, now)
  // Whoever comes back is judged by how it is then.
  if (why === 'slow') lane.first.forget()
}

/** Judged by streams alone, too: five long answers are no silence. */
function isSilent({ silence, first }: Lane, now: number): boolean {
  const lasting = silence.lasting(now)
  if (lasting === 0 || !first.isTelling(now)) return false
  return lasting > Math.max(SILENT_MS, SILENT_FACTOR * first.ms)
}

/** Compared by streams alone: how long a whole answer takes is a matter of how long it is. */
function findSlow(group: readonly Candidate[], now: number): readonly Lane[] {
  const telling: Lane[] = []
  let least = Number.POSITIVE_INFINITY
  for (const { lane } of group) {
    if (!lane.first.isTelling(now) || lane.standing(now) !== LISTED) continue
    telling.push(lane)
    least = Math.min(least, lane.first.ms)
  }
  return telling.filter((lane) => {
    // Whoever is not slow beside the fastest is not slow beside the others, and that is nearly everybody.
    if (!isSlow(lane.first.ms, least)) return false
    const others = telling.filter((other) => other !== lane).map(({ first }) => first.ms)
    return isSlow(lane.first.ms, medianOf(others))
  })
}

function isSlow(ms: number, usual: number): boolean {
  return ms > SLOW_FACTOR * usual && ms > usual + SLOW_MS
}

function medianOf(figures: readonly number[]): number {
  const sorted = figures.toSorted((one, other) => one - other)
  const middle = sorted.length >> 1
  if (sorted.length % 2 === 1) return sorted[middle]!
  return (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Those to whom the same happened at the same time share a line. */
interface Line {
  readonly who: string
  readonly supplier: string
  readonly models: string[]
  readonly isAccount: boolean
  readonly what: string
  readonly level: 'info' | 'warn' | 'error'
}

function addTo(
  lines: Map<string, Line>,
  { supplier, credential, modelId, lane }: Candidate,
  circuit: Circuit,
  now: number,
): void {
  const isAccount = circuit === lane.account.circuit
  const who = credential === undefined ? supplier.id : `${supplier.id}, credential ${credential}`
  const { what, level } = describe(circuit, now)
  const name = JSON.stringify([who, isAccount, what])
  const line = lines.get(name) ?? { who, supplier: supplier.id, models: [], isAccount, what, level }
  line.models.push(modelId)
  lines.set(name, line)
}

function describe(circuit: Circuit, now: number): Pick<Line, 'what' | 'level'> {
  if (!circuit.isClosed) return { what: 'can be asked again', level: 'info' }
  const { remainingMs, why } = circuit.view(now)
  const seconds = Math.round(remainingMs / 1000)
  const what = `left alone for ${seconds} s more (${why}), then one call finds out whether it is back`
  // So long from the first time on is what a person has to look into.
  const isLasting = remainingMs > REST_MAX_MS - REST_MS
  return { what, level: isLasting ? 'error' : 'warn' }
}

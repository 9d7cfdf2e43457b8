// How a list came about, as records keep it and as people read it. Names, numbers and words only: a trace outlives
// the configuration that it tells of, and holds no address and no secret.
import type { RouteTrace } from '../core/audit.ts'
import { LISTED, REASON_TEXTS, REASON_WORDS, RESTING, WAITING, wordOf } from './reason.ts'
import type { Candidate, Route, Verdict } from './routes.ts'

/** Candidates that a trace names: nobody has more for one model, and a record must not grow without end. */
const NAMED_MAX = 40
/** Those that a text for people tells of, and how long it and the name of a model in it may be. */
const TOLD_MAX = 20
const TEXT_MAX = 3000
const MODEL_LENGTH_MAX = 80

/**
 * `supplier`, `supplier#2` where it has several credentials, `supplier#nid_…` where it is called by a sign-in,
 * `supplier/model` where that stands in for another.
 */
export function labelOf({ supplier, credential, rank, modelId }: Candidate): string {
  const door = supplier.identity?.id ?? credential
  const which = door === undefined ? supplier.id : `${supplier.id}#${door}`
  return rank === 0 ? which : `${which}/${modelId}`
}

// Lists are made once and shared by many calls, so the text is kept with the list. A list belongs to one route of
// one configuration.
const known = new WeakMap<Verdict, string>()

/** The JSON of `RouteTrace`. */
export function traceOf(route: Route, verdict: Verdict, snapshot: string): string {
  const made = known.get(verdict)
  if (made !== undefined) return made
  const text = JSON.stringify(toTrace(route, verdict, snapshot))
  known.set(verdict, text)
  return text
}

function toTrace(route: Route, verdict: Verdict, snapshot: string): RouteTrace {
  const { attempts, isPinned, isLastResort } = verdict
  const listed = attempts.slice(0, NAMED_MAX).map(({ candidate }) => labelOf(candidate))
  const { resting, barred } = othersIn(route, verdict)
  const told = barred.slice(0, NAMED_MAX - listed.length)
  const more = attempts.length + barred.length - listed.length - told.length
  return {
    snapshot,
    listed,
    ...(resting.length > 0 && { resting: toWords(resting.slice(0, NAMED_MAX)) }),
    ...(told.length > 0 && { excluded: toWords(told) }),
    ...(isPinned && { pinned: true }),
    ...(isLastResort && { last_resort: true }),
    ...(more > 0 && { more }),
  }
}

type Judged = readonly [candidate: Candidate, reason: number]

/** Those who are on the list behind the others, and those who are not on it. */
function othersIn(
  { candidates }: Route,
  { attempts, reasons }: Verdict,
): { readonly resting: readonly Judged[]; readonly barred: readonly Judged[] } {
  const listed = new Set(attempts.map(({ candidate }) => candidate))
  const resting: Judged[] = []
  const barred: Judged[] = []
  for (const [index, candidate] of candidates.entries()) {
    const reason = reasons[index] ?? LISTED
    if (reason !== LISTED) (listed.has(candidate) ? resting : barred).push([candidate, reason])
  }
  return { resting, barred }
}

function toWords(judged: readonly Judged[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    judged.map(([candidate, reason]) => [labelOf(candidate), wordOf(reason)]),
  )
}

/** Undefined for what is no trace. */
export function readTrace(text: string): RouteTrace | undefined {
  const value: unknown = JSON.parse(text)
  return isTrace(value) ? value : undefined
}

function isTrace(value: unknown): value is RouteTrace {
  if (typeof value !== 'object' || value === null) return false
  return 'snapshot' in value && 'listed' in value && Array.isArray(value.listed)
}

/** The sentence of a word; null for one that this version does not know. */
export function textOf(word: string): string | null {
  const known = REASON_WORDS.find((each) => each === word)
  return known === undefined ? null : REASON_TEXTS[known]
}

/** What a text about a list is told with. */
export interface Told {
  /** Regions that the call had to stay in. */
  readonly regions: readonly string[] | undefined
  /** The lanes' time, where the text is of this very moment; undefined where it is of one that has passed. */
  readonly now: number | undefined
}

/** How the list came about, a sentence a line; `more` follows. Never longer than a record can bear. */
export function tellVerdict(
  route: Route,
  verdict: Verdict,
  { regions, now }: Told,
  more: readonly string[] = [],
): string {
  const { attempts, isPinned, isLastResort } = verdict
  const listed = attempts.slice(0, TOLD_MAX).map(({ candidate }) => labelOf(candidate))
  const { resting, barred } = othersIn(route, verdict)
  const name = JSON.stringify(route.name.slice(0, MODEL_LENGTH_MAX))
  const where = regions === undefined ? 'anywhere' : `in ${regions.join(', ')}`
  const lines = [
    `${name} was asked for, to be served ${where}, in the order of the policy ${route.policy}.`,
    listed.length === 0 ? 'Nobody could be asked.' : `Listed: ${listed.join(', ')}.`,
    ...(isPinned ? ['The first of them had answered the session before.'] : []),
    ...(isLastResort ? ['All of them rested, and there was nobody else.'] : []),
    ...tellEach('Last', resting, now),
    ...tellEach('Not', barred, now),
    ...more,
  ]
  const text = lines.join('\n')
  return text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX - 1)}…`
}

function tellEach(
  how: 'Last' | 'Not',
  judged: readonly Judged[],
  now: number | undefined,
): readonly string[] {
  const lines = judged
    .slice(0, TOLD_MAX)
    .map(
      ([candidate, reason]) => `${how} ${labelOf(candidate)}: ${whyNot(candidate, reason, now)}.`,
    )
  const rest = judged.length - lines.length
  return rest > 0 ? [...lines, `And ${rest} more.`] : lines
}

/** The sentence of a reason; of those that are left alone for a while, also for how long and after what. */
export function whyNot(candidate: Candidate, reason: number, now: number | undefined): string {
  const text = REASON_TEXTS[wordOf(reason)]
  if (now === undefined || (reason !== WAITING && reason !== RESTING)) return text
  const { remainingMs, why } = candidate.lane.view(now)
  const seconds = Math.ceil(remainingMs / 1000)
  return `${text}, for another ${seconds} s${why === undefined ? '' : ` (${why})`}`
}

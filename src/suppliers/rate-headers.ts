// What suppliers tell of their own limits with an answer, whichever names they have for it. None of it is taken
// on trust: what makes no sense is as good as unsaid, and nothing counts for longer than five minutes.

/** One of a supplier's limits, as it stands after the answer. */
export interface RateLimit {
  /** What is left of it, from 0 to 1; undefined where that cannot be told. */
  readonly share: number | undefined
  /** Milliseconds until it is whole again; undefined where nobody said. */
  readonly resetMs: number | undefined
}

/** Of an answer's headers, at this wall time; nothing where it has none of the family's names. */
type Family = (headers: Headers, now: number) => readonly RateLimit[]

interface Names {
  readonly limit: string
  readonly remaining: string
  readonly reset: string
}

/** However long a supplier wants, it is looked at again after this: nobody would notice else that it is back. */
export const WAIT_MAX_MS = 300_000
/** No duration or date is longer. */
const TEXT_MAX = 64
/** Of a list of limits only so much is read. */
const LIST_MAX = 512
const ITEMS_MAX = 4
/** Who has told nothing in so many answers is not searched any more, until it refuses one for want of capacity. */
const SILENT_MAX = 16
/** With less than this left, a refusal for want of capacity is taken to be about this limit. */
const NEARLY_SPENT = 0.1
/** Larger numbers are no seconds from now but times since 1970: in seconds, or in milliseconds. */
const EPOCH_SECONDS = 1e9
const EPOCH_MS = 1e12

const NONE: readonly RateLimit[] = []

/** As seen in the suppliers' documentation and in answers of theirs up to 2026-11. */
const FAMILIES: readonly Family[] = [
  readPlan,
  family(['requests', 'tokens'], suffixed),
  // Windows in the name, often without a reset (mistral client-ts #169; inference-docs.cerebras.ai, rate limits).
  family(['requests-day', 'req-minute', 'tokens-minute'], suffixed),
  family(
    ['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
      (of) => `anthropic-ratelimit-${of}`,
    ),
    prefixed,
  ),
  family(['x-ratelimit'], prefixed),
  readItems,
  family(['ratelimit'], prefixed),
]

function suffixed(of: string): Names {
  return {
    limit: `x-ratelimit-limit-${of}`,
    remaining: `x-ratelimit-remaining-${of}`,
    reset: `x-ratelimit-reset-${of}`,
  }
}

function prefixed(of: string): Names {
  return { limit: `${of}-limit`, remaining: `${of}-remaining`, reset: `${of}-reset` }
}

function family(of: readonly string[], nameOf: (of: string) => Names): Family {
  const all = of.map(nameOf)
  return (headers, now) => {
    const limits: RateLimit[] = []
    for (const names of all) {
      const remaining = headers.get(names.remaining)
      const reset = headers.get(names.reset)
      if (remaining === null && reset === null) continue
      const limit = remaining === null ? null : headers.get(names.limit)
      limits.push({
        share: shareOf(readNumber(remaining), readNumber(limit)),
        resetMs: readReset(reset, now),
      })
    }
    return limits
  }
}

/** A plan has two windows, of hours and of a week. They tell what is used, in percent (openai/codex, rate_limits.rs). */
const WINDOWS = ['primary', 'secondary'].map((of) => ({
  used: `x-codex-${of}-used-percent`,
  reset: `x-codex-${of}-reset-after-seconds`,
  resetAt: `x-codex-${of}-reset-at`,
}))

function readPlan(headers: Headers, now: number): readonly RateLimit[] {
  const limits: RateLimit[] = []
  for (const names of WINDOWS) {
    const used = headers.get(names.used)
    const reset = headers.get(names.reset) ?? headers.get(names.resetAt)
    if (used === null && reset === null) continue
    const percent = readNumber(used)
    limits.push({
      share: percent === undefined ? undefined : Math.max(0, 1 - percent / 100),
      resetMs: readReset(reset, now),
    })
  }
  return limits
}

const REMAINING = /(?:^|[;,\s])(?:r|remaining)=(\d{1,15})(?=\s*(?:[;,]|$))/
const RESET = /(?:^|[;,\s])(?:t|reset)=(\d{1,15})(?=\s*(?:[;,]|$))/
const LIMIT = /(?:^|[;,\s])(?:q|limit)=(\d{1,15})(?=\s*(?:[;,]|$))/

/** The IETF's draft: `"name";r=50;t=30`, the limit beside it in `"name";q=100;w=60`; once it was one list of three. */
function readItems(headers: Headers, now: number): readonly RateLimit[] {
  const text = headers.get('ratelimit')?.slice(0, LIST_MAX)
  if (text === undefined) return NONE
  if (text.includes('remaining=')) return [toLimit(text, text, now)]
  const policies = (headers.get('ratelimit-policy')?.slice(0, LIST_MAX) ?? '').split(',')
  const items = text.split(',').slice(0, ITEMS_MAX)
  return items.map((item) => {
    const name = nameOf(item)
    return toLimit(item, policies.find((policy) => nameOf(policy) === name) ?? '', now)
  })
}

function nameOf(item: string): string {
  return item.split(';', 1)[0]!.trim()
}

function toLimit(item: string, policy: string, now: number): RateLimit {
  return {
    share: shareOf(readNumber(find(REMAINING, item)), readNumber(find(LIMIT, policy))),
    resetMs: readReset(find(RESET, item), now),
  }
}

function find(pattern: RegExp, text: string): string | null {
  return pattern.exec(text)?.[1] ?? null
}

/** Finds what one account is told, and remembers by which names. */
export class RateReader {
  #family: Family | undefined
  #silent = 0

  read({ status, headers }: Response, now: number): readonly RateLimit[] {
    if (status === 429) return this.#search(headers, now)
    if (this.#family !== undefined) return this.#family(headers, now)
    return this.#silent < SILENT_MAX ? this.#search(headers, now) : NONE
  }

  #search(headers: Headers, now: number): readonly RateLimit[] {
    for (const each of FAMILIES) {
      const limits = each(headers, now)
      if (limits.length === 0) continue
      this.#family = each
      return limits
    }
    this.#silent += 1
    return NONE
  }
}

/**
 * Milliseconds for which a supplier that refuses wants to be left alone, at most five minutes; undefined where it does
 * not say. On a 429 the limit that is spent says it, too: any other would close the way to all for one large request.
 */
export function readWait({ status, headers }: Response, now: number): number | undefined {
  const asked =
    readMilliseconds(headers.get('retry-after-ms')) ?? readReset(headers.get('retry-after'), now)
  if (asked !== undefined || status !== 429) return asked
  for (const each of FAMILIES) {
    const limits = each(headers, now)
    if (limits.length > 0) return longestReset(limits)
  }
  return undefined
}

function longestReset(limits: readonly RateLimit[]): number | undefined {
  let longest = 0
  for (const { share, resetMs = 0 } of limits)
    if (share === undefined || share < NEARLY_SPENT) longest = Math.max(longest, resetMs)
  return longest > 0 ? longest : undefined
}

/** Where nobody knows the limit, only an end of it tells something. */
function shareOf(remaining: number | undefined, limit: number | undefined): number | undefined {
  if (remaining === 0) return 0
  if (remaining === undefined || limit === undefined || limit === 0) return undefined
  return Math.min(1, remaining / limit)
}

const NUMBER = /^\s*(\d{1,15}(?:\.\d{1,20})?)\s*(?:[,;]|$)/
const DURATION =
  /^\s*(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,20})?)s)?(?:(\d{1,9}(?:\.\d{1,20})?)ms)?\s*(?:,|$)/
const UNITS_MS = [86_400_000, 3_600_000, 60_000, 1000, 1]

/** Of a header that came twice, which arrives as a list, the first counts. Below zero stands for unknown. */
function readNumber(text: string | null): number | undefined {
  const digits = text === null ? undefined : NUMBER.exec(text)?.[1]
  return digits === undefined ? undefined : Number(digits)
}

function readMilliseconds(text: string | null): number | undefined {
  const ms = readNumber(text)
  return ms === undefined ? undefined : Math.min(ms, WAIT_MAX_MS)
}

/** Seconds, a duration such as `6m0s`, or a time: as a date or since 1970. */
function readReset(text: string | null, now: number): number | undefined {
  if (text === null || text.length > TEXT_MAX) return undefined
  const number = readNumber(text)
  const ms = number === undefined ? (readDuration(text) ?? readDate(text, now)) : toMs(number, now)
  return ms === undefined ? undefined : Math.max(0, Math.min(ms, WAIT_MAX_MS))
}

function toMs(number: number, now: number): number {
  if (number >= EPOCH_MS) return number - now
  return number >= EPOCH_SECONDS ? number * 1000 - now : number * 1000
}

function readDuration(text: string): number | undefined {
  const parts = DURATION.exec(text)?.slice(1)
  if (parts?.some((part) => part !== undefined) !== true) return undefined
  return parts.reduce((sum, part, index) => sum + Number(part ?? 0) * UNITS_MS[index]!, 0)
}

const DATE = /^\s*(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2},? )/

/** Only what begins like a date: the runtime makes one of nearly anything. */
function readDate(text: string, now: number): number | undefined {
  if (!DATE.test(text)) return undefined
  const date = Date.parse(text)
  return Number.isNaN(date) ? undefined : date - now
}

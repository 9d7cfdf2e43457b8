// One call whole, for whoever has to explain it: what was set aside, who was asked, what came of it and what
// that proves. A call without an end is told from the books as they stand in memory.
import { HOUR_MS } from '../../core/hour.ts'
import type { AuditRow, CallDetails, RouteTrace, TryDetails } from '../../core/audit.ts'
import { toJsonUsd, type PicoUsd } from '../../core/money.ts'
import type { Terms, TermsEntry } from '../../core/record.ts'
import type { Price, Rates } from '../../core/usage.ts'
import type { Operation } from '../../ledger/book.ts'
import { ENDLESS_TOKENS } from '../../ledger/cost/bound.ts'
import { readPayer } from '../../store/payer.ts'
import type { LedgerPolicy } from '../../ledger/policy.ts'
import { beganInOrder, estimateOf, isMeant } from '../../ledger/review.ts'
import { readTrace, textOf } from '../../routing/trace.ts'
import { describeCall } from './audit-entry.ts'
import { printTime } from './print.ts'

/** The fields of the audit, then what only one call at a time is asked for. */
export function describeEnded(row: AuditRow): object {
  const entry = describeCall(row)
  const { details = {} } = row
  return {
    ...entry,
    asked: details.asked ?? null,
    settlement: {
      state: entry.state,
      evidence: entry.evidence,
      estimated: entry.estimated,
      held_usd: entry.held_usd,
      cost_usd: entry.cost_usd,
      overrun_usd: entry.overrun_usd,
      hour: printHour(row.hour),
      held_ms: row.heldMs ?? null,
    },
    payer: describePayer(row),
    route: describeRoute(row),
    tries: triesOf(row).map(describeTry),
    explanation: details.explanation ?? null,
    session: details.session ?? null,
    max_tokens: details.maxTokens ?? null,
    losses: details.losses ?? [],
    usage: {
      cached_tokens: partOf(row, 'cachedTokens'),
      cache_write_tokens: partOf(row, 'cacheWriteTokens'),
      cache_write_long_tokens: partOf(row, 'cacheWriteLongTokens'),
      reasoning_tokens: partOf(row, 'reasoningTokens'),
      units: details.units ?? null,
    },
    resolved: details.resolved ?? null,
  }
}

/** Who pays, within which bounds, and who was passed over before; null where it was held before there were payers. */
export function describePayer({ payer }: Pick<AuditRow, 'payer'>): object | null {
  const terms = payer === undefined ? undefined : readPayer(payer)
  if (terms === undefined) return null
  return {
    wallet_id: terms.wallet,
    link: terms.link,
    credit_line_usd: terms.line === null ? null : toJsonUsd(terms.line),
    spending_limit_usd: terms.limit === null ? null : toJsonUsd(terms.limit),
    spending_period: terms.period,
    passed: terms.passed.map(({ link, wallet, why }) => ({ link, wallet_id: wallet, why })),
  }
}

/** Who was to be asked and why nobody else was, by the names of then; null where no list was made or kept. */
function describeRoute({ route }: AuditRow): object | null {
  const trace = route === undefined ? undefined : readTrace(route)
  if (trace === undefined) return null
  return {
    snapshot: trace.snapshot,
    listed: trace.listed,
    resting: describeReasons(trace.resting),
    excluded: describeReasons(trace.excluded),
    more: trace.more ?? 0,
    pinned: trace.pinned === true,
    last_resort: trace.last_resort === true,
  }
}

function describeReasons(words: RouteTrace['excluded'] = {}): readonly object[] {
  return Object.entries(words).map(([candidate, reason]) => ({
    candidate,
    reason,
    why: textOf(reason),
  }))
}

/** Where no more is kept of the first that was asked, because it answered, its try is the call itself. */
function triesOf({ details, supplier, region, evidence }: AuditRow): readonly TryDetails[] {
  if (details?.tries !== undefined) return details.tries
  if (supplier === undefined || region === undefined || evidence === undefined) return []
  return [{ supplier, region, evidence }]
}

function describeTry(tried: TryDetails): object {
  const { supplier, region, evidence, suspense } = tried
  return {
    supplier,
    identity: tried.identity ?? null,
    credential: tried.credential ?? null,
    model: tried.model ?? null,
    region,
    evidence,
    status: tried.status ?? null,
    code: tried.code ?? null,
    ms: tried.ms ?? null,
    suspense_usd: suspense === undefined ? null : toJsonUsd(suspense),
  }
}

type Part = 'cachedTokens' | 'cacheWriteTokens' | 'cacheWriteLongTokens' | 'reasoningTokens'

/** Zero is zero, missing is missing: what no supplier told is not known to be nothing. */
function partOf({ evidence, details }: AuditRow, part: Part): number | null {
  const told: CallDetails[Part] = details?.[part]
  return told ?? (evidence === 'reported' ? 0 : null)
}

/** A call under way, or one in review. */
export function describeOpen(operation: Operation, policy: LedgerPolicy): object {
  const { hold, state, isEnding } = operation
  return {
    request_id: hold.requestId,
    key_id: hold.keyId,
    project_id: hold.projectId ?? null,
    model: hold.model,
    endpoint: hold.endpoint,
    stream: hold.stream,
    state,
    // Its end is known and on its way to the books.
    settling: isEnding,
    since: printTime(hold.at),
    hour: printHour(hold.hour),
    held_usd: toJsonUsd(hold.amount),
    estimate_usd: toJsonUsd(estimateOf(operation)),
    input_tokens: hold.inputTokens,
    max_tokens: isCounted(hold.maxTokens) ? hold.maxTokens : null,
    delivered_tokens: operation.outputTokens,
    budget_limit: hold.limit === undefined ? null : toJsonUsd(hold.limit),
    budget_period: hold.period ?? null,
    payer: describePayer(hold),
    terms: termsOf(operation),
    review: state === 'review' ? describeReview(operation, policy) : null,
  }
}

function isCounted(tokens: number): boolean {
  return tokens > 0 && tokens < ENDLESS_TOKENS
}

const WHY =
  'The process that served this call ended before the call did, so nobody saw how it ended.'

export function describeReview({ reviewAt }: Operation, policy: LedgerPolicy): object {
  const isKept = policy.recovery === 'keep'
  return {
    since: printTime(reviewAt),
    resolves_at: isKept ? null : printTime(reviewAt + policy.recoveryAfterMs),
    why: WHY,
  }
}

/** Whom the call may have reached, in the order of the list; several credentials of one are one. */
function termsOf(operation: Operation): readonly object[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway's own print
  const terms = JSON.parse(operation.hold.terms) as Terms
  const seen = new Set<string>()
  const different = terms.filter((entry) => {
    const text = JSON.stringify(entry)
    return !seen.has(text) && seen.add(text)
  })
  return different.map((entry, index) => ({
    supplier: entry.supplier,
    region: entry.region,
    model: entry.model,
    asked: wasAsked(entry, index, operation),
    price: describePrice(entry.price),
  }))
}

/** Who was to be the first is written down only by who was asked after it. */
function wasAsked(entry: TermsEntry, index: number, operation: Operation): 'yes' | 'perhaps' {
  const isNoted = operation.asked.some((note) => isMeant(note, entry))
  return isNoted || (index === 0 && beganInOrder(operation)) ? 'yes' : 'perhaps'
}

/** Dollars, for as many as the configuration means, and under its names: a million tokens where nothing else is said. */
export function describePrice({ longContext, ...rates }: Price): object {
  return {
    ...describeRates(rates),
    ...(longContext !== undefined && {
      long_context: { above: longContext.above, ...describeRates(longContext.rates) },
    }),
  }
}

const MILLION = 1_000_000
const THOUSAND = 1000
const MINUTE_SECONDS = 60

const RATE_NAMES: readonly (readonly [rate: keyof Rates, name: string, units: number])[] = [
  ['input', 'input', MILLION],
  ['cachedInput', 'cached_input', MILLION],
  ['cacheWrite', 'cache_write', MILLION],
  ['cacheWriteLong', 'cache_write_long', MILLION],
  ['audioInput', 'audio_input', MILLION],
  ['output', 'output', MILLION],
  ['reasoning', 'reasoning', MILLION],
  ['audioOutput', 'audio_output', MILLION],
  ['search', 'search', THOUSAND],
  ['character', 'character', MILLION],
  ['second', 'minute', MINUTE_SECONDS],
]

function describeRates(rates: Rates): object {
  const known = RATE_NAMES.flatMap(([rate, name, units]) => {
    const price = rates[rate]
    return price === undefined ? [] : [[name, dollarsFor(units, price)] as const]
  })
  return Object.fromEntries(known)
}

const PICO_A_DOLLAR = 1_000_000_000_000

/** Whole numbers up to the one division, so that it is the number that the file says. */
function dollarsFor(units: number, price: PicoUsd): number {
  return (price * units) / PICO_A_DOLLAR
}

function printHour(hour: number | undefined): string | null {
  return printTime(hour === undefined ? undefined : hour * HOUR_MS)
}

// One call whole, for whoever has to explain it: what was set aside, who was asked, what came of it and what
// that proves. A call without an end is told from the books as they stand in memory.
import { HOUR_MS } from '../../core/hour.ts'
import type { AuditRow, CallDetails, TryDetails } from '../../core/audit.ts'
import { toJsonUsd, type PicoUsd } from '../../core/money.ts'
import type { Terms, TermsEntry } from '../../core/record.ts'
import type { Price, Rates } from '../../core/usage.ts'
import type { Operation } from '../../ledger/book.ts'
import { ENDLESS_TOKENS } from '../../ledger/cost/bound.ts'
import { readPayer } from '../../store/payer.ts'
import type { LedgerPolicy } from '../../ledger/policy.ts'
import { estimateOf } from '../../ledger/review.ts'
import { describeCall } from './audit-entry.ts'
import { printTime } from './print.ts'

/** The fields of the audit, then what only one call at a time is asked for. */
export function describeEnded(row: AuditRow): object {
  const entry = describeCall(row)
  const { details } = row
  return {
    ...entry,
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
    tries: triesOf(row).map(describeTry),
    max_tokens: details?.maxTokens ?? null,
    usage: {
      cached_tokens: partOf(row, 'cachedTokens'),
      cache_write_tokens: partOf(row, 'cacheWriteTokens'),
      reasoning_tokens: partOf(row, 'reasoningTokens'),
    },
    resolved: details?.resolved ?? null,
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

/** Where the first that was asked has answered, its try is the call itself. */
function triesOf({ details, supplier, region, evidence }: AuditRow): readonly TryDetails[] {
  if (details?.tries !== undefined) return details.tries
  if (supplier === undefined || region === undefined || evidence === undefined) return []
  return [{ supplier, region, evidence }]
}

function describeTry({ supplier, region, evidence, status, code, suspense }: TryDetails): object {
  return {
    supplier,
    region,
    evidence,
    status: status ?? null,
    code: code ?? null,
    suspense_usd: suspense === undefined ? null : toJsonUsd(suspense),
  }
}

type Part = 'cachedTokens' | 'cacheWriteTokens' | 'reasoningTokens'

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
function termsOf({ hold, suppliers }: Operation): readonly object[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the gateway's own print
  const terms = JSON.parse(hold.terms) as Terms
  const seen = new Set<string>()
  const different = terms.filter((entry) => {
    const text = JSON.stringify(entry)
    return !seen.has(text) && seen.add(text)
  })
  return different.map((entry, index) => ({
    supplier: entry.supplier,
    region: entry.region,
    model: entry.model,
    asked: wasAsked(entry, index, suppliers),
    price: describePrice(entry.price),
  }))
}

/** Only those after the first are written down; that one of them was asked shows that the first was. */
function wasAsked(
  { supplier }: TermsEntry,
  index: number,
  suppliers: readonly string[],
): 'yes' | 'perhaps' {
  const isKnown = index === 0 ? suppliers.length > 0 : suppliers.includes(supplier)
  return isKnown ? 'yes' : 'perhaps'
}

/** Dollars for a million tokens, under the names that the configuration has for them. */
function describePrice({ longContext, ...rates }: Price): object {
  return {
    ...describeRates(rates),
    ...(longContext !== undefined && {
      long_context: { above: longContext.above, ...describeRates(longContext.rates) },
    }),
  }
}

const RATE_NAMES: readonly (readonly [rate: keyof Rates, name: string])[] = [
  ['input', 'input'],
  ['cachedInput', 'cached_input'],
  ['cacheWrite', 'cache_write'],
  ['audioInput', 'audio_input'],
  ['output', 'output'],
  ['reasoning', 'reasoning'],
  ['audioOutput', 'audio_output'],
]

function describeRates(rates: Rates): object {
  const known = RATE_NAMES.flatMap(([rate, name]) => {
    const price = rates[rate]
    return price === undefined ? [] : [[name, perMillion(price)] as const]
  })
  return Object.fromEntries(known)
}

const PICO_A_DOLLAR_BY_MILLION = 1_000_000

function perMillion(price: PicoUsd): number {
  return price / PICO_A_DOLLAR_BY_MILLION
}

function printHour(hour: number | undefined): string | null {
  return printTime(hour === undefined ? undefined : hour * HOUR_MS)
}

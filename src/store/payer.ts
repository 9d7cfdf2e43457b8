// The payer as records tell it: read back from the text that a hold fixed. One text serves many calls, so what was
// read is kept for a while.
import { BUDGET_PERIODS } from '../core/key.ts'
import { PASSED_REASONS, PAYER_LINKS, type PassedPayer, type PayerTerms } from '../core/payer.ts'

/** The account of what wallets paid for calls, of all of them. */
export const PAYMENTS = 'payments'

const KEPT_MAX = 4096
const kept = new Map<string, PayerTerms | undefined>()

/** Undefined for what no payer looks like. */
export function readPayer(text: string): PayerTerms | undefined {
  const known = kept.get(text)
  if (known !== undefined || kept.has(text)) return known
  if (kept.size >= KEPT_MAX) kept.clear()
  const terms = parse(text)
  kept.set(text, terms)
  return terms
}

/** Whose wallet it is. Throws where the text names none, which no honest ledger writes. */
export function walletOf(text: string): string {
  const terms = readPayer(text)
  if (terms === undefined) throw new TypeError('a payer cannot be read')
  return terms.wallet
}

function parse(text: string): PayerTerms | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isTerms(value) ? value : undefined
  } catch {
    // Whoever asks knows which record it stands in.
    return undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

function isTerms(value: unknown): value is PayerTerms {
  if (!isFields(value)) return false
  const { wallet, link, line, limit, period, passed } = value
  const isBounded = isAmount(line) && isAmount(limit) && (period === null) === (limit === null)
  const isNamed = typeof wallet === 'string' && wallet !== '' && isOneOf(PAYER_LINKS, link)
  const isPeriod = period === null || isOneOf(BUDGET_PERIODS, period)
  return isNamed && isBounded && isPeriod && Array.isArray(passed) && passed.every(isPassed)
}

function isPassed(value: unknown): value is PassedPayer {
  if (!isFields(value)) return false
  const { link, wallet, why } = value
  const isNamed = wallet === null || typeof wallet === 'string'
  return isNamed && isOneOf(PAYER_LINKS, link) && isOneOf(PASSED_REASONS, why)
}

function isAmount(value: unknown): boolean {
  return value === null || (Number.isSafeInteger(value) && Number(value) >= 0)
}

function isOneOf(words: readonly string[], value: unknown): boolean {
  return typeof value === 'string' && words.includes(value)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

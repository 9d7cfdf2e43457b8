// A credit as the books tell it: money that was put into a wallet, or taken back.
import type { CreditNote, NoteRecord } from '../core/record.ts'

/** Undefined for what no credit looks like. */
export function readCredit({ kind, body }: NoteRecord): CreditNote | undefined {
  if (kind !== 'credit') return undefined
  try {
    const value: unknown = JSON.parse(body)
    return isCredit(value) ? value : undefined
  } catch {
    // Whoever asks knows which record it is.
    return undefined
  }
}

/** Throws where it is none, which no honest ledger writes. */
export function creditOf(note: NoteRecord): CreditNote {
  const credit = readCredit(note)
  if (credit === undefined) throw new TypeError('a credit cannot be read')
  return credit
}

const TEXTS = ['account', 'wallet', 'by', 'reason']

function isCredit(value: unknown): value is CreditNote {
  if (typeof value !== 'object' || value === null) return false
  const fields: Readonly<Record<string, unknown>> = { ...value }
  const { amount, reference } = fields
  const isReferred = reference === null || typeof reference === 'string'
  const isNamed = TEXTS.every((name) => typeof fields[name] === 'string')
  return isNamed && isReferred && Number.isSafeInteger(amount) && amount !== 0
}

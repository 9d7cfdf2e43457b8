// Seals of suppliers on their way through callers of another language. They are marked with who made them, so that
// they are handed back to that supplier alone; whoever forges one only spoils a thought of its own.
import type { Seal } from '../core/chat.ts'
import { isFields, parseJson } from './json.ts'

/** No supplier's own seal begins so. */
export const SEAL_PREFIX = 'gw1.'

const encoder = new TextEncoder()

/** As a caller is to send it back. */
export function printSeal(supplier: string, data: string): string {
  const text = JSON.stringify({ s: supplier, d: data })
  return SEAL_PREFIX + Buffer.from(encoder.encode(text)).toString('base64url')
}

/** What has no mark is a supplier's own, whoever that was. */
export function readSeal(text: string): Seal {
  if (!text.startsWith(SEAL_PREFIX)) return { data: text, supplier: undefined }
  const value = parseJson(Buffer.from(text.slice(SEAL_PREFIX.length), 'base64url'))
  const { s: supplier, d: data } = isFields(value) ? value : {}
  if (typeof supplier === 'string' && typeof data === 'string') return { data, supplier }
  // Nobody's: a supplier has a name.
  return { data: '', supplier: '' }
}

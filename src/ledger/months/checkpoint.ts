// Where the books may be cut: the notes that close a month and that tell where its records went. A cut is
// always just before the first hold of the next month, so that every later period is whole behind it.
import { HOUR_MS } from '../../core/hour.ts'
import type { NoteRecord } from '../../core/record.ts'
import type { ChainPlace } from '../../store/store.ts'
import type { Accounts } from '../entries.ts'

/** The body of a `month`: what the operations held in it came to, and where its records end. */
export interface MonthNote {
  /** `2026-10`, in UTC. */
  readonly month: string
  readonly through: ChainPlace
  readonly accounts: ReadonlyMap<string, bigint>
}

/** The body of an `archive`: which file the records up to a place went to, and what was open there. */
export interface ArchiveNote {
  readonly month: string
  readonly through: ChainPlace
  readonly file: string
  readonly open: readonly CarriedOperation[]
}

/** An operation whose hold is in an archive and whose end is not. */
export interface CarriedOperation {
  readonly requestId: string
  readonly keyId: string
  readonly hour: number
  readonly amount: number
  /** The JSON of `PayerTerms`; undefined in records from before there were payers. */
  readonly payer: string | undefined
}

const latest = { hour: -1, month: '' }

/** The UTC month of an hour since 1970. Asked for every record, and mostly of the same hour as before. */
export function monthOf(hour: number): string {
  if (latest.hour !== hour) {
    latest.month = printHour(hour).slice(0, 7)
    latest.hour = hour
  }
  return latest.month
}

/** Books that somebody has written to may name any hour, and are still to be read to their end. */
export function printHour(hour: number): string {
  const date = new Date(hour * HOUR_MS)
  return Number.isNaN(date.getTime()) ? String(hour) : date.toISOString().slice(0, 13)
}

/** `to` is exclusive. */
export function hoursOf(month: string): { readonly from: number; readonly to: number } {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return {
    from: Date.UTC(year, number - 1) / HOUR_MS,
    to: Date.UTC(year, number) / HOUR_MS,
  }
}

export function isMonth(text: unknown): text is string {
  return typeof text === 'string' && /^\d{4}-(?:0[1-9]|1[0-2])$/.test(text)
}

/** Amounts are texts: a sum may be too large for a JSON number to be read exactly. */
export function monthNote(at: number, { month, through, accounts }: MonthNote): NoteRecord {
  const sorted = [...accounts].toSorted(([left], [right]) => (left < right ? -1 : 1))
  const body = {
    month,
    through: through.number,
    hash: through.hash,
    accounts: sorted.map(([account, amount]) => [account, String(amount)]),
  }
  return { at, kind: 'month', requestId: undefined, body: JSON.stringify(body) }
}

export function archiveNote(at: number, note: ArchiveNote): NoteRecord {
  const { month, through, file, open } = note
  const body = {
    month,
    through: through.number,
    hash: through.hash,
    file,
    open: open.map(({ requestId, keyId, hour, amount, payer }) =>
      payer === undefined
        ? [requestId, keyId, hour, amount]
        : [requestId, keyId, hour, amount, payer],
    ),
  }
  return { at, kind: 'archive', requestId: undefined, body: JSON.stringify(body) }
}

/** Undefined for what no month's note looks like. */
export function readMonthNote({ kind, body }: NoteRecord): MonthNote | undefined {
  if (kind !== 'month') return undefined
  const fields = parse(body)
  const place = readPlace(fields)
  const accounts = readAccounts(fields['accounts'])
  return place === undefined || accounts === undefined ? undefined : { ...place, accounts }
}

export function readArchiveNote({ kind, body }: NoteRecord): ArchiveNote | undefined {
  if (kind !== 'archive') return undefined
  const fields = parse(body)
  const { file, open } = fields
  const place = readPlace(fields)
  if (place === undefined || typeof file !== 'string' || !Array.isArray(open)) return undefined
  const carried = open.map(readCarried)
  return carried.every((each) => each !== undefined) ? { ...place, file, open: carried } : undefined
}

type Fields = Readonly<Record<string, unknown>>

function parse(body: string): Fields {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    // Whoever asks is told that it is no such note.
    return {}
  }
}

function readPlace({
  month,
  through,
  hash,
}: Fields): Pick<MonthNote, 'month' | 'through'> | undefined {
  if (!isMonth(month) || typeof through !== 'number' || typeof hash !== 'string') return undefined
  return { month, through: { number: through, hash } }
}

function readAccounts(value: unknown): Accounts | undefined {
  if (!Array.isArray(value)) return undefined
  const accounts: Accounts = new Map()
  for (const pair of value) {
    const [account, amount]: readonly unknown[] = Array.isArray(pair) ? pair : []
    if (typeof account !== 'string' || typeof amount !== 'string') return undefined
    if (!/^-?\d{1,30}$/.test(amount)) return undefined
    accounts.set(account, BigInt(amount))
  }
  return accounts
}

function readCarried(value: unknown): CarriedOperation | undefined {
  const fields: readonly unknown[] = Array.isArray(value) ? value : []
  const [requestId, keyId, hour, amount, payer] = fields
  if (typeof requestId !== 'string' || typeof keyId !== 'string') return undefined
  if (typeof hour !== 'number' || typeof amount !== 'number') return undefined
  if (payer !== undefined && typeof payer !== 'string') return undefined
  return { requestId, keyId, hour, amount, payer }
}

// What the database says of payers, claims and sums, read beside the gateway and without its help.
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { readRecords, type EndLine, type HoldLine, type NoteLine } from '../fakes/records.ts'

/** As it is fixed with a hold; only what is checked here. */
export interface Payer {
  readonly wallet: string
  readonly link: string
  readonly line: number | null
  readonly limit: number | null
}

export interface PaidHold extends HoldLine {
  readonly payer: Payer
  readonly claim: string | null
}

export interface PaidEnd extends EndLine {
  /** None of what was refused. */
  readonly payer: Payer | undefined
}

export interface CreditLine {
  readonly number: number
  readonly wallet: string
  readonly amount: number
  readonly reason: string
}

export interface Books {
  readonly holds: readonly PaidHold[]
  readonly ends: readonly PaidEnd[]
  readonly notes: readonly NoteLine[]
  /** By the chain, and by the statements of the wallets. */
  readonly credits: readonly CreditLine[]
  readonly statements: readonly Omit<CreditLine, 'number'>[]
  readonly balances: readonly Balance[]
  /** What was added up while it was written, by account. */
  readonly sums: ReadonlyMap<string, number>
  /** The request that each claim belongs to. */
  readonly claims: ReadonlyMap<string, string>
}

export interface Balance {
  readonly wallet: string
  readonly credited: number
  readonly charged: number
}

const HOLDS = `
  SELECT holds.number, name AS payer, claim FROM holds JOIN names ON names.number = payer`
const ENDS =
  'SELECT sequence AS number, name AS payer FROM audit JOIN names ON names.number = payer'
const CREDITS = `
  SELECT number, body ->> 'wallet' AS wallet, body ->> 'amount' AS amount, body ->> 'reason' AS reason
  FROM notes WHERE kind = 'credit' ORDER BY number`
const STATEMENTS = 'SELECT wallet_id AS wallet, amount, reason FROM credits ORDER BY sequence'
const BALANCES = 'SELECT wallet_id AS wallet, credited, charged FROM balances WHERE before = 0'
const SUMS = `
  SELECT name, sum(amount) AS amount FROM sums JOIN names ON names.number = account GROUP BY name`
const CLAIMS = 'SELECT id, request_id FROM claims'

interface PayerRow {
  readonly number: number
  readonly payer: string
  readonly claim?: string | null
}

/** Of one moment where nobody writes. */
export function readBooks(folder: string): Books {
  const records = readRecords(folder)
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    const payers = createPayers()
    const holds = byNumber(database.query<PayerRow, []>(HOLDS).all())
    const ends = byNumber(database.query<PayerRow, []>(ENDS).all())
    const sums = database.query<{ name: string; amount: number }, []>(SUMS).all()
    const claims = database.query<{ id: string; request_id: string }, []>(CLAIMS).all()
    return {
      holds: records.holds.map((hold) => {
        const { payer = '', claim = null } = holds.get(hold.number) ?? {}
        return { ...hold, payer: payers(payer), claim }
      }),
      ends: records.ends.map((end) => {
        const row = ends.get(end.number)
        return { ...end, payer: row === undefined ? undefined : payers(row.payer) }
      }),
      notes: records.notes,
      credits: database.query<CreditLine, []>(CREDITS).all(),
      statements: database.query<Omit<CreditLine, 'number'>, []>(STATEMENTS).all(),
      balances: database.query<Balance, []>(BALANCES).all(),
      sums: new Map(sums.map(({ name, amount }) => [name, amount])),
      claims: new Map(claims.map(({ id, request_id }) => [id, request_id])),
    }
  } finally {
    database.close(true)
  }
}

function byNumber(rows: readonly PayerRow[]): ReadonlyMap<number, PayerRow> {
  return new Map(rows.map((row) => [row.number, row]))
}

/** The same text is the same payer. */
function createPayers(): (text: string) => Payer {
  const known = new Map<string, Payer>()
  return (text) => {
    const payer = known.get(text) ?? (JSON.parse(text) as Payer)
    known.set(text, payer)
    return payer
  }
}

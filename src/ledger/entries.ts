// What a record books, by double entry: each entry debits one account and credits another by the same
// amount, so all accounts together are always zero. The one place that says so; sums follow from it.
import { hourOf } from '../core/hour.ts'
import type { AuditRow } from '../core/audit.ts'
import { toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import type { LedgerRecord, NoteRecord } from '../core/record.ts'
import { readCredit } from '../store/credit.ts'
import { PAYMENTS, readPayer } from '../store/payer.ts'

export interface Entry {
  readonly debit: string
  readonly credit: string
  readonly amount: NanoUsd
}

/** Debits less credits of each account. */
export type Accounts = Map<string, bigint>

/** What calls cost beyond what was held: paid by the operator. */
const OVERRUN = 'overrun'

/** What was put into wallets. */
const GRANTS = 'grants'

const NOTHING: readonly Entry[] = []

/** Only an audit row and a credit move money: a hold sets it aside, and other notes tell of something else. */
export function entriesOf(record: LedgerRecord): readonly Entry[] {
  if (record.type === 'note') return creditEntries(record.note)
  if (record.type !== 'audit' || record.row.state === 'refused') return NOTHING
  const { row } = record
  const entries = row.state === 'settled' ? settledEntries(row) : []
  for (const { supplier, suspense } of row.details?.tries ?? [])
    entries.push(entry(`suspense/${supplier}`, supplierAccount(supplier), suspense))
  return entries.filter(({ amount }) => amount !== 0)
}

function settledEntries(row: AuditRow): Entry[] {
  const supplier = supplierAccount(row.supplier)
  const hour = row.hour ?? hourOf(row.at)
  return [
    entry(`key/${row.keyId}/${hour}`, supplier, row.cost),
    entry(OVERRUN, supplier, row.overrun),
    ...payerEntries(row),
  ]
}

/** None in rows from before there were payers. */
function payerEntries({ payer, cost }: AuditRow): readonly Entry[] {
  const terms = payer === undefined ? undefined : readPayer(payer)
  return terms === undefined ? NOTHING : [entry(`payer/${terms.wallet}`, PAYMENTS, cost)]
}

/** What is taken back goes the other way. */
function creditEntries(note: NoteRecord): readonly Entry[] {
  const credit = readCredit(note)
  if (credit === undefined) return NOTHING
  const wallet = `wallet/${credit.wallet}`
  return credit.amount > 0
    ? [entry(GRANTS, wallet, credit.amount)]
    : [entry(wallet, GRANTS, toNanoUsd(0 - credit.amount))]
}

function entry(debit: string, credit: string, amount: NanoUsd = ZERO_USD): Entry {
  return { debit, credit, amount }
}

/** Nameless where nobody knows who was asked. */
function supplierAccount(supplier: string | undefined): string {
  return `supplier/${supplier ?? ''}`
}

/** Adds entries up, a key's hours in one account. */
export function bookTo(accounts: Accounts, entries: readonly Entry[]): void {
  for (const { debit, credit, amount } of entries) {
    add(accounts, withoutHour(debit), BigInt(amount))
    add(accounts, withoutHour(credit), -BigInt(amount))
  }
}

/** An account that came to nothing is no different from one that was never used. */
function add(accounts: Accounts, account: string, amount: bigint): void {
  const sum = (accounts.get(account) ?? 0n) + amount
  if (sum === 0n) accounts.delete(account)
  else accounts.set(account, sum)
}

function withoutHour(account: string): string {
  return account.startsWith('key/') ? account.slice(0, account.lastIndexOf('/')) : account
}

export function sumOf(accounts: Iterable<readonly [account: string, amount: bigint]>): bigint {
  let sum = 0n
  for (const [, amount] of accounts) sum += amount
  return sum
}

// What was put into each wallet and charged to it. As sums, these are added up in memory and written once a
// group; a row appears with the first booking. This runs on every call.
import type { Database } from 'bun:sqlite'
import type { AuditRow } from '../../core/audit.ts'
import type { NoteRecord } from '../../core/record.ts'
import { creditOf } from '../credit.ts'
import { walletOf } from '../payer.ts'
import { SUM_MAX, type BalanceSum } from '../store.ts'
import { asRow, readText } from './rows.ts'

export interface Balances {
  /** Adds what the end of an operation costs its payer. */
  charge(row: AuditRow): void
  /** Adds what a note puts into a wallet or takes out of it, if it is of that kind. */
  follow(note: NoteRecord): void
  /** Writes what was added, in the transaction that wrote the records. */
  flush(): void
  /** After a rollback. */
  forget(): void
}

// Behind its bounds an amount stands still, as sums do.
const ADD = `
  INSERT INTO balances (wallet_id, credited, charged, before) VALUES (?1, ?2, ?3, 0)
  ON CONFLICT DO UPDATE SET credited = ${bounded('credited + ?2')}, charged = min(charged + ?3, ${SUM_MAX})`

// As text: the connection that calls depend on reads integers as numbers.
const LOAD = `
  SELECT wallet_id, CAST(credited AS TEXT) AS credited, CAST(charged AS TEXT) AS charged,
    CAST(before AS TEXT) AS before
  FROM balances ORDER BY wallet_id`

export function createBalances(database: Database): Balances {
  const add = database.prepare(ADD)
  const charged = new Map<string, number>()

  const flush = (): void => {
    for (const [wallet, amount] of charged) add.run(wallet, 0, amount)
    charged.clear()
  }

  return {
    charge({ cost, payer }) {
      if (cost === 0 || payer === undefined) return
      const wallet = walletOf(payer)
      const sum = (charged.get(wallet) ?? 0) + cost
      // The database counts further than a number does.
      if (!Number.isSafeInteger(sum)) flush()
      charged.set(wallet, Number.isSafeInteger(sum) ? sum : cost)
    },
    follow(note) {
      if (note.kind !== 'credit') return
      const { wallet, amount } = creditOf(note)
      add.run(wallet, amount, 0)
    },
    flush,
    forget: () => charged.clear(),
  }
}

export function loadBalances(database: Database): readonly BalanceSum[] {
  return database
    .query(LOAD)
    .all()
    .map(asRow)
    .map((row) => ({
      walletId: readText(row, 'wallet_id'),
      credited: BigInt(readText(row, 'credited')),
      charged: BigInt(readText(row, 'charged')),
      before: BigInt(readText(row, 'before')),
    }))
}

/** An amount that may be below zero, of SQL that has not left 64 bits yet. */
export function bounded(sql: string): string {
  return `max(-${SUM_MAX}, min(${sql}, ${SUM_MAX}))`
}

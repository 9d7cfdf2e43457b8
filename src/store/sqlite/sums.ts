// What was booked on each account in each hour, so that nobody has to add up records: `key/<id>` what a key
// pays, `supplier/<name>` what is owed to a supplier, `suspense/<name>` what it may have billed for
// nothing, `overrun` what calls cost beyond their holds, `payer/<id>` what a wallet pays and `payments` the other
// side of that, and `before/<id>` what a key paid by records that are no longer in the chain. Rows are added up
// in memory first: a group writes each account once.
import type { Database } from 'bun:sqlite'
import type { AuditRow } from '../../core/audit.ts'
import { PAYMENTS, walletOf } from '../payer.ts'
import { SUM_MAX } from '../store.ts'
import type { Names } from './names.ts'

export interface Sums {
  /** Adds what the end of an operation books. */
  book(row: AuditRow, hour: number): void
  /** Writes what was added, in the transaction that wrote the rows. */
  flush(): void
  /** After a rollback. */
  forget(): void
}

const ADD = `
  INSERT INTO sums (hour, account, amount) VALUES (?1, ?2, ?3)
  ON CONFLICT DO UPDATE SET amount = min(amount + ?3, ${SUM_MAX})`

export function createSums(database: Database, names: Names): Sums {
  const add = database.prepare(ADD)
  const keys = new Map<string, number>()
  const suppliers = new Map<string, number>()
  const payers = new Map<string, number>()
  const others = new Map<string, number>()
  /** Of all that is added up at the moment: another hour begins anew. */
  let hour = 0

  const write = (accounts: Map<string, number>, prefix: string): void => {
    for (const [account, amount] of accounts)
      add.run(hour, names.numberOf(prefix + account), amount)
    accounts.clear()
  }

  const flush = (): void => {
    write(keys, 'key/')
    write(suppliers, 'supplier/')
    write(payers, 'payer/')
    write(others, '')
  }

  const post = (accounts: Map<string, number>, account: string, amount: number): void => {
    const sum = (accounts.get(account) ?? 0) + amount
    if (Number.isSafeInteger(sum)) {
      accounts.set(account, sum)
      return
    }
    // The database counts further than a number does.
    flush()
    accounts.set(account, amount)
  }

  const bookRest = ({ supplier = '', overrun, details }: AuditRow): void => {
    if (overrun > 0) {
      post(others, 'overrun', overrun)
      post(suppliers, supplier, overrun)
    }
    for (const { supplier: asked, suspense = 0 } of details?.tries ?? [])
      if (suspense > 0) {
        post(others, `suspense/${asked}`, suspense)
        post(suppliers, asked, suspense)
      }
  }

  return {
    book(row, rowHour) {
      if (rowHour !== hour) flush()
      hour = rowHour
      if (row.cost > 0) {
        post(keys, row.keyId, row.cost)
        post(suppliers, row.supplier ?? '', row.cost)
        if (row.payer !== undefined) {
          post(payers, walletOf(row.payer), row.cost)
          post(others, PAYMENTS, row.cost)
        }
      }
      if (row.overrun > 0 || row.details !== undefined) bookRest(row)
    },
    flush,
    forget() {
      for (const accounts of [keys, suppliers, payers, others]) accounts.clear()
    },
  }
}

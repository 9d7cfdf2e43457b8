// Removing records that are kept elsewhere. A little at a time, because calls wait meanwhile, and each step
// leaves books that are whole: what goes takes its sums along, and the base moves with it.
import { hourOf, HOURS_KEPT } from '../../core/hour.ts'
import type { Database } from 'bun:sqlite'
import { GatewayError } from '../../core/problem.ts'
import { SUM_MAX, type ChainPlace } from '../store.ts'
import { bounded } from './balances.ts'
import { readBase, writeBase } from './marks.ts'
import { unavailable, type Reads } from './reads.ts'
import { HASH, OPEN_IDS } from './records.ts'
import { latestTime } from './recover.ts'
import { asRow, isRow, readInteger, readText } from './rows.ts'
import { createSweep } from './sweep.ts'
import type { Usage } from './usage.ts'
import type { Writer } from './writer.ts'

interface ForgetParts {
  readonly database: Database
  readonly writer: Writer
  readonly reads: Pick<Reads, 'query'>
  readonly usage: Pick<Usage, 'rollUpThrough'>
}

/** Some milliseconds. */
const STEP = 500

// The account of a key that paid by records which are gone.
const NAME_BEFORE = `
  INSERT OR IGNORE INTO names (name)
  SELECT DISTINCT 'before/' || name FROM audit CROSS JOIN names ON names.number = key
  WHERE sequence > ?1 AND sequence <= ?2 AND cost > 0 AND hold IS NOT NULL`

const SPENT_HERE = `
  SELECT hour, names.name AS key_name, sum(cost) AS amount
  FROM audit CROSS JOIN names ON names.number = audit.key
  WHERE sequence > ?1 AND sequence <= ?2 AND cost > 0 AND hold IS NOT NULL GROUP BY 1, 2`

const ADD_BEFORE = `
  INSERT INTO sums (hour, account, amount)
  SELECT hour, number, gone.amount FROM (${SPENT_HERE}) AS gone
  CROSS JOIN names ON name = 'before/' || key_name
  WHERE true ON CONFLICT DO UPDATE SET amount = min(amount + excluded.amount, ${SUM_MAX})`

const TAKE_AWAY = `
  UPDATE sums SET amount = max(sums.amount - gone.amount, 0) FROM (${SPENT_HERE}) AS gone
  CROSS JOIN names ON name = 'key/' || key_name
  WHERE sums.hour = gone.hour AND sums.account = names.number`

// What wallets were charged and given by the records that go is a balance from before.
const CHARGED_HERE = `
  SELECT names.name ->> '$.wallet' AS wallet, sum(cost) AS amount
  FROM audit CROSS JOIN names ON names.number = audit.payer
  WHERE sequence > ?1 AND sequence <= ?2 AND cost > 0 AND hold IS NOT NULL GROUP BY 1`

const MOVE_CHARGES = `
  UPDATE balances SET
    charged = max(charged - gone.amount, 0), before = ${bounded('before - gone.amount')}
  FROM (${CHARGED_HERE}) AS gone WHERE wallet_id = gone.wallet`

const CREDITED_HERE = `
  SELECT body ->> '$.wallet' AS wallet, sum(body ->> '$.amount') AS amount FROM notes
  WHERE number > ?1 AND number <= ?2 AND kind = 'credit' GROUP BY 1`

const MOVE_CREDITS = `
  UPDATE balances SET
    credited = ${bounded('credited - gone.amount')}, before = ${bounded('before + gone.amount')}
  FROM (${CREDITED_HERE}) AS gone WHERE wallet_id = gone.wallet`

const MOVES = [NAME_BEFORE, ADD_BEFORE, TAKE_AWAY, MOVE_CHARGES, MOVE_CREDITS]

const DELETES = [
  'DELETE FROM holds WHERE number > ?1 AND number <= ?2',
  'DELETE FROM notes WHERE number > ?1 AND number <= ?2',
  'DELETE FROM audit WHERE sequence > ?1 AND sequence <= ?2',
]

// Sums that no budget asks for any more, of hours that are closed. A key's own sums are never old: they go
// with the records that they are made of.
const DROP_SUMS = `
  DELETE FROM sums WHERE hour < ?1
  AND hour < coalesce((SELECT hour FROM holds ORDER BY number LIMIT 1), ?1)
  AND (amount = 0 OR account NOT IN (SELECT number FROM names WHERE name LIKE 'key/%'))`

const DROP_RUNS = `
  DELETE FROM audit_runs WHERE last <= ?1
  AND NOT EXISTS (SELECT 1 FROM audit WHERE sequence BETWEEN first AND last)`

/** Removes one stretch after another, never two at a time. */
export interface Forgetter {
  forget(through: ChainPlace): Promise<void>
  /** What is under way stops after its step. */
  close(): void
}

export function createForgetter({ database, writer, reads, usage }: ForgetParts): Forgetter {
  const sweep = createSweep({ database, writer, reads })
  let isBusy = false
  let closed = false

  const forgetAll = async (through: ChainPlace): Promise<void> => {
    writer.mark()
    check(database, through)
    // Usage is told of calls for longer than their records are here.
    await usage.rollUpThrough(through.number)
    let base = readBase(database)
    while (base.number < through.number) {
      if (closed) throw unavailable(new Error('the store is closed'))
      const from = base.number
      base = writer.transact(() =>
        forgetStep(database, from, Math.min(from + STEP, through.number)),
      )
      // oxlint-disable-next-line no-await-in-loop -- calls come first
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (closed) return
    writer.transact(() => dropOld(database, base.number))
    await sweep(() => closed)
  }

  return {
    async forget(through) {
      if (isBusy) throw refused('Records are being removed already.')
      isBusy = true
      try {
        await forgetAll(through)
      } catch (thrown) {
        // The border to the database: its own words stay in `cause`.
        throw thrown instanceof GatewayError ? thrown : unavailable(thrown)
      } finally {
        isBusy = false
      }
    },
    close() {
      closed = true
    },
  }
}

function check(database: Database, { number, hash }: ChainPlace): void {
  if (number <= readBase(database).number) return
  const found = database.query(HASH).get(number)
  if (!isRow(found) || found['hash'] !== hash)
    throw refused(`The record ${number} is not the one that was named.`)
  const open = database.query(OPEN_IDS).all().map(asRow)
  const first = open.find((row) => readInteger(row, 'number') <= number)
  if (first !== undefined)
    throw refused(`The call ${readText(first, 'request_id')} was held before and has not ended.`)
}

function forgetStep(database: Database, from: number, to: number): ChainPlace {
  const hash = readText(asRow(database.query(HASH).get(to)), 'hash')
  for (const sql of [...MOVES, ...DELETES]) database.query(sql).run(from, to)
  const base = { number: to, hash }
  writeBase(database, base)
  return base
}

/** By the books' own time: a clock that is wrong for a moment must not take what a budget still counts. */
function dropOld(database: Database, number: number): void {
  database.query(DROP_RUNS).run(number)
  database.query(DROP_SUMS).run(hourOf(latestTime(database)) - HOURS_KEPT)
}

function refused(what: string): GatewayError {
  return new GatewayError('conflict', what, { retryable: false })
}

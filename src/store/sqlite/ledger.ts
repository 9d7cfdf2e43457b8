// The books as they are read: by management through the Worker, and by a command beside a running gateway.
// Each question is one statement, so that its answer is of one moment.
import { PAYMENTS } from '../payer.ts'
import type {
  BalanceSum,
  Total,
  ChainPlace,
  LedgerHead,
  LedgerRepository,
  SpentSum,
} from '../store.ts'
import { toPlace } from './marks.ts'
import type { Reads } from './reads.ts'
import { LAST, OPEN_IDS, RECORDS, toChained } from './records.ts'
import { asRow, readInteger, readText, toNoteRecord, type Row } from './rows.ts'

const NAMES = 'CROSS JOIN names ON names.number = sums.account'

export const HEAD = `
  SELECT name AS type, value AS text, NULL AS number, NULL AS amount FROM marks
  UNION ALL SELECT 'last', hash, number, NULL FROM (${LAST})
  UNION ALL SELECT 'open', request_id, number, NULL FROM (${OPEN_IDS})`

const SPENT_HEAD = `
  ${HEAD}
  UNION ALL SELECT 'spent', substr(name, 5), hour, amount FROM sums ${NAMES}
    WHERE name LIKE 'key/%' AND amount > 0
  UNION ALL SELECT 'credited', wallet_id, NULL, credited FROM balances
  UNION ALL SELECT 'charged', wallet_id, NULL, charged FROM balances
  UNION ALL SELECT 'before', wallet_id, NULL, before FROM balances`

// In two parts, because a sum of sums may be too large for the database: an error, and not a rounded one.
export const TOTALS = `
  SELECT name, sum(amount >> 31) AS high, sum(amount & 0x7fffffff) AS low FROM sums ${NAMES}
  WHERE hour >= ?1 AND hour < ?2 AND name NOT LIKE 'before/%' AND amount > 0
  GROUP BY account ORDER BY name`

export const CHECKPOINTS = `
  SELECT at, kind, request_id, body FROM notes INDEXED BY notes_checkpoints
  WHERE kind IN ('month', 'archive') ORDER BY number`

export type LedgerReads = Omit<LedgerRepository, 'forget'>

export function createLedger(reads: Pick<Reads, 'query'>): LedgerReads {
  return {
    async head() {
      return toHead(await reads.query(HEAD))
    },
    async spent() {
      const rows = await reads.query(SPENT_HEAD)
      return { ...toHead(rows), spent: toSums(rows), balances: toBalances(rows) }
    },
    async records(after, limit) {
      return (await reads.query(RECORDS, after, limit)).map(toChained)
    },
    async totals(fromHour, toHour) {
      return (await reads.query(TOTALS, fromHour, toHour)).map(toTotal)
    },
    async checkpoints() {
      return (await reads.query(CHECKPOINTS)).map(toNoteRecord)
    },
  }
}

function toHead(rows: readonly Row[]): LedgerHead {
  const of = (type: string): readonly Row[] => rows.filter((row) => row['type'] === type)
  const [writer] = of('writer')
  const [baseMark] = of('base')
  const [last] = of('last')
  const base = readPlaceText(asRow(baseMark))
  return {
    writer: readText(asRow(writer), 'text'),
    base,
    last: last === undefined ? base : toPlace({ number: last['number'], hash: last['text'] }),
    open: of('open').map((row) => readText(row, 'text')),
  }
}

function toSums(rows: readonly Row[]): readonly SpentSum[] {
  return rows
    .filter(({ type }) => type === 'spent')
    .map((row) => ({
      keyId: readText(row, 'text'),
      hour: readInteger(row, 'number'),
      amount: readSum(row, 'amount'),
    }))
}

/** Each of the three has a row for every wallet. */
function toBalances(rows: readonly Row[]): readonly BalanceSum[] {
  const amountsOf = (type: string): ReadonlyMap<string, bigint> =>
    new Map(
      rows
        .filter((row) => row['type'] === type)
        .map((row) => [readText(row, 'text'), readSum(row, 'amount')]),
    )
  const charged = amountsOf('charged')
  const before = amountsOf('before')
  return Array.from(amountsOf('credited'), ([walletId, credited]) => ({
    walletId,
    credited,
    charged: charged.get(walletId) ?? 0n,
    before: before.get(walletId) ?? 0n,
  }))
}

function readPlaceText(row: Row): ChainPlace {
  try {
    const value: unknown = JSON.parse(readText(row, 'text'))
    return toPlace(asRow(value))
  } catch (cause) {
    throw new Error('The mark of where the chain begins cannot be read.', { cause })
  }
}

/** What is owed to suppliers is the other side of what keys pay, and what was paid for calls that of wallets. */
function toTotal(row: Row): Total {
  const account = readText(row, 'name')
  const amount = (readSum(row, 'high') << 31n) + readSum(row, 'low')
  const isCredit = account.startsWith('supplier/') || account === PAYMENTS
  return { account, amount: isCredit ? -amount : amount }
}

function readSum(row: Row, column: string): bigint {
  const sum = row[column]
  if (typeof sum !== 'bigint') throw new TypeError(`the column ${column} holds no integer`)
  return sum
}

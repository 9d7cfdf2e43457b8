// The statements of wallets: what was put into each and taken back, by whom and why. What is in a wallet follows
// from the note that tells of it, which the books add up.
import type { Database } from 'bun:sqlite'
import { GatewayError } from '../../core/problem.ts'
import type { CreditNote, NoteRecord } from '../../core/record.ts'
import { creditOf } from '../credit.ts'
import type { WalletEntry, WalletRepository } from '../store.ts'
import { persist, type ChangeParts } from './change.ts'
import { readLimit, readPlace, toPage } from './page.ts'
import { unavailable, type Reads } from './reads.ts'
import { findText, readAmount, readInteger, readText, type Row } from './rows.ts'

export interface WalletParts extends ChangeParts {
  readonly reads: Pick<Reads, 'query'>
}

const FIND_REFERENCE = 'SELECT 1 FROM credits WHERE wallet_id = ? AND reference = ?'

// Of the note's own account alone.
const INSERT = `
  INSERT INTO credits (wallet_id, at, request_id, amount, actor, reason, reference)
  SELECT id, ?3, ?4, ?5, ?6, ?7, ?8 FROM wallets WHERE id = ?1 AND account_id = ?2`

// In the order of writing, which a wallet's index has already.
const LIST = `
  SELECT credits.* FROM credits INDEXED BY credits_by_wallet
  WHERE wallet_id = :wallet AND sequence < :sequence
  AND EXISTS (SELECT 1 FROM wallets WHERE id = :wallet AND account_id = :account)
  ORDER BY sequence DESC LIMIT :limit`

const PAGE = { timeColumn: 'at', toItem: toEntry }

export function createWallets({ reads, ...parts }: WalletParts): WalletRepository {
  return {
    async credit(deed) {
      const credit = creditOf(deed.note)
      return persist(parts, deed, () => insertCredit(parts.database, deed.note, credit))
    },
    async checkReference(walletId, reference) {
      try {
        checkReference(parts.database, walletId, reference)
      } catch (thrown) {
        throw thrown instanceof GatewayError ? thrown : unavailable(thrown)
      }
    },
    async entries(accountId, walletId, page) {
      const limit = readLimit(page)
      const { sequence } = readPlace(page)
      const parameters = {
        ':account': accountId,
        ':wallet': walletId,
        ':sequence': sequence,
        ':limit': limit + 1,
      }
      return toPage(await reads.query(LIST, parameters), limit, PAGE)
    },
  }
}

function insertCredit(database: Database, note: NoteRecord, credit: CreditNote): void {
  const { account, wallet, amount, by, reason, reference } = credit
  if (reference !== null) checkReference(database, wallet, reference)
  const { requestId = '', at } = note
  const values = [at, requestId, amount, by, reason, reference]
  if (database.query(INSERT).run(wallet, account, ...values).changes === 0)
    throw new GatewayError('not_found')
}

function checkReference(database: Database, wallet: string, reference: string): void {
  if (database.query(FIND_REFERENCE).get(wallet, reference) === null) return
  throw new GatewayError(
    'conflict',
    'This wallet has had an entry with this reference before, so nothing was booked again. Where it is another entry, give it a reference of its own.',
    { retryable: false, param: 'reference' },
  )
}

function toEntry(row: Row): WalletEntry {
  return {
    at: readInteger(row, 'at'),
    requestId: readText(row, 'request_id'),
    amount: readAmount(row, 'amount'),
    by: readText(row, 'actor'),
    reason: readText(row, 'reason'),
    reference: findText(row, 'reference'),
  }
}

// Sign-ins at native suppliers. Settings and tokens are written apart, because a renewal may come between any two
// changes: neither takes back what the other has written. Every statement names the account.
import type { Database } from 'bun:sqlite'
import type { IdentityRecord, SealedTokens } from '../../core/identity.ts'
import { GatewayError } from '../../core/problem.ts'
import type { IdentityRepository } from '../store.ts'
import { persist, type ChangeParts } from './change.ts'
import {
  asRow,
  findBytes,
  findInteger,
  findText,
  findTexts,
  readInteger,
  readText,
  type Row,
} from './rows.ts'

type Value = string | number | Uint8Array | null

const INSERT = `
  INSERT INTO identities (
    name, subject, organisation_id, project_ids, parallel_max, requests_per_minute, disabled_at,
    ended_at, sealed, expires_at, renewed_at, refused_at, id, account_id, supplier_id, created_at,
    created_by
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// The supplier is none of the settings: tokens of one must not come to another. What is removed stays so, whatever
// a change thinks that began before.
const UPDATE = `
  UPDATE identities SET
    name = ?1, subject = ?2, organisation_id = ?3, project_ids = ?4, parallel_max = ?5,
    requests_per_minute = ?6, disabled_at = ?7, ended_at = coalesce(ended_at, ?8),
    sealed = iif(coalesce(ended_at, ?8) IS NULL, sealed, NULL),
    expires_at = iif(coalesce(ended_at, ?8) IS NULL, expires_at, NULL)
  WHERE account_id = ?9 AND id = ?10`

const KEEP_TOKENS = `
  UPDATE identities SET sealed = ?, expires_at = ?, renewed_at = ?, refused_at = ?
  WHERE account_id = ? AND id = ? AND ended_at IS NULL AND sealed IS coalesce(?, sealed)`

export function loadIdentities(database: Database): readonly IdentityRecord[] {
  const rows = database.prepare('SELECT * FROM identities ORDER BY sequence').all()
  return rows.map((row) => toIdentityRecord(asRow(row)))
}

export function createIdentities(parts: ChangeParts): IdentityRepository {
  const { database } = parts
  const change = (sql: string, values: readonly Value[]): boolean =>
    leavingNothing(database, () => database.query(sql).run(...values).changes > 0)

  return {
    insert: (record, deed) =>
      persist(parts, deed, () => {
        const values = [...settingValues(record), ...tokenValues(record.tokens)]
        change(INSERT, [...values, ...fixedValues(record)])
      }),
    update: (record, deed) =>
      persist(parts, deed, () => {
        const { accountId, id } = record
        if (!change(UPDATE, [...settingValues(record), accountId, id]))
          throw new GatewayError('internal_error', undefined, {
            cause: new Error(`there is no identity ${id} in its account`),
          })
      }),
    async keepTokens(accountId, id, tokens, { deed, replaces } = {}) {
      const gone = new GatewayError('not_found')
      try {
        await persist(parts, deed, () => {
          const values = [...tokenValues(tokens), accountId, id, replaces ?? null]
          if (!change(KEEP_TOKENS, values)) throw gone
        })
        return true
      } catch (thrown) {
        // Thrown above, so that the deed goes with what it tells of: nothing was done.
        if (thrown === gone) return false
        throw thrown
      }
    },
  }
}

/**
 * Tokens that are replaced or wiped are overwritten where they stood, for they may work on; so are copies that a new
 * row leaves behind when it makes others move. Only here: records and answers that are removed are many, and to
 * overwrite each page of them takes as long as to write it.
 */
function leavingNothing<Result>(database: Database, work: () => Result): Result {
  database.run('PRAGMA secure_delete = on')
  try {
    return work()
  } finally {
    database.run('PRAGMA secure_delete = off')
  }
}

function toIdentityRecord(row: Row): IdentityRecord {
  return {
    id: readText(row, 'id'),
    accountId: readText(row, 'account_id'),
    name: readText(row, 'name'),
    supplierId: readText(row, 'supplier_id'),
    subject: findText(row, 'subject'),
    organisationId: findText(row, 'organisation_id'),
    projectIds: findTexts(row, 'project_ids'),
    parallelMax: findInteger(row, 'parallel_max'),
    requestsPerMinute: findInteger(row, 'requests_per_minute'),
    createdAt: readInteger(row, 'created_at'),
    createdBy: findText(row, 'created_by'),
    disabledAt: findInteger(row, 'disabled_at'),
    endedAt: findInteger(row, 'ended_at'),
    tokens: {
      sealed: findBytes(row, 'sealed'),
      expiresAt: findInteger(row, 'expires_at'),
      renewedAt: findInteger(row, 'renewed_at'),
      refusedAt: findInteger(row, 'refused_at'),
    },
  }
}

function settingValues(record: IdentityRecord): readonly Value[] {
  const { name, subject, organisationId, projectIds, disabledAt, endedAt } = record
  return [
    name,
    subject ?? null,
    organisationId ?? null,
    projectIds === undefined ? null : JSON.stringify(projectIds),
    record.parallelMax ?? null,
    record.requestsPerMinute ?? null,
    disabledAt ?? null,
    endedAt ?? null,
  ]
}

function tokenValues({ sealed, expiresAt, renewedAt, refusedAt }: SealedTokens): readonly Value[] {
  return [sealed ?? null, expiresAt ?? null, renewedAt ?? null, refusedAt ?? null]
}

function fixedValues(record: IdentityRecord): readonly Value[] {
  const { id, accountId, supplierId, createdAt, createdBy } = record
  return [id, accountId, supplierId, createdAt, createdBy ?? null]
}

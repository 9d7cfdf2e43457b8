// Keys in SQLite. Writes are rare and go straight through the writer; reads for management go to the
// Worker. Every statement names the account, so that another account's id is simply not found.
import type { Database } from 'bun:sqlite'
import type { Clock } from '../../core/clock.ts'
import { createId } from '../../core/ids.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord, type KeySettings } from '../../core/key.ts'
import type { Deed, KeyQuery, KeyRepository } from '../store.ts'
import { persist } from './change.ts'
import { readLimit, readPlace, toPage } from './page.ts'
import type { Reads } from './reads.ts'
import { asRow, toKeyRecord } from './rows.ts'
import type { Writer } from './writer.ts'

export interface KeyParts {
  readonly database: Database
  readonly writer: Writer
  readonly reads: Reads
  readonly clock: Clock
}

const INSERT = `
  INSERT INTO keys (
    name, allowed_models, allowed_regions, budget_limit, budget_period, rate_limit_rpm, metadata,
    expires_at, fits_budget, id, account_id, project_id, team_id, user_id, kind, manages, hash,
    previous_hash, previous_until, created_at, created_by, revoked_at, last_used_at
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const UPDATE = `
  UPDATE keys SET
    name = ?, allowed_models = ?, allowed_regions = ?, budget_limit = ?, budget_period = ?,
    rate_limit_rpm = ?, metadata = ?, expires_at = ?, fits_budget = ?
  WHERE account_id = ? AND id = ? RETURNING *`

// Who revokes twice learns when the key really ended.
const REVOKE = `
  UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE account_id = ? AND id = ? RETURNING *`

const ROTATE = `
  UPDATE keys SET hash = ?, previous_hash = ?, previous_until = ?
  WHERE account_id = ? AND id = ? RETURNING *`

const TOUCH = 'UPDATE keys SET last_used_at = max(coalesce(last_used_at, 0), ?) WHERE id = ?'

// A root key that is replaced must open the door again, whatever ended the one before.
const REPLACE_ROOT = `
  UPDATE keys SET
    hash = ?, previous_hash = NULL, previous_until = NULL, revoked_at = NULL, expires_at = NULL
  WHERE account_id = ? AND kind = 'root' RETURNING *`

const FIND = 'SELECT * FROM keys WHERE account_id = ? AND id = ?'

const LIST = `
  SELECT * FROM keys WHERE account_id = :account AND kind = :kind
  AND (created_at, sequence) < (:at, :sequence)
  AND (:projects IS NULL OR project_id IN (SELECT value FROM json_each(:projects))
    OR team_id IN (SELECT value FROM json_each(:teams)))
  AND (:project IS NULL OR project_id = :project)
  AND (:team IS NULL OR team_id = :team)
  AND (:user IS NULL OR user_id = :user)
  AND (:name IS NULL OR instr(lower(name), lower(:name)) > 0)
  AND NOT EXISTS (
    SELECT 1 FROM json_each(:labels) AS label
    WHERE NOT EXISTS (
      SELECT 1 FROM json_each(keys.metadata) AS own
      WHERE own.key = label.key AND own.value = label.value
    )
  )
  AND CASE :status
    WHEN 'active' THEN revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
    WHEN 'expired' THEN revoked_at IS NULL AND expires_at <= :now
    WHEN 'revoked' THEN revoked_at IS NOT NULL
    ELSE true END
  ORDER BY created_at DESC, sequence DESC LIMIT :limit`

const PAGE = { timeColumn: 'created_at', toItem: toKeyRecord }

export function loadKeys(database: Database): readonly KeyRecord[] {
  const rows = database.prepare('SELECT * FROM keys ORDER BY sequence').all()
  return rows.map((row) => toKeyRecord(asRow(row)))
}

export function createKeys({ database, writer, reads, clock }: KeyParts): KeyRepository {
  const change = (
    deed: Deed | undefined,
    sql: string,
    ...parameters: (string | number | null)[]
  ): Promise<KeyRecord | undefined> =>
    persist({ database, writer, clock }, deed, () => {
      const [row] = database.query(sql).all(...parameters)
      return row === undefined ? undefined : toKeyRecord(asRow(row))
    })

  return {
    insert: (key, deed) =>
      persist({ database, writer, clock }, deed, () => insertKey(database, key)),
    async update(accountId, id, settings, deed) {
      return change(deed, UPDATE, ...settingValues(settings), accountId, id)
    },
    async revoke(accountId, id, at, deed) {
      return change(deed, REVOKE, at, accountId, id)
    },
    async rotate(accountId, id, { hash, previous }, deed) {
      const old = [previous?.hash ?? null, previous?.until ?? null]
      return change(deed, ROTATE, hash, ...old, accountId, id)
    },
    async replaceRoot(accountId, hash) {
      const replaced = await change(undefined, REPLACE_ROOT, hash, accountId)
      if (replaced !== undefined) return replaced
      const first = createRoot(accountId, hash, clock.now())
      await persist({ database, writer, clock }, undefined, () => insertKey(database, first))
      return first
    },
    async touch(uses) {
      // Tried once: nobody waits for it, and it comes again.
      writer.transact(() => {
        for (const { id, at } of uses) database.query(TOUCH).run(at, id)
      })
    },
    async find(accountId, id) {
      const [row] = await reads.query(FIND, accountId, id)
      return row === undefined ? undefined : toKeyRecord(row)
    },
    async list(accountId, query) {
      const limit = readLimit(query)
      return toPage(await reads.query(LIST, listParameters(accountId, query, limit)), limit, PAGE)
    },
  }
}

function listParameters(
  accountId: string,
  query: KeyQuery,
  limit: number,
): Readonly<Record<`:${string}`, string | number | null>> {
  const { at, sequence } = readPlace(query)
  const { within, status, now } = query
  return {
    ':account': accountId,
    ':kind': query.kind,
    ':at': at,
    ':sequence': sequence,
    ':projects': within === undefined ? null : JSON.stringify(within.projectIds),
    ':teams': JSON.stringify(within?.teamIds ?? []),
    ':project': query.projectId ?? null,
    ':team': query.teamId ?? null,
    ':user': query.userId ?? null,
    ':name': query.name ?? null,
    ':labels': JSON.stringify(query.metadata ?? {}),
    ':status': status ?? null,
    ':now': now,
    ':limit': limit + 1,
  }
}

export function insertKey(database: Database, key: KeyRecord): void {
  database.query(INSERT).run(...settingValues(key), ...identityValues(key))
}

function createRoot(accountId: string, hash: string, createdAt: number): KeyRecord {
  return {
    ...NO_TIES,
    ...NO_LIMITS,
    id: createId('key'),
    accountId,
    kind: 'root',
    hash,
    name: 'root',
    createdAt,
  }
}

function settingValues(settings: KeySettings): readonly (string | number | null)[] {
  return [
    settings.name,
    settings.allowedModels === undefined ? null : JSON.stringify(settings.allowedModels),
    settings.allowedRegions === undefined ? null : JSON.stringify(settings.allowedRegions),
    settings.budgetLimit ?? null,
    settings.budgetPeriod ?? null,
    settings.rateLimitRpm ?? null,
    JSON.stringify(settings.metadata),
    settings.expiresAt ?? null,
    settings.fitsBudget ? 1 : 0,
  ]
}

function identityValues(key: KeyRecord): readonly (string | number | null)[] {
  const { id, accountId, projectId, teamId, userId, kind, manages, hash, previous } = key
  return [
    id,
    accountId,
    projectId ?? null,
    teamId ?? null,
    userId ?? null,
    kind,
    manages ? 1 : 0,
    hash,
    previous?.hash ?? null,
    previous?.until ?? null,
    key.createdAt,
    key.createdBy ?? null,
    key.revokedAt ?? null,
    key.lastUsedAt ?? null,
  ]
}

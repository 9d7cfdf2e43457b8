// Keys in SQLite. Writes are rare and go straight through the writer; reads for management go to the
// Worker. Every statement names the account, so that another account's id is simply not found.
import type { Database } from 'bun:sqlite'
import type { Clock } from '../../core/clock.ts'
import { createKeyId } from '../../core/ids.ts'
import { NO_LIMITS, type KeyRecord, type KeySettings } from '../../core/key.ts'
import { GatewayError } from '../../core/problem.ts'
import type { KeyRepository } from '../store.ts'
import { codeOf, isBusy } from './failure.ts'
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
    expires_at, fits_budget, id, account_id, project_id, kind, hash, created_at, revoked_at
  ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const UPDATE = `
  UPDATE keys SET
    name = ?, allowed_models = ?, allowed_regions = ?, budget_limit = ?, budget_period = ?,
    rate_limit_rpm = ?, metadata = ?, expires_at = ?, fits_budget = ?
  WHERE account_id = ? AND id = ? RETURNING *`

// Who revokes twice learns when the key really ended.
const REVOKE = `
  UPDATE keys SET revoked_at = coalesce(revoked_at, ?) WHERE account_id = ? AND id = ? RETURNING *`

// A root key that is replaced must open the door again, whatever ended the one before.
const REPLACE_ROOT = `
  UPDATE keys SET hash = ?, revoked_at = NULL, expires_at = NULL
  WHERE account_id = ? AND kind = 'root' RETURNING *`

const FIND = 'SELECT * FROM keys WHERE account_id = ? AND id = ?'

const LIST = `
  SELECT * FROM keys WHERE account_id = ? AND kind = 'managed' AND (created_at, sequence) < (?, ?)
  ORDER BY created_at DESC, sequence DESC LIMIT ?`

const PAGE = { timeColumn: 'created_at', toItem: toKeyRecord }

export function loadKeys(database: Database): readonly KeyRecord[] {
  const rows = database.prepare('SELECT * FROM keys ORDER BY sequence').all()
  return rows.map((row) => toKeyRecord(asRow(row)))
}

export function createKeys({ database, writer, reads, clock }: KeyParts): KeyRepository {
  const change = (
    sql: string,
    ...parameters: (string | number | null)[]
  ): Promise<KeyRecord | undefined> =>
    write({ writer, clock }, () => {
      const [row] = database.query(sql).all(...parameters)
      return row === undefined ? undefined : toKeyRecord(asRow(row))
    })

  const insert = (key: KeyRecord): Promise<void> =>
    write({ writer, clock }, () => {
      database.query(INSERT).run(...settingValues(key), ...identityValues(key))
    })

  return {
    insert,
    async update(accountId, id, settings) {
      return change(UPDATE, ...settingValues(settings), accountId, id)
    },
    async revoke(accountId, id, at) {
      return change(REVOKE, at, accountId, id)
    },
    async replaceRoot(accountId, hash) {
      const replaced = await change(REPLACE_ROOT, hash, accountId)
      if (replaced !== undefined) return replaced
      const first = createRoot(accountId, hash, clock.now())
      await insert(first)
      return first
    },
    async find(accountId, id) {
      const [row] = await reads.query(FIND, accountId, id)
      return row === undefined ? undefined : toKeyRecord(row)
    },
    async list(accountId, page) {
      const { at, sequence } = readPlace(page)
      const limit = readLimit(page)
      return toPage(await reads.query(LIST, accountId, at, sequence, limit + 1), limit, PAGE)
    },
  }
}

function createRoot(accountId: string, hash: string, createdAt: number): KeyRecord {
  return {
    id: createKeyId(),
    accountId,
    projectId: undefined,
    kind: 'root',
    hash,
    name: 'root',
    ...NO_LIMITS,
    createdAt,
    revokedAt: undefined,
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
  const { id, accountId, projectId, kind, hash, createdAt, revokedAt } = key
  return [id, accountId, projectId ?? null, kind, hash, createdAt, revokedAt ?? null]
}

/** A commit waits hardly at all, because calls wait with it; a key may be tried again. */
const TRIES = 20
const PAUSE_MS = 50

async function write<Result>(
  { writer, clock }: Pick<KeyParts, 'writer' | 'clock'>,
  work: () => Result,
): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      return writer.transact(work)
    } catch (thrown) {
      if (!isBusy(thrown) || tries === TRIES) throw asProblem(thrown)
      // oxlint-disable-next-line no-await-in-loop -- a try after another is what it is
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, { tick: resolve }))
    }
}

/** The border to the database: its own words stay in `cause`. */
function asProblem(cause: unknown): GatewayError {
  const code = codeOf(cause)
  if (code === 'SQLITE_CONSTRAINT_UNIQUE')
    return new GatewayError('conflict', 'There is already a key with this id or secret.', {
      retryable: false,
      cause,
    })
  if (code.startsWith('SQLITE_CONSTRAINT'))
    return new GatewayError('internal_error', 'The key does not fit the store.', { cause })
  return new GatewayError('service_unavailable', unstored(cause), { retryAfter: 1, cause })
}

function unstored(cause: unknown): string {
  const why = isBusy(cause)
    ? 'another program has the database locked, such as a backup or a database tool. Let it end'
    : 'the database cannot be written. See that its disk has room and its files belong to this user'
  return `Nothing was changed: ${why}, then send the request again.`
}

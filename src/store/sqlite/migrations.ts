// The schema as its history: one entry per version, oldest first. An entry that was released is never
// edited, only followed. Amounts are whole nano-dollars, times are milliseconds since 1970.

const TENANCY = `
  -- The first account is the one that a fresh install serves.
  CREATE TABLE accounts (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE projects (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (account_id, id)
  ) STRICT;

  CREATE TABLE keys (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    project_id TEXT,
    kind TEXT NOT NULL CHECK (kind IN ('root', 'token', 'managed')),
    hash TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    allowed_models TEXT CHECK (json_type(allowed_models) = 'array'),
    allowed_regions TEXT CHECK (json_type(allowed_regions) = 'array'),
    budget_limit INTEGER CHECK (budget_limit >= 0),
    budget_period TEXT CHECK (budget_period IN ('daily', 'monthly', 'rolling')),
    rate_limit_rpm INTEGER CHECK (rate_limit_rpm >= 0),
    metadata TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    revoked_at INTEGER,
    -- The pair, so that no key can stand in another account's project.
    FOREIGN KEY (account_id, project_id) REFERENCES projects (account_id, id)
  ) STRICT;
  CREATE INDEX keys_by_account ON keys (account_id, created_at);
  CREATE UNIQUE INDEX keys_one_root ON keys (account_id) WHERE kind = 'root';
`

// The audit is written on every call. Account and key stand in it as numbers: with their texts, each of
// which a row holds twice more in its indexes, a row takes 300 bytes where 170 do, and half as much
// time again. For the same reason it has no foreign key; the writer makes both names itself.
const AUDIT = `
  CREATE TABLE names (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
  ) STRICT;

  CREATE TABLE audit (
    sequence INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    account INTEGER NOT NULL,
    project_id TEXT,
    key INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    model TEXT NOT NULL,
    supplier TEXT,
    region TEXT,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cost INTEGER NOT NULL CHECK (cost >= 0),
    -- REAL, because clocks measure fractions and no figure may make a bill fail.
    latency_ms REAL NOT NULL,
    first_token_ms REAL,
    status INTEGER NOT NULL,
    code TEXT,
    stream INTEGER NOT NULL CHECK (stream IN (0, 1)),
    attempts INTEGER NOT NULL
  ) STRICT;
  -- Holds the cost, so that summing what a key spent never leaves the index.
  CREATE INDEX audit_by_key ON audit (key, at, cost);
  CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit
  BEGIN
    SELECT RAISE(ABORT, 'an audit row is final');
  END;
`

// What it takes to ask the audit questions. An index over the time of every row would make each call a
// quarter dearer to record, so time is kept of runs of rows instead, which `runs.ts` explains. Failures
// are what one looks for most and has least of: theirs is an index that good calls never touch.
const AUDIT_QUERY = `
  CREATE TABLE audit_runs (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    oldest_at INTEGER NOT NULL,
    newest_at INTEGER NOT NULL
  ) STRICT;
  INSERT INTO audit_runs
    SELECT sequence / 1024 * 1024, sequence / 1024 * 1024 + 1023, min(at), max(at)
    FROM audit GROUP BY sequence / 1024;
  INSERT OR REPLACE INTO audit_runs
    SELECT coalesce(max(sequence), 0) / 1024 * 1024, 9007199254740991, 0, 9007199254740991
    FROM audit;

  -- With the sequence before the cost, so that rows of one moment need no sorting.
  DROP INDEX audit_by_key;
  CREATE INDEX audit_by_key ON audit (key, at, sequence, cost);
  CREATE INDEX audit_failures ON audit (account, at, sequence)
    WHERE status <> 200 OR code IS NOT NULL;
`

export const MIGRATIONS: readonly string[] = [TENANCY + AUDIT, AUDIT_QUERY]

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

// The books. Holds, notes and audit rows share one row of numbers, which is their place in the chain; that
// of an audit row is its sequence, so rows of older versions have the numbers before the first. Their state
// is told by what they hold already, and what they cost is kept apart: no record of the chain proves it.
const LEDGER = `
  ALTER TABLE keys ADD COLUMN fits_budget INTEGER NOT NULL DEFAULT 1 CHECK (fits_budget IN (0, 1));

  -- All words of a hold are numbers among the names: it is written on every call and hardly ever read.
  CREATE TABLE holds (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    account INTEGER NOT NULL,
    project INTEGER,
    key INTEGER NOT NULL,
    endpoint INTEGER NOT NULL,
    model INTEGER NOT NULL,
    stream INTEGER NOT NULL CHECK (stream IN (0, 1)),
    amount INTEGER NOT NULL CHECK (amount >= 0),
    budget_limit INTEGER,
    period INTEGER,
    input_tokens INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;

  CREATE TABLE notes (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    request_id TEXT,
    body TEXT NOT NULL,
    hash TEXT NOT NULL
  ) STRICT;
  CREATE INDEX notes_by_request ON notes (request_id) WHERE request_id IS NOT NULL;
  CREATE INDEX notes_checkpoints ON notes (number) WHERE kind IN ('month', 'archive');

  -- What was booked in each hour, in the accounts that sums.ts names.
  CREATE TABLE sums (
    hour INTEGER NOT NULL,
    account INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (hour, account)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO names (name)
    SELECT 'before/' || name FROM names WHERE number IN (SELECT DISTINCT key FROM audit);
  INSERT INTO sums
    WITH spent AS (
      SELECT key, at / 3600000 AS hour, sum(cost) AS amount FROM audit GROUP BY 1, 2
    )
    SELECT hour, account.number, amount FROM spent
    CROSS JOIN names ON names.number = spent.key
    CROSS JOIN names AS account ON account.name = 'before/' || names.name
    WHERE amount > 0;

  DROP TRIGGER audit_is_final;
  DROP INDEX audit_by_key;
  ALTER TABLE audit ADD COLUMN state TEXT NOT NULL DEFAULT 'settled';
  ALTER TABLE audit ADD COLUMN evidence TEXT;
  ALTER TABLE audit ADD COLUMN held INTEGER;
  ALTER TABLE audit ADD COLUMN hour INTEGER;
  -- What a key pays may exceed its hold where the operator has it so, but then nothing is left to him.
  ALTER TABLE audit ADD COLUMN overrun INTEGER NOT NULL DEFAULT 0
    CHECK (overrun = 0 OR (overrun > 0 AND cost <= held));
  ALTER TABLE audit ADD COLUMN held_ms REAL;
  ALTER TABLE audit ADD COLUMN count INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE audit ADD COLUMN details TEXT;
  -- The place of the hold that it ends.
  ALTER TABLE audit ADD COLUMN hold INTEGER;
  -- None in rows of older versions, which are in no chain.
  ALTER TABLE audit ADD COLUMN hash TEXT;
  UPDATE audit SET state = 'voided' WHERE cost = 0 AND status <> 200;
  CREATE INDEX audit_by_key ON audit (key, at);
  -- The last guard of an operation that ends once.
  CREATE UNIQUE INDEX audit_by_hold ON audit (hold) WHERE hold IS NOT NULL;
  CREATE TRIGGER audit_is_final BEFORE UPDATE ON audit
  BEGIN
    SELECT RAISE(ABORT, 'an audit row is final');
  END;
  CREATE TRIGGER hold_is_final BEFORE UPDATE ON holds
  BEGIN
    SELECT RAISE(ABORT, 'a hold is final');
  END;
  CREATE TRIGGER note_is_final BEFORE UPDATE ON notes
  BEGIN
    SELECT RAISE(ABORT, 'a note is final');
  END;

  CREATE TABLE marks (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO marks VALUES ('writer', 'wrt_' || lower(hex(randomblob(16))));
  INSERT INTO marks
    SELECT 'base', json_object('number', coalesce(max(sequence), 0), 'hash', '') FROM audit;
  INSERT INTO marks
    SELECT 'recovery', json_set(value, '$.at', 0, '$.open', json('[]')) FROM marks
    WHERE name = 'base';
`

// Who belongs to whom, and who pays. No version before could make a project, so the table is made anew, with
// pairs of ids that keep everything behind the wall of its account.
const PAYERS = `
  ALTER TABLE accounts ADD COLUMN ended_at INTEGER;

  CREATE TABLE users (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    email TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (account_id, id)
  ) STRICT;

  CREATE TABLE organisations (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    billing_user_id TEXT,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, billing_user_id) REFERENCES users (account_id, id)
  ) STRICT;

  DROP TABLE projects;
  CREATE TABLE projects (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    organisation_id TEXT,
    delegate_user_id TEXT,
    pinned_payer TEXT CHECK (pinned_payer IN ('project', 'organisation', 'delegate', 'caller')),
    metadata TEXT NOT NULL CHECK (json_type(metadata) = 'object'),
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (account_id, id),
    FOREIGN KEY (account_id, organisation_id) REFERENCES organisations (account_id, id),
    FOREIGN KEY (account_id, delegate_user_id) REFERENCES users (account_id, id)
  ) STRICT;

  CREATE TABLE teams (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    project_ids TEXT NOT NULL CHECK (json_type(project_ids) = 'array'),
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    UNIQUE (account_id, id)
  ) STRICT;

  CREATE TABLE wallets (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    owner TEXT NOT NULL CHECK (owner IN ('account', 'project', 'user')),
    owner_id TEXT NOT NULL,
    credit_line INTEGER CHECK (credit_line >= 0),
    spending_limit INTEGER CHECK (spending_limit >= 0),
    spending_period TEXT CHECK (spending_period IN ('daily', 'monthly', 'rolling')),
    created_at INTEGER NOT NULL,
    ended_at INTEGER
  ) STRICT;
  CREATE UNIQUE INDEX wallets_one_each ON wallets (owner_id) WHERE ended_at IS NULL;

  ALTER TABLE keys ADD COLUMN team_id TEXT REFERENCES teams (id);
  ALTER TABLE keys ADD COLUMN user_id TEXT REFERENCES users (id);
  ALTER TABLE keys ADD COLUMN manages INTEGER NOT NULL DEFAULT 0 CHECK (manages IN (0, 1));
  ALTER TABLE keys ADD COLUMN previous_hash TEXT;
  ALTER TABLE keys ADD COLUMN previous_until INTEGER;
  ALTER TABLE keys ADD COLUMN created_by TEXT;
  ALTER TABLE keys ADD COLUMN last_used_at INTEGER;
  CREATE UNIQUE INDEX keys_previous ON keys (previous_hash) WHERE previous_hash IS NOT NULL;

  -- Numbers among the names, as all words of a hold: one text serves many calls.
  ALTER TABLE holds ADD COLUMN payer INTEGER;
  ALTER TABLE holds ADD COLUMN claim TEXT;
  ALTER TABLE audit ADD COLUMN payer INTEGER;

  -- What was put into a wallet and charged to it by the records that are here, and what its balance was
  -- before them.
  CREATE TABLE balances (
    wallet_id TEXT PRIMARY KEY,
    credited INTEGER NOT NULL,
    charged INTEGER NOT NULL CHECK (charged >= 0),
    before INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The statement of a wallet, which stays when the records go to an archive.
  CREATE TABLE credits (
    sequence INTEGER PRIMARY KEY,
    wallet_id TEXT NOT NULL REFERENCES wallets (id),
    at INTEGER NOT NULL,
    request_id TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount <> 0),
    actor TEXT NOT NULL,
    reason TEXT NOT NULL,
    reference TEXT,
    UNIQUE (wallet_id, reference)
  ) STRICT;
  CREATE INDEX credits_by_wallet ON credits (wallet_id);

  CREATE INDEX notes_actions ON notes (number) WHERE kind IN ('action', 'credit');

  CREATE TABLE claims (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    request_id TEXT NOT NULL,
    account_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- Sealed with a key that is not in this folder.
    answer BLOB
  ) STRICT;
  CREATE INDEX claims_by_time ON claims (at);
  -- What the answers of each account take, for a start: to walk the table would be to walk the answers.
  CREATE INDEX claims_kept ON claims (account_id, length(answer)) WHERE answer IS NOT NULL;

  -- Calls added up by the hour. Words are numbers among the labels, 0 where there is none: names come and go
  -- with the records, and these stay.
  CREATE TABLE labels (
    number INTEGER PRIMARY KEY,
    label TEXT NOT NULL UNIQUE
  ) STRICT;
  CREATE TABLE usage (
    account INTEGER NOT NULL,
    hour INTEGER NOT NULL,
    key INTEGER NOT NULL,
    project INTEGER NOT NULL,
    payer INTEGER NOT NULL,
    model INTEGER NOT NULL,
    supplier INTEGER NOT NULL,
    region INTEGER NOT NULL,
    code INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    refused INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    overrun INTEGER NOT NULL,
    PRIMARY KEY (account, hour, key, project, payer, model, supplier, region, code)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO marks VALUES ('usage', '{"number":0}');
`

// Why a call went where it went. A number among the names, as the payer's: one text serves many calls.
const ROUTE = `
  ALTER TABLE audit ADD COLUMN route INTEGER;
`

// Sign-ins at native suppliers. Their tokens are of no use without a key that is not in this folder.
const IDENTITIES = `
  ALTER TABLE organisations ADD COLUMN native INTEGER NOT NULL DEFAULT 1 CHECK (native IN (0, 1));

  CREATE TABLE identities (
    sequence INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    name TEXT NOT NULL,
    supplier_id TEXT NOT NULL,
    subject TEXT,
    organisation_id TEXT,
    project_ids TEXT CHECK (json_type(project_ids) = 'array'),
    parallel_max INTEGER CHECK (parallel_max > 0),
    requests_per_minute INTEGER CHECK (requests_per_minute > 0),
    created_at INTEGER NOT NULL,
    created_by TEXT,
    disabled_at INTEGER,
    ended_at INTEGER,
    sealed BLOB,
    expires_at INTEGER,
    renewed_at INTEGER,
    refused_at INTEGER,
    FOREIGN KEY (account_id, organisation_id) REFERENCES organisations (account_id, id),
    -- What is removed keeps no token.
    CHECK (ended_at IS NULL OR (sealed IS NULL AND expires_at IS NULL))
  ) STRICT;
`

export const MIGRATIONS: readonly string[] = [
  TENANCY + AUDIT,
  AUDIT_QUERY,
  LEDGER,
  PAYERS,
  ROUTE,
  IDENTITIES,
]

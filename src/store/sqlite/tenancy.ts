// Who belongs to whom, in SQLite. Each type is one list of columns, from which it is written and read; what an
// update may not change is simply not in it.
import type { Database } from 'bun:sqlite'
import { BUDGET_PERIODS } from '../../core/key.ts'
import type { NanoUsd } from '../../core/money.ts'
import { PAYER_LINKS } from '../../core/payer.ts'
import { GatewayError } from '../../core/problem.ts'
import type { TenancyRecord, WalletOwner } from '../../core/tenancy.ts'
import type { TenancyRepository } from '../store.ts'
import { persist, type ChangeParts } from './change.ts'
import { insertKey } from './keys.ts'
import {
  asRow,
  findAmount,
  findInteger,
  findOneOf,
  findText,
  findTexts,
  readInteger,
  readOneOf,
  readText,
  readTextRecord,
  type Row,
} from './rows.ts'

type TenancyType = TenancyRecord['type']
type RecordOf<Type extends TenancyType> = Extract<TenancyRecord, { type: Type }>['record']
type Value = string | number | null

interface Column<Field> {
  readonly name: string
  /** Whether it stays what it was when the record was new. */
  readonly isFixed: boolean
  readonly write: (field: Field) => Value
  readonly read: (row: Row) => Field
}

type Columns<Entry> = { readonly [Name in keyof Entry]-?: Column<Entry[Name]> }

interface Table {
  readonly put: string
  readonly load: string
  readonly columns: Readonly<Record<string, Column<unknown>>>
}

const WALLET_OWNERS: readonly WalletOwner[] = ['account', 'project', 'user']

const ROOT_COLUMNS: Columns<RecordOf<'account'>> = {
  id: text('id', true),
  name: text('name'),
  createdAt: { ...column('created_at', readInteger), isFixed: true },
  endedAt: optional('ended_at', findInteger),
}

const OWNED_COLUMNS = { ...ROOT_COLUMNS, accountId: text('account_id', true) }

const COLUMNS: { readonly [Type in TenancyType]: Columns<RecordOf<Type>> } = {
  account: ROOT_COLUMNS,
  user: { ...OWNED_COLUMNS, email: optional('email', findText) },
  organisation: {
    ...OWNED_COLUMNS,
    billingUserId: optional('billing_user_id', findText),
    usesNative: flag('native'),
  },
  project: {
    ...OWNED_COLUMNS,
    organisationId: optional('organisation_id', findText),
    delegateUserId: optional('delegate_user_id', findText),
    pinnedPayer: optional('pinned_payer', (row, name) => findOneOf(row, name, PAYER_LINKS)),
    metadata: json('metadata', readTextRecord),
  },
  team: {
    ...OWNED_COLUMNS,
    projectIds: json('project_ids', (row, name) => findTexts(row, name) ?? []),
  },
  wallet: {
    ...OWNED_COLUMNS,
    owner: {
      ...column('owner', (row, name) => readOneOf(row, name, WALLET_OWNERS)),
      isFixed: true,
    },
    ownerId: text('owner_id', true),
    creditLine: optional<NanoUsd>('credit_line', findAmount),
    spendingLimit: optional<NanoUsd>('spending_limit', findAmount),
    spendingPeriod: optional('spending_period', (row, name) =>
      findOneOf(row, name, BUDGET_PERIODS),
    ),
  },
}

/** None refers to one that comes later. */
const ORDER = ['account', 'user', 'organisation', 'project', 'team', 'wallet'] as const

const TABLES: Readonly<Record<TenancyType, Table>> = {
  account: tableOf('accounts', COLUMNS.account),
  user: tableOf('users', COLUMNS.user),
  organisation: tableOf('organisations', COLUMNS.organisation),
  project: tableOf('projects', COLUMNS.project),
  team: tableOf('teams', COLUMNS.team),
  wallet: tableOf('wallets', COLUMNS.wallet),
}

export function createTenancy(parts: ChangeParts): TenancyRepository {
  const { database } = parts
  return {
    put: (records, deed) => persist(parts, deed, () => putAll(database, records)),
    open: (records, root, deed) =>
      persist(parts, deed, () => {
        putAll(database, records)
        insertKey(database, root)
      }),
  }
}

/** Of every account, each type after those that it refers to, oldest first. */
export function loadTenancy(database: Database): readonly TenancyRecord[] {
  return ORDER.flatMap((type) => {
    const { load, columns } = TABLES[type]
    const rows = database.prepare(load).all().map(asRow)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type names the columns
    return rows.map((row) => ({ type, record: readRecord(columns, row) }) as TenancyRecord)
  })
}

function putAll(database: Database, records: readonly TenancyRecord[]): void {
  for (const type of ORDER)
    for (const entry of records) if (entry.type === type) putOne(database, entry)
}

function putOne(database: Database, { type, record }: TenancyRecord): void {
  const { put, columns } = TABLES[type]
  const fields: Readonly<Record<string, unknown>> = { ...record }
  const values = Object.entries(columns).map(([field, { write }]) => write(fields[field]))
  if (database.query(put).run(...values).changes === 0)
    throw new GatewayError('internal_error', undefined, {
      cause: new Error(`the ${type} ${record.id} is another account's`),
    })
}

function readRecord(columns: Table['columns'], row: Row): object {
  return Object.fromEntries(
    Object.entries(columns).map(([field, { read }]) => [field, read(row)] as const),
  )
}

function tableOf(table: string, given: object): Table {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each is given only its own field
  const columns = given as Table['columns']
  const list = Object.values(columns)
  const names = list.map(({ name }) => name)
  const changes = list
    .filter(({ isFixed }) => !isFixed)
    .map(({ name }) => `${name} = excluded.${name}`)
  const guard = names.includes('account_id') ? 'WHERE account_id = excluded.account_id' : ''
  return {
    put: `
      INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})
      ON CONFLICT (id) DO UPDATE SET ${changes.join(', ')} ${guard}`,
    load: `SELECT * FROM ${table} ORDER BY sequence`,
    columns,
  }
}

function column<Field extends Value>(
  name: string,
  read: (row: Row, name: string) => Field,
): Column<Field> {
  return { name, isFixed: false, write: (field) => field, read: (row) => read(row, name) }
}

function text(name: string, isFixed = false): Column<string> {
  return { ...column(name, readText), isFixed }
}

function flag(name: string): Column<boolean> {
  return {
    name,
    isFixed: false,
    write: (field) => (field ? 1 : 0),
    read: (row) => readInteger(row, name) === 1,
  }
}

function optional<Field extends string | number>(
  name: string,
  find: (row: Row, name: string) => Field | undefined,
): Column<Field | undefined> {
  return {
    name,
    isFixed: false,
    write: (field) => field ?? null,
    read: (row) => find(row, name),
  }
}

function json<Field extends object>(
  name: string,
  read: (row: Row, name: string) => Field,
): Column<Field> {
  return { name, isFixed: false, write: JSON.stringify, read: (row) => read(row, name) }
}

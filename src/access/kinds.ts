// What organisations, users, projects and teams are made of: what may be written into each, what it must point
// to, what it is shown as, and what keeps it from being ended.
import type { IdPrefix } from '../core/ids.ts'
import type { KeyRecord } from '../core/key.ts'
import { PAYER_LINKS, type PayerLink } from '../core/payer.ts'
import { GatewayError, invalid } from '../core/problem.ts'
import type {
  OrganisationRecord,
  ProjectRecord,
  TeamRecord,
  TenancyRecord,
  UserRecord,
  WalletRecord,
} from '../core/tenancy.ts'
import type { Directory, RecordOf } from './directory.ts'
import { readId, readIds, readName, type FieldReader, type FieldTable } from './fields.ts'
import { isText, readMetadata, unlessNull } from './settings.ts'

export type KindName = 'organisation' | 'user' | 'project' | 'team'

/** What every record behind an account has. */
export type Owned = Pick<UserRecord, 'id' | 'accountId' | 'name' | 'createdAt' | 'endedAt'>

export interface Kind<Name extends KindName> {
  readonly type: Name
  /** The word in the address. */
  readonly plural: string
  readonly prefix: IdPrefix
  readonly fields: FieldTable<RecordOf<Name>>
  /** One without anything but what all have. */
  make(owned: Owned): RecordOf<Name>
  change(record: RecordOf<Name>, fields: Partial<RecordOf<Name>>): RecordOf<Name>
  end(record: RecordOf<Name>, endedAt: number): RecordOf<Name>
  entryOf(record: RecordOf<Name>): TenancyRecord
  /** Whatever may be written, as it is shown. */
  describe(record: RecordOf<Name>): object
  /** Throws where it points to what is not there, or is not there any more. */
  check(record: RecordOf<Name>, directory: Directory): void
  /** What must go before it can be ended. */
  obstacles(record: RecordOf<Name>, surroundings: Surroundings): Iterable<Obstacle>
}

/** What a record may be needed by. */
export interface Surroundings {
  readonly directory: Directory
  /** Credentials that still work. */
  readonly keys: readonly KeyRecord[]
  readonly hasMoney: (wallet: WalletRecord) => boolean
}

export interface Obstacle {
  readonly type: 'credential' | 'wallet' | KindName
  readonly id: string
}

const TEAM_PROJECTS_MAX = 1000
const EMAIL_LENGTH_MAX = 254
/** Plausible is all that can be told without sending something there. */
const EMAIL = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/

export const organisationKind: Kind<'organisation'> = {
  type: 'organisation',
  plural: 'organisations',
  prefix: 'org',
  fields: new Map<string, FieldReader<OrganisationRecord>>([
    ['name', (value) => ({ name: readName(value) })],
    [
      'billing_user_id',
      (value) => ({ billingUserId: unlessNull(value, (id) => readId('billing_user_id', id)) }),
    ],
    ['native', (value) => ({ usesNative: readNative(value) })],
  ]),
  make: (owned) => ({ ...owned, billingUserId: undefined, usesNative: true }),
  change: (record, fields) => ({ ...record, ...fields }),
  end: (record, endedAt) => ({ ...record, endedAt }),
  entryOf: (record) => ({ type: 'organisation', record }),
  describe: ({ name, billingUserId, usesNative }) => ({
    name,
    billing_user_id: billingUserId ?? null,
    native: usesNative,
  }),
  check({ accountId, billingUserId }, directory) {
    checkLive(directory, 'user', { accountId, id: billingUserId, param: 'billing_user_id' })
  },
  *obstacles({ id, accountId }, { directory }) {
    for (const project of directory.list('project', accountId))
      if (project.organisationId === id && isLive(project)) yield obstacle('project', project)
  },
}

export const userKind: Kind<'user'> = {
  type: 'user',
  plural: 'users',
  prefix: 'usr',
  fields: new Map<string, FieldReader<UserRecord>>([
    ['name', (value) => ({ name: readName(value) })],
    ['email', (value) => ({ email: unlessNull(value, readEmail) })],
  ]),
  make: (owned) => ({ ...owned, email: undefined }),
  change: (record, fields) => ({ ...record, ...fields }),
  end: (record, endedAt) => ({ ...record, endedAt }),
  entryOf: (record) => ({ type: 'user', record }),
  describe: ({ name, email }) => ({ name, email: email ?? null }),
  check({ id, accountId, email }, directory) {
    if (email === undefined) return
    for (const other of directory.list('user', accountId))
      if (other.id !== id && isLive(other))
        if (other.email?.toLowerCase() === email.toLowerCase()) throw emailTaken(other)
  },
  *obstacles({ id, accountId }, { directory, keys }) {
    for (const organisation of directory.list('organisation', accountId))
      if (organisation.billingUserId === id && isLive(organisation))
        yield obstacle('organisation', organisation)
    for (const project of directory.list('project', accountId))
      if (project.delegateUserId === id && isLive(project)) yield obstacle('project', project)
    for (const key of keys) if (key.userId === id) yield obstacle('credential', key)
    const wallet = directory.walletOf(id)
    if (wallet !== undefined) yield obstacle('wallet', wallet)
  },
}

export const projectKind: Kind<'project'> = {
  type: 'project',
  plural: 'projects',
  prefix: 'prj',
  fields: new Map<string, FieldReader<ProjectRecord>>([
    ['name', (value) => ({ name: readName(value) })],
    [
      'organisation_id',
      (value) => ({ organisationId: unlessNull(value, (id) => readId('organisation_id', id)) }),
    ],
    [
      'delegate_user_id',
      (value) => ({ delegateUserId: unlessNull(value, (id) => readId('delegate_user_id', id)) }),
    ],
    ['payer', (value) => ({ pinnedPayer: unlessNull(value, readLink) })],
    ['metadata', (value) => ({ metadata: unlessNull(value, readMetadata) ?? {} })],
  ]),
  make: (owned) => ({
    ...owned,
    organisationId: undefined,
    delegateUserId: undefined,
    pinnedPayer: undefined,
    metadata: {},
  }),
  change: (record, fields) => ({ ...record, ...fields }),
  end: (record, endedAt) => ({ ...record, endedAt }),
  entryOf: (record) => ({ type: 'project', record }),
  describe: ({ name, organisationId, delegateUserId, pinnedPayer, metadata }) => ({
    name,
    organisation_id: organisationId ?? null,
    delegate_user_id: delegateUserId ?? null,
    payer: pinnedPayer ?? null,
    metadata,
  }),
  check({ accountId, organisationId, delegateUserId }, directory) {
    const organisation = { accountId, id: organisationId, param: 'organisation_id' }
    checkLive(directory, 'organisation', organisation)
    checkLive(directory, 'user', { accountId, id: delegateUserId, param: 'delegate_user_id' })
  },
  *obstacles({ id, accountId }, { directory, keys, hasMoney }) {
    for (const key of keys) if (key.projectId === id) yield obstacle('credential', key)
    for (const team of directory.list('team', accountId))
      if (isLive(team) && team.projectIds.includes(id)) yield obstacle('team', team)
    const wallet = directory.walletOf(id)
    if (wallet !== undefined && hasMoney(wallet)) yield obstacle('wallet', wallet)
  },
}

export const teamKind: Kind<'team'> = {
  type: 'team',
  plural: 'teams',
  prefix: 'team',
  fields: new Map<string, FieldReader<TeamRecord>>([
    ['name', (value) => ({ name: readName(value) })],
    [
      'project_ids',
      (value) => ({
        projectIds:
          unlessNull(value, (ids) => readIds('project_ids', ids, TEAM_PROJECTS_MAX)) ?? [],
      }),
    ],
  ]),
  make: (owned) => ({ ...owned, projectIds: [] }),
  change: (record, fields) => ({ ...record, ...fields }),
  end: (record, endedAt) => ({ ...record, endedAt }),
  entryOf: (record) => ({ type: 'team', record }),
  describe: ({ name, projectIds }) => ({ name, project_ids: projectIds }),
  check({ accountId, projectIds }, directory) {
    for (const id of projectIds)
      checkLive(directory, 'project', { accountId, id, param: 'project_ids' })
  },
  *obstacles({ id }, { keys }) {
    for (const key of keys) if (key.teamId === id) yield obstacle('credential', key)
  },
}

export interface Reference {
  readonly accountId: string
  readonly id: string | undefined
  /** The field that names it. */
  readonly param: string
}

/** What another account has is as unknown as what nobody has. */
export function checkLive(
  directory: Directory,
  type: KindName,
  { accountId, id, param }: Reference,
): void {
  if (id === undefined) return
  const found = directory.find(type, accountId, id)
  if (found === undefined) throw unknown(type, param)
  if (found.endedAt !== undefined)
    throw new GatewayError('conflict', `This ${type} is ended and stays so. Name another one.`, {
      retryable: false,
      param,
    })
}

/** One text for what there is not and for another account's. */
export function unknown(type: KindName, param?: string): GatewayError {
  return new GatewayError(
    'not_found',
    `No ${type} with this id belongs to this account. GET /v1/manage/${type}s lists those that do.`,
    param === undefined ? {} : { param },
  )
}

function isLive({ endedAt }: Owned): boolean {
  return endedAt === undefined
}

function obstacle(type: Obstacle['type'], { id }: { readonly id: string }): Obstacle {
  return { type, id }
}

function readNative(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalid(
    'native',
    'Send `native` as true, or as false to keep projects of this organisation from native sign-ins.',
  )
}

function readLink(value: unknown): PayerLink {
  const link = PAYER_LINKS.find((each) => each === value)
  if (link !== undefined) return link
  throw invalid(
    'payer',
    `Send \`payer\` as the one place that pays, ${PAYER_LINKS.join(', ')}, or null for all of them in this order.`,
  )
}

function readEmail(value: unknown): string {
  if (isText(value, 1, EMAIL_LENGTH_MAX) && EMAIL.test(value)) return value
  throw invalid('email', 'Send `email` as an address such as jo@example.com, or null for none.')
}

function emailTaken({ id }: UserRecord): GatewayError {
  return new GatewayError('conflict', `The user ${id} has this \`email\`. Send another one.`, {
    retryable: false,
    param: 'email',
  })
}

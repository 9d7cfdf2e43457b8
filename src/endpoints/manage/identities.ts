// Sign-ins at native suppliers, as management sees them: who is signed in where, for whom, and whether it still works.
// Tokens go in and never come out.
import type { Identity, IdentityState } from '../../access/identities.ts'
import {
  createIdentity,
  describeIdentity,
  getIdentity,
  listIdentities,
  patchIdentity,
  removeIdentity,
  type IdentityDesk,
} from '../../access/identity-desk.ts'
import type { SignInPlace } from '../../access/identity-fields.ts'
import { readClaims } from '../../suppliers/oauth/claims.ts'
import { hostsOf } from '../../suppliers/oauth/hosts.ts'
import type { Supplier } from '../../suppliers/supplier.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { actOf } from './act.ts'
import { describePage } from './page.ts'
import { printTime } from './print.ts'
import { pageOf, readChoice, readQuery, type ListQuery } from './query.ts'
import { idOf, isNamed, managed, readBody } from './resource.ts'

const PATH = '/v1/manage/native/identities'
const ONE = `${PATH}/{id}`
const STATUSES: readonly IdentityState[] = ['active', 'disabled', 'refused', 'sealed', 'removed']
const FILTERS = ['name', 'status', 'supplier', 'organisation_id']

const create = managed(
  { method: 'POST', path: PATH, role: 'administer' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    return describe(await createIdentity(deskOf(house), act, body))
  },
)

const list = managed(
  { method: 'GET', path: PATH, role: 'administer' },
  (exchange, { accountId }, house) => {
    const query = readQuery(exchange.request, { names: FILTERS })
    const page = pageOf(listIdentities(house, accountId), query, matcherOf(query))
    return describePage(page, describe)
  },
)

const get = managed(
  { method: 'GET', path: ONE, role: 'administer' },
  (exchange, { accountId }, house) => describe(getIdentity(house, accountId, idOf(exchange))),
)

const patch = managed(
  { method: 'PATCH', path: ONE, role: 'administer' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    return describe(await patchIdentity(deskOf(house), act, { id: idOf(exchange), body }))
  },
)

const remove = managed(
  { method: 'DELETE', path: ONE, role: 'administer' },
  async (exchange, caller, house) => {
    const act = actOf(exchange, caller, house)
    const { id, record } = await removeIdentity(deskOf(house), act, idOf(exchange))
    return { id, status: 'removed', removed_at: printTime(record.endedAt) }
  },
)

export const identityEndpoints: readonly KeyedEndpoint[] = [create, list, get, patch, remove]

function deskOf(house: House): IdentityDesk {
  const { plant, keyring, directory, identities } = house
  return {
    repository: plant.store.identities,
    identities,
    directory,
    keyring,
    clock: plant.clock,
    places: house.nativeSuppliers().flatMap(placeOf),
    readClaims,
  }
}

function placeOf(supplier: Supplier): readonly SignInPlace[] {
  const { id, oauth } = supplier
  if (oauth === undefined) return []
  return [{ id, grant: oauth.grant, clientId: oauth.clientId, hosts: hostsOf(supplier) }]
}

function describe(identity: Identity): object {
  const { id, record, state } = identity
  const { tokens } = record
  return {
    id,
    object: 'native_identity',
    ...describeIdentity(record),
    status: state,
    expires_at: printTime(tokens.expiresAt),
    renewed_at: printTime(tokens.renewedAt),
    refused_at: printTime(tokens.refusedAt),
    has_refresh_token: identity.tokens?.refreshToken !== undefined,
    created: printTime(record.createdAt),
    created_by: record.createdBy ?? null,
    removed_at: printTime(record.endedAt),
  }
}

function matcherOf({ filters }: ListQuery): (identity: Identity) => boolean {
  const { name, supplier, organisation_id: organisation } = filters
  const status = readChoice('status', filters['status'], STATUSES)
  return (identity) =>
    isNamed(identity, name) &&
    (supplier === undefined || identity.record.supplierId === supplier) &&
    (organisation === undefined || identity.organisationId === organisation) &&
    (status === undefined || identity.state === status)
}

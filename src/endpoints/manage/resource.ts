// The five doors of whatever an account keeps under ids: make, list, read, change, end. A kind of record says what
// is in it; this says how it is asked for and shown.
import type { AccountDesk } from '../../access/accounts.ts'
import type { RecordOf } from '../../access/directory.ts'
import type { Body } from '../../access/fields.ts'
import type { Kind, KindName } from '../../access/kinds.ts'
import {
  createRecord,
  endRecord,
  getRecord,
  listRecords,
  patchRecord,
} from '../../access/tenancy.ts'
import type { WalletDesk } from '../../access/wallets.ts'
import type { KeyRecord } from '../../core/key.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { actOf } from './act.ts'
import { checkOrigin, readManagementBody } from './body.ts'
import { describePage } from './page.ts'
import { printTime } from './print.ts'
import { pageOf, readChoice, readQuery, type ListQuery } from './query.ts'

export type Answer = (
  exchange: Exchange,
  caller: KeyRecord,
  house: House,
) => object | Promise<object>

type Place = Omit<KeyedEndpoint, 'answer'>

export interface Resource<Name extends KindName> {
  readonly kind: Kind<Name>
  /** Who may read; whoever administers may do the rest. */
  readonly reads: 'manage' | 'administer'
  /** Filters beside those that all have. */
  readonly filters?: readonly string[]
  readonly hasLabels?: true
  readonly matches?: (record: RecordOf<Name>, query: ListQuery) => boolean
}

export function managed(place: Place, answer: Answer): KeyedEndpoint {
  return {
    ...place,
    async answer(exchange, caller, house) {
      checkOrigin(exchange.request)
      return json(exchange.id, await answer(exchange, caller, house))
    },
  }
}

/** What the records of accounts are changed with. */
export function deskOf({ plant, keyring, directory }: House): AccountDesk & WalletDesk {
  const { store, ledger, clock } = plant
  const { tenancy, keys, wallets } = store
  return { tenancy, keys, wallets, directory, keyring, ledger, clock }
}

export function readBody(exchange: Exchange, { plant }: House): Promise<Body> {
  return readManagementBody(exchange.request, plant.clock)
}

/** Of what needs nothing said, and may be sent without a body. */
export async function readAnyBody(exchange: Exchange, house: House): Promise<Body> {
  const { headers, body } = exchange.request
  return body === null || headers.get('content-length') === '0' ? {} : readBody(exchange, house)
}

export function idOf({ params }: Exchange): string {
  return params['id'] ?? ''
}

export const STATUSES = ['active', 'ended'] as const

export function resourceEndpoints<Name extends KindName>(
  resource: Resource<Name>,
): readonly KeyedEndpoint[] {
  const { kind, reads } = resource
  const path = `/v1/manage/${kind.plural}`
  const describe = (record: RecordOf<Name>): object => describeRecord(kind, record)
  const create = managed(
    { method: 'POST', path, role: 'administer' },
    async (exchange, caller, house) => {
      const body = await readBody(exchange, house)
      const act = actOf(exchange, caller, house)
      return describe(await createRecord(deskOf(house), kind, act, body))
    },
  )
  const list = managed({ method: 'GET', path, role: reads }, (exchange, caller, house) => {
    const query = readQuery(exchange.request, {
      names: ['name', 'status', ...(resource.filters ?? [])],
      ...(resource.hasLabels && { hasLabels: true }),
    })
    const scope = house.directory.scopeOf(caller)
    const matches = matcherOf(resource, query)
    return describePage(pageOf(listRecords(house, kind, scope), query, matches), describe)
  })
  const get = managed(
    { method: 'GET', path: `${path}/{id}`, role: reads },
    (exchange, caller, house) =>
      describe(getRecord(house, kind, house.directory.scopeOf(caller), idOf(exchange))),
  )
  return [create, list, get, ...changesOf(kind, path)]
}

function changesOf<Name extends KindName>(
  kind: Kind<Name>,
  path: string,
): readonly KeyedEndpoint[] {
  const patch = managed(
    { method: 'PATCH', path: `${path}/{id}`, role: 'administer' },
    async (exchange, caller, house) => {
      const body = await readBody(exchange, house)
      const act = actOf(exchange, caller, house)
      const record = await patchRecord(deskOf(house), kind, act, { id: idOf(exchange), body })
      return describeRecord(kind, record)
    },
  )
  const end = managed(
    { method: 'DELETE', path: `${path}/{id}`, role: 'administer' },
    async (exchange, caller, house) => {
      const act = actOf(exchange, caller, house)
      const { id, endedAt } = await endRecord(deskOf(house), kind, act, idOf(exchange))
      return { id, status: 'ended', ended_at: printTime(endedAt) }
    },
  )
  return [patch, end]
}

function describeRecord<Name extends KindName>(kind: Kind<Name>, record: RecordOf<Name>): object {
  const { id, createdAt, endedAt } = record
  return {
    id,
    ...kind.describe(record),
    status: endedAt === undefined ? 'active' : 'ended',
    created: printTime(createdAt),
    ended_at: printTime(endedAt),
  }
}

function matcherOf<Name extends KindName>(
  { matches }: Resource<Name>,
  query: ListQuery,
): (record: RecordOf<Name>) => boolean {
  const { name, status } = query.filters
  const wanted = readChoice('status', status, STATUSES)
  return (record) =>
    isNamed(record, name) &&
    (wanted === undefined || (wanted === 'ended') === (record.endedAt !== undefined)) &&
    (matches?.(record, query) ?? true)
}

/** By a part of the name, in any case. */
export function isNamed(record: { readonly name: string }, part: string | undefined): boolean {
  return part === undefined || record.name.toLowerCase().includes(part.toLowerCase())
}

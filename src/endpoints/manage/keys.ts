// The management interface of keys, and of tokens, which is the same at another place. Amounts leave as JSON
// numbers in plain decimals, times in UTC; a secret leaves once, in the answer to the request that made it.
import {
  createKey,
  getKey,
  listKeys,
  patchKey,
  revokeKey,
  rotateKey,
  type KeyAddress,
  type KeyDesk,
} from '../../access/keys.ts'
import { readOverlap } from '../../access/overlap.ts'
import type { MadeKind } from '../../access/ties.ts'
import type { Exchange } from '../../http/server.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { actOf } from './act.ts'
import { describeKey } from './key-entry.ts'
import { readKeyQuery } from './key-query.ts'
import { describePage } from './page.ts'
import { printTime } from './print.ts'
import { idOf, managed, readAnyBody, readBody, type Answer } from './resource.ts'

/** A day to change over, for whoever does not say how long it takes. */
const OVERLAP_SECONDS = 86_400

/** The same work on keys and on tokens. */
type Work = (kind: MadeKind) => Answer

const create: Work = (kind) => async (exchange, caller, house) => {
  const body = await readBody(exchange, house)
  const act = actOf(exchange, caller, house)
  const { key, secret } = await createKey(deskOf(house), act, kind, body)
  return { id: key.id, key: secret, name: key.name, created: printTime(key.createdAt) }
}

const list: Work = (kind) => async (exchange, caller, house) => {
  const page = await listKeys(deskOf(house), caller, readKeyQuery(exchange.request, kind))
  return describePage(page, (key) => describeKey(key, house.plant))
}

const read: Work = (kind) => async (exchange, caller, house) =>
  describeKey(await getKey(deskOf(house), caller, addressOf(kind, exchange)), house.plant)

const patch: Work = (kind) => async (exchange, caller, house) => {
  const body = await readBody(exchange, house)
  const act = actOf(exchange, caller, house)
  const key = await patchKey(deskOf(house), act, addressOf(kind, exchange), body)
  return describeKey(key, house.plant)
}

const revoke: Work = (kind) => async (exchange, caller, house) => {
  const act = actOf(exchange, caller, house)
  const { id, revokedAt } = await revokeKey(deskOf(house), act, addressOf(kind, exchange))
  return { id, status: 'revoked', revoked_at: printTime(revokedAt) }
}

const rotate: Work = (kind) => async (exchange, caller, house) => {
  const overlapMs = readOverlap(await readAnyBody(exchange, house), OVERLAP_SECONDS)
  const act = actOf(exchange, caller, house)
  const address = addressOf(kind, exchange)
  const { key, secret } = await rotateKey(deskOf(house), act, address, overlapMs)
  return {
    id: key.id,
    key: secret,
    name: key.name,
    previous_secret_until: printTime(key.previous?.until),
  }
}

export function credentialEndpoints(kind: MadeKind, place: string): readonly KeyedEndpoint[] {
  const role = 'manage'
  const one = `${place}/{id}`
  const secretField = 'key'
  return [
    managed({ method: 'POST', path: place, role, secretField }, create(kind)),
    managed({ method: 'GET', path: place, role }, list(kind)),
    managed({ method: 'GET', path: one, role }, read(kind)),
    managed({ method: 'PATCH', path: one, role }, patch(kind)),
    managed({ method: 'DELETE', path: one, role }, revoke(kind)),
    managed({ method: 'POST', path: `${one}/rotate`, role, secretField }, rotate(kind)),
  ]
}

export const keyEndpoints = credentialEndpoints('managed', '/v1/manage/keys')

function deskOf({ plant, keyring, directory }: House): KeyDesk {
  const { store, ledger, clock } = plant
  return { keys: store.keys, keyring, directory, ledger, clock }
}

function addressOf(kind: MadeKind, exchange: Exchange): KeyAddress {
  return { kind, id: idOf(exchange) }
}

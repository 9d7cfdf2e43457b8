// The management interface of keys. Amounts leave as JSON numbers in plain decimals, times in UTC; a
// secret leaves once, in the answer to its creation.
import {
  createKey,
  getKey,
  listKeys,
  patchKey,
  revokeKey,
  type KeyAddress,
  type KeyDesk,
} from '../../access/keys.ts'
import type { KeyRecord } from '../../core/key.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin, readManagementBody } from './body.ts'
import { describeKey } from './key-entry.ts'
import { describePage, readPage, type PageLimits } from './page.ts'
import { printTime } from './print.ts'

const PAGE_LIMITS: PageLimits = { standard: 20, most: 100 }

type Answer = (exchange: Exchange, caller: KeyRecord, house: House) => Promise<unknown>

const createManagedKey = manage('POST', '/v1/manage/keys', async (exchange, caller, house) => {
  const body = await readManagementBody(exchange.request, house.plant.clock)
  const { key, secret } = await createKey(deskOf(house), caller.accountId, body)
  return { id: key.id, key: secret, name: key.name, created: printTime(key.createdAt) }
})

const listManagedKeys = manage('GET', '/v1/manage/keys', async (exchange, caller, house) => {
  const request = readPage(exchange.request, PAGE_LIMITS)
  const page = await listKeys(deskOf(house), caller.accountId, request)
  return describePage(page, (key) => describeKey(key, house.plant))
})

const getManagedKey = manage('GET', '/v1/manage/keys/{id}', async (exchange, caller, house) => {
  const key = await getKey(deskOf(house), addressOf(exchange, caller))
  return describeKey(key, house.plant)
})

const patchManagedKey = manage('PATCH', '/v1/manage/keys/{id}', async (exchange, caller, house) => {
  const body = await readManagementBody(exchange.request, house.plant.clock)
  const key = await patchKey(deskOf(house), addressOf(exchange, caller), body)
  return describeKey(key, house.plant)
})

const revokeManagedKey = manage(
  'DELETE',
  '/v1/manage/keys/{id}',
  async (exchange, caller, house) => {
    const { id, revokedAt } = await revokeKey(deskOf(house), addressOf(exchange, caller))
    return { id, status: 'revoked', revoked_at: printTime(revokedAt) }
  },
)

export const keyEndpoints: readonly KeyedEndpoint[] = [
  createManagedKey,
  listManagedKeys,
  getManagedKey,
  patchManagedKey,
  revokeManagedKey,
]

function manage(method: KeyedEndpoint['method'], path: string, answer: Answer): KeyedEndpoint {
  return {
    method,
    path,
    role: 'manage',
    async answer(exchange, caller, house) {
      checkOrigin(exchange.request)
      return json(exchange.id, await answer(exchange, caller, house))
    },
  }
}

function deskOf({ plant, keyring }: House): KeyDesk {
  return { keys: plant.store.keys, keyring, ledger: plant.ledger, clock: plant.clock }
}

function addressOf(exchange: Exchange, caller: KeyRecord): KeyAddress {
  return { accountId: caller.accountId, id: exchange.params['id'] ?? '' }
}

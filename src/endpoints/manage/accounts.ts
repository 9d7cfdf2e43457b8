// Accounts, for the operator: opened with a root key that is shown once, renamed, given another root key, closed.
// Whoever administers an account sees that one alone.
import {
  closeAccount,
  getAccount,
  listAccounts,
  openAccount,
  renameAccount,
  rotateRoot,
} from '../../access/accounts.ts'
import type { AccountRecord } from '../../core/tenancy.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { actOf } from './act.ts'
import { describePage } from './page.ts'
import { printTime } from './print.ts'
import { pageOf, readChoice, readQuery } from './query.ts'
import { deskOf, idOf, isNamed, managed, readAnyBody, readBody } from './resource.ts'

const PATH = '/v1/manage/accounts'
const STATUSES = ['active', 'closed'] as const

const create = managed(
  { method: 'POST', path: PATH, role: 'operate', secretField: 'root_key' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    const { account, secret } = await openAccount(deskOf(house), act, body)
    const { id, name, createdAt } = account
    return { id, name, root_key: secret, created: printTime(createdAt) }
  },
)

const list = managed({ method: 'GET', path: PATH, role: 'operate' }, (exchange, _caller, house) => {
  const query = readQuery(exchange.request, { names: ['name', 'status'] })
  const status = readChoice('status', query.filters['status'], STATUSES)
  const page = pageOf(
    listAccounts(house),
    query,
    (account) =>
      isNamed(account, query.filters['name']) &&
      (status === undefined || status === statusOf(account)),
  )
  return describePage(page, (account) => describe(account, house))
})

const get = managed(
  { method: 'GET', path: `${PATH}/{id}`, role: 'operate' },
  (exchange, _caller, house) => describe(getAccount(house, idOf(exchange)), house),
)

const patch = managed(
  { method: 'PATCH', path: `${PATH}/{id}`, role: 'operate' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    return describe(await renameAccount(deskOf(house), act, { id: idOf(exchange), body }), house)
  },
)

const rotate = managed(
  { method: 'POST', path: `${PATH}/{id}/rotate`, role: 'operate', secretField: 'root_key' },
  async (exchange, caller, house) => {
    const body = await readAnyBody(exchange, house)
    const act = actOf(exchange, caller, house)
    const rotated = await rotateRoot(deskOf(house), act, { id: idOf(exchange), body })
    const { account, secret, root } = rotated
    return {
      id: account.id,
      name: account.name,
      root_key: secret,
      previous_secret_until: printTime(root.previous?.until),
    }
  },
)

const close = managed(
  { method: 'DELETE', path: `${PATH}/{id}`, role: 'operate' },
  async (exchange, caller, house) => {
    const act = actOf(exchange, caller, house)
    const { id, endedAt } = await closeAccount(deskOf(house), act, idOf(exchange))
    return { id, status: 'closed', closed_at: printTime(endedAt) }
  },
)

const getOwn = managed(
  { method: 'GET', path: '/v1/manage/account', role: 'administer' },
  (_exchange, caller, house) => describe(getAccount(house, caller.accountId), house),
)

export const accountEndpoints: readonly KeyedEndpoint[] = [
  create,
  list,
  get,
  patch,
  rotate,
  close,
  getOwn,
]

function describe(account: AccountRecord, house: House): object {
  const { id, name, createdAt, endedAt } = account
  return {
    id,
    name,
    status: statusOf(account),
    is_operator: id === house.directory.operatorId,
    wallet_id: house.directory.walletOf(id)?.id ?? null,
    created: printTime(createdAt),
    closed_at: printTime(endedAt),
  }
}

function statusOf({ endedAt }: AccountRecord): (typeof STATUSES)[number] {
  return endedAt === undefined ? 'active' : 'closed'
}

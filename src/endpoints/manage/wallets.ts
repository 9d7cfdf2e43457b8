// Wallets: what payers have, what was put in and why, and what they may spend. What is shown is what calls are
// held to at this very moment.
import {
  closeWallet,
  createWallet,
  creditWallet,
  describeWallet,
  getWallet,
  listCredits,
  listWallets,
  patchWallet,
} from '../../access/wallets.ts'
import { toJsonUsd } from '../../core/money.ts'
import type { WalletRecord } from '../../core/tenancy.ts'
import type { WalletEntry } from '../../store/store.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { actOf } from './act.ts'
import { describePage, readPage } from './page.ts'
import { printTime } from './print.ts'
import { LIST_LIMITS, pageOf, readChoice, readQuery, type ListQuery } from './query.ts'
import { deskOf, idOf, isNamed, managed, readBody } from './resource.ts'

const PATH = '/v1/manage/wallets'
const OWNERS = ['account', 'project', 'user'] as const
const STATUSES = ['active', 'exhausted', 'closed'] as const
const FILTERS = ['name', 'status', 'owner', 'project_id', 'user_id']

const create = managed(
  { method: 'POST', path: PATH, role: 'administer' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    return describe(await createWallet(deskOf(house), act, body), house)
  },
)

const list = managed(
  { method: 'GET', path: PATH, role: 'administer' },
  (exchange, caller, house) => {
    const query = readQuery(exchange.request, { names: FILTERS })
    const page = pageOf(listWallets(house, caller.accountId), query, matcherOf(query, house))
    return describePage(page, (wallet) => describe(wallet, house))
  },
)

const get = managed(
  { method: 'GET', path: `${PATH}/{id}`, role: 'administer' },
  (exchange, caller, house) => describe(getWallet(house, caller.accountId, idOf(exchange)), house),
)

const patch = managed(
  { method: 'PATCH', path: `${PATH}/{id}`, role: 'administer' },
  async (exchange, caller, house) => {
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    return describe(await patchWallet(deskOf(house), act, { id: idOf(exchange), body }), house)
  },
)

const close = managed(
  { method: 'DELETE', path: `${PATH}/{id}`, role: 'administer' },
  async (exchange, caller, house) => {
    const act = actOf(exchange, caller, house)
    const { id, endedAt } = await closeWallet(deskOf(house), act, idOf(exchange))
    return { id, status: 'closed', closed_at: printTime(endedAt) }
  },
)

const credit = managed(
  { method: 'POST', path: `${PATH}/{id}/credits`, role: 'administer' },
  async (exchange, caller, house) => {
    const id = idOf(exchange)
    const body = await readBody(exchange, house)
    const act = actOf(exchange, caller, house)
    const entry = await creditWallet(deskOf(house), act, { id, body })
    const { balance } = house.plant.ledger.walletState(id)
    return { wallet_id: id, ...describeCredit(entry), balance_usd: toJsonUsd(balance) }
  },
)

const credits = managed(
  { method: 'GET', path: `${PATH}/{id}/credits`, role: 'administer' },
  async (exchange, { accountId }, house) => {
    const request = readPage(exchange.request, LIST_LIMITS)
    const page = await listCredits(deskOf(house), { accountId, id: idOf(exchange) }, request)
    return describePage(page, describeCredit)
  },
)

export const walletEndpoints: readonly KeyedEndpoint[] = [
  create,
  list,
  get,
  patch,
  close,
  credit,
  credits,
]

function describe(wallet: WalletRecord, house: House): object {
  const state = house.plant.ledger.walletState(wallet.id)
  const { available } = state
  return {
    id: wallet.id,
    ...describeWallet(wallet),
    status: statusOf(wallet, house),
    balance_usd: toJsonUsd(state.balance),
    held_usd: toJsonUsd(state.held),
    in_review_usd: toJsonUsd(state.inReview),
    available_usd: available === undefined ? null : toJsonUsd(available),
    spent_usd: toJsonUsd(state.spent),
    spending_held_usd: toJsonUsd(state.spentHeld),
    resets_at: printTime(state.resetsAt),
    created: printTime(wallet.createdAt),
    closed_at: printTime(wallet.endedAt),
  }
}

/** What only calls under way keep from paying is not exhausted: it will be able to again. */
function statusOf(wallet: WalletRecord, { plant }: House): (typeof STATUSES)[number] {
  const { id, creditLine, spendingLimit, endedAt } = wallet
  if (endedAt !== undefined) return 'closed'
  const { balance, spent } = plant.ledger.walletState(id)
  const isEmpty = creditLine !== undefined && balance + BigInt(creditLine) <= 0n
  const isAtLimit = spendingLimit !== undefined && spent >= spendingLimit
  return isEmpty || isAtLimit ? 'exhausted' : 'active'
}

function matcherOf({ filters }: ListQuery, house: House): (wallet: WalletRecord) => boolean {
  const status = readChoice('status', filters['status'], STATUSES)
  const owner = readChoice('owner', filters['owner'], OWNERS)
  const ids = [filters['project_id'], filters['user_id']].filter((id) => id !== undefined)
  return (wallet) =>
    isNamed(wallet, filters['name']) &&
    (owner === undefined || wallet.owner === owner) &&
    ids.every((id) => wallet.ownerId === id) &&
    (status === undefined || statusOf(wallet, house) === status)
}

function describeCredit({ at, requestId, amount, by, reason, reference }: WalletEntry): object {
  return {
    at: printTime(at),
    amount_usd: toJsonUsd(amount),
    by,
    reason,
    reference: reference ?? null,
    request_id: requestId,
  }
}

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
import { printUsd, toNanoUsd, ZERO_USD, type NanoUsd } from '../../core/money.ts'
import { GatewayError } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import { windowOf } from '../../ledger/period.ts'
import type { Plant } from '../../pipeline/call.ts'
import type { Page, PageRequest } from '../../store/store.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin, readManagementBody } from './body.ts'

const LIST_LIMIT_DEFAULT = 20
const LIST_LIMIT_MAX = 100
/** A refusal names the parameter at fault, but not at any length. */
const QUOTED_LENGTH_MAX = 64

type Answer = (exchange: Exchange, caller: KeyRecord, house: House) => Promise<unknown>

const createManagedKey = manage('POST', '/v1/manage/keys', async (exchange, caller, house) => {
  const body = await readManagementBody(exchange.request, house.plant.clock)
  const { key, secret } = await createKey(deskOf(house), caller.accountId, body)
  return { id: key.id, key: secret, name: key.name, created: printTime(key.createdAt) }
})

const listManagedKeys = manage('GET', '/v1/manage/keys', async (exchange, caller, house) => {
  const page = await listKeys(deskOf(house), caller.accountId, readPage(exchange.request))
  const described: unknown[] = []
  // oxlint-disable-next-line no-await-in-loop -- a page at once would crowd other reads out of the store
  for (const key of page.items) described.push(await describeKey(key, house.plant))
  return describePage(page, described)
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
  return { keys: plant.store.keys, keyring, clock: plant.clock }
}

function addressOf(exchange: Exchange, caller: KeyRecord): KeyAddress {
  return { accountId: caller.accountId, id: exchange.params['id'] ?? '' }
}

function readPage(request: Request): PageRequest {
  // The address as a whole need not parse: its host is whatever the caller's Host header says.
  const [, ...parts] = request.url.split('?')
  const query = new URLSearchParams(parts.join('?'))
  for (const name of query.keys()) checkParameter(name, query)
  const limit = query.get('limit')
  return {
    limit: limit === null ? LIST_LIMIT_DEFAULT : readLimit(limit),
    cursor: query.get('cursor') ?? undefined,
  }
}

function checkParameter(name: string, query: URLSearchParams): void {
  if (name !== 'limit' && name !== 'cursor')
    throw new GatewayError('unsupported_parameter', 'This list takes only `limit` and `cursor`.', {
      param: name.slice(0, QUOTED_LENGTH_MAX).toWellFormed(),
    })
  if (query.getAll(name).length > 1)
    throw new GatewayError('validation_error', 'Send this parameter once.', { param: name })
}

function readLimit(text: string): number {
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIST_LIMIT_MAX) return limit
  throw new GatewayError(
    'validation_error',
    `Send \`limit\` as a whole number from 1 to ${LIST_LIMIT_MAX}.`,
    { param: 'limit' },
  )
}

function describePage({ next }: Page<unknown>, data: readonly unknown[]): unknown {
  return { object: 'list', data, has_more: next !== undefined, next_cursor: next ?? null }
}

async function describeKey(key: KeyRecord, { store, clock }: Plant): Promise<unknown> {
  const now = clock.now()
  const { budgetLimit } = key
  // Without a budget there is still a sum worth knowing, that of the calendar month.
  const window = windowOf(key.budgetPeriod ?? 'monthly', now)
  const { cost, oldestAt } = await store.audit.spent(key.id, window.from, window.to)
  const hasBudget = budgetLimit !== undefined
  return {
    id: key.id,
    name: key.name,
    status: statusOf(key, cost, now),
    budget_limit: hasBudget ? asNumber(budgetLimit) : null,
    budget_used: asNumber(cost),
    budget_remaining: hasBudget ? asNumber(toNanoUsd(budgetLimit - cost)) : null,
    budget_held: hasBudget ? asNumber(ZERO_USD) : null,
    budget_period: key.budgetPeriod ?? null,
    resets_at: hasBudget ? printTime(window.resetsAt(oldestAt)) : null,
    allowed_models: key.allowedModels ?? null,
    allowed_regions: key.allowedRegions ?? null,
    rate_limit_rpm: key.rateLimitRpm ?? null,
    metadata: key.metadata,
    created: printTime(key.createdAt),
    expires_at: printTime(key.expiresAt),
    revoked_at: printTime(key.revokedAt),
  }
}

type KeyStatus = 'active' | 'budget_exhausted' | 'revoked' | 'expired'

/** What ends a key for good is told before what a new period or a higher limit mends. */
function statusOf(key: KeyRecord, used: NanoUsd, now: number): KeyStatus {
  if (key.revokedAt !== undefined) return 'revoked'
  if (key.expiresAt !== undefined && key.expiresAt <= now) return 'expired'
  return key.budgetLimit !== undefined && used >= key.budgetLimit ? 'budget_exhausted' : 'active'
}

declare global {
  interface JSON {
    /** Stands in what is stringified for exactly this text. */
    rawJSON(text: string): object
  }
}

/** A number as a plain decimal: `0.0000001` would else leave as `1e-7`. */
function asNumber(amount: NanoUsd): object {
  return JSON.rawJSON(printUsd(amount))
}

function printTime(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}

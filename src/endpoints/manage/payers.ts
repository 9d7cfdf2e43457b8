// Who would pay for a call, place by place, as things stand: what a refusal says afterwards, told before.
import { projectKind } from '../../access/kinds.ts'
import { getRecord } from '../../access/tenancy.ts'
import { isInScope } from '../../access/ties.ts'
import type { KeyRecord } from '../../core/key.ts'
import { parseUsd, toJsonUsd, toNanoUsd, type NanoUsd } from '../../core/money.ts'
import { GatewayError } from '../../core/problem.ts'
import type { ProjectRecord } from '../../core/tenancy.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { checkParameters } from './page.ts'
import { readQuery, type ListQuery } from './query.ts'
import { managed } from './resource.ts'

const SUBJECTS = ['project_id', 'key_id', 'token_id'] as const
const NAMES = [...SUBJECTS, 'estimate_usd']
/** Whoever cannot pay this pays for nothing that has a price. */
const LEAST = toNanoUsd(1)

const get = managed(
  { method: 'GET', path: '/v1/manage/payers', role: 'manage' },
  (exchange, caller, house) => {
    // All places are told at once: there is no page to ask for.
    checkParameters(exchange.request, NAMES)
    const query = readQuery(exchange.request, { names: NAMES })
    const call = findCall(query, caller, house)
    const need = readEstimate(query.filters['estimate_usd'])
    const chain = house.directory.payersOf(call.key, call.project?.id)
    const { accountId, userId } = call.key
    const owners = { accountId, userId, project: call.project }
    const places = house.plant.ledger.explainPayers(chain, need)
    const payer = places.findIndex(({ state }) => state === 'pays')
    return {
      object: 'payers',
      project_id: call.project?.id ?? null,
      key_id: call.key.id,
      estimate_usd: toJsonUsd(need),
      pinned: call.project?.pinnedPayer ?? null,
      payer: places[payer]?.walletId ?? null,
      chain: places.map(({ link, walletId, state }, at) => ({
        link,
        ...describeOwner(house.directory.payerOf(link, owners), house, call),
        wallet_id: walletId ?? null,
        available_usd: availableIn(walletId, caller, house),
        // Who could pay and is not asked, because one before can.
        state: state === 'pays' && at > payer ? 'ready' : state,
      })),
    }
  },
)

export const payerEndpoints: readonly KeyedEndpoint[] = [get]

/** A call as it would be made. */
interface Supposed {
  readonly key: KeyRecord
  readonly project: ProjectRecord | undefined
}

function findCall({ filters }: ListQuery, caller: KeyRecord, house: House): Supposed {
  const [subject, second] = SUBJECTS.filter((name) => filters[name] !== undefined)
  if (second !== undefined)
    throw new GatewayError(
      'validation_error',
      `Send only one of ${SUBJECTS.join(', ')}, or none for a call of your own.`,
      { param: second },
    )
  const { directory } = house
  if (subject === 'project_id') {
    const scope = directory.scopeOf(caller)
    return { key: caller, project: getRecord(house, projectKind, scope, filters[subject] ?? '') }
  }
  const key = subject === undefined ? caller : findKey(subject, filters[subject], caller, house)
  const projectId = directory.projectOf(key, undefined) ?? ''
  return { key, project: directory.find('project', key.accountId, projectId) }
}

/** One answer for no credential, another account's, one out of scope and one of the other kind. */
function findKey(
  subject: 'key_id' | 'token_id',
  id: string | undefined,
  caller: KeyRecord,
  { directory, keyring }: House,
): KeyRecord {
  const kind = subject === 'key_id' ? 'managed' : 'token'
  const scope = directory.scopeOf(caller)
  for (const key of keyring.keys())
    if (key.id === id && key.kind === kind && key.accountId === scope.accountId)
      if (isInScope(key, scope)) return key
  const plural = subject === 'key_id' ? 'keys' : 'tokens'
  throw new GatewayError(
    'not_found',
    `No such credential belongs to this account. GET /v1/manage/${plural} lists those that do.`,
    { param: subject },
  )
}

function readEstimate(text: string | undefined): NanoUsd {
  const amount = text === undefined ? LEAST : parseUsd(text)
  if (amount !== undefined) return amount
  throw new GatewayError(
    'validation_error',
    'Send `estimate_usd` as a number of US dollars from 0 to 9000000 with at most nine decimals.',
    { param: 'estimate_usd' },
  )
}

/** Null where nothing bounds it, and where the wallet is not the caller's to read: a token sees those of its projects. */
function availableIn(
  walletId: string | undefined,
  caller: KeyRecord,
  { directory, plant }: House,
): object | null {
  const { accountId, projectIds } = directory.scopeOf(caller)
  const wallet = directory.find('wallet', accountId, walletId ?? '')
  if (wallet === undefined || projectIds?.includes(wallet.ownerId) === false) return null
  const { available } = plant.ledger.walletState(wallet.id)
  return available === undefined ? null : toJsonUsd(available)
}

function describeOwner(
  id: string | undefined,
  { directory }: House,
  { key, project }: Supposed,
): object {
  if (id === undefined) return { owner: null, owner_id: null, owner_name: null }
  if (id === key.accountId)
    return { owner: 'account', owner_id: id, owner_name: directory.account(id)?.name ?? null }
  if (id === project?.id) return { owner: 'project', owner_id: id, owner_name: project.name }
  const user = directory.find('user', key.accountId, id)
  return { owner: 'user', owner_id: id, owner_name: user?.name ?? null }
}

// What was used and spent, added up: by the hour, the day or all at once, told apart by whatever is asked. The
// root key sees its account; a token that manages sees the calls of its projects.
import type { Directory, Scope } from '../../access/directory.ts'
import { isInScope } from '../../access/ties.ts'
import { HOUR_MS } from '../../core/hour.ts'
import type { KeyRecord } from '../../core/key.ts'
import { GatewayError } from '../../core/problem.ts'
import type { WalletRecord } from '../../core/tenancy.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { Page, PageRequest, UsageQuery, UsageRepository } from '../../store/store.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin } from './body.ts'
import { download, type FileForm } from './download.ts'
import { printTime } from './print.ts'
import {
  describeFigures,
  describeUsage,
  NO_FIGURES,
  usageHead,
  usageLine,
  type UsageItem,
} from './usage-entry.ts'
import { readUsageRequest, type UsageRequest } from './usage-query.ts'

const getUsage: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/usage',
  role: 'manage',
  async answer(exchange, caller, house) {
    checkOrigin(exchange.request)
    const { plant, directory } = house
    const request = readUsageRequest(exchange.request, plant.ledger.now())
    await checkNames(request, caller, house)
    const ask = askOf(request, directory.scopeOf(caller), directory)
    return request.format === 'csv'
      ? answerFile(exchange, request, ask, house)
      : answerPage(exchange, request, ask, house)
  },
}

export const usageEndpoints: readonly KeyedEndpoint[] = [getUsage]

const LIMIT_DEFAULT = 100

/** What the store is asked, and in which teams its projects are told apart, if they are. */
interface Ask {
  readonly accountId: string
  readonly query: Omit<UsageQuery, 'limit' | 'cursor'>
  readonly teams: readonly AskedTeam[] | undefined
}

interface AskedTeam {
  readonly id: string
  readonly projectIds: readonly string[]
}

async function answerPage(
  { id }: Exchange,
  request: UsageRequest,
  ask: Ask,
  { plant }: House,
): Promise<Response> {
  const { usage } = plant.store
  const { accountId, query } = ask
  const { limit = LIMIT_DEFAULT, cursor, fromHour, toHour, per, by } = request
  const { items, next } = await readItems(usage, ask, { limit, cursor })
  // Of all that fits and not of this page, with each call once, whatever teams its project is in.
  const whole = { ...query, per: 'total', by: [], limit: 1, cursor: undefined } as const
  const totals = await usage.read(accountId, whole)
  return json(id, {
    object: 'usage',
    from: printTime(fromHour * HOUR_MS),
    to: printTime(toHour * HOUR_MS),
    per,
    by,
    data: items.map((item) => describeUsage(item, request)),
    totals: describeFigures(totals.items[0]?.figures ?? NO_FIGURES),
    has_more: next !== undefined,
    next_cursor: next ?? null,
  })
}

function answerFile(
  exchange: Exchange,
  request: UsageRequest,
  ask: Ask,
  { plant }: House,
): Promise<Response> {
  const moment = new Date(exchange.at).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const form: FileForm<UsageItem> = {
    name: `usage-${moment}.csv`,
    contentType: 'text/csv; charset=utf-8; header=present',
    head: usageHead(request),
    toLine: (item) => usageLine(item, request),
  }
  const { limit, cursor } = request
  const read = (page: PageRequest): Promise<Page<UsageItem>> =>
    readItems(plant.store.usage, ask, page)
  return download(exchange, { read, limit, cursor }, form, plant.log)
}

function askOf(request: UsageRequest, scope: Scope, directory: Directory): Ask {
  const { fromHour, toHour, per, equal, by, teamId } = request
  const { accountId } = scope
  const asked = teamId === undefined ? undefined : directory.find('team', accountId, teamId)
  const projectIds = both(scope.projectIds, asked?.projectIds)
  const dimensions = by.filter((word) => word !== 'team')
  const teams = dimensions.length === by.length ? undefined : teamsOf(scope, directory, asked?.id)
  return {
    accountId,
    query: { fromHour, toHour, per, by: dimensions, equal, projectIds },
    teams: teams?.map(({ id, projectIds: own }) => ({
      id,
      projectIds: both(own, projectIds) ?? [],
    })),
  }
}

/** Those that are in use; oldest first. */
function teamsOf(
  { accountId, projectIds, teamIds }: Scope,
  directory: Directory,
  only: string | undefined,
): readonly AskedTeam[] {
  const teams = [...directory.list('team', accountId)]
  if (only !== undefined) return teams.filter(({ id }) => id === only)
  return teams.filter(
    ({ id, endedAt }) =>
      endedAt === undefined && (projectIds === undefined || teamIds.includes(id)),
  )
}

type Ids = readonly string[] | undefined

/** What is in both lists; undefined is a list of all. */
function both(one: Ids, other: Ids): Ids {
  if (one === undefined || other === undefined) return one ?? other
  return one.filter((id) => other.includes(id))
}

/** Each is a question to the store, which others wait for; the page after this one asks for the next teams. */
const TEAMS_A_PAGE = 100

/** Ends an id of a team in a cursor; what follows is the cursor within the team. */
const TEAM_END = '~'

async function readItems(
  usage: UsageRepository,
  { accountId, query, teams }: Ask,
  { limit, cursor }: PageRequest,
): Promise<Page<UsageItem>> {
  if (teams === undefined) {
    const page = await usage.read(accountId, { ...query, limit, cursor })
    return { ...page, items: page.items.map((row) => ({ teamId: undefined, row })) }
  }
  const items: UsageItem[] = []
  let { at, inner } = findTeam(teams, cursor)
  const end = at + TEAMS_A_PAGE
  for (let team = teams[at]; team !== undefined; team = teams[at]) {
    const { id, projectIds } = team
    const left = limit - items.length
    if (left === 0 || at === end) return { items, next: id + TEAM_END }
    // oxlint-disable-next-line no-await-in-loop -- a team after another
    const page = await usage.read(accountId, { ...query, projectIds, limit: left, cursor: inner })
    for (const row of page.items) items.push({ teamId: id, row })
    if (page.next !== undefined) return { items, next: id + TEAM_END + page.next }
    inner = undefined
    at += 1
  }
  return { items, next: undefined }
}

interface TeamPlace {
  readonly at: number
  readonly inner: string | undefined
}

function findTeam(teams: readonly AskedTeam[], cursor: string | undefined): TeamPlace {
  if (cursor === undefined) return { at: 0, inner: undefined }
  const [team = '', inner] = cursor.split(TEAM_END)
  const at = teams.findIndex(({ id }) => id === team)
  if (at !== -1 && inner !== undefined) return { at, inner: inner === '' ? undefined : inner }
  throw new GatewayError(
    'validation_error',
    'The cursor is not one that a page before returned. Leave it out to start at the first.',
    { param: 'cursor' },
  )
}

/** Whoever asks for what is not theirs is told the same as for what there is not. */
async function checkNames(
  { equal, teamId }: UsageRequest,
  caller: KeyRecord,
  { directory, plant }: House,
): Promise<void> {
  const { accountId } = caller
  const scope = directory.scopeOf(caller)
  const { project, payer, key: keyId } = equal
  if (project !== undefined)
    expectFound('project_id', hasProject(scope, directory.find('project', accountId, project)?.id))
  if (teamId !== undefined)
    expectFound('team_id', hasTeam(scope, directory.find('team', accountId, teamId)?.id))
  if (payer !== undefined)
    expectFound('payer', hasWallet(directory, caller, directory.find('wallet', accountId, payer)))
  if (keyId === undefined) return
  const key = await plant.store.keys.find(accountId, keyId)
  expectFound('key_id', key !== undefined && isInScope(key, scope))
}

function hasProject({ projectIds }: Scope, id: string | undefined): boolean {
  return id !== undefined && (projectIds === undefined || projectIds.includes(id))
}

function hasTeam({ projectIds, teamIds }: Scope, id: string | undefined): boolean {
  return id !== undefined && (projectIds === undefined || teamIds.includes(id))
}

/** Of a token: the wallets of its projects, and those that pay for them. */
function hasWallet(
  directory: Directory,
  caller: KeyRecord,
  wallet: WalletRecord | undefined,
): boolean {
  const { projectIds } = directory.scopeOf(caller)
  if (wallet === undefined || projectIds === undefined) return wallet !== undefined
  return projectIds.some(
    (id) =>
      id === wallet.ownerId ||
      directory.payersOf(caller, id).some(({ walletId }) => walletId === wallet.id),
  )
}

/** Where those within reach are listed. Wallets are not for tokens to list. */
const LISTS = {
  project_id: 'GET /v1/manage/projects lists those that there are.',
  team_id: 'GET /v1/manage/teams lists those that there are.',
  payer: 'GET /v1/manage/payers?project_id= shows the wallets that pay for a project.',
  key_id: 'GET /v1/manage/keys and GET /v1/manage/tokens list those that there are.',
} as const

function expectFound(param: keyof typeof LISTS, isFound: boolean): void {
  if (!isFound)
    throw new GatewayError(
      'not_found',
      `There is none with the id that \`${param}\` names. ${LISTS[param]}`,
      { param },
    )
}

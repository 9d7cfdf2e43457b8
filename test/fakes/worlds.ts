// Accounts with something of everything in them. Every text of one bears the mark of its account and its place, and
// no amount is anybody else's, so that whatever crosses a wall can be seen on the other side.
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createId, createRequestId } from '../../src/core/ids.ts'
import { toNanoUsd } from '../../src/core/money.ts'
import { openSqliteStore } from '../../src/store/sqlite/open.ts'
import { asHold, NOW, sampleHold } from '../contracts/samples.ts'
import { sayHello } from './agency.ts'
import { findSecrets } from './canary.ts'
import { createFakeClock, type FakeClock } from './clock.ts'
import { HELLO, ROOT_KEY, startGateway, type Gateway } from './gateway.ts'
import { BOTH_SERVICES, goodMessages, isMessages } from './messages.ts'
import { createToken, isNative, nativeSupplierAt } from './native-supplier.ts'
import { startFakeSupplier } from './supplier.ts'
import { able, TASK_SERVICES, tasksAt } from './tasks.ts'
import { tenantAt, type Json, type Tenant } from './tenants.ts'

/** What a route may be pointed at. */
export type Subject =
  | 'account'
  | 'organisation'
  | 'user'
  | 'project'
  | 'team'
  | 'wallet'
  | 'key'
  | 'token'
  | 'identity'
  | 'call'
  | 'review'

/** A project, and one of everything that hangs on it. */
export interface Place {
  readonly mark: string
  readonly ids: Record<Subject, string>
  /** Secrets of its credentials. */
  readonly key: string
  readonly token: string
  readonly teamToken: string
  readonly manager: string
  readonly teamManager: string
  /** Of its sign-in at the native supplier: shown to nobody, whoever owns it. */
  readonly signInToken: string
  /** Whatever stands for it: nobody out of its reach may see any of it. */
  readonly traces: string[]
}

export interface World {
  readonly mark: string
  readonly accountId: string
  readonly root: string
  readonly one: Place
  readonly two: Place
  /** What belongs to the account as a whole. */
  readonly traces: string[]
}

export interface Stage {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly folder: string
  /** The operator's own account. */
  readonly operator: World
  readonly alpha: World
  readonly beta: World
  stop(): Promise<void>
}

/** A key that everybody uses for what they want done once. */
export const SHARED_CLAIM = 'the-same-for-all'
export const CALL = { ...HELLO, max_tokens: 8 }

const PREFIXES = {
  account: 'acc',
  organisation: 'org',
  user: 'usr',
  project: 'prj',
  team: 'team',
  wallet: 'wal',
  key: 'key',
  token: 'tok',
  identity: 'nid',
} as const

/** Where management has them. */
export function pathOf(subject: Subject): string {
  return subject === 'identity' ? '/native/identities' : `/${subject}s`
}

/** An id of the right shape that nobody has. */
export function unknownId(subject: Subject): string {
  return subject === 'call' || subject === 'review'
    ? createRequestId()
    : createId(PREFIXES[subject])
}

export function tracesOf({ traces, one, two }: World): readonly string[] {
  return [...traces, ...one.traces, ...two.traces]
}

/**
 * Rows of all tables as text: those of an account, and those that `matches`. When a credential was last used and what
 * was added up of calls is written when there is time for it.
 */
export function readRows(
  folder: string,
  accountId: string,
  matches: (text: string) => boolean,
): readonly string[] {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    const tables = database
      .query<{ name: string }, []>(
        `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('labels', 'usage', 'marks')`,
      )
      .all()
    const account = database
      .query<{ number: number }, [string]>('SELECT number FROM names WHERE name = ?')
      .get(accountId)?.number
    return tables.flatMap(({ name }) =>
      database
        .query<Record<string, unknown>, []>(`SELECT * FROM ${name}`)
        .all()
        .map(({ last_used_at: _used, ...row }) => ({ row, text: JSON.stringify(row) }))
        .filter(({ row, text }) => row['account'] === account || matches(text))
        .map(({ text }) => `${name} ${text}`),
    )
  } finally {
    database.close(true)
  }
}

/** What went into the calls of an account, or of one of its projects. */
export function countTokens(folder: string, accountId: string, projectId?: string): number {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    const { tokens = 0 } =
      database
        .query<{ tokens: number }, [string, string | null]>(
          `SELECT sum(input_tokens) AS tokens FROM audit JOIN names ON names.number = account
           WHERE name = ?1 AND (?2 IS NULL OR project_id = ?2)`,
        )
        .get(accountId, projectId ?? null) ?? {}
    return tokens
  } finally {
    database.close(true)
  }
}

/** Builds three accounts, has the process die with calls under way, and starts it again. */
export async function setStage(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'worlds-'))
  const supplier = await startFakeSupplier((request, reply, index) => {
    const script = isNative(request) ? sayHello : isMessages(request) ? goodMessages : able
    return script(request, reply, index)
  })
  const start = (clock: FakeClock): Promise<Gateway> =>
    startGateway({
      clock,
      suppliers: [
        tasksAt(supplier.origin, { services: [...BOTH_SERVICES, ...TASK_SERVICES] }),
        nativeSupplierAt(supplier.origin),
      ],
      environment: { GATEWAY_DATA: folder },
    })
  const first = await start(createFakeClock(NOW))
  const operator = await buildOperator(first)
  const alpha = await buildAccount(first, 'alphamark')
  const beta = await buildAccount(first, 'betamark')
  await first.stop()
  await leaveCalls(folder, [operator, alpha, beta])
  const clock = createFakeClock(NOW + 60_000)
  const gateway = await start(clock)
  const secrets = [operator, alpha, beta].flatMap(secretsOf)
  return {
    gateway,
    clock,
    folder,
    operator,
    alpha,
    beta,
    async stop() {
      await gateway.stop()
      await supplier.stop()
      const leaks = findSecrets(folder, secrets)
      rmSync(folder, { recursive: true, force: true })
      if (leaks.length > 0) throw new Error(`a secret is written in ${leaks.join(', ')}`)
    },
  }
}

/** Makes another record that may be used up, and returns its id. */
export async function makeFresh(stage: Stage, world: World, place: Place, subject: Subject) {
  const { url } = stage.gateway
  const root = tenantAt(url, world.root)
  const name = `${place.mark} fresh`
  const project_id = place.ids.project
  const make = async (path: string, body: Json): Promise<string> => {
    const made = await root.make(path, body)
    place.traces.push(made.id)
    return made.id
  }
  if (subject === 'account') return (await tenantAt(url).make('/accounts', { name: 'fresh' })).id
  if (subject === 'key' || subject === 'token') return make(`/${subject}s`, { name, project_id })
  if (subject === 'wallet')
    return make('/wallets', { name, user_id: await make('/users', { name }) })
  if (subject === 'call' || subject === 'review') return place.ids[subject]
  return make(pathOf(subject), subject === 'identity' ? signIn(name) : { name })
}

async function buildOperator(gateway: Gateway): Promise<World> {
  const root = tenantAt(gateway.url)
  const account = await root.get('/account')
  return buildWorld(gateway, root, { mark: 'omegamark', accountId: String(account['id']) })
}

async function buildAccount(gateway: Gateway, mark: string): Promise<World> {
  const name = `${mark} account`
  const { id, root_key: secret } = await tenantAt(gateway.url).make('/accounts', { name })
  return buildWorld(gateway, tenantAt(gateway.url, String(secret)), { mark, accountId: id })
}

let amounts = 0

/** Dollars that stand nowhere else. */
function nextAmount(): number {
  amounts += 1
  return Number(`5${String(amounts).padStart(2, '0')}.0173${String(amounts).padStart(2, '0')}9`)
}

async function buildWorld(
  gateway: Gateway,
  root: Tenant,
  { mark, accountId }: { readonly mark: string; readonly accountId: string },
): Promise<World> {
  const account = await root.get('/account')
  const one = await buildPlace(gateway, root, { mark: `${mark}-one`, accountId })
  const two = await buildPlace(gateway, root, { mark: `${mark}-two`, accountId })
  // A key of no project, which whoever manages one must not see.
  const loose = await root.make('/keys', { name: `${two.mark} loose` })
  const secret = String(loose['key'])
  two.traces.push(loose.id, secret, await callOnce(gateway, secret, CALL))
  // For calls of no project.
  const common = await root.make(pathOf('identity'), signIn(`${two.mark} common`))
  two.traces.push(common.id)
  // The id of the operator's root key stands in the history of every account that it has opened.
  const traces = [mark, accountId, String(account['wallet_id']), root.secret]
  return { mark, accountId, root: root.secret, one, two, traces }
}

async function buildPlace(
  gateway: Gateway,
  root: Tenant,
  { mark, accountId }: { readonly mark: string; readonly accountId: string },
): Promise<Place> {
  const traces: string[] = [mark]
  const make = async (path: string, body: Json): Promise<Json & { readonly id: string }> => {
    const made = await root.make(path, { name: `${mark} ${path}`, ...body })
    traces.push(made.id)
    if (typeof made['key'] === 'string') traces.push(made['key'])
    return made
  }
  const fill = async (wallet: string): Promise<void> => {
    const amount = nextAmount()
    traces.push(String(amount))
    const body = { amount_usd: amount, reason: `${mark} reason`, reference: `${mark} reference` }
    await root.make(`/wallets/${wallet}/credits`, body)
  }
  const { id: user } = await make('/users', { email: `${mark}@example.com` })
  const { id: payer } = await make('/users', { email: `${mark}-payer@example.com` })
  const { id: organisation } = await make('/organisations', { billing_user_id: payer })
  const metadata = { [mark]: mark }
  const ties = { organisation_id: organisation, delegate_user_id: user, metadata }
  const { id: project } = await make('/projects', ties)
  const { id: team } = await make('/teams', { project_ids: [project] })
  const { id: wallet } = await make('/wallets', { project_id: project })
  const { id: userWallet } = await make('/wallets', { user_id: user })
  const { id: payerWallet } = await make('/wallets', { user_id: payer })
  for (const each of [wallet, userWallet, payerWallet]) await fill(each)
  const budget_limit = nextAmount()
  traces.push(String(budget_limit))
  const own = { project_id: project, metadata }
  const key = await make('/keys', { ...own, user_id: user, budget_limit })
  const token = await make('/tokens', own)
  const teamToken = await make('/tokens', { team_id: team })
  const manager = await make('/tokens', { ...own, manage: true })
  const teamManager = await make('/tokens', { team_id: team, manage: true })
  const signInToken = createToken(mark)
  const { id: identity } = await make(pathOf('identity'), {
    ...signIn(`${mark} sign-in`, signInToken),
    account_id: `${mark}-subject`,
    organisation_id: organisation,
    project_ids: [project],
  })
  const secret = String(key['key'])
  const call = await callOnce(gateway, secret, CALL)
  await callOnce(gateway, String(teamToken['key']), { ...CALL, model: `${mark}-model` })
  const review = createRequestId()
  traces.push(call, review)
  return {
    mark,
    ids: {
      account: accountId,
      organisation,
      user,
      project,
      team,
      wallet,
      key: key.id,
      token: token.id,
      identity,
      call,
      review,
    },
    key: secret,
    token: String(token['key']),
    teamToken: String(teamToken['key']),
    manager: String(manager['key']),
    teamManager: String(teamManager['key']),
    signInToken,
    traces,
  }
}

/** What somebody sends who has signed in; each time as somebody else. */
export function signIn(name: string, access_token = createToken()): Json {
  return { name, supplier: 'native', access_token }
}

/** Under the key that everybody uses; returns its request id. */
async function callOnce(gateway: Gateway, secret: string, body: object): Promise<string> {
  const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': SHARED_CLAIM }
  const response = await gateway.chat(body, { headers })
  await response.text()
  return response.headers.get('x-request-id') ?? ''
}

/** Holds that nothing has ended: what a process leaves that dies. */
async function leaveCalls(folder: string, worlds: readonly World[]): Promise<void> {
  const store = await openSqliteStore({ folder, clock: createFakeClock(NOW) })
  const holds = worlds.flatMap(({ accountId, one, two }) =>
    [one, two].map(({ mark, ids }) =>
      sampleHold({
        accountId,
        requestId: ids.review,
        projectId: ids.project,
        keyId: ids.key,
        model: `${mark}-model`,
        amount: toNanoUsd(1_000_000),
        payer: JSON.stringify({
          wallet: ids.wallet,
          link: 'project',
          line: 0,
          limit: null,
          period: null,
          passed: [],
        }),
      }),
    ),
  )
  await store.append(holds.map(asHold))
  await store.close()
}

function secretsOf({ root, one, two }: World): readonly string[] {
  const places = [one, two].flatMap(({ key, token, teamToken, manager, teamManager, ...place }) => [
    place.signInToken,
    key,
    token,
    teamToken,
    manager,
    teamManager,
  ])
  return root === ROOT_KEY ? places : [root, ...places]
}

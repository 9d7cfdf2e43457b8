// What a test must know of each route to ask it something that makes sense: what it is pointed at, what it takes,
// which of that names a record. A route that is not here is not tested, and the tests say so.
import type { Endpoint } from '../../src/endpoints/endpoint.ts'
import type { Json } from './tenants.ts'
import { HELLO_NATIVE } from './agency.ts'
import { formOf } from './forms.ts'
import { CALL, pathOf, signIn, type Place, type Subject, type World } from './worlds.ts'

export interface Lesson {
  /** What its parameter names. */
  readonly subject?: Subject
  /** What it may name besides. */
  readonly others?: readonly Subject[]
  /** A parameter that belongs to nobody. */
  readonly fixed?: string
  /** What may be written. */
  readonly writes?: readonly string[]
  /** A body that is fine for whoever reaches this place. */
  readonly body?: (place: Place, world: World) => Json
  /** A form, where that is what it takes. */
  readonly form?: () => FormData
  /** Fields of the body or parameters of the address that name a record. */
  readonly references?: Readonly<Record<string, Subject>>
  /** Fields that end like an id and are the caller's own words. */
  readonly free?: readonly string[]
  /** Fields that need a record of their own, made for the occasion. */
  readonly fresh?: Readonly<Record<string, Subject>>
  /** Other ways to ask, as the query of the address. */
  readonly queries?: readonly string[]
  /** Of whoever may, where it is not 200. */
  readonly status?: number
}

const LIMITS = [
  'name',
  'allowed_models',
  'allowed_regions',
  'budget_limit',
  'budget_period',
  'fit',
  'rate_limit_rpm',
  'metadata',
  'expires_at',
]
const WALLET = ['name', 'credit_line', 'spending_limit', 'spending_period']

const SIGN_IN = [
  'name',
  'account_id',
  'organisation_id',
  'project_ids',
  'parallel_max',
  'requests_per_minute',
  'access_token',
  'refresh_token',
  'client_id',
  'client_secret',
  'expires_at',
  'expires_in',
]

const named = ({ mark }: Place): Json => ({ name: `${mark} named` })
const ofProject = ({ mark, ids }: Place): Json => ({
  name: `${mark} made`,
  project_id: ids.project,
})

const RANKING = { model: 'test-rank', query: 'Hello', documents: ['Hello there', 'Goodbye'] }
const FILES = ['?format=csv', '?format=jsonl', '?limit=1']
const AUDIT = { key_id: 'key', project_id: 'project', request_id: 'call' } as const
const CREDENTIALS = { project_id: 'project', team_id: 'team', user_id: 'user' } as const

/** The five doors of what an account keeps. */
function kept(
  subject: Subject,
  {
    writes,
    references,
    filters,
  }: Required<Pick<Lesson, 'writes' | 'references'>> & {
    readonly filters: Readonly<Record<string, Subject>>
  },
): Readonly<Record<string, Lesson>> {
  const path = `/v1/manage/${subject}s`
  return {
    [`POST ${path}`]: { writes, references, body: named },
    [`GET ${path}`]: { references: filters, queries: ['?limit=100', '?limit=1', '?status=ended'] },
    [`GET ${path}/{id}`]: { subject },
    [`PATCH ${path}/{id}`]: { subject, writes, references, body: named },
    [`DELETE ${path}/{id}`]: { subject },
  }
}

/** Sign-ins at native suppliers, where an account has another meaning. */
function signIns(): Readonly<Record<string, Lesson>> {
  const subject = 'identity'
  const path = `/v1/manage${pathOf(subject)}`
  const references = { organisation_id: 'organisation', project_ids: 'project' } as const
  const free = ['account_id', 'client_id']
  const common = { references, free }
  return {
    [`POST ${path}`]: {
      ...common,
      writes: [...SIGN_IN, 'supplier'],
      body: ({ mark }) => signIn(`${mark} made`),
    },
    [`GET ${path}`]: {
      references: { organisation_id: 'organisation' },
      queries: ['?limit=100', '?limit=1', '?status=removed', '?supplier=native'],
    },
    [`GET ${path}/{id}`]: { subject },
    [`PATCH ${path}/{id}`]: { ...common, subject, writes: [...SIGN_IN, 'disabled'], body: named },
    [`DELETE ${path}/{id}`]: { subject },
  }
}

function credentials(
  subject: 'key' | 'token',
  references: Readonly<Record<string, Subject>>,
  more: readonly string[],
): Readonly<Record<string, Lesson>> {
  const path = `/v1/manage/${subject}s`
  const { key_id: _key, ...filters } = AUDIT
  return {
    [`POST ${path}`]: {
      writes: [...LIMITS, ...Object.keys(references), ...more],
      references,
      body: ofProject,
    },
    [`GET ${path}`]: { references: CREDENTIALS, queries: ['?limit=100', '?limit=1'] },
    [`GET ${path}/{id}`]: { subject },
    [`PATCH ${path}/{id}`]: { subject, writes: LIMITS, body: named },
    [`DELETE ${path}/{id}`]: { subject },
    [`POST ${path}/{id}/rotate`]: {
      subject,
      writes: ['overlap_seconds'],
      body: () => ({ overlap_seconds: 60 }),
    },
    [`GET ${path}/{id}/audit`]: { subject, references: filters, queries: FILES },
  }
}

const LESSONS: Readonly<Record<string, Lesson>> = {
  'GET /health': {},
  'GET /health/live': {},
  'GET /health/ready': {},
  'GET /': { status: 404 },
  'HEAD /api/hello': {},
  'GET /v1/errors': {},
  'GET /v1/errors/{code}': { fixed: 'not_found' },
  'GET /v1/models': {},
  'GET /v1/models/{id*}': { fixed: 'test-model' },
  'POST /v1/chat/completions': { body: () => CALL },
  'POST /v1/messages': { body: () => CALL },
  'POST /v1/messages/count_tokens': { body: () => CALL },
  'POST /v1/responses': { body: () => ({ model: CALL.model, input: 'Hello' }) },
  'POST /v1/embeddings': { body: () => ({ model: 'test-embed', input: ['Hello', 'there'] }) },
  'POST /v1/rerank': { body: () => RANKING },
  'POST /v2/rerank': { body: () => RANKING },
  'POST /v1/audio/transcriptions': { form: () => formOf([['model', 'test-hear']]) },
  'POST /v1/audio/speech': { body: () => ({ model: 'test-speak', input: 'Hello there.' }) },
  'POST /v1/native/responses': {
    body: () => ({ ...HELLO_NATIVE, model: 'native-model', max_output_tokens: 8 }),
  },

  'POST /v1/manage/accounts': { writes: ['name'], body: named },
  'GET /v1/manage/accounts': {},
  'GET /v1/manage/accounts/{id}': { subject: 'account' },
  'PATCH /v1/manage/accounts/{id}': { subject: 'account', writes: ['name'], body: named },
  'DELETE /v1/manage/accounts/{id}': { subject: 'account' },
  'POST /v1/manage/accounts/{id}/rotate': {
    subject: 'account',
    writes: ['overlap_seconds'],
    body: () => ({ overlap_seconds: 60 }),
  },
  'GET /v1/manage/account': {},

  ...kept('organisation', {
    writes: ['name', 'billing_user_id', 'native'],
    references: { billing_user_id: 'user' },
    filters: {},
  }),
  ...kept('user', { writes: ['name', 'email'], references: {}, filters: {} }),
  ...kept('project', {
    writes: ['name', 'organisation_id', 'delegate_user_id', 'payer', 'metadata'],
    references: { organisation_id: 'organisation', delegate_user_id: 'user' },
    filters: { organisation_id: 'organisation' },
  }),
  ...kept('team', {
    writes: ['name', 'project_ids'],
    references: { project_ids: 'project' },
    filters: { project_id: 'project' },
  }),
  ...credentials('key', { project_id: 'project', user_id: 'user' }, []),
  ...credentials('token', CREDENTIALS, ['manage']),

  'POST /v1/manage/wallets': {
    writes: [...WALLET, 'project_id', 'user_id', 'account'],
    references: { project_id: 'project', user_id: 'user' },
    body: named,
    fresh: { user_id: 'user' },
  },
  'GET /v1/manage/wallets': {
    references: { project_id: 'project', user_id: 'user' },
    queries: ['?limit=100', '?limit=1', '?status=active'],
  },
  'GET /v1/manage/wallets/{id}': { subject: 'wallet' },
  'PATCH /v1/manage/wallets/{id}': { subject: 'wallet', writes: WALLET, body: named },
  'DELETE /v1/manage/wallets/{id}': { subject: 'wallet' },
  'POST /v1/manage/wallets/{id}/credits': {
    subject: 'wallet',
    writes: ['amount_usd', 'reason', 'reference'],
    body: ({ mark }) => ({ amount_usd: 1, reason: mark }),
  },
  'GET /v1/manage/wallets/{id}/credits': { subject: 'wallet' },

  'GET /v1/manage/payers': {
    references: { project_id: 'project', key_id: 'key', token_id: 'token' },
    queries: ['?estimate_usd=100000'],
  },
  'GET /v1/manage/usage': {
    references: { project_id: 'project', key_id: 'key', team_id: 'team', payer: 'wallet' },
    queries: [
      '?by=team,key,project,payer,model,supplier,region,code',
      '?by=key,model&format=csv',
      '?per=total',
      '?per=hour&by=team&limit=1',
    ],
  },
  'GET /v1/manage/actions': {
    references: { target: 'wallet', by: 'key', account_id: 'account' },
    queries: ['?limit=1000', '?action=wallet.credit', '?action=account.create'],
  },
  'GET /v1/manage/audit': {
    references: AUDIT,
    queries: [...FILES, '?state=refused', '?status=200'],
  },
  'GET /v1/manage/calls/{request_id}': { subject: 'call', others: ['review'] },
  'POST /v1/manage/explain': {
    writes: ['key_id', 'project_id', 'endpoint', 'session_id', 'request'],
    references: { key_id: 'key', project_id: 'project' },
    free: ['session_id'],
    body: () => ({ request: CALL }),
  },
  'GET /v1/manage/reviews': { queries: ['?limit=1'] },
  'GET /v1/manage/reviews/{request_id}': { subject: 'review' },
  'POST /v1/manage/reviews/{request_id}': {
    subject: 'review',
    writes: ['action', 'cost_usd', 'reason'],
    body: ({ mark }) => ({ action: 'settle', reason: mark }),
  },
  ...signIns(),
  'GET /v1/manage/native/suppliers': { queries: ['?model=native-model', '?supplier=native'] },
  'GET /v1/manage/suppliers': { queries: ['?model=test-model', '?supplier=fake'] },
  'GET /v1/manage/ledger': {},
  'POST /v1/manage/ledger/archive': {
    writes: ['before'],
    body: () => ({ before: '2025-01' }),
  },
  'POST /v1/manage/reload': { writes: ['allow_drop'], body: () => ({}) },
}

export function titleOf({ method, path }: Endpoint): string {
  return `${method} ${path}`
}

export function lessonOf(endpoint: Endpoint): Lesson {
  const title = titleOf(endpoint)
  const lesson = LESSONS[title]
  if (lesson === undefined) throw new Error(`${title}: teach the isolation test this route`)
  return lesson
}

/** The address of a route that is pointed at this id. */
export function addressOf({ path }: Endpoint, id: string): string {
  return path.replace(/\{.*\}/, encodeURIComponent(id))
}

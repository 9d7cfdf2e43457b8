// What every endpoint beside the chats refuses alike, whatever it does: for the sake of a key, of money, of a region, of
// an Idempotency-Key or of a shutdown. Nobody is asked then, and nothing is held.
import { afterEach, describe, expect, it } from 'bun:test'
import { formOf } from './fakes/forms.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { dataOf, readRecords } from './fakes/records.ts'
import { closeStreet, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier } from './fakes/supplier.ts'
import { able, openWorkshop, PATHS, tasksAt } from './fakes/tasks.ts'
import { tenantAt, type Json } from './fakes/tenants.ts'

afterEach(closeStreet)

interface Task {
  readonly path: string
  /** What is sent, and something else. */
  readonly body: () => string | FormData
  readonly other: () => string | FormData
}

function asJson(path: string, body: Json, other: Json): Task {
  return {
    path,
    body: () => JSON.stringify(body),
    other: () => JSON.stringify({ ...body, ...other }),
  }
}

const RANKING = { model: 'test-rank', query: 'Hello', documents: ['Hello there'] }
const TASKS: readonly Task[] = [
  asJson(PATHS.embed, { model: 'test-embed', input: 'Hello' }, { input: 'Goodbye' }),
  asJson(PATHS.rank, RANKING, { query: 'Goodbye' }),
  asJson('/v2/rerank', RANKING, { query: 'Goodbye' }),
  asJson(PATHS.speak, { model: 'test-speak', input: 'Hello' }, { input: 'Goodbye' }),
  {
    path: PATHS.hear,
    body: () => formOf([['model', 'test-hear']]),
    other: () =>
      formOf([
        ['model', 'test-hear'],
        ['language', 'en'],
      ]),
  },
]

function post(
  { url }: Gateway,
  path: string,
  body: string | FormData,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> {
  const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
  const authorization = `Bearer ${ROOT_KEY}`
  return fetch(url + path, {
    method: 'POST',
    headers: { authorization, ...type, ...headers },
    body,
  })
}

function bearing({ key }: { readonly key: string }): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${key}` }
}

async function refusalOf(response: Response): Promise<readonly [number, unknown, unknown]> {
  const { error } = (await response.json()) as { readonly error: Json }
  expect(error['message']).toBe(`${String(error['code'])} - ${String(error['human_message'])}`)
  expect(response.headers.get('x-should-retry')).toBe(String(error['retryable']))
  return [response.status, error['code'], error['type']]
}

describe.each(TASKS.map((task) => [task.path, task] as const))('%s refuses', (path, task) => {
  it('a key that may not call the model', async () => {
    const { gateway, supplier } = await openWorkshop()
    const key = await gateway.createKey({ name: 'other', allowed_models: ['test-model'] })
    const response = await post(gateway, path, task.body(), bearing(key))
    expect(await refusalOf(response)).toEqual([403, 'model_not_allowed', 'permission_error'])
    expect(supplier.requests).toHaveLength(0)
  })

  it('to leave a region where everybody inside is down', async () => {
    const down = tidy(await startFakeSupplier(refuse(500, { message: 'down' })))
    const abroad = tidy(await startFakeSupplier(able))
    const elsewhere = tasksAt(abroad.origin, { id: 'abroad', region: 'US' })
    const gateway = tidy(await startGateway({ suppliers: [tasksAt(down.origin), elsewhere] }))
    const key = await gateway.createKey({ name: 'bound', allowed_regions: 'EU' })
    const response = await post(gateway, path, task.body(), bearing(key))
    expect(await refusalOf(response)).toEqual([503, 'sovereign_route_unavailable', 'api_error'])
    expect(response.headers.get('retry-after')).toBe('1')
    expect([down.requests.length, abroad.connections()]).toEqual([1, 0])
  })

  it('what a budget does not pay, and holds nothing for it', async () => {
    const { gateway, supplier } = await openWorkshop()
    const key = await gateway.createKey({ name: 'poor', budget_limit: 0 })
    const response = await post(gateway, path, task.body(), bearing(key))
    expect(await refusalOf(response)).toEqual([402, 'budget_exceeded', 'permission_error'])
    expect(supplier.requests).toHaveLength(0)
    expect(readRecords(dataOf(gateway)).holds).toEqual([])
  })

  it('what nobody pays for', async () => {
    const { gateway, supplier } = await openWorkshop()
    const root = tenantAt(gateway.url)
    const { id } = await root.make('/projects', { name: 'p', payer: 'project' })
    await root.make('/wallets', { project_id: id })
    const response = await post(gateway, path, task.body(), { 'x-svc-project': id })
    expect(await refusalOf(response)).toEqual([403, 'billing_limit_reached', 'permission_error'])
    expect(supplier.requests).toHaveLength(0)
  })

  it('another body under one Idempotency-Key, and a key that is none', async () => {
    const { gateway, supplier } = await openWorkshop()
    const once = { 'idempotency-key': 'once' }
    const first = await post(gateway, path, task.body(), once)
    await first.arrayBuffer()
    expect(first.status).toBe(200)
    const conflict = await post(gateway, path, task.other(), once)
    expect((await refusalOf(conflict)).slice(0, 2)).toEqual([422, 'idempotency_conflict'])
    const long = await post(gateway, path, task.body(), { 'idempotency-key': 'x'.repeat(256) })
    expect((await refusalOf(long)).slice(0, 2)).toEqual([400, 'invalid_idempotency_key'])
    expect(supplier.requests).toHaveLength(1)
  })

  it('a model that does something else, and a choice among all', async () => {
    const { gateway, supplier } = await openWorkshop()
    const named = (model: string): string | FormData => {
      const body = task.body()
      if (typeof body !== 'string') return formOf([['model', model]])
      return JSON.stringify({ ...(JSON.parse(body) as Json), model })
    }
    const chat = await post(gateway, path, named('test-model'))
    expect((await refusalOf(chat)).slice(0, 2)).toEqual([400, 'capability_unsupported'])
    const auto = await post(gateway, path, named('auto'))
    expect((await refusalOf(auto)).slice(0, 2)).toEqual([400, 'unsupported_auto_mode'])
    expect(supplier.requests).toHaveLength(0)
  })

  it('whatever comes when the end has begun, and hangs up', async () => {
    const { gateway, supplier } = await openWorkshop()
    void gateway.app.drain({ noticeMs: 600_000, limitMs: 600_000 })
    const response = await post(gateway, path, task.body())
    expect(await refusalOf(response)).toEqual([503, 'pod_draining', 'api_error'])
    expect(response.headers.get('connection')).toBe('close')
    expect(response.headers.get('retry-after')).toBe('1')
    expect(supplier.requests).toHaveLength(0)
    gateway.app.cut()
  })
})

// Changes under an Idempotency-Key: made once, told as often as they are asked for, and their secrets only once.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { findSecrets } from './fakes/canary.ts'
import { dataOf } from './fakes/records.ts'
import { closeStreet, tidy } from './fakes/street.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

interface Told {
  readonly status: number
  readonly isReplayed: boolean
  readonly original: string | null
  readonly id: string | null
  readonly body: Json
}

interface Asked {
  readonly method?: string
  readonly path?: string
  readonly body?: unknown
  readonly key?: string
  readonly secret?: string
}

async function ask(gateway: Gateway, asked: Asked): Promise<Told> {
  const { method = 'POST', path = '/keys', body, key = 'once', secret = ROOT_KEY } = asked
  const response = await fetch(`${gateway.url}/v1/manage${path}`, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      'idempotency-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return {
    status: response.status,
    isReplayed: response.headers.get('idempotency-replayed') === 'true',
    original: response.headers.get('x-svc-original-request-id'),
    id: response.headers.get('x-request-id'),
    body: (await response.json()) as Json,
  }
}

async function countKeys(gateway: Gateway): Promise<number> {
  const page = (await (await gateway.manage('GET', '/keys')).json()) as { data: unknown[] }
  return page.data.length
}

async function restart(gateway: Gateway): Promise<Gateway> {
  await gateway.drain()
  return tidy(await startGateway({ environment: { GATEWAY_DATA: dataOf(gateway) } }))
}

function errorOf({ body }: Told): Json {
  return body['error'] as Json
}

describe('a key that is created twice under one Idempotency-Key', () => {
  it('is one key, and its secret is shown once', async () => {
    const gateway = tidy(await startGateway())
    const first = await ask(gateway, { body: { name: 'app' } })
    expect(first).toMatchObject({ status: 200, isReplayed: false, original: null })
    expect(first.body['key']).toStartWith('svc-sk-')
    const again = await ask(gateway, { body: { name: 'app' } })
    expect(again).toMatchObject({ status: 200, isReplayed: true, original: first.id })
    expect(again.body).toEqual({ ...first.body, key: null })
    expect(again.id).not.toBe(first.id)
    const next = await restart(gateway)
    expect(await ask(next, { body: { name: 'app' } })).toMatchObject({
      isReplayed: true,
      body: again.body,
    })
    expect(await countKeys(next)).toBe(1)
    await next.drain()
    expect(findSecrets(dataOf(gateway), [String(first.body['key'])])).toEqual([])
  })

  it('is one key, however many ask at once', async () => {
    const gateway = tidy(await startGateway())
    const crowd = Array.from({ length: 50 }, () => ask(gateway, { body: { name: 'app' } }))
    const told = await Promise.all(crowd)
    const [first, ...none] = told.filter(({ status, isReplayed }) => status === 200 && !isReplayed)
    expect(none).toEqual([])
    for (const twin of told.filter((each) => each !== first))
      if (twin.isReplayed) expect(twin.body).toEqual({ ...first!.body, key: null })
      else expect(errorOf(twin)).toMatchObject({ code: 'operation_in_progress', retry_after: 1 })
    expect(await countKeys(gateway)).toBe(1)
  })

  it('is a conflict where the second is another key', async () => {
    const gateway = tidy(await startGateway())
    await ask(gateway, { body: { name: 'app' } })
    const other = await ask(gateway, { body: { name: 'other' } })
    expect(other.status).toBe(422)
    expect(errorOf(other)).toMatchObject({ code: 'idempotency_conflict', retryable: false })
    expect(await countKeys(gateway)).toBe(1)
  })

  it('is two keys where the first was refused', async () => {
    const gateway = tidy(await startGateway())
    expect(await ask(gateway, { body: { name: '' } })).toMatchObject({ status: 400 })
    expect(await ask(gateway, { body: { name: 'app' } })).toMatchObject({
      status: 200,
      isReplayed: false,
    })
    expect(await countKeys(gateway)).toBe(1)
  })

  it('is told to be made where its answer is lost', async () => {
    const gateway = tidy(await startGateway())
    await ask(gateway, { body: { name: 'app' } })
    await gateway.drain()
    const database = new Database(join(dataOf(gateway), 'gateway.db'))
    // As after a crash between the change and its answer.
    database.run('UPDATE claims SET answer = NULL')
    database.close(true)
    const next = await restart(gateway)
    const again = await ask(next, { body: { name: 'app' } })
    expect(again.status).toBe(409)
    expect(errorOf(again)).toMatchObject({ code: 'payload_not_durable', retryable: false })
    expect(String(errorOf(again)['human_message'])).toContain('This change was made')
    expect(await countKeys(next)).toBe(1)
  })
})

it('a change is made once, and its answer stays what it was', async () => {
  const gateway = tidy(await startGateway())
  const { id } = await gateway.createKey({ name: 'app' })
  const rename = { method: 'PATCH', path: `/keys/${id}`, body: { name: 'first' } }
  const first = await ask(gateway, rename)
  expect(first).toMatchObject({ status: 200, body: { name: 'first' } })
  await gateway.manage('PATCH', `/keys/${id}`, { name: 'second' })
  const again = await ask(gateway, rename)
  expect(again).toMatchObject({ isReplayed: true, body: first.body })
  const now = (await (await gateway.manage('GET', `/keys/${id}`)).json()) as Json
  expect(now['name']).toBe('second')
})

it('what changes nothing that is stored is done once, too', async () => {
  const gateway = tidy(await startGateway({ config: 'demo: true\n' }))
  const first = await ask(gateway, { path: '/reload' })
  expect(first).toMatchObject({ status: 200, isReplayed: false })
  expect(await ask(gateway, { path: '/reload' })).toMatchObject({
    isReplayed: true,
    body: first.body,
  })
})

it('a body that came packed is the same request as a plain one', async () => {
  const gateway = tidy(await startGateway())
  const text = JSON.stringify({ name: 'app' })
  const send = (body: Uint8Array | string, more: object): Promise<Response> =>
    fetch(`${gateway.url}/v1/manage/keys`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${ROOT_KEY}`,
        'idempotency-key': 'once',
        'content-type': 'application/json',
        ...more,
      },
      body,
    })
  const first = await send(Bun.gzipSync(Buffer.from(text)), { 'content-encoding': 'gzip' })
  expect(first.status).toBe(200)
  const again = await send(text, {})
  expect(again.headers.get('idempotency-replayed')).toBe('true')
})

it('a page of another origin is refused before anything', async () => {
  const gateway = tidy(await startGateway())
  await ask(gateway, { body: { name: 'app' } })
  const response = await fetch(`${gateway.url}/v1/manage/keys`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ROOT_KEY}`,
      'idempotency-key': 'once',
      'content-type': 'application/json',
      origin: 'https://elsewhere.example',
    },
    body: JSON.stringify({ name: 'app' }),
  })
  expect(response.status).toBe(403)
  expect(response.headers.get('idempotency-replayed')).toBeNull()
})

it('reading needs no key, and pays no heed to one', async () => {
  const gateway = tidy(await startGateway())
  await ask(gateway, { method: 'GET' })
  await gateway.createKey({ name: 'app' })
  const { body, isReplayed } = await ask(gateway, { method: 'GET' })
  expect(isReplayed).toBe(false)
  expect(body['data']).toHaveLength(1)
})

it('the same key of another account is another key', async () => {
  const gateway = tidy(await startGateway())
  const opened = await ask(gateway, { path: '/accounts', body: { name: 'other' } })
  expect(opened.status).toBe(200)
  const secret = String(opened.body['root_key'])
  expect(secret).toStartWith('svc_')
  const again = await ask(gateway, { path: '/accounts', body: { name: 'other' } })
  expect(again).toMatchObject({ isReplayed: true, body: { ...opened.body, root_key: null } })
  const mine = await ask(gateway, { body: { name: 'app' }, key: 'shared' })
  const theirs = await ask(gateway, { body: { name: 'app' }, key: 'shared', secret })
  expect([mine.status, theirs.status]).toEqual([200, 200])
  expect([mine.isReplayed, theirs.isReplayed]).toEqual([false, false])
  expect(theirs.body['id']).not.toBe(mine.body['id'])
})

it('money that is put into a wallet twice under one key is there once', async () => {
  const gateway = tidy(await startGateway())
  const account = (await (await gateway.manage('GET', '/account')).json()) as Json
  const path = `/wallets/${String(account['wallet_id'])}`
  const credit = { path: `${path}/credits`, body: { amount_usd: 12.5, reason: 'paid' } }
  const told = await Promise.all(Array.from({ length: 20 }, () => ask(gateway, credit)))
  const made = told.filter(({ status, isReplayed }) => status === 200 && !isReplayed)
  expect(made).toHaveLength(1)
  expect(await ask(gateway, credit)).toMatchObject({ isReplayed: true, body: made[0]!.body })
  const next = await restart(gateway)
  expect(await ask(next, credit)).toMatchObject({ isReplayed: true, body: made[0]!.body })
  const wallet = (await (await next.manage('GET', path)).json()) as Json
  expect(wallet['balance_usd']).toBe(12.5)
})

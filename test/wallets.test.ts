// Wallets and payers through a real gateway: what is put in and taken back, what calls take, what is shown, and who
// would pay.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { openAccount, tenantAt, type Json, type Tenant } from './fakes/tenants.ts'

let gateway: Gateway
let root: Tenant
let other: Tenant & { id: string }

beforeAll(async () => {
  gateway = await startGateway()
  root = tenantAt(gateway.url)
  other = await openAccount(gateway.url)
})

afterAll(() => gateway.stop())

type Made = Json & { readonly id: string }

async function makeProject(settings: object = {}): Promise<Made> {
  return root.make('/projects', { name: 'project', ...settings })
}

async function makeWallet(settings: object = {}, tenant = root): Promise<Made> {
  const { id } = await tenant.make('/projects', { name: 'owner' })
  return tenant.make('/wallets', { project_id: id, ...settings })
}

function credit(wallet: Made, body: object, tenant = root): ReturnType<Tenant['ask']> {
  return tenant.ask('POST', `/wallets/${wallet.id}/credits`, { reason: 'test', ...body })
}

/** The text itself: a parsed number would hide how it was written. */
async function textOf(path: string): Promise<string> {
  return (await gateway.manage('GET', path)).text()
}

interface Called {
  readonly status: number
  readonly cost: number
  readonly error: Json
}

async function call(
  secret: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Called> {
  const response = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({
      model: 'demo/chat',
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Hello' }],
    }),
  })
  const { error = {} } = (await response.json()) as { error?: Json }
  return { status: response.status, cost: Number(response.headers.get('x-svc-cost-usd')), error }
}

describe('a wallet', () => {
  it('of a project or a user begins prepaid, that of an account open', async () => {
    const project = await makeProject({ name: 'search' })
    const wallet = await root.make('/wallets', { project_id: project.id })
    expect(wallet.id).toStartWith('wal_')
    expect(wallet).toEqual({
      id: wallet.id,
      name: 'search',
      owner: 'project',
      owner_id: project.id,
      credit_line: 0,
      spending_limit: null,
      spending_period: null,
      status: 'exhausted',
      balance_usd: 0,
      held_usd: 0,
      in_review_usd: 0,
      available_usd: 0,
      spent_usd: 0,
      spending_held_usd: 0,
      resets_at: wallet['resets_at'],
      created: wallet['created'],
      closed_at: null,
    })
    expect(await root.get(`/wallets/${wallet.id}`)).toEqual(wallet)
    const user = await root.make('/users', { name: 'jo' })
    const users = await root.make('/wallets', { user_id: user.id, name: 'lunch', credit_line: 2.5 })
    expect(users).toMatchObject({
      name: 'lunch',
      owner: 'user',
      credit_line: 2.5,
      available_usd: 2.5,
    })
    expect(users).toMatchObject({ status: 'active' })
  })

  it('has one owner of this account that is not ended and has no other', async () => {
    const { id: project } = await makeProject()
    const { id: user } = await root.make('/users', { name: 'u' })
    const { id: theirs } = await other.make('/projects', { name: 'theirs' })
    const { id: gone } = await makeProject()
    await root.ask('DELETE', `/projects/${gone}`)
    const cases: readonly (readonly [object, number, string, string | undefined])[] = [
      [{}, 400, 'missing_fields', 'project_id'],
      [{ project_id: null, account: null }, 400, 'missing_fields', 'project_id'],
      [{ project_id: project, user_id: user }, 400, 'validation_error', 'user_id'],
      [{ project_id: project, account: true }, 400, 'validation_error', 'account'],
      [{ account: false }, 400, 'validation_error', 'account'],
      [{ project_id: theirs }, 404, 'not_found', 'project_id'],
      [{ project_id: 'prj_none' }, 404, 'not_found', 'project_id'],
      [{ project_id: user }, 404, 'not_found', 'project_id'],
      [{ project_id: gone }, 409, 'conflict', 'project_id'],
      [{ owner_id: project }, 400, 'unsupported_parameter', 'owner_id'],
      [{ project_id: project, balance_usd: 5 }, 400, 'unsupported_parameter', 'balance_usd'],
      [{ project_id: project, name: '' }, 400, 'validation_error', 'name'],
    ]
    for (const [body, status, code, param] of cases) {
      const reply = await root.ask('POST', '/wallets', body)
      const { code: found, param: named } = reply.error
      expect([reply.status, found, named], JSON.stringify(body)).toEqual([status, code, param])
    }
    const replies = await Promise.all(
      Array.from({ length: 5 }, () => root.ask('POST', '/wallets', { project_id: project })),
    )
    expect(replies.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([
      200, 409, 409, 409, 409,
    ])
    const { id } = replies.find(({ status }) => status === 200)?.body ?? {}
    for (const { error } of replies.filter(({ status }) => status === 409))
      expect(error['wallet_id']).toBe(id)
  })

  it('takes settings that are exact, and refuses the rest by name', async () => {
    const { id } = await makeWallet()
    const patch = (body: object): ReturnType<Tenant['ask']> =>
      root.ask('PATCH', `/wallets/${id}`, body)
    const wrong: readonly (readonly [object, string])[] = [
      [{ credit_line: -1 }, 'credit_line'],
      [{ credit_line: '5' }, 'credit_line'],
      [{ credit_line: 0.0000000001 }, 'credit_line'],
      [{ credit_line: 9_000_001 }, 'credit_line'],
      [{ spending_limit: 1e300 }, 'spending_limit'],
      [{ spending_limit: 1, spending_period: 'weekly' }, 'spending_period'],
      [{ spending_period: 'daily' }, 'spending_limit'],
      [{ owner: 'user' }, 'owner'],
      [{ project_id: 'x' }, 'project_id'],
      [{ name: null }, 'name'],
    ]
    for (const [body, param] of wrong) {
      const { status, error } = await patch(body)
      expect([status, error['param']], JSON.stringify(body)).toEqual([400, param])
    }
    const { body } = await patch({ name: 'n', credit_line: 0.000000001, spending_limit: 3 })
    expect(body).toMatchObject({ name: 'n', spending_limit: 3, spending_period: 'monthly' })
    expect(await textOf(`/wallets/${id}`)).toContain('"credit_line":0.000000001,')
    expect((await patch({ credit_line: null })).body).toMatchObject({ credit_line: null })
    const open = await patch({ spending_limit: null })
    expect(open.body).toMatchObject({ available_usd: null, spending_period: null })
  })

  it('is listed by owner, status and name, and another account sees none of it', async () => {
    const { id: user } = await root.make('/users', { name: 'u' })
    const wallet = await root.make('/wallets', { user_id: user, name: 'Findable' })
    const idsOf = async (query: string, tenant = root): Promise<readonly unknown[]> =>
      (await tenant.ask('GET', `/wallets?limit=100&${query}`)).data.map((each) => each['id'])
    expect(await idsOf(`user_id=${user}`)).toEqual([wallet.id])
    expect(await idsOf(`project_id=${user}&owner=project`)).toEqual([])
    expect(await idsOf('name=findable&owner=user&status=exhausted')).toEqual([wallet.id])
    expect(await idsOf('owner=account')).toHaveLength(1)
    expect(await idsOf('', other)).not.toContain(wallet.id)
    const theirs = [
      ['GET', `/wallets/${wallet.id}`],
      ['GET', `/wallets/${wallet.id}/credits`],
      ['PATCH', `/wallets/${wallet.id}`, { name: 'x' }],
      ['DELETE', `/wallets/${wallet.id}`],
      ['POST', `/wallets/${wallet.id}/credits`, { amount_usd: 1, reason: 'x' }],
    ] as const
    for (const [method, path, body] of theirs) {
      const unknown = await other.ask(method, path.replace(wallet.id, 'wal_none'), body)
      const reply = await other.ask(method, path, body)
      expect([reply.status, reply.error], path).toEqual([404, unknown.error])
    }
  })
})

describe('a credit', () => {
  it('is an entry with who and why, and the only thing that changes a balance', async () => {
    const wallet = await makeWallet()
    const first = await credit(wallet, { amount_usd: 10.000000001, reference: 'INV-1' })
    expect(first.body).toMatchObject({
      wallet_id: wallet.id,
      amount_usd: 10.000000001,
      reason: 'test',
      reference: 'INV-1',
      balance_usd: 10.000000001,
    })
    const second = await credit(wallet, { amount_usd: -4, reason: 'sent back' })
    expect(second.body['balance_usd']).toBe(6.000000001)
    const statement = await root.get(`/wallets/${wallet.id}/credits?limit=1`)
    const [newest] = statement['data'] as Json[]
    expect(newest).toMatchObject({ amount_usd: -4, reason: 'sent back', reference: null })
    expect(String(newest?.['by'])).toStartWith('key_')
    expect(String(newest?.['request_id'])).toStartWith('req_')
    const rest = await root.get(
      `/wallets/${wallet.id}/credits?cursor=${String(statement['next_cursor'])}`,
    )
    expect(rest['data']).toHaveLength(1)
    expect(await root.get(`/wallets/${wallet.id}`)).toMatchObject({
      balance_usd: 6.000000001,
      available_usd: 6.000000001,
      status: 'active',
    })
  })

  it('is refused where the amount is nothing, not exact, too large, or unexplained', async () => {
    const wallet = await makeWallet()
    const wrong: readonly (readonly [string, string])[] = [
      ['{"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":1}', 'reason'],
      ['{"amount_usd":null,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":0,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":-0.0,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":"5","reason":"x"}', 'amount_usd'],
      ['{"amount_usd":0.0000000001,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":-1.0000000001,"reason":"x"}', 'amount_usd'],
      // Two amounts a nano-dollar apart are the same number here.
      ['{"amount_usd":8999999.999999999,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":9000000.000000001,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":1e30,"reason":"x"}', 'amount_usd'],
      ['{"amount_usd":1,"reason":" "}', 'reason'],
      [`{"amount_usd":1,"reason":"${'x'.repeat(501)}"}`, 'reason'],
      ['{"amount_usd":1,"reason":"x","reference":""}', 'reference'],
      [`{"amount_usd":1,"reason":"x","reference":"${'x'.repeat(201)}"}`, 'reference'],
      ['{"amount_usd":1,"reason":"x","by":"somebody"}', 'by'],
    ]
    for (const [body, param] of wrong) {
      const reply = await root.ask('POST', `/wallets/${wallet.id}/credits`, body)
      expect([reply.status, reply.error['param']], body).toEqual([400, param])
    }
    const { error } = await credit(wallet, { amount_usd: 9_000_001 })
    expect(error['message']).toContain('from -9000000 to 9000000')
    expect(await root.get(`/wallets/${wallet.id}/credits`)).toMatchObject({ data: [] })
  })

  it('never takes a balance further than nine million from zero', async () => {
    const wallet = await makeWallet({ credit_line: 9_000_000 })
    expect((await credit(wallet, { amount_usd: 9_000_000 })).status).toBe(200)
    const beyond = await credit(wallet, { amount_usd: 0.000000001 })
    expect([beyond.status, beyond.error['param']]).toEqual([400, 'amount_usd'])
    expect((await credit(wallet, { amount_usd: -9_000_000 })).body['balance_usd']).toBe(0)
  })

  it('is booked once for each reference of a wallet, also when fifty ask at once', async () => {
    const wallet = await makeWallet()
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => credit(wallet, { amount_usd: 1, reference: 'same' })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    const codes = new Set(replies.map(({ error }) => error['code']).filter(Boolean))
    expect([...codes]).toEqual(['conflict'])
    expect(await root.get(`/wallets/${wallet.id}`)).toMatchObject({ balance_usd: 1 })
    expect((await credit(await makeWallet(), { amount_usd: 1, reference: 'same' })).status).toBe(
      200,
    )
  })

  it('takes back no more than there is, whoever else does so at the same moment', async () => {
    const wallet = await makeWallet()
    await credit(wallet, { amount_usd: 5 })
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => credit(wallet, { amount_usd: -2 })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(2)
    expect(replies.find(({ status }) => status !== 200)?.error['code']).toBe('conflict')
    expect(await root.get(`/wallets/${wallet.id}`)).toMatchObject({ balance_usd: 1 })
  })
})

describe('closing a wallet', () => {
  it('is refused while money is in it, and final once it is not', async () => {
    const { id: project } = await makeProject()
    const wallet = await root.make('/wallets', { project_id: project })
    await credit(wallet, { amount_usd: 0.5 })
    const early = await root.ask('DELETE', `/wallets/${wallet.id}`)
    expect([early.status, early.error['code']]).toEqual([409, 'conflict'])
    expect(early.error['balance_usd']).toBe(0.5)
    await credit(wallet, { amount_usd: -0.5 })
    const closed = await root.ask('DELETE', `/wallets/${wallet.id}`)
    expect(closed.body).toMatchObject({ id: wallet.id, status: 'closed' })
    expect((await root.ask('DELETE', `/wallets/${wallet.id}`)).body).toEqual(closed.body)
    expect((await credit(wallet, { amount_usd: 1 })).error['code']).toBe('conflict')
    expect((await root.ask('PATCH', `/wallets/${wallet.id}`, { name: 'x' })).status).toBe(409)
    const next = await root.make('/wallets', { project_id: project })
    expect(next.id).not.toBe(wallet.id)
  })

  it('of an account leaves its calls without a payer until it has another', async () => {
    const account = await openAccount(gateway.url, 'unpaid')
    expect((await call(account.secret)).status).toBe(200)
    const { wallet_id: wallet } = await account.get('/account')
    expect((await account.ask('DELETE', `/wallets/${String(wallet)}`)).status).toBe(200)
    const refused = await call(account.secret)
    expect([refused.status, refused.error['code']]).toEqual([402, 'payment_required'])
    expect((await account.get('/account'))['wallet_id']).toBeNull()
    const made = await account.make('/wallets', { account: true })
    expect(made).toMatchObject({ owner: 'account', owner_id: account.id, credit_line: null })
    expect((await call(account.secret)).status).toBe(200)
  })
})

describe('calls', () => {
  it('take what they cost from the wallet that pays, and nothing else', async () => {
    const project = await makeProject({ payer: 'project' })
    const wallet = await root.make('/wallets', { project_id: project.id })
    await credit(wallet, { amount_usd: 1 })
    const { cost } = await call(root.secret, { 'x-svc-project': project.id })
    expect(cost).toBeGreaterThan(0)
    const shown = await root.get(`/wallets/${wallet.id}`)
    expect(shown['balance_usd']).toBeCloseTo(1 - cost, 9)
    expect(shown).toMatchObject({ spent_usd: cost, held_usd: 0, status: 'active' })
  })

  it('are refused when their payer has spent what it may, and go on when that is raised', async () => {
    const project = await makeProject({ payer: 'project' })
    const wallet = await root.make('/wallets', { project_id: project.id, spending_limit: 0 })
    await credit(wallet, { amount_usd: 1 })
    const asProject = { 'x-svc-project': project.id }
    expect(await root.get(`/wallets/${wallet.id}`)).toMatchObject({ status: 'exhausted' })
    const refused = await call(root.secret, asProject)
    expect([refused.status, refused.error['code']]).toEqual([403, 'billing_limit_reached'])
    await root.ask('PATCH', `/wallets/${wallet.id}`, { spending_limit: 1 })
    expect((await call(root.secret, asProject)).status).toBe(200)
  })

  it('leave a balance that a restart finds again', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-wallets-'))
    const environment = { GATEWAY_DATA: join(folder, 'data') }
    const first = await startGateway({ environment })
    const { wallet_id: wallet } = await tenantAt(first.url).get('/account')
    const path = `/wallets/${String(wallet)}`
    const reply = await first.chat({
      model: 'demo/chat',
      messages: [{ role: 'user', content: 'x' }],
    })
    await reply.arrayBuffer()
    const shown = await tenantAt(first.url).get(path)
    expect(shown['balance_usd']).toBe(-Number(reply.headers.get('x-svc-cost-usd')))
    await first.drain()
    const second = await startGateway({ environment })
    try {
      expect(await tenantAt(second.url).get(path)).toEqual(shown)
    } finally {
      await second.stop()
      await first.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

describe('payers', () => {
  it('of a call without a project are the account alone', async () => {
    const { id, wallet_id: wallet, name } = await root.get('/account')
    expect(await root.get('/payers')).toMatchObject({
      object: 'payers',
      project_id: null,
      pinned: null,
      payer: wallet,
      estimate_usd: 0.000000001,
      chain: [
        {
          link: 'caller',
          owner: 'account',
          owner_id: id,
          owner_name: name,
          wallet_id: wallet,
          available_usd: null,
          state: 'pays',
        },
      ],
    })
  })

  it('without an estimate do not count who can pay for nothing that has a price', async () => {
    const project = await makeProject({ payer: 'project' })
    const own = await root.make('/wallets', { project_id: project.id })
    const told = async (estimate = ''): Promise<unknown> => {
      const { payer, chain } = await root.get(`/payers?project_id=${project.id}${estimate}`)
      const [{ state, available_usd: available } = {}] = chain as Json[]
      return [payer, state, available]
    }
    expect(await told()).toEqual([null, 'funds', 0])
    expect(await told('&estimate_usd=0')).toEqual([own.id, 'pays', 0])
    await credit(own, { amount_usd: 0.000000001 })
    expect(await told()).toEqual([own.id, 'pays', 0.000000001])
    await root.ask('PATCH', `/wallets/${own.id}`, { spending_limit: 0 })
    expect(await told()).toEqual([null, 'limit', 0])
  })

  it('tell of a closed wallet, also after another start', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-closed-'))
    const environment = { GATEWAY_DATA: join(folder, 'data') }
    try {
      const first = await startGateway({ environment })
      const own = tenantAt(first.url)
      const { id: project } = await own.make('/projects', { name: 'p' })
      const { id: wallet } = await own.make('/wallets', { project_id: project })
      await own.ask('DELETE', `/wallets/${wallet}`)
      const place = { link: 'project', wallet_id: wallet, state: 'closed', available_usd: 0 }
      const read = (url: string): Promise<Json> =>
        tenantAt(url).get(`/payers?project_id=${project}`)
      expect(await read(first.url)).toMatchObject({ chain: [place, {}, {}, { state: 'pays' }] })
      await first.drain()
      const next = await startGateway({ environment })
      expect(await read(next.url)).toMatchObject({ chain: [place, {}, {}, { state: 'pays' }] })
      await next.stop()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('show a token what is in the wallets of its projects, and in no other', async () => {
    const delegate = await root.make('/users', { name: 'delegate' })
    const project = await makeProject({ delegate_user_id: delegate.id })
    const own = await root.make('/wallets', { project_id: project.id, credit_line: 2 })
    const { id: theirs } = await root.make('/wallets', { user_id: delegate.id, credit_line: 3 })
    const token = await root.make('/tokens', { name: 't', project_id: project.id, manage: true })
    const seen = async (tenant: Tenant): Promise<unknown> => {
      const { chain } = await tenant.get(`/payers?project_id=${project.id}`)
      return (chain as Json[]).map((place) => [place['wallet_id'], place['available_usd']])
    }
    const { wallet_id: account } = await root.get('/account')
    const manager = tenantAt(gateway.url, String(token['key']))
    const rest = [account, null]
    expect(await seen(root)).toEqual([[own.id, 2], [null, null], [theirs, 3], rest])
    expect(await seen(manager)).toEqual([[own.id, 2], [null, null], [theirs, null], rest])
  })

  it('are told place by place, with the reason of each that does not pay', async () => {
    const billed = await root.make('/users', { name: 'billed' })
    const delegate = await root.make('/users', { name: 'delegate' })
    const organisation = await root.make('/organisations', {
      name: 'o',
      billing_user_id: billed.id,
    })
    const project = await makeProject({
      organisation_id: organisation.id,
      delegate_user_id: delegate.id,
    })
    const own = await root.make('/wallets', { project_id: project.id })
    const limited = await root.make('/wallets', {
      user_id: billed.id,
      credit_line: 9,
      spending_limit: 1,
    })
    await credit(own, { amount_usd: 1 })
    const statesAt = async (estimate: string): Promise<unknown> => {
      const { chain, payer } = await root.get(
        `/payers?project_id=${project.id}&estimate_usd=${estimate}`,
      )
      return [payer, (chain as Json[]).map(({ link, state }) => `${String(link)} ${String(state)}`)]
    }
    expect(await statesAt('0.5')).toEqual([
      own.id,
      ['project pays', 'organisation ready', 'delegate none', 'caller ready'],
    ])
    const { wallet_id: account } = await root.get('/account')
    expect(await statesAt('5')).toEqual([
      account,
      ['project funds', 'organisation limit', 'delegate none', 'caller pays'],
    ])
    const { chain } = await root.get(`/payers?project_id=${project.id}`)
    expect(chain).toMatchObject([
      { owner: 'project', owner_id: project.id, owner_name: 'project', wallet_id: own.id },
      { owner: 'user', owner_id: billed.id, owner_name: 'billed', wallet_id: limited.id },
      { owner: 'user', owner_id: delegate.id, owner_name: 'delegate', wallet_id: null },
      { owner: 'account', wallet_id: account },
    ])
    await root.ask('PATCH', `/projects/${project.id}`, { payer: 'delegate' })
    expect(await root.get(`/payers?project_id=${project.id}`)).toMatchObject({
      pinned: 'delegate',
      payer: null,
      chain: [{ link: 'delegate', state: 'none' }],
    })
  })

  it('of a credential are those of the project and the user that it is for', async () => {
    const user = await root.make('/users', { name: 'jo' })
    const wallet = await root.make('/wallets', { user_id: user.id, credit_line: 1 })
    const key = await root.make('/keys', { name: 'k', user_id: user.id })
    expect(await root.get(`/payers?key_id=${key.id}`)).toMatchObject({
      key_id: key.id,
      payer: wallet.id,
      chain: [{ link: 'caller', owner: 'user', owner_id: user.id }],
    })
    const project = await makeProject()
    const token = await root.make('/tokens', { name: 't', project_id: project.id, manage: true })
    expect(await root.get(`/payers?token_id=${token.id}`)).toMatchObject({ project_id: project.id })
    const manager = tenantAt(gateway.url, String(token['key']))
    expect(await manager.get('/payers')).toMatchObject({ project_id: project.id })
    const hidden = await manager.ask('GET', `/payers?key_id=${key.id}`)
    const unknown = await manager.ask('GET', '/payers?key_id=key_none')
    expect([hidden.status, hidden.error]).toEqual([404, unknown.error])
    const { id: foreign } = await makeProject()
    expect((await manager.ask('GET', `/payers?project_id=${foreign}`)).status).toBe(404)
    expect((await other.ask('GET', `/payers?key_id=${key.id}`)).status).toBe(404)
  })

  it('are asked for in one way at a time', async () => {
    for (const query of [
      'project_id=a&key_id=b',
      'estimate_usd=-1',
      'estimate_usd=99999999',
      'estimate_usd=x',
      'project_id=',
    ])
      expect((await root.ask('GET', `/payers?${query}`)).error['code']).toBe('validation_error')
    const { error: large } = await root.ask('GET', '/payers?estimate_usd=99999999')
    expect(large['message']).toContain('from 0 to 9000000')
    for (const name of ['user_id', 'cursor', 'limit']) {
      const { error } = await root.ask('GET', `/payers?${name}=1`)
      expect(error).toMatchObject({ code: 'unsupported_parameter', param: name })
    }
  })
})

// Accounts and what is behind them, through a real gateway: who sees what, what may be written, what may be ended.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeClock } from './fakes/clock.ts'
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

const KINDS = [
  { path: '/organisations', prefix: 'org_', others: { billing_user_id: null, native: true } },
  { path: '/users', prefix: 'usr_', others: { email: null } },
  {
    path: '/projects',
    prefix: 'prj_',
    others: { organisation_id: null, delegate_user_id: null, payer: null, metadata: {} },
  },
  { path: '/teams', prefix: 'team_', others: { project_ids: [] } },
] as const

describe.each(KINDS)('$path', ({ path, prefix, others }) => {
  it('makes a record, reads it, renames it and ends it for good', async () => {
    const made = await root.make(path, { name: 'first' })
    expect(made.id).toStartWith(prefix)
    expect(made).toMatchObject({ name: 'first', ...others, status: 'active', ended_at: null })
    expect(String(made['created'])).toEndWith('Z')
    expect(await root.get(`${path}/${made.id}`)).toEqual(made)
    const renamed = await root.ask('PATCH', `${path}/${made.id}`, { name: 'second' })
    expect(renamed.body).toEqual({ ...made, name: 'second' })
    const ended = await root.ask('DELETE', `${path}/${made.id}`)
    expect(ended.body).toMatchObject({ id: made.id, status: 'ended' })
    expect((await root.ask('DELETE', `${path}/${made.id}`)).body).toEqual(ended.body)
    expect(await root.get(`${path}/${made.id}`)).toMatchObject({
      name: 'second',
      status: 'ended',
      ended_at: ended.body['ended_at'],
    })
    const late = await root.ask('PATCH', `${path}/${made.id}`, { name: 'third' })
    expect([late.status, late.error['code']]).toEqual([409, 'conflict'])
  })

  it('needs a name', async () => {
    for (const body of [{}, { name: null }]) {
      const { status, error } = await root.ask('POST', path, body)
      expect([status, error['code'], error['param']]).toEqual([400, 'missing_fields', 'name'])
    }
    for (const name of ['', '  ', 7, [], 'x'.repeat(201)]) {
      const { status, error } = await root.ask('POST', path, { name })
      expect([status, error['code'], error['param']]).toEqual([400, 'validation_error', 'name'])
    }
    const { id } = await root.make(path, { name: 'x'.repeat(200) })
    for (const body of [{}, { name: null }])
      expect((await root.ask('PATCH', `${path}/${id}`, body)).status).toBe(400)
  })

  it('refuses by name what nobody may write, on creation and on change', async () => {
    const { id } = await root.make(path, { name: 'kept' })
    const before = await root.get(`${path}/${id}`)
    const names = [
      'id',
      'account_id',
      'created',
      'ended_at',
      'status',
      'role',
      'scopes',
      '__proto__',
    ]
    for (const name of names) {
      const text = `{"name":"x",${JSON.stringify(name)}:"y"}`
      for (const [method, at] of [
        ['POST', path],
        ['PATCH', `${path}/${id}`],
      ] as const) {
        const { status, error } = await root.ask(method, at, text)
        expect([status, error['code'], error['param']]).toEqual([
          400,
          'unsupported_parameter',
          name,
        ])
      }
    }
    expect(await root.get(`${path}/${id}`)).toEqual(before)
  })

  it("shows another account's id as one that nobody has", async () => {
    const { id } = await other.make(path, { name: 'theirs' })
    const unknown = `${id.slice(0, -4)}AAAA`
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { name: 'mine' }]] as const) {
      const theirs = await root.ask(method, `${path}/${id}`, body)
      const nobodys = await root.ask(method, `${path}/${unknown}`, body)
      expect([theirs.status, theirs.error]).toEqual([404, nobodys.error])
    }
    expect(await other.get(`${path}/${id}`)).toMatchObject({ name: 'theirs', status: 'active' })
    const { data } = await root.ask('GET', `${path}?limit=100`)
    expect(data.map((each) => each['id'])).not.toContain(id)
  })

  it('is closed to keys, and to tokens that do not manage', async () => {
    const { key } = await gateway.createKey({ name: 'caller' })
    const caller = tenantAt(gateway.url, key)
    for (const [method, body] of [['GET'], ['POST', { name: 'x' }]] as const)
      expect((await caller.ask(method, path, body)).error['code']).toBe('permission_denied')
  })

  it('is listed newest first, page by page, by a part of the name and by status', async () => {
    const mark = `page${path.slice(1, 4)}`
    const ids: string[] = []
    for (const name of ['A', 'b', 'C'])
      ids.unshift((await root.make(path, { name: mark + name })).id)
    await root.ask('DELETE', `${path}/${ids[1]}`)
    const walk: unknown[] = []
    let cursor = ''
    for (let page = 0; page < 3; page++) {
      const { body, data } = await root.ask('GET', `${path}?limit=1&name=${mark}${cursor}`)
      walk.push(...data.map((each) => each['id']))
      expect(body['has_more']).toBe(page < 2)
      cursor = `&cursor=${String(body['next_cursor'])}`
    }
    expect(walk).toEqual(ids)
    const idsOf = async (query: string): Promise<unknown> =>
      (await root.ask('GET', `${path}?${query}`)).data.map((each) => each['id'])
    expect(await idsOf(`name=${mark.toUpperCase()}&status=active`)).toEqual([ids[0], ids[2]])
    expect(await idsOf(`name=${mark}&status=ended`)).toEqual([ids[1]])
    for (const query of [
      'status=gone',
      'limit=0',
      'limit=101',
      'cursor=x',
      'name=',
      'name=a&name=b',
    ])
      expect((await root.ask('GET', `${path}?${query}`)).error['code']).toBe('validation_error')
    const { error } = await root.ask('GET', `${path}?nam=x`)
    expect([error['code'], error['param']]).toEqual(['unsupported_parameter', 'nam'])
  })
})

describe('references', () => {
  it('lead only to what this account has and has not ended', async () => {
    const cases = [
      ['/organisations', 'billing_user_id', '/users', (id: string) => id],
      ['/projects', 'organisation_id', '/organisations', (id: string) => id],
      ['/projects', 'delegate_user_id', '/users', (id: string) => id],
      ['/teams', 'project_ids', '/projects', (id: string) => [id]],
    ] as const
    for (const [path, field, target, toValue] of cases) {
      const { id: theirs } = await other.make(target, { name: 'theirs' })
      const { id: gone } = await root.make(target, { name: 'gone' })
      await root.ask('DELETE', `${target}/${gone}`)
      const { id: kept } = await root.make(path, { name: 'kept' })
      const tries = [
        [theirs, 404, 'not_found'],
        [`${theirs}x`, 404, 'not_found'],
        [gone, 409, 'conflict'],
      ] as const
      for (const [id, status, code] of tries)
        for (const [method, at] of [
          ['POST', path],
          ['PATCH', `${path}/${kept}`],
        ] as const) {
          const reply = await root.ask(method, at, { name: 'x', [field]: toValue(id) })
          expect([reply.status, reply.error['code'], reply.error['param']]).toEqual([
            status,
            code,
            field,
          ])
        }
      expect(await root.get(`${path}/${kept}`)).toMatchObject({ name: 'kept' })
    }
  })

  it('of another kind of record are unknown', async () => {
    const { id } = await root.make('/users', { name: 'user' })
    const { status } = await root.ask('POST', '/projects', { name: 'x', organisation_id: id })
    expect(status).toBe(404)
  })

  it('can be taken away by null, and null at creation is absence', async () => {
    const { id: user } = await root.make('/users', { name: 'u', email: null })
    const { id } = await root.make('/organisations', { name: 'o', billing_user_id: user })
    const { body } = await root.ask('PATCH', `/organisations/${id}`, { billing_user_id: null })
    expect(body['billing_user_id']).toBeNull()
  })
})

describe('an organisation', () => {
  it('may be kept from native sign-ins, and let to them again', async () => {
    const { id } = await root.make('/organisations', { name: 'without', native: false })
    const at = `/organisations/${id}`
    expect(await root.get(at)).toMatchObject({ name: 'without', native: false })
    const renamed = await root.ask('PATCH', at, { name: 'renamed' })
    expect(renamed.body).toMatchObject({ name: 'renamed', native: false })
    expect((await root.ask('PATCH', at, { native: true })).body).toMatchObject({ native: true })
    for (const native of [null, 'off', 0, 'false', []]) {
      const { status, error } = await root.ask('PATCH', at, { native })
      expect([status, error['param']]).toEqual([400, 'native'])
      expect(String(error['message'])).toContain('Send `native` as true')
    }
    expect(await root.get(at)).toMatchObject({ native: true })
    expect(await root.make('/organisations', { name: 'n', native: null })).toMatchObject({
      native: true,
    })
  })
})

describe('an email', () => {
  it('is plausible and unique among the users that an account has not ended', async () => {
    for (const email of [
      '',
      'jo',
      'jo@',
      '@x.org',
      'a b@x.org',
      'jo@x',
      7,
      `${'x'.repeat(255)}@x.org`,
    ])
      expect((await root.ask('POST', '/users', { name: 'x', email })).error['param']).toBe('email')
    const { id } = await root.make('/users', { name: 'jo', email: 'jo@example.com' })
    const twin = await root.ask('POST', '/users', { name: 'two', email: 'JO@example.com' })
    expect([twin.status, twin.error['code'], twin.error['param']]).toEqual([
      409,
      'conflict',
      'email',
    ])
    await other.make('/users', { name: 'jo', email: 'jo@example.com' })
    expect((await root.ask('PATCH', `/users/${id}`, { email: 'jo@example.com' })).status).toBe(200)
    expect((await root.ask('GET', '/users?email=Jo@example.com')).data).toHaveLength(1)
    await root.ask('DELETE', `/users/${id}`)
    await root.make('/users', { name: 'two', email: 'jo@example.com' })
  })

  it('is given once, however many ask for it at the same time', async () => {
    const email = 'many@example.com'
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => root.ask('POST', '/users', { name: 'x', email })),
    )
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  })
})

describe('projects', () => {
  it('are found by organisation and by labels', async () => {
    const { id: organisation } = await root.make('/organisations', { name: 'found' })
    const labels = { tier: 'gold', 'cost centre': '7' }
    const { id } = await root.make('/projects', {
      name: 'a',
      organisation_id: organisation,
      metadata: labels,
    })
    await root.make('/projects', {
      name: 'b',
      organisation_id: organisation,
      metadata: { tier: 'tin' },
    })
    const idsOf = async (query: string): Promise<unknown> =>
      (await root.ask('GET', `/projects?${query}`)).data.map((each) => each['id'])
    const gold = `organisation_id=${organisation}&metadata.tier=gold`
    expect(await idsOf(gold)).toEqual([id])
    expect(await idsOf(`${gold}&metadata.cost%20centre=7`)).toEqual([id])
    expect(await idsOf(`${gold}&metadata.cost%20centre=8`)).toEqual([])
    expect(await idsOf('metadata.constructor=x')).toEqual([])
    expect((await root.ask('GET', `/projects?organisation_id=${organisation}`)).data).toHaveLength(
      2,
    )
  })

  it('pin one place of the chain, or none', async () => {
    const { id } = await root.make('/projects', { name: 'pinned', payer: 'delegate' })
    expect(await root.get(`/projects/${id}`)).toMatchObject({ payer: 'delegate' })
    expect((await root.ask('PATCH', `/projects/${id}`, { payer: null })).body['payer']).toBeNull()
    const { error } = await root.ask('PATCH', `/projects/${id}`, { payer: 'nobody' })
    expect([error['code'], error['param']]).toEqual(['validation_error', 'payer'])
  })

  it('are seen by a token that manages as far as they are its own', async () => {
    const { id: own } = await root.make('/projects', { name: 'own' })
    const { id: foreign } = await root.make('/projects', { name: 'foreign' })
    const { id: team } = await root.make('/teams', { name: 'team', project_ids: [own] })
    const made = await root.make('/tokens', { name: 't', team_id: team, manage: true })
    const token = tenantAt(gateway.url, String(made['key']))
    expect((await token.ask('GET', '/projects')).data.map((each) => each['id'])).toEqual([own])
    expect(await token.get(`/teams/${team}`)).toMatchObject({ project_ids: [own] })
    const hidden = await token.ask('GET', `/projects/${foreign}`)
    const unknown = await token.ask('GET', '/projects/prj_none')
    expect([hidden.status, hidden.error]).toEqual([404, unknown.error])
    const writes = [
      ['POST', '/projects', { name: 'x' }],
      ['PATCH', `/projects/${own}`, { name: 'x' }],
      ['DELETE', `/projects/${own}`],
      ['GET', '/users'],
      ['GET', '/wallets'],
      ['GET', '/actions'],
      ['GET', '/account'],
      ['GET', '/accounts'],
    ] as const
    for (const [method, path, body] of writes) {
      const { status, error } = await token.ask(method, path, body)
      expect([status, error['code']], path).toEqual([403, 'permission_denied'])
    }
  })
})

describe('what is still needed', () => {
  const expectNeeded = async (path: string, type: string, id: string): Promise<void> => {
    const { status, error } = await root.ask('DELETE', path)
    expect([status, error['code']]).toEqual([409, 'conflict'])
    expect(error['in_the_way']).toEqual([{ type, id }])
    expect(String(error['message'])).toContain(id)
  }

  it('keeps a project with live credentials, and lets it go when they are revoked', async () => {
    const { id } = await root.make('/projects', { name: 'p' })
    const key = await root.make('/keys', { name: 'k', project_id: id })
    await expectNeeded(`/projects/${id}`, 'credential', key.id)
    await root.ask('DELETE', `/keys/${key.id}`)
    expect((await root.ask('DELETE', `/projects/${id}`)).status).toBe(200)
    const late = await root.ask('POST', '/keys', { name: 'late', project_id: id })
    expect([late.status, late.error['code']]).toEqual([409, 'conflict'])
  })

  it('keeps a project with money in its wallet, and closes an empty one with it', async () => {
    const { id } = await root.make('/projects', { name: 'p' })
    const wallet = await root.make('/wallets', { project_id: id })
    await root.make(`/wallets/${wallet.id}/credits`, { amount_usd: 1, reason: 'test' })
    await expectNeeded(`/projects/${id}`, 'wallet', wallet.id)
    const { error } = await root.ask('DELETE', `/projects/${id}`)
    expect(error['message']).toContain('take back what is in the wallet, then close it')
    await root.make(`/wallets/${wallet.id}/credits`, { amount_usd: -1, reason: 'test' })
    expect((await root.ask('DELETE', `/projects/${id}`)).status).toBe(200)
    expect(await root.get(`/wallets/${wallet.id}`)).toMatchObject({ status: 'closed' })
  })

  it('keeps a project that a team has, until the team is ended', async () => {
    const { id } = await root.make('/projects', { name: 'p' })
    const team = await root.make('/teams', { name: 't', project_ids: [id] })
    await expectNeeded(`/projects/${id}`, 'team', team.id)
    expect((await root.ask('DELETE', `/teams/${team.id}`)).status).toBe(200)
    expect((await root.ask('DELETE', `/projects/${id}`)).status).toBe(200)
  })

  it('keeps a user who is billed, is delegated to, owns a credential or has a wallet', async () => {
    const cases = [
      ['/organisations', 'billing_user_id', 'organisation'],
      ['/projects', 'delegate_user_id', 'project'],
      ['/keys', 'user_id', 'credential'],
    ] as const
    for (const [path, field, type] of cases) {
      const { id } = await root.make('/users', { name: 'u' })
      const { id: needed } = await root.make(path, { name: 'x', [field]: id })
      await expectNeeded(`/users/${id}`, type, needed)
      await root.ask('DELETE', `${path}/${needed}`)
      expect((await root.ask('DELETE', `/users/${id}`)).status).toBe(200)
    }
    const { id } = await root.make('/users', { name: 'u' })
    const wallet = await root.make('/wallets', { user_id: id })
    await expectNeeded(`/users/${id}`, 'wallet', wallet.id)
  })

  it('keeps an organisation with projects and a team with tokens', async () => {
    const organisation = await root.make('/organisations', { name: 'o' })
    const project = await root.make('/projects', { name: 'p', organisation_id: organisation.id })
    await expectNeeded(`/organisations/${organisation.id}`, 'project', project.id)
    const team = await root.make('/teams', { name: 't', project_ids: [project.id] })
    const token = await root.make('/tokens', { name: 'k', team_id: team.id })
    await expectNeeded(`/teams/${team.id}`, 'credential', token.id)
  })

  it('is never ended in the moment in which a credential is made for it', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await root.make('/projects', { name: 'race' })
      const [made, ended] = await Promise.all([
        root.ask('POST', '/keys', { name: 'k', project_id: id }),
        root.ask('DELETE', `/projects/${id}`),
      ])
      expect([made.status, ended.status].toSorted((one, two) => one - two)).toEqual([200, 409])
    }
  })
})

describe('accounts', () => {
  it('are opened by the operator, each with a root key that is shown once and a wallet', async () => {
    const made = await root.make('/accounts', { name: 'new' })
    expect(Object.keys(made)).toEqual(['id', 'name', 'root_key', 'created'])
    expect(String(made['root_key'])).toStartWith('svc_')
    const mine = await tenantAt(gateway.url, String(made['root_key'])).get('/account')
    expect(mine).toMatchObject({ id: made.id, name: 'new', status: 'active', is_operator: false })
    expect(await root.get(`/accounts/${made.id}`)).toEqual(mine)
    expect(JSON.stringify(mine)).not.toContain('svc_')
    const { data } = await root.ask('GET', '/accounts?name=new')
    expect(data).toEqual([mine])
  })

  it('begin with an open end and may call at once', async () => {
    const { wallet_id: wallet } = await other.get('/account')
    const shown = await other.get(`/wallets/${String(wallet)}`)
    expect(shown).toMatchObject({ owner: 'account', credit_line: null, available_usd: null })
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo/chat', messages: [{ role: 'user', content: 'hi' }] }),
    })
    expect(response.status).toBe(200)
    await response.arrayBuffer()
  })

  it('are nobody else’s business', async () => {
    const asks = [
      ['GET', '/accounts'],
      ['POST', '/accounts', { name: 'x' }],
      ['GET', `/accounts/${other.id}`],
      ['PATCH', `/accounts/${other.id}`, { name: 'x' }],
      ['POST', `/accounts/${other.id}/rotate`, {}],
      ['DELETE', `/accounts/${other.id}`],
    ] as const
    for (const [method, path, body] of asks) {
      const { status, error } = await other.ask(method, path, body)
      expect([status, error['code']], path).toEqual([403, 'permission_denied'])
    }
  })

  it('are renamed', async () => {
    const { id } = await openAccount(gateway.url, 'before')
    expect((await root.ask('PATCH', `/accounts/${id}`, { name: 'after' })).body['name']).toBe(
      'after',
    )
    for (const body of [{ id: 'x' }, { wallet_id: 'x' }, { name: null }, {}])
      expect((await root.ask('PATCH', `/accounts/${id}`, body)).status).toBe(400)
    expect((await root.ask('PATCH', '/accounts/acc_none', { name: 'x' })).status).toBe(404)
  })

  it('get another root key, and the old one ends at once or after a while', async () => {
    const account = await openAccount(gateway.url, 'rotated')
    const second = await root.ask('POST', `/accounts/${account.id}/rotate`, {})
    expect(second.body).toMatchObject({ id: account.id, previous_secret_until: null })
    expect((await account.ask('GET', '/account')).status).toBe(401)
    const next = tenantAt(gateway.url, String(second.body['root_key']))
    await next.get('/account')
    const third = await root.ask('POST', `/accounts/${account.id}/rotate`, { overlap_seconds: 60 })
    expect(String(third.body['previous_secret_until'])).toEndWith('Z')
    await next.get('/account')
    await tenantAt(gateway.url, String(third.body['root_key'])).get('/account')
    for (const overlap_seconds of [-1, 1.5, 'x', 2_592_001])
      expect(
        (await root.ask('POST', `/accounts/${account.id}/rotate`, { overlap_seconds })).error[
          'param'
        ],
      ).toBe('overlap_seconds')
  })

  it('end an old root key by the clock on the wall, also where the books are ahead of it', async () => {
    const clock = createFakeClock()
    const early = await startGateway({ clock })
    try {
      const account = await openAccount(early.url, 'early')
      clock.jump(-86_400_000)
      const operator = tenantAt(early.url)
      const path = `/accounts/${account.id}/rotate`
      const { status } = await operator.ask('POST', path, { overlap_seconds: 60 })
      expect(status).toBe(200)
      await account.get('/account')
      clock.advance(60_000)
      expect((await account.ask('GET', '/account')).status).toBe(401)
    } finally {
      await early.stop()
    }
  })

  it('are closed for good, and their credentials with them; that of the operator is not', async () => {
    const account = await openAccount(gateway.url, 'closed')
    const key = await account.make('/keys', { name: 'k' })
    const closed = await root.ask('DELETE', `/accounts/${account.id}`)
    expect(closed.body).toMatchObject({ id: account.id, status: 'closed' })
    expect((await root.ask('DELETE', `/accounts/${account.id}`)).body).toEqual(closed.body)
    for (const secret of [account.secret, String(key['key'])]) {
      const { status, error } = await tenantAt(gateway.url, secret).ask('GET', '/account')
      expect([status, error['code']]).toEqual([403, 'account_status'])
    }
    expect((await root.ask('POST', `/accounts/${account.id}/rotate`, {})).status).toBe(409)
    const { id } = await root.get('/account')
    const own = await root.ask('DELETE', `/accounts/${String(id)}`)
    expect([own.status, own.error['code']]).toEqual([409, 'conflict'])
  })
})

describe('a restart', () => {
  it('keeps everything', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-tenancy-'))
    const environment = { GATEWAY_DATA: join(folder, 'data') }
    const first = await startGateway({ environment })
    const before = tenantAt(first.url)
    const user = await before.make('/users', { name: 'Ö', email: 'o@example.com' })
    const organisation = await before.make('/organisations', {
      name: 'o',
      billing_user_id: user.id,
      native: false,
    })
    const project = await before.make('/projects', {
      name: 'p',
      organisation_id: organisation.id,
      delegate_user_id: user.id,
      payer: 'organisation',
      metadata: { a: 'b' },
    })
    const team = await before.make('/teams', { name: 't', project_ids: [project.id] })
    const gone = await before.make('/teams', { name: 'gone' })
    await before.ask('DELETE', `/teams/${gone.id}`)
    const wallet = await before.make('/wallets', { user_id: user.id, spending_limit: 5 })
    await before.make(`/wallets/${wallet.id}/credits`, { amount_usd: 2.5, reason: 'paid' })
    const account = await openAccount(first.url, 'kept')
    const closed = await openAccount(first.url, 'closed')
    await before.ask('DELETE', `/accounts/${closed.id}`)
    const paths = [
      `/users/${user.id}`,
      `/organisations/${organisation.id}`,
      `/projects/${project.id}`,
      `/teams/${team.id}`,
      `/teams/${gone.id}`,
      `/wallets/${wallet.id}`,
      `/wallets/${wallet.id}/credits`,
      `/accounts/${closed.id}`,
      '/teams',
      '/actions',
    ]
    const read = (tenant: Tenant): Promise<readonly Json[]> =>
      Promise.all(paths.map((path) => tenant.get(path)))
    const shown = await read(before)
    await first.drain()
    const second = await startGateway({ environment })
    try {
      expect(await read(tenantAt(second.url))).toEqual(shown)
      expect(await tenantAt(second.url, account.secret).get('/account')).toMatchObject({
        name: 'kept',
      })
      const late = await tenantAt(second.url, closed.secret).ask('GET', '/account')
      expect(late.error['code']).toBe('account_status')
    } finally {
      await second.stop()
      await first.stop()
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

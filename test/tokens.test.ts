// Tokens of projects and teams, and those that manage: how far each of them reaches, and that nothing which a
// token makes can do more than the token itself.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO, ROOT_KEY, type Gateway } from './fakes/gateway.ts'
import type { FakeClock } from './fakes/clock.ts'
import { closeStreet, good, openStreet } from './fakes/street.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

interface Reply {
  readonly status: number
  readonly text: string
  readonly body: Json
  readonly code: unknown
  readonly param: unknown
}

/** One credential at the management interface. */
type Ask = (method: string, path: string, body?: unknown) => Promise<Reply>

function as(gateway: Gateway, secret: string): Ask {
  return async (method, path, body) => {
    const response = await fetch(`${gateway.url}/v1/manage${path}`, {
      method,
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    const parsed = JSON.parse(text) as Json
    const error = (parsed['error'] ?? {}) as Json
    return {
      status: response.status,
      text,
      body: parsed,
      code: error['code'],
      param: error['param'],
    }
  }
}

interface Made {
  readonly id: string
  readonly key: string
}

async function make(ask: Ask, path: string, body: object): Promise<Made> {
  const reply = await ask('POST', path, { name: 'a', ...body })
  if (reply.status !== 200) throw new Error(reply.text)
  return reply.body as unknown as Made
}

interface Scene {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly root: Ask
  readonly search: string
  readonly sales: string
  readonly team: string
}

/** An account with two projects, and a team that has them both. */
async function open(): Promise<Scene> {
  const { gateway, clock } = await openStreet([good])
  const root = as(gateway, ROOT_KEY)
  const search = (await make(root, '/projects', { name: 'search' })).id
  const sales = (await make(root, '/projects', { name: 'sales' })).id
  const team = (await make(root, '/teams', { name: 'both', project_ids: [search, sales] })).id
  return { gateway, clock, root, search, sales, team }
}

async function chat(gateway: Gateway, key: string, project?: string): Promise<Response> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(project === undefined ? {} : { 'x-svc-project': project }),
  }
  const answer = await gateway.chat(HELLO, { headers })
  await answer.text()
  return answer
}

const idsOf = ({ body }: Reply): readonly unknown[] =>
  (body['data'] as readonly Json[]).map(({ id }) => id)

const callOf = (answer: Response): string => `/calls/${answer.headers.get('x-request-id')}`

describe('a token', () => {
  it('calls for its project, or for the projects of its team, and for no others', async () => {
    const { gateway, root, search, sales, team } = await open()
    const token = await make(root, '/tokens', { project_id: search })
    expect([token.id.slice(0, 4), token.key.slice(0, 4)]).toEqual(['tok_', 'svc_'])
    const teamToken = await make(root, '/tokens', { team_id: team })
    const projectOf = async (answer: Response): Promise<unknown> =>
      (await root('GET', callOf(answer))).body['project_id']
    expect(await projectOf(await chat(gateway, token.key))).toBe(search)
    expect(await projectOf(await chat(gateway, teamToken.key))).toBe(search)
    expect(await projectOf(await chat(gateway, teamToken.key, sales))).toBe(sales)
    const other = (await make(root, '/projects', { name: 'other' })).id
    expect((await chat(gateway, token.key, sales)).status).toBe(403)
    expect((await chat(gateway, teamToken.key, other)).status).toBe(403)
  })

  it('is shown with what it belongs to and never with its secret', async () => {
    const { root, search } = await open()
    const token = await make(root, '/tokens', { project_id: search, manage: true, budget_limit: 5 })
    const { text, body } = await root('GET', `/tokens/${token.id}`)
    expect(text).not.toContain(token.key)
    expect(body).toMatchObject({
      id: token.id,
      kind: 'token',
      project_id: search,
      team_id: null,
      user_id: null,
      manage: true,
      budget_limit: 5,
      created_by: expect.stringMatching(/^key_/),
      last_used_at: null,
      previous_secret_until: null,
    })
    expect((await root('GET', `/keys/${token.id}`)).status).toBe(404)
  })

  it('belongs to one project or one team, which there is and which is in use', async () => {
    const { root, search, team } = await open()
    const ended = (await make(root, '/projects', { name: 'ended' })).id
    await root('DELETE', `/projects/${ended}`)
    const cases: readonly (readonly [object, number, string, string])[] = [
      [{}, 400, 'missing_fields', 'project_id'],
      [{ project_id: search, team_id: team }, 400, 'validation_error', 'team_id'],
      [{ project_id: 7 }, 400, 'validation_error', 'project_id'],
      [{ project_id: search, manage: 'yes' }, 400, 'validation_error', 'manage'],
      [{ project_id: 'prj_nope' }, 404, 'not_found', 'project_id'],
      [{ team_id: 'team_nope' }, 404, 'not_found', 'team_id'],
      [{ project_id: search, user_id: 'usr_nope' }, 404, 'not_found', 'user_id'],
      [{ project_id: ended }, 409, 'conflict', 'project_id'],
    ]
    for (const [body, status, code, param] of cases) {
      const reply = await root('POST', '/tokens', { name: 'a', ...body })
      expect([reply.status, reply.code, reply.param]).toEqual([status, code, param])
    }
    expect(idsOf(await root('GET', '/tokens'))).toEqual([])
  })

  it('that does not manage, manages nothing', async () => {
    const { gateway, root, search } = await open()
    const token = as(gateway, (await make(root, '/tokens', { project_id: search })).key)
    for (const path of ['/keys', '/tokens', '/audit', '/calls/req_x', '/projects'])
      expect((await token('GET', path)).code).toBe('permission_denied')
  })
})

describe('a credential that has expired', () => {
  it.each([
    ['project', '/keys', 'project_id'],
    ['team', '/tokens', 'team_id'],
    ['user', '/keys', 'user_id'],
  ])('keeps no %s in use, and does not come back once that is ended', async (kind, path, field) => {
    const { root, clock } = await open()
    const { id } = await make(root, `/${kind}s`, {})
    const expiresAt = new Date(clock.now() + 1000).toISOString()
    const made = await make(root, path, { [field]: id, expires_at: expiresAt })
    expect((await root('DELETE', `/${kind}s/${id}`)).code).toBe('conflict')
    clock.sleep(1000)
    expect((await root('DELETE', `/${kind}s/${id}`)).status).toBe(200)
    const revived = await root('PATCH', `${path}/${made.id}`, { expires_at: null })
    expect([revived.status, revived.code, revived.param]).toEqual([409, 'conflict', field])
    expect((await root('GET', `${path}/${made.id}`)).body['expires_at']).toBe(expiresAt)
  })
})

describe('a token that manages', () => {
  it('sees and changes what is in its project, and finds nothing else', async () => {
    const { gateway, root, search, sales, team } = await open()
    const own = await make(root, '/keys', { project_id: search })
    const strangers = [
      `/keys/${(await make(root, '/keys', { project_id: sales })).id}`,
      `/keys/${(await make(root, '/keys', {})).id}`,
      `/tokens/${(await make(root, '/tokens', { team_id: team })).id}`,
      `/tokens/${(await make(root, '/tokens', { project_id: sales })).id}`,
    ]
    const { id, key } = await make(root, '/tokens', { project_id: search, manage: true })
    const manager = as(gateway, key)
    expect(idsOf(await manager('GET', '/keys'))).toEqual([own.id])
    expect(idsOf(await manager('GET', '/tokens'))).toEqual([id])
    expect(idsOf(await manager('GET', `/keys?project_id=${sales}`))).toEqual([])
    expect((await manager('PATCH', `/keys/${own.id}`, { name: 'b' })).status).toBe(200)
    for (const path of strangers) {
      const nothing = await manager('GET', `${path.split('_')[0]}_nope`)
      for (const [method, place, body] of [
        ['GET', path, undefined],
        ['PATCH', path, { name: 'b' }],
        ['DELETE', path, undefined],
        ['POST', `${path}/rotate`, {}],
        ['GET', `${path}/audit`, undefined],
      ] as const) {
        const reply = await manager(method, place, body)
        expect([reply.status, reply.body['error']]).toEqual([404, nothing.body['error']])
      }
      expect((await root('GET', path)).body).toMatchObject({ name: 'a', status: 'active' })
    }
  })

  it('of a team has all its projects, and its tokens', async () => {
    const { gateway, root, search, sales, team } = await open()
    const { id, key } = await make(root, '/tokens', { team_id: team, manage: true })
    const manager = as(gateway, key)
    const missing = await manager('POST', '/keys', { name: 'a' })
    expect([missing.code, missing.param]).toEqual(['missing_fields', 'project_id'])
    const first = await make(manager, '/keys', { project_id: search })
    const second = await make(manager, '/keys', { project_id: sales })
    const third = await make(manager, '/tokens', { team_id: team })
    expect(idsOf(await manager('GET', '/keys'))).toEqual([second.id, first.id])
    expect(idsOf(await manager('GET', `/keys?team_id=${team}`))).toEqual([second.id, first.id])
    expect(idsOf(await manager('GET', '/tokens'))).toEqual([third.id, id])
    expect((await manager('DELETE', `/tokens/${third.id}`)).status).toBe(200)
    await root('PATCH', `/teams/${team}`, { project_ids: [sales] })
    expect(idsOf(await manager('GET', '/keys'))).toEqual([second.id])
  })

  it('reads the calls of its projects and no others', async () => {
    const { gateway, root, search, sales } = await open()
    const manager = await make(root, '/tokens', { project_id: search, manage: true })
    const key = await make(root, '/keys', { project_id: search })
    const elsewhere = await make(root, '/keys', { project_id: sales })
    const own = [await chat(gateway, manager.key), await chat(gateway, key.key)]
    const foreign = [await chat(gateway, elsewhere.key), await chat(gateway, ROOT_KEY)]
    const ask = as(gateway, manager.key)
    const requests = (reply: Reply): readonly unknown[] =>
      (reply.body['data'] as readonly Json[]).map((row) => row['request_id'])
    const idOf = (answer: Response): unknown => answer.headers.get('x-request-id')
    expect(requests(await ask('GET', '/audit'))).toEqual(own.map(idOf).toReversed())
    expect(requests(await ask('GET', `/audit?project_id=${sales}`))).toEqual([])
    expect(requests(await ask('GET', `/keys/${key.id}/audit`))).toEqual([idOf(own[1]!)])
    expect(requests(await ask('GET', `/tokens/${manager.id}/audit`))).toEqual([idOf(own[0]!)])
    expect(requests(await root('GET', `/audit?project_id=${sales}`))).toEqual([idOf(foreign[0]!)])
    expect((await ask('GET', callOf(own[1]!))).status).toBe(200)
    for (const answer of foreign) {
      expect((await root('GET', callOf(answer))).status).toBe(200)
      const [hidden, none] = [await ask('GET', callOf(answer)), await ask('GET', '/calls/req_x')]
      expect([hidden.status, hidden.body['error']]).toEqual([404, none.body['error']])
    }
  })

  it('does nothing that is for the root key', async () => {
    const { gateway, root, search } = await open()
    const { key } = await make(root, '/tokens', { project_id: search, manage: true })
    const manager = as(gateway, key)
    for (const [method, path] of [
      ['POST', '/projects'],
      ['PATCH', `/projects/${search}`],
      ['POST', '/users'],
      ['POST', '/accounts'],
      ['GET', '/reviews'],
      ['GET', '/ledger'],
      ['POST', '/ledger/archive'],
      ['POST', '/reload'],
    ] as const)
      expect((await manager(method, path, method === 'GET' ? undefined : {})).code).toBe(
        'permission_denied',
      )
  })

  it('makes credentials of its own project, with its own limits and nothing beyond', async () => {
    const { gateway, root, search, sales } = await open()
    const limits = {
      allowed_models: ['test-model', 'other'],
      allowed_regions: ['EU'],
      budget_limit: 5,
      budget_period: 'monthly',
      rate_limit_rpm: 60,
      expires_at: '2026-02-01T00:00:00.000Z',
    }
    const { id, key } = await make(root, '/tokens', { project_id: search, manage: true, ...limits })
    const manager = as(gateway, key)
    const plain = await make(manager, '/keys', {})
    expect((await manager('GET', `/keys/${plain.id}`)).body).toMatchObject({
      ...limits,
      project_id: search,
      created_by: id,
    })
    const narrow = { allowed_models: ['other'], budget_limit: 1, rate_limit_rpm: 1 }
    const made = await make(manager, '/tokens', { ...narrow, manage: true })
    expect((await manager('GET', `/tokens/${made.id}`)).body).toMatchObject({
      ...narrow,
      manage: true,
    })
    expect((await manager('POST', '/keys', { name: 'a', project_id: sales })).code).toBe(
      'not_found',
    )
    const beyond: readonly (readonly [string, unknown])[] = [
      ['allowed_models', ['third']],
      ['allowed_regions', ['US']],
      ['budget_limit', 5.000_000_001],
      ['rate_limit_rpm', 61],
      ['expires_at', '2026-02-01T00:00:00.001Z'],
      ['user_id', 'usr_any'],
    ]
    for (const [field, value] of beyond) {
      const created = await manager('POST', '/keys', { name: 'a', [field]: value })
      expect([created.status, created.code, created.param]).toEqual([
        403,
        'permission_denied',
        field,
      ])
    }
    for (const [field] of beyond.slice(0, 5))
      for (const path of [`/keys/${plain.id}`, `/tokens/${id}`]) {
        const changed = await manager('PATCH', path, { [field]: null })
        expect([changed.status, changed.param]).toEqual([403, field])
      }
    expect(idsOf(await manager('GET', '/keys'))).toEqual([plain.id])
    expect((await root('GET', `/tokens/${id}`)).body).toMatchObject(limits)
  })

  it('makes credentials that call as its own user, whose wallet may pay for them', async () => {
    const { gateway, root, search } = await open()
    const user = (await make(root, '/users', { name: 'Ada' })).id
    const wallet = (await make(root, '/wallets', { user_id: user, credit_line: 100 })).id
    const own = { project_id: search, user_id: user, manage: true }
    const manager = as(gateway, (await make(root, '/tokens', own)).key)
    for (const path of ['/keys', '/tokens']) {
      const { id, key } = await make(manager, path, {})
      expect((await root('GET', `${path}/${id}`)).body['user_id']).toBe(user)
      const call = await root('GET', callOf(await chat(gateway, key)))
      expect(call.body['payer']).toMatchObject({ link: 'caller', wallet_id: wallet })
    }
  })

  it('gets no secret that can do more than its own, and may always revoke', async () => {
    const { gateway, root, search } = await open()
    const user = (await make(root, '/users', { name: 'Ada' })).id
    const { id, key } = await make(root, '/tokens', {
      project_id: search,
      manage: true,
      rate_limit_rpm: 5,
    })
    const manager = as(gateway, key)
    const wide = await make(root, '/keys', { project_id: search })
    const personal = await make(root, '/keys', {
      project_id: search,
      user_id: user,
      rate_limit_rpm: 5,
    })
    for (const [stronger, param] of [
      [wide, 'rate_limit_rpm'],
      [personal, 'user_id'],
    ] as const) {
      const reply = await manager('POST', `/keys/${stronger.id}/rotate`, {})
      expect([reply.status, reply.param]).toEqual([403, param])
      expect((await chat(gateway, stronger.key)).status).toBe(200)
    }
    const own = await manager('POST', `/tokens/${id}/rotate`, {})
    expect(own.status).toBe(200)
    expect((await manager('DELETE', `/keys/${wide.id}`)).status).toBe(200)
    expect((await manager('DELETE', `/tokens/${id}`)).status).toBe(200)
    for (const secret of [key, String(own.body['key'])])
      expect((await as(gateway, secret)('GET', '/keys')).code).toBe('invalid_api_key')
  })
})

describe('another account', () => {
  it('sees nothing of this one, whatever it knows of it', async () => {
    const { gateway, root, search, team } = await open()
    const opened = await root('POST', '/accounts', { name: 'other' })
    const other = as(gateway, String(opened.body['root_key']))
    const key = await make(root, '/keys', { project_id: search })
    const token = await make(root, '/tokens', { team_id: team })
    for (const path of [`/keys/${key.id}`, `/tokens/${token.id}`]) {
      const nothing = await other('GET', `${path.split('_')[0]}_nope`)
      const reply = await other('GET', path)
      expect([reply.status, reply.body['error']]).toEqual([404, nothing.body['error']])
      expect((await other('DELETE', path)).status).toBe(404)
      expect((await other('POST', `${path}/rotate`)).status).toBe(404)
    }
    for (const body of [{ project_id: search }, { team_id: team }]) {
      const [field] = Object.keys(body)
      const [foreign, none] = [
        await other('POST', '/tokens', { name: 'a', ...body }),
        await other('POST', '/tokens', { name: 'a', [field!]: 'x_nope' }),
      ]
      expect([foreign.status, foreign.body['error']]).toEqual([404, none.body['error']])
    }
    expect(idsOf(await other('GET', '/keys'))).toEqual([])
    for (const path of ['/ledger', '/accounts'])
      expect((await other('GET', path)).code).toBe('permission_denied')
    await root('DELETE', `/accounts/${String(opened.body['id'])}`)
    expect((await other('GET', '/keys')).code).toBe('account_status')
  })
})

describe('what only the gateway writes', () => {
  const FIELDS = [
    'id', 'account_id', 'kind', 'role', 'scopes', 'manages', 'previous', 'previous_hash',
    'previous_until', 'previous_secret_until', 'created', 'created_at', 'created_by', 'revoked_at',
    'last_used_at', 'status', 'budget_used', 'budget_held', 'budget_remaining', 'resets_at',
    'projectId', 'accountId', 'fitsBudget', '__proto__', 'constructor', 'toString',
  ] // prettier-ignore
  const SECRETS = ['hash', 'key', 'secret', 'token', 'api_key']
  /** Said once, when it is made. */
  const TIES = ['project_id', 'team_id', 'user_id', 'manage']

  it('is refused by name from everyone, and nothing is made or changed', async () => {
    const { gateway, root, search } = await open()
    const manager = await make(root, '/tokens', { project_id: search, manage: true })
    const key = await make(root, '/keys', { project_id: search })
    const before = [
      await root('GET', `/keys/${key.id}`),
      await root('GET', '/keys'),
      await root('GET', '/tokens'),
    ].map(({ text }) => text)
    const callers = [root, as(gateway, manager.key)]
    const send = async (method: string, path: string, field: string): Promise<void> => {
      for (const caller of callers) {
        const body = JSON.parse(
          `{"name": "a", "project_id": "${search}", "${field}": "mine"}`,
        ) as Json
        const { project_id: _, ...rest } = body
        const reply = await caller(
          method,
          path,
          method === 'PATCH' && !TIES.includes(field) ? rest : body,
        )
        expect([field, path, reply.status]).toEqual([field, path, 400])
        const isSecret = SECRETS.includes(field)
        if (method === 'POST' || !TIES.includes(field))
          expect([field, reply.code, reply.param]).toEqual([
            field,
            isSecret ? 'raw_secret_field_rejected' : 'unsupported_parameter',
            field,
          ])
      }
    }
    for (const field of [...FIELDS, ...SECRETS]) {
      await send('POST', '/keys', field)
      await send('POST', '/tokens', field)
    }
    for (const field of [...FIELDS, ...SECRETS, ...TIES]) {
      await send('PATCH', `/keys/${key.id}`, field)
      await send('PATCH', `/tokens/${manager.id}`, field)
    }
    for (const field of ['team_id', 'manage']) await send('POST', '/keys', field)
    const after = [
      await root('GET', `/keys/${key.id}`),
      await root('GET', '/keys'),
      await root('GET', '/tokens'),
    ]
    // The manager itself was used meanwhile.
    const isSame = (text: string): string => text.replaceAll(/"last_used_at":[^,]*/g, '')
    expect(after.map(({ text }) => isSame(text))).toEqual(before.map(isSame))
  })
})

describe('a list of credentials', () => {
  it('shows those that meet all that is asked for', async () => {
    const { root, search, sales } = await open()
    const user = (await make(root, '/users', { name: 'Ada' })).id
    const labels = (team: string, stage: string): object => ({ metadata: { team, stage } })
    const first = await make(root, '/keys', {
      name: 'Billing bot',
      project_id: search,
      ...labels('a', 'live'),
    })
    const second = await make(root, '/keys', {
      name: 'bottle',
      project_id: sales,
      ...labels('a', 'test'),
    })
    const third = await make(root, '/keys', {
      name: 'crawler',
      user_id: user,
      ...labels('b', 'live'),
    })
    await root('DELETE', `/keys/${third.id}`)
    const cases: readonly (readonly [string, readonly Made[]])[] = [
      ['', [third, second, first]],
      [`project_id=${search}`, [first]],
      [`user_id=${user}`, [third]],
      ['name=BOT', [second, first]],
      ['metadata.team=a', [second, first]],
      ['metadata.team=a&metadata.stage=live', [first]],
      ['metadata.stage=live&status=active', [first]],
      ['status=revoked', [third]],
      ['status=expired', []],
      ['metadata.team=A', []],
      ['name=%25', []],
    ]
    for (const [query, found] of cases)
      expect([query, idsOf(await root('GET', `/keys?${query}`))]).toEqual([
        query,
        found.map(({ id }) => id),
      ])
    const page = await root('GET', '/keys?name=bot&limit=1')
    const next = await root(
      'GET',
      `/keys?name=bot&limit=1&cursor=${String(page.body['next_cursor'])}`,
    )
    expect([...idsOf(page), ...idsOf(next)]).toEqual([second.id, first.id])
    for (const query of ['status=busy', 'nope=1', 'name=', 'name=a&name=b', 'metadata=x'])
      expect([query, (await root('GET', `/keys?${query}`)).status]).toEqual([query, 400])
  })
})

// Who is signed in at a native supplier, and for whom: what must be brought, what is taken from a token, and what is
// refused. No token comes out again: the scene looks for each of them after every test.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { createJwt } from './fakes/native-supplier.ts'
import { ACCOUNT_CLAIM, PLACE, SignInScene } from './fakes/sign-in-scene.ts'
import type { Json } from './fakes/tenants.ts'

let scene: SignInScene

beforeEach(async () => {
  scene = await SignInScene.open()
})

afterEach(() => scene.close())

describe('a sign-in', () => {
  it('is kept, and shown with everything but its tokens', async () => {
    const made = await scene.signIn({
      account_id: 'jo@maker',
      expires_in: 3600,
      parallel_max: 3,
      requests_per_minute: 60,
    })
    const { created_by, ...others } = made
    expect(others).toEqual({
      id: expect.stringMatching(/^nid_/),
      object: 'native_identity',
      name: 'Jo',
      supplier: 'native',
      account_id: 'jo@maker',
      organisation_id: null,
      project_ids: null,
      parallel_max: 3,
      requests_per_minute: 60,
      status: 'active',
      expires_at: '2026-11-01T13:00:00.000Z',
      renewed_at: null,
      refused_at: null,
      has_refresh_token: true,
      created: '2026-11-01T12:00:00.000Z',
      removed_at: null,
    })
    expect(created_by).toMatch(/^key_/)
    expect((await scene.ask('GET', `${PLACE}/${made.id}`)).body).toEqual(made)
    expect(await scene.listed()).toEqual([made])
  })

  it('takes from its token when it ends and whom it stands for', async () => {
    const access_token = scene.jwt({
      exp: Date.parse('2026-11-02T00:00:00Z') / 1000,
      [ACCOUNT_CLAIM]: { chatgpt_account_id: 'workspace-1' },
    })
    expect(await scene.signIn({ access_token })).toMatchObject({
      expires_at: '2026-11-02T00:00:00.000Z',
      account_id: 'workspace-1',
    })
  })

  it('believes whoever brings it more than its token', async () => {
    const access_token = scene.jwt({
      exp: 1,
      [ACCOUNT_CLAIM]: { chatgpt_account_id: 'workspace-1' },
    })
    const told = { account_id: 'mine', expires_at: '2030-01-31T12:00:00Z' }
    expect(await scene.signIn({ access_token, ...told })).toMatchObject({
      account_id: 'mine',
      expires_at: '2030-01-31T12:00:00.000Z',
    })
  })

  it.each([
    ['no JWT', 'a.b.c'],
    ['no object', `x.${Buffer.from('[1]').toString('base64url')}.x`],
    ['times and names that are none', createJwt({ exp: 'soon', [ACCOUNT_CLAIM]: [] })],
    ['a time beyond all calendars', createJwt({ exp: 1e300 })],
    ['more parts than a JWT has', `${createJwt({ exp: 2e9 })}.x`],
    ['a name without end', createJwt({ [ACCOUNT_CLAIM]: { chatgpt_account_id: 'a'.repeat(257) } })],
    [
      'a name that fits no header',
      createJwt({ [ACCOUNT_CLAIM]: { chatgpt_account_id: 'a\r\nb' } }),
    ],
  ])('takes nothing from a token with %s', async (_title, access_token) => {
    scene.hide(access_token)
    expect(await scene.signIn({ access_token })).toMatchObject({
      expires_at: null,
      account_id: null,
    })
  })

  it('needs one token, of whichever kind', async () => {
    expect(await scene.signIn({ refresh_token: null })).toMatchObject({ has_refresh_token: false })
    expect(await scene.signIn({ access_token: null })).toMatchObject({ has_refresh_token: true })
    expect(await scene.refusal('POST', PLACE, { name: 'Jo', supplier: 'native' })).toEqual([
      400,
      'missing_fields',
      'refresh_token',
    ])
  })

  it('is refused where its token has ended and nothing could renew it', async () => {
    const ended = { expires_at: '2026-10-31T00:00:00Z' }
    const alone = { name: 'Jo', supplier: 'native', access_token: scene.token(), ...ended }
    expect(await scene.refusal('POST', PLACE, alone)).toEqual([
      400,
      'validation_error',
      'access_token',
    ])
    expect(await scene.signIn(ended)).toMatchObject({ status: 'active' })
  })

  it('names the native suppliers to whoever means another', async () => {
    const { status, error } = await scene.ask('POST', PLACE, {
      name: 'Jo',
      supplier: 'fake',
      refresh_token: scene.token(),
    })
    expect([status, error['param']]).toEqual([400, 'supplier'])
    expect(error['human_message']).toContain('native, robots, known-robot')
  })

  it.each([
    ['name', { name: undefined }, 'missing_fields'],
    ['name', { name: ' ' }, 'validation_error'],
    ['supplier', { supplier: undefined }, 'missing_fields'],
    ['supplier', { supplier: 7 }, 'validation_error'],
    ['status', { status: 'active' }, 'unsupported_parameter'],
    ['disabled', { disabled: true }, 'unsupported_parameter'],
    ['parallel_max', { parallel_max: 0 }, 'validation_error'],
    ['parallel_max', { parallel_max: 10_001 }, 'validation_error'],
    ['requests_per_minute', { requests_per_minute: 1.5 }, 'validation_error'],
    ['account_id', { account_id: 'a b' }, 'validation_error'],
    ['project_ids', { project_ids: [] }, 'validation_error'],
    ['expires_at', { expires_at: 'tomorrow' }, 'validation_error'],
    ['expires_at', { expires_at: '2026-02-30T00:00:00Z' }, 'validation_error'],
    ['expires_in', { expires_in: '3600' }, 'validation_error'],
    ['expires_in', { expires_in: -1 }, 'validation_error'],
    ['expires_in', { expires_in: 315_360_001 }, 'validation_error'],
    ['expires_in', { expires_in: 60, expires_at: '2030-01-31T12:00:00Z' }, 'validation_error'],
    ['access_token', { access_token: undefined, expires_in: 60 }, 'missing_fields'],
  ])('is refused for its %s in %o', async (param, changes, code) => {
    const body = {
      name: 'Jo',
      supplier: 'native',
      access_token: scene.token(),
      refresh_token: scene.token(),
    }
    expect(await scene.refusal('POST', PLACE, { ...body, ...changes })).toEqual([400, code, param])
    expect(await scene.listed()).toEqual([])
  })

  it.each(['access_token', 'refresh_token', 'client_secret'])(
    'repeats nothing of a wrong %s',
    async (field) => {
      for (const wrong of [
        `Bearer ${scene.token()}`,
        `${scene.token()}\r\nx: y`,
        `${scene.token()}é`,
      ]) {
        const isFine = field === 'client_secret' && wrong.startsWith('Bearer')
        const body = {
          name: 'Jo',
          supplier: 'native',
          refresh_token: scene.token(),
          [field]: wrong,
        }
        if (!isFine)
          expect(await scene.refusal('POST', PLACE, body)).toEqual([400, 'validation_error', field])
      }
      const long = { name: 'Jo', supplier: 'native', [field]: 'x'.repeat(16_385) }
      expect(await scene.refusal('POST', PLACE, long)).toEqual([400, 'validation_error', field])
    },
  )
})

describe('a program that signs itself in', () => {
  const robot = (changes: object): Json => ({ name: 'Robot', supplier: 'robots', ...changes })

  it('brings its id and its secret', async () => {
    const given = { client_id: 'me', client_secret: scene.token() }
    expect(await scene.make(PLACE, robot(given))).toMatchObject({
      status: 'active',
      expires_at: null,
      has_refresh_token: false,
    })
    expect(await scene.refusal('POST', PLACE, robot({ client_id: 'me' }))).toEqual([
      400,
      'missing_fields',
      'client_secret',
    ])
    expect(await scene.refusal('POST', PLACE, robot({ client_secret: scene.token() }))).toEqual([
      400,
      'missing_fields',
      'client_id',
    ])
  })

  it('needs no id where the supplier knows it', async () => {
    await scene.make(PLACE, robot({ supplier: 'known-robot', client_secret: scene.token() }))
  })

  it('is told that no refresh token is of use', async () => {
    const given = { client_id: 'me', client_secret: scene.token(), refresh_token: scene.token() }
    expect(await scene.refusal('POST', PLACE, robot(given))).toEqual([
      400,
      'validation_error',
      'refresh_token',
    ])
  })
})

describe('the same sign-in', () => {
  it('is refused a second time, and the first is named', async () => {
    const first = await scene.signIn({ account_id: 'shared' })
    const again = { name: 'Again', supplier: 'native', refresh_token: scene.token() }
    const { status, error } = await scene.ask('POST', PLACE, { ...again, account_id: 'shared' })
    expect([status, error['code'], error['identity_id']]).toEqual([409, 'conflict', first.id])
    expect(error['human_message']).toContain(`PATCH /v1/manage/native/identities/${first.id}`)
    await scene.ask('DELETE', `${PLACE}/${first.id}`)
    await scene.make(PLACE, { ...again, account_id: 'shared' })
  })

  it('is known by its refresh token, too', async () => {
    const refresh_token = scene.token()
    const first = await scene.signIn({ refresh_token })
    const { status, error } = await scene.ask('POST', PLACE, {
      name: 'Copy',
      supplier: 'native',
      refresh_token,
    })
    expect([status, error['identity_id']]).toEqual([409, first.id])
  })

  it('is not made of another by a change', async () => {
    await scene.signIn({ account_id: 'one' })
    const { id } = await scene.signIn({ account_id: 'two' })
    const { status } = await scene.ask('PATCH', `${PLACE}/${id}`, { account_id: 'one' })
    expect(status).toBe(409)
    const refresh_token = scene.token()
    await scene.signIn({ refresh_token })
    const again = await scene.ask('PATCH', `${PLACE}/${id}`, { refresh_token })
    expect(again.status).toBe(409)
    expect(await scene.ask('GET', `${PLACE}/${id}`)).toMatchObject({ body: { account_id: 'two' } })
  })

  it('is another one for each of the people who share an account at the supplier', async () => {
    const access = (sub: string): string =>
      scene.jwt({ sub, [ACCOUNT_CLAIM]: { chatgpt_account_id: 'team' } })
    await scene.signIn({ access_token: access('jo') })
    await scene.signIn({ access_token: access('kim') })
    const jo = { name: 'Jo', supplier: 'native', access_token: access('jo') }
    expect((await scene.ask('POST', PLACE, jo)).status).toBe(409)
    const nobody = { ...jo, access_token: scene.token(), account_id: 'team' }
    expect((await scene.ask('POST', PLACE, nobody)).status).toBe(409)
    expect((await scene.listed()).map(({ account_id }) => account_id)).toEqual(['team', 'team'])
  })

  it('may be at two suppliers', async () => {
    await scene.signIn({ account_id: 'same' })
    const robot = { name: 'R', supplier: 'known-robot', client_secret: scene.token() }
    await scene.make(PLACE, { ...robot, account_id: 'same' })
  })
})

describe('the scope of a sign-in', () => {
  const tree = async () => {
    const organisation = await scene.make('/organisations', { name: 'own' })
    const other = await scene.make('/organisations', { name: 'other' })
    const project = await scene.make('/projects', { name: 'p', organisation_id: organisation.id })
    const loose = await scene.make('/projects', { name: 'q' })
    return { organisation: organisation.id, other: other.id, project: project.id, loose: loose.id }
  }

  it('is an organisation, some of its projects, or any projects', async () => {
    const { organisation, project, loose } = await tree()
    for (const scope of [
      { organisation_id: organisation, project_ids: null },
      { organisation_id: organisation, project_ids: [project] },
      { organisation_id: null, project_ids: [project, loose] },
    ])
      expect(await scene.signIn(scope)).toMatchObject(scope)
  })

  it('is no project of another organisation', async () => {
    const { other, project, loose, organisation } = await tree()
    const { id } = await scene.signIn({ organisation_id: organisation })
    for (const [organisation_id, each] of [
      [other, project],
      [organisation, loose],
    ]) {
      const scope = { organisation_id, project_ids: [each] }
      const body = { name: 'Jo', supplier: 'native', refresh_token: scene.token(), ...scope }
      const refused = [400, 'validation_error', 'project_ids'] as const
      expect(await scene.refusal('POST', PLACE, body)).toEqual(refused)
      expect(await scene.refusal('PATCH', `${PLACE}/${id}`, scope)).toEqual(refused)
    }
  })

  it('names nothing that is ended, and keeps what ended later', async () => {
    const { other, project, loose } = await tree()
    const { id } = await scene.signIn({ project_ids: [project, loose] })
    for (const path of [`/organisations/${other}`, `/projects/${loose}`])
      expect((await scene.ask('DELETE', path)).status).toBe(200)
    const given = { name: 'Jo', supplier: 'native', refresh_token: scene.token() }
    for (const [param, value] of [
      ['organisation_id', other],
      ['project_ids', [loose]],
    ] as const)
      expect(await scene.refusal('POST', PLACE, { ...given, [param]: value })).toEqual([
        409,
        'conflict',
        param,
      ])
    const told = await scene.ask('PATCH', `${PLACE}/${id}`, { disabled: true })
    expect(told.body).toMatchObject({ status: 'disabled', project_ids: [project, loose] })
  })
})

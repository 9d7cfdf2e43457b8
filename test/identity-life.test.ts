// Sign-ins at native suppliers over their life: changed, signed in again, removed, found, written down and started anew.
// No token comes out again: the scene looks for each of them after every test.
import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { findSecrets, MARK } from './fakes/canary.ts'
import { ACCOUNT_CLAIM, NOWHERE, PLACE, SignInScene } from './fakes/sign-in-scene.ts'
import type { Json } from './fakes/tenants.ts'

let scene: SignInScene

beforeEach(async () => {
  scene = await SignInScene.open()
})

afterEach(() => scene.close())

describe('a change', () => {
  it('is of what it names; null takes away', async () => {
    const { id, ...made } = await scene.signIn({ account_id: 'jo', parallel_max: 3 })
    const told = await scene.ask('PATCH', `${PLACE}/${id}`, { name: 'Kim', parallel_max: null })
    expect(told.body).toEqual({ ...made, id, name: 'Kim', parallel_max: null })
    expect(await scene.ask('GET', `${PLACE}/${id}`)).toMatchObject({ body: told.body })
  })

  it('disables and enables', async () => {
    const { id } = await scene.signIn()
    for (const [disabled, status] of [
      [true, 'disabled'],
      [true, 'disabled'],
      [false, 'active'],
    ])
      expect((await scene.ask('PATCH', `${PLACE}/${id}`, { disabled })).body).toMatchObject({
        status,
      })
    expect(await scene.refusal('PATCH', `${PLACE}/${id}`, { disabled: 'yes' })).toEqual([
      400,
      'validation_error',
      'disabled',
    ])
  })

  it('signs in again with all that the new sign-in brings, and nothing of the old', async () => {
    const { id } = await scene.signIn({ account_id: 'jo', expires_in: 60 })
    const { body } = await scene.ask('PATCH', `${PLACE}/${id}`, {
      access_token: scene.token('new'),
      expires_in: 600,
    })
    expect(body).toMatchObject({
      account_id: 'jo',
      expires_at: '2026-11-01T12:10:00.000Z',
      has_refresh_token: false,
    })
  })

  it('signs in again as another account where the token says so', async () => {
    const { id } = await scene.signIn({ account_id: 'old' })
    const access_token = scene.jwt({ [ACCOUNT_CLAIM]: { chatgpt_account_id: 'new' } })
    const { body } = await scene.ask('PATCH', `${PLACE}/${id}`, { access_token, name: 'Moved' })
    expect(body).toMatchObject({ account_id: 'new', name: 'Moved' })
  })

  it('gives a program another secret and keeps its id', async () => {
    const { id } = await scene.make(PLACE, {
      name: 'R',
      supplier: 'robots',
      client_id: 'me',
      client_secret: scene.token(),
    })
    const changed = await scene.ask('PATCH', `${PLACE}/${id}`, { client_secret: scene.token() })
    expect(changed.status).toBe(200)
    const without = { client_id: null }
    expect(await scene.refusal('PATCH', `${PLACE}/${id}`, without)).toEqual([
      400,
      'missing_fields',
      'client_id',
    ])
  })

  it('is refused where it says nothing, or what cannot be said', async () => {
    const { id } = await scene.signIn()
    const one = `${PLACE}/${id}`
    expect(await scene.refusal('PATCH', one, {})).toEqual([400, 'missing_fields', null])
    expect(await scene.refusal('PATCH', one, { supplier: 'robots' })).toEqual([
      400,
      'unsupported_parameter',
      'supplier',
    ])
    expect(await scene.refusal('PATCH', one, { expires_in: 60 })).toEqual([
      400,
      'missing_fields',
      'refresh_token',
    ])
  })
})

describe('a removal', () => {
  it('wipes the tokens, is the same twice, and stays', async () => {
    const { id } = await scene.signIn({ expires_in: 60 })
    const first = await scene.ask('DELETE', `${PLACE}/${id}`)
    expect(first.body).toEqual({ id, status: 'removed', removed_at: '2026-11-01T12:00:00.000Z' })
    scene.clock.advance(60_000)
    expect((await scene.ask('DELETE', `${PLACE}/${id}`)).body).toEqual(first.body)
    const shown = { status: 'removed', expires_at: null, has_refresh_token: false }
    expect(await scene.listed('?status=removed')).toMatchObject([shown])
    for (const change of [{ name: 'Kim' }, { refresh_token: scene.token() }])
      expect(await scene.refusal('PATCH', `${PLACE}/${id}`, change)).toEqual([
        409,
        'conflict',
        null,
      ])
    expect(readSealed(id)).toBeNull()
  })
})

/** What is kept of its tokens. */
function readSealed(id: string): unknown {
  const database = new Database(join(scene.folder, 'data', 'gateway.db'), { readonly: true })
  try {
    return database
      .query<{ sealed: unknown }, [string]>('SELECT sealed FROM identities WHERE id = ?')
      .get(id)?.sealed
  } finally {
    database.close(true)
  }
}

describe('the list', () => {
  it('has the newest first, in pages', async () => {
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.unshift((await scene.signIn({ name })).id)
    const { body } = await scene.ask('GET', `${PLACE}?limit=2`)
    expect((body['data'] as readonly Json[]).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    expect(await scene.listed(`?cursor=${String(body['next_cursor'])}`)).toMatchObject([
      { id: ids[2] },
    ])
  })

  it('is searched by name, status, supplier and organisation', async () => {
    const { id: organisation_id } = await scene.make('/organisations', { name: 'o' })
    const robot = { name: 'Robot', supplier: 'known-robot', client_secret: scene.token() }
    const { id } = await scene.make(PLACE, { ...robot, organisation_id })
    await scene.ask('PATCH', `${PLACE}/${id}`, { disabled: true })
    await scene.signIn()
    for (const query of [
      'name=rob',
      'status=disabled',
      'supplier=known-robot',
      `organisation_id=${organisation_id}`,
    ])
      expect((await scene.listed(`?${query}`)).map((each) => each['id'])).toEqual([id])
    expect((await scene.ask('GET', `${PLACE}?status=ended`)).error).toMatchObject({
      param: 'status',
    })
  })
})

describe('what is written down', () => {
  it('tells who did what, and no token', async () => {
    const { id } = await scene.signIn({ account_id: 'jo' })
    const one = `${PLACE}/${id}`
    for (const change of [
      { name: 'Kim' },
      { disabled: true },
      { disabled: false, parallel_max: 2 },
      { refresh_token: scene.token() },
      { refresh_token: scene.token(), name: 'Jo' },
    ])
      expect((await scene.ask('PATCH', one, change)).status).toBe(200)
    await scene.ask('DELETE', one)
    const { body } = await scene.ask('GET', `/actions?target=${id}`)
    const notes = body['data'] as readonly Json[]
    expect(notes.map(({ action }) => action)).toEqual([
      'identity.remove',
      'identity.update',
      'identity.sign_in',
      'identity.sign_in',
      'identity.enable',
      'identity.disable',
      'identity.update',
      'identity.create',
    ])
    expect(notes.at(-2)).toMatchObject({ before: { name: 'Jo' }, after: { name: 'Kim' } })
    expect(notes[0]).toMatchObject({ before: { name: 'Jo' }, after: null })
  })
})

describe('an Idempotency-Key', () => {
  it('has a sign-in kept once, and shown again', async () => {
    const body = { name: 'Jo', supplier: 'native', refresh_token: scene.token() }
    const headers = { 'idempotency-key': 'once' }
    const first = await scene.ask('POST', PLACE, body, headers)
    const second = await scene.ask('POST', PLACE, body, headers)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.body).toEqual(first.body)
    expect(await scene.listed()).toHaveLength(1)
    const other = await scene.ask('POST', PLACE, { ...body, refresh_token: scene.token() }, headers)
    expect([other.status, other.error['code']]).toEqual([422, 'idempotency_conflict'])
  })

  it('has a change with new tokens made once', async () => {
    const { id } = await scene.signIn()
    const body = { name: 'Kim', refresh_token: scene.token() }
    const headers = { 'idempotency-key': 'change' }
    const first = await scene.ask('PATCH', `${PLACE}/${id}`, body, headers)
    const second = await scene.ask('PATCH', `${PLACE}/${id}`, body, headers)
    expect(second.headers.get('idempotency-replayed')).toBe('true')
    expect(second.body).toEqual(first.body)
  })
})

describe('after another start', () => {
  it('everything is as it was', async () => {
    await scene.signIn({ account_id: 'jo', expires_in: 60 })
    const { id } = await scene.signIn()
    await scene.ask('DELETE', `${PLACE}/${id}`)
    const before = await scene.listed()
    await scene.start()
    expect(await scene.listed()).toEqual([...before])
  })

  it('without the key it is sealed, until somebody signs in again', async () => {
    const { id } = await scene.signIn()
    await scene.start(`${MARK}-another-seal-${'t'.repeat(24)}`)
    expect(await scene.listed()).toMatchObject([{ status: 'sealed', has_refresh_token: false }])
    const again = await scene.ask('PATCH', `${PLACE}/${id}`, { refresh_token: scene.token() })
    expect(again.body).toMatchObject({ status: 'active', has_refresh_token: true })
  })
})

describe('the native suppliers', () => {
  it('are told with what a program needs to send somebody there, and not its secret', async () => {
    const { status, body } = await scene.ask('GET', '/native/suppliers')
    expect(status).toBe(200)
    const data = body['data'] as readonly Json[]
    expect(data.map(({ id }) => id)).toEqual(['native', 'robots', 'known-robot'])
    expect(data[0]).toEqual({
      id: 'native',
      object: 'native_supplier',
      host: '127.0.0.1:9',
      region: 'EU',
      models: ['native-model'],
      grant: 'refresh_token',
      client_id: 'program',
      scope: 'openid offline',
      authorize_url: `${NOWHERE}/oauth/authorize`,
      authorize_parameters: { prompt: 'login' },
      redirect_url: null,
      device_url: null,
      billing: 'metered',
      token_url: `${NOWHERE}/oauth/token`,
    })
    for (const [query, count] of [
      ['supplier=robots', 1],
      ['model=native-model', 3],
      ['model=test-model', 0],
    ])
      expect((await scene.ask('GET', `/native/suppliers?${query}`)).body['data']).toHaveLength(
        Number(count),
      )
    expect((await scene.ask('GET', '/native/suppliers?name=x')).error).toMatchObject({
      param: 'name',
    })
  })
})

describe('this test', () => {
  it('finds what is written, answered and logged', async () => {
    await scene.signIn({ name: 'plain-to-see' })
    expect(findSecrets(scene.folder, ['plain-to-see'])).not.toEqual([])
    expect(scene.said()).toContain('plain-to-see')
    expect(scene.said()).toContain('"path":"/v1/manage/native/identities"')
  })
})

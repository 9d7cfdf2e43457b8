// The management of keys as a caller meets it: the whole app over HTTP, with the demo suppliers behind.
import { Database } from 'bun:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startApp, type App, type AppOptions } from '../src/app.ts'
import { defaultSettings } from '../src/config/environment.ts'
import { hashSecret } from '../src/core/ids.ts'
import { isProblemCode } from '../src/core/problem.ts'
import { ROOT_CANARY as ROOT, SEAL_CANARY } from './fakes/canary.ts'
import { createFakeClock } from './fakes/clock.ts'
import { formatRequest, sendRaw, type RawRequest, type RawResponse } from './fakes/raw.ts'

const SECRETS = { GATEWAY_ROOT_KEY: ROOT, GATEWAY_SECRET_KEY: SEAL_CANARY }
const AT_ONCE = { noticeMs: 0, limitMs: 0 }
const KEYS = '/v1/manage/keys'

/** The nine that exports rely on come first. */
const AUDIT_FIELDS =
  'timestamp key_id model supplier region input_tokens output_tokens cost_usd latency_ms ' +
  'request_id endpoint status code stream first_token_ms attempts project_id ' +
  'state evidence estimated held_usd overrun_usd count payer_wallet_id payer_link'

const nulls = (fields: string): Json =>
  Object.fromEntries(fields.split(' ').map((field) => [field, null]))

const NO_BUDGET = nulls('budget_limit budget_remaining budget_held budget_period')

type Json = Readonly<Record<string, unknown>>

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}

interface CallOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as it is when it is text or bytes, else as JSON. */
  readonly body?: unknown
}

let folder: string
let app: App

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'manage-'))
  app = await startApp({ settings: settingsOf(folder) })
})

afterAll(async () => {
  await app.drain(AT_ONCE)
  rmSync(folder, { recursive: true })
})

function settingsOf(dataFolder: string): AppOptions['settings'] {
  return defaultSettings({ PORT: '0', GATEWAY_DATA: dataFolder, ...SECRETS })
}

/** Runs a test against an app of its own, which it may start again over the same data. */
async function elsewhere(
  options: Omit<AppOptions, 'settings'>,
  test: (restart: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const shared = app
  const own = mkdtempSync(join(tmpdir(), 'manage-'))
  const start = async (): Promise<void> => {
    app = await startApp({ ...options, settings: settingsOf(own) })
  }
  try {
    await start()
    await test(() => app.drain(AT_ONCE).then(start))
  } finally {
    if (app !== shared) await app.drain(AT_ONCE)
    app = shared
    rmSync(own, { recursive: true })
  }
}

async function call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  const { key = ROOT, body } = options
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Uint8Array
  const response = await fetch(app.url + path, {
    method,
    headers: {
      ...(key === '' ? {} : { authorization: `Bearer ${key}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...options.headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  const parsed: unknown = text === '' ? {} : JSON.parse(text)
  return { status: response.status, headers: response.headers, text, body: parsed as Json }
}

const create = (body: unknown, options: CallOptions = {}): Promise<Reply> =>
  call('POST', KEYS, { ...options, body })

async function createKey(body: Json = {}): Promise<{ readonly id: string; readonly key: string }> {
  const reply = await create({ name: 'test', ...body })
  expect(reply.status).toBe(200)
  return { id: String(reply.body['id']), key: String(reply.body['key']) }
}

const read = (id: string): Promise<Reply> => call('GET', `${KEYS}/${id}`)
const patch = (id: string, body: unknown, options: CallOptions = {}): Promise<Reply> =>
  call('PATCH', `${KEYS}/${id}`, { ...options, body })

const chat = (key: string, model = 'demo/chat', more: Json = {}): Promise<Reply> =>
  call('POST', '/v1/chat/completions', {
    key,
    body: { model, messages: [{ role: 'user', content: 'Say hello.' }], ...more },
  })

function errorOf(reply: Reply): Json {
  return reply.body['error'] as Json
}

/** Also holds every refusal to its form. */
function expectRefusal(reply: Reply, status: number, code: string): void {
  const error = errorOf(reply)
  expect([reply.status, error['code']]).toEqual([status, code])
  expect(isProblemCode(code)).toBe(true)
  expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
  expect(reply.headers.get('x-request-id')).toMatch(/^req_/)
  if (status < 500 && status !== 408) expect(reply.headers.get('x-should-retry')).toBe('false')
}

/** What `fetch` would tidy up, straight to the socket. */
function callRaw(url: string, request: RawRequest): Promise<RawResponse> {
  const headers = [['Authorization', `Bearer ${ROOT}`] as const, ...(request.headers ?? [])]
  return sendRaw(url, formatRequest({ ...request, headers }))
}

function expectRawRefusal(response: RawResponse, status: number, code: string): void {
  expect(response.status).toBe(status)
  expect(response.body.toString()).toContain(`"code":"${code}"`)
}

describe('the life of a managed key', () => {
  it('goes from creation over calls and changes to revocation, and every step counts at once', async () => {
    const answers: Reply[] = []
    const note = async (work: Promise<Reply>): Promise<Reply> => {
      const reply = await work
      answers.push(reply)
      return reply
    }

    const created = await create({ name: 'life', budget_limit: 5, metadata: { team: 'search' } })
    expect([created.status, created.body['name']]).toEqual([200, 'life'])
    expect(Object.keys(created.body)).toEqual(['id', 'key', 'name', 'created'])
    const { id, key } = created.body as { readonly id: string; readonly key: string }
    expect([id.slice(0, 4), key.slice(0, 7)]).toEqual(['key_', 'svc-sk-'])

    const listed = await note(call('GET', KEYS))
    expect(listed.body['data']).toContainEqual(expect.objectContaining({ id, name: 'life' }))

    const fresh = await note(read(id))
    expect(fresh.body).toEqual({
      id,
      name: 'life',
      status: 'active',
      budget_limit: 5,
      budget_used: 0,
      budget_remaining: 5,
      budget_held: 0,
      budget_in_review: 0,
      budget_period: 'monthly',
      resets_at: expect.stringMatching(/^\d{4}-\d\d-01T00:00:00\.000Z$/),
      fit: 'on',
      ...nulls('allowed_models allowed_regions rate_limit_rpm expires_at revoked_at'),
      metadata: { team: 'search' },
      created: created.body['created'],
      kind: 'managed',
      ...nulls('project_id user_id last_used_at previous_secret_until previous_secret_used_at'),
      created_by: expect.stringMatching(/^key_/),
    })

    const called = await note(chat(key))
    expect(called.status).toBe(200)
    const cost = String(called.headers.get('x-svc-cost-usd'))
    expect(Number(cost)).toBeGreaterThan(0)

    const spent = await note(read(id))
    expect(spent.text).toContain(`"budget_used":${cost},`)
    const remaining = 5_000_000_000 - Math.round(Number(cost) * 1e9)
    expect(Math.round(Number(spent.body['budget_remaining']) * 1e9)).toBe(remaining)

    const audit = await note(call('GET', `${KEYS}/${id}/audit`))
    expect(audit.body).toMatchObject({ object: 'list', has_more: false, next_cursor: null })
    const [row, ...others] = audit.body['data'] as readonly Json[]
    expect(others).toEqual([])
    expect(Object.keys(row!).join(' ')).toBe(AUDIT_FIELDS)
    expect(row).toMatchObject({
      key_id: id,
      input_tokens: Number(called.headers.get('x-svc-input-tokens')),
      output_tokens: Number(called.headers.get('x-svc-output-tokens')),
      request_id: called.headers.get('x-request-id'),
      endpoint: '/v1/chat/completions',
    })
    expect(row).toMatchObject({ model: 'demo/chat', supplier: 'demo', region: 'EU' })
    expect(row).toMatchObject({ status: 200, code: null, stream: false, attempts: 1 })
    expect(row!['latency_ms']).toBeInteger()
    expect(audit.text).toContain(`"cost_usd":${cost},`)

    const narrowed = await note(patch(id, { allowed_models: ['demo/reason'] }))
    expect(narrowed.body).toMatchObject({ id, allowed_models: ['demo/reason'], budget_limit: 5 })
    expectRefusal(await note(chat(key)), 403, 'model_not_allowed')
    expect((await note(chat(key, 'demo/reason'))).status).toBe(200)

    const moved = await note(patch(id, { allowed_models: null, allowed_regions: 'us' }))
    expect(moved.body).toMatchObject({ allowed_models: null, allowed_regions: ['US'] })
    expect((await note(chat(key))).headers.get('x-svc-region')).toBe('US')
    expectRefusal(await note(chat(key, 'demo/chat', { region: 'EU' })), 403, 'permission_denied')

    const freed = await note(patch(id, { allowed_regions: null, budget_limit: null }))
    expect(freed.body).toMatchObject({ status: 'active', resets_at: null, ...NO_BUDGET })
    expect(freed.body['budget_used']).toBeGreaterThan(0)
    expect((await note(chat(key))).headers.get('x-svc-region')).toBe('EU')

    const revoked = await note(call('DELETE', `${KEYS}/${id}`))
    expect(revoked.status).toBe(200)
    expect(revoked.body).toEqual({ id, status: 'revoked', revoked_at: expect.any(String) })
    const again = await note(call('DELETE', `${KEYS}/${id}`))
    expect([again.status, again.text]).toEqual([200, revoked.text])
    expectRefusal(await note(chat(key)), 401, 'invalid_api_key')
    expectRefusal(await note(patch(id, { budget_limit: 9 })), 409, 'conflict')
    const ended = await note(read(id))
    expect(ended.body).toMatchObject({ status: 'revoked', revoked_at: revoked.body['revoked_at'] })

    for (const answer of answers) {
      expect(answer.text).not.toContain(key)
      expect(answer.text).not.toContain(hashSecret(key))
    }
    for (const file of readdirSync(folder))
      expect(readFileSync(join(folder, file)).includes(key)).toBe(false)
  })

  it('survives a restart with its settings, and a revoked key stays out', async () => {
    await elsewhere({}, async (restart) => {
      const kept = await createKey({ allowed_models: ['demo/chat'], budget_limit: 1e-7 })
      const gone = await createKey()
      await call('DELETE', `${KEYS}/${gone.id}`)
      const before = await read(kept.id)
      await restart()
      expect((await read(kept.id)).text).toBe(before.text)
      expect((await call('GET', '/v1/models', { key: kept.key })).status).toBe(200)
      expectRefusal(await chat(gone.key), 401, 'invalid_api_key')
    })
  })
})

describe('reading a key', () => {
  it('prints amounts as plain decimals', async () => {
    const { id } = await createKey({ budget_limit: 0.000_000_1 })
    expect((await read(id)).text).toContain(
      '"budget_limit":0.0000001,"budget_used":0,"budget_remaining":0.0000001,"budget_held":0,',
    )
  })

  it('says when a budget is used up, and by how much', async () => {
    const { id, key } = await createKey({ budget_limit: 1 })
    const cost = Number((await chat(key)).headers.get('x-svc-cost-usd'))
    const lowered = await patch(id, { budget_limit: 0.000_000_001 })
    expect(lowered.status).toBe(200)
    expect(lowered.body['status']).toBe('budget_exhausted')
    expect(lowered.body['budget_remaining']).toBeCloseTo(0.000_000_001 - cost, 12)
    expect((await patch(id, { budget_limit: 2 })).body['status']).toBe('active')
    expect((await patch(id, { budget_limit: 0 })).body['status']).toBe('budget_exhausted')
  })

  it('tells no reset of a rolling budget before something is spent', async () => {
    const { id, key } = await createKey({ budget_limit: 1, budget_period: 'rolling' })
    expect((await read(id)).body['resets_at']).toBeNull()
    await chat(key)
    const resetsAt = Date.parse(String((await read(id)).body['resets_at']))
    const days = (resetsAt - Date.now()) / 86_400_000
    expect(days).toBeGreaterThan(29.9)
    expect(days).toBeLessThanOrEqual(30)
  })

  it('says that a key has expired, and so does a call with it', async () => {
    const clock = createFakeClock(Date.UTC(2026, 0, 15))
    await elsewhere({ clock }, async () => {
      const { id, key } = await createKey({ expires_at: '2026-01-15T00:01:00Z' })
      expect((await read(id)).text).toContain('"expires_at":"2026-01-15T00:01:00.000Z"')
      clock.advance(60_000)
      expect((await read(id)).body['status']).toBe('expired')
      expectRefusal(await chat(key), 401, 'expired_api_key')
    })
  })

  async function expectNothingAt(id: string): Promise<void> {
    const replies = [
      await read(id),
      await patch(id, { name: 'x' }),
      await call('DELETE', `${KEYS}/${id}`),
      await call('GET', `${KEYS}/${id}/audit`),
    ]
    for (const reply of replies) expectRefusal(reply, 404, 'not_found')
    expect(new Set(replies.map(({ text }) => text)).size).toBe(1)
  }

  it.each(['key_unknown', 'constructor', '__proto__', 'a%2Fb', '%2e%2e%2f', "' OR '1'='1"])(
    'finds nothing under the id %s',
    (id) => expectNothingAt(id),
  )

  it.each(['..', '%2e%2e'])('finds nothing under the dots %s', async (id) => {
    expectRawRefusal(await callRaw(app.url, { target: `${KEYS}/${id}` }), 404, 'not_found')
  })

  it('does not show, change or revoke the root key', async () => {
    const listed = (await call('GET', `${KEYS}?limit=100`)).body['data'] as readonly Json[]
    expect(listed.map(({ name }) => name)).not.toContain('root')
    const database = new Database(join(folder, 'gateway.db'), { readonly: true })
    const row = database.query("SELECT id FROM keys WHERE kind = 'root'").get() as { id: string }
    database.close()
    await expectNothingAt(row.id)
  })

  it('answers other methods with those that are allowed', async () => {
    const { id } = await createKey()
    const reply = await call('PUT', `${KEYS}/${id}`, { body: {} })
    expectRefusal(reply, 405, 'method_not_allowed')
    expect(reply.headers.get('allow')).toBe('GET, HEAD, PATCH, DELETE')
    expectRefusal(await call('PUT', KEYS, { body: {} }), 405, 'method_not_allowed')
    expectRefusal(await call('GET', `${KEYS}/${id}/`), 404, 'not_found')
    expectRefusal(await call('GET', `${KEYS}/%zz`), 400, 'invalid_request')
  })
})

describe('lists', () => {
  it('come in pages that together hold every key once, newest first', async () => {
    const made: string[] = []
    // oxlint-disable-next-line no-await-in-loop -- their order is what is tested
    while (made.length < 5) made.unshift((await createKey()).id)
    const found: unknown[] = []
    let cursor = ''
    for (let isLast = false; !isLast;) {
      // oxlint-disable-next-line no-await-in-loop -- each page names the next
      const { body } = await call('GET', `${KEYS}?limit=2${cursor}`)
      expect(body['object']).toBe('list')
      const data = body['data'] as readonly Json[]
      found.push(...data.map(({ id }) => id))
      isLast = body['has_more'] === false
      expect(body['next_cursor'] === null).toBe(isLast)
      cursor = `&cursor=${String(body['next_cursor'])}`
    }
    expect(found.slice(0, 5)).toEqual(made)
    expect(new Set(found).size).toBe(found.length)
  })

  it('page through the calls of one key alone', async () => {
    const { id, key } = await createKey()
    const other = await createKey()
    const requests: unknown[] = []
    for (const secret of [key, other.key, key, key]) {
      // oxlint-disable-next-line no-await-in-loop -- their order is what is tested
      const reply = await chat(secret)
      if (secret === key) requests.unshift(reply.headers.get('x-request-id'))
    }
    const first = await call('GET', `${KEYS}/${id}/audit?limit=2`)
    expect(first.body['has_more']).toBe(true)
    const cursor = String(first.body['next_cursor'])
    const second = await call('GET', `${KEYS}/${id}/audit?limit=2&cursor=${cursor}`)
    expect(second.body).toMatchObject({ has_more: false, next_cursor: null })
    const rows = [first, second].flatMap(({ body }) => body['data'] as readonly Json[])
    expect(rows.map((row) => row['request_id'])).toEqual(requests)
  })

  it.each<readonly [string, string, string]>([
    ['limit=0', 'validation_error', 'limit'],
    ['limit=1001', 'validation_error', 'limit'],
    ['limit=', 'validation_error', 'limit'],
    ['limit=1e1', 'validation_error', 'limit'],
    ['limit=-5', 'validation_error', 'limit'],
    ['limit=5&limit=6', 'validation_error', 'limit'],
    ['cursor=', 'validation_error', 'cursor'],
    ['cursor=nonsense', 'validation_error', 'cursor'],
    ['offset=5', 'unsupported_parameter', 'offset'],
    ['constructor=5', 'unsupported_parameter', 'constructor'],
  ])('refuse ?%s', async (query, code, param) => {
    const { id } = await createKey()
    const replies = [KEYS, `${KEYS}/${id}/audit`].map((path) => call('GET', `${path}?${query}`))
    for (const reply of await Promise.all(replies)) {
      expectRefusal(reply, 400, code)
      expect(errorOf(reply)['param']).toBe(param)
    }
  })
})

describe('creating a key', () => {
  it.each<readonly [string, string, string]>([
    ['{}', 'missing_fields', 'name'],
    ['{"name":null}', 'missing_fields', 'name'],
    ['{"name":""}', 'validation_error', 'name'],
    ['{"name":"x","allowed_models":[""]}', 'validation_error', 'allowed_models'],
    ['{"name":"x","allowed_models":["*"]}', 'validation_error', 'allowed_models'],
    ['{"name":"x","allowed_regions":5}', 'validation_error', 'allowed_regions'],
    ['{"name":"x","budget_limit":1e400}', 'validation_error', 'budget_limit'],
    ['{"name":"x","budget_limit":-0}', 'validation_error', 'budget_limit'],
    ['{"name":"x","budget_limit":"5"}', 'validation_error', 'budget_limit'],
    ['{"name":"x","budget_period":"daily"}', 'missing_fields', 'budget_limit'],
    ['{"name":"x","budget_period":5}', 'validation_error', 'budget_period'],
    ['{"name":"x","rate_limit_rpm":1.5}', 'validation_error', 'rate_limit_rpm'],
    ['{"name":"x","rate_limit_rpm":"5"}', 'validation_error', 'rate_limit_rpm'],
    ['{"name":"x","fit":"maybe"}', 'validation_error', 'fit'],
    ['{"name":"x","metadata":"x"}', 'validation_error', 'metadata'],
    ['{"name":"x","id":"key_mine"}', 'unsupported_parameter', 'id'],
    ['{"name":"x","role":"root"}', 'unsupported_parameter', 'role'],
    ['{"name":"x","scopes":["*"]}', 'unsupported_parameter', 'scopes'],
    ['{"name":"x","__proto__":{"kind":"root"}}', 'unsupported_parameter', '__proto__'],
    ['{"name":"x","api_key":"x"}', 'raw_secret_field_rejected', 'api_key'],
  ])('refuses %s', async (body, code, param) => {
    const reply = await create(body)
    expectRefusal(reply, 400, code)
    expect(errorOf(reply)['param']).toBe(param)
  })

  it('refuses a name of 10,000 characters and 1,000 labels', async () => {
    expectRefusal(await create({ name: 'n'.repeat(10_000) }), 400, 'validation_error')
    const metadata = Object.fromEntries(
      Array.from({ length: 1000 }, (_, at) => [`label${at}`, 'x']),
    )
    expectRefusal(await create({ name: 'x', metadata }), 400, 'validation_error')
  })

  it('takes a name that a spreadsheet would run, as it is', async () => {
    expect((await create({ name: '=cmd|x' })).body['name']).toBe('=cmd|x')
  })

  it('folds the case of a region', async () => {
    const { id } = await createKey({ allowed_regions: 'eu' })
    expect((await read(id)).body['allowed_regions']).toEqual(['EU'])
  })
})

describe('changing a key', () => {
  it.each<readonly [string, string]>([
    ['{}', 'missing_fields'],
    ['{"budget_limit":true}', 'validation_error'],
    ['{"budget_limit":0.0000000001}', 'validation_error'],
    ['{"budget_remaining":100}', 'unsupported_parameter'],
    ['{"key":"x"}', 'raw_secret_field_rejected'],
    ['{"budget_period":"weekly"}', 'validation_error'],
    ['{"budget_period":"daily"}', 'missing_fields'],
  ])('refuses %s and leaves the key as it was', async (body, code) => {
    const { id } = await createKey()
    const before = await read(id)
    expectRefusal(await patch(id, body), 400, code)
    expect((await read(id)).text).toBe(before.text)
  })
})

describe('the body of a management request', () => {
  const latin1 = Uint8Array.from([...Buffer.from('{"name":"'), 0xe9, ...Buffer.from('"}')])
  const names = Array.from({ length: 100_000 }, (_, index) => `"${index.toString(36)}":0`)

  it.each<readonly [string, string | Uint8Array, string]>([
    ['an array', '[]', 'validation_error'],
    ['a text', '"x"', 'validation_error'],
    ['null', 'null', 'validation_error'],
    ['nothing', '', 'invalid_json'],
    ['a trailing comma', '{"name":"x",}', 'invalid_json'],
    ['half an object', '{"name":"x"', 'invalid_json'],
    ['two objects', '{"name":"x"}{}', 'invalid_json'],
    ['a byte order mark', '\ufeff{"name":"x"}', 'invalid_json'],
    ['another encoding', latin1, 'invalid_json'],
    ['deep nesting', `{"metadata":${'['.repeat(200)}${']'.repeat(200)}}`, 'validation_error'],
    ['100,000 members', `{${names.join(',')}}`, 'validation_error'],
    ['a repeated name', '{"name":"x","name":"y"}', 'validation_error'],
    ['a name repeated in disguise', '{"name":"x","na\\u006de":"y"}', 'validation_error'],
    ['a repeated name, then a break', '{"name":"x","name":"y"', 'invalid_json'],
  ])('is refused when it is %s', async (_, body, code) => {
    const { id } = await createKey()
    expectRefusal(await create(body), 400, code)
    expectRefusal(await patch(id, body), 400, code)
  })

  it.each<readonly [string, string, number, string]>([
    ['content-type', 'application/x-www-form-urlencoded', 415, 'unsupported_media_type'],
    ['content-type', '', 415, 'unsupported_media_type'],
    ['content-type', 'application/merge-patch+json', 415, 'unsupported_media_type'],
    ['content-encoding', 'gzip, '.repeat(9) + 'gzip', 415, 'unsupported_media_type'],
    ['idempotency-key', 'i'.repeat(256), 400, 'invalid_idempotency_key'],
  ])('is refused with %s: %s', async (name, value, status, code) => {
    const headers = { [name]: value }
    const { id } = await createKey()
    expectRefusal(await create({ name: 'x' }, { headers }), status, code)
    expectRefusal(await patch(id, { name: 'x' }, { headers }), status, code)
  })

  it('is refused with two content types', async () => {
    const type = ['Content-Type', 'application/json'] as const
    const request = { method: 'POST', target: KEYS, headers: [type, type], body: '{"name":"x"}' }
    expectRawRefusal(await callRaw(app.url, request), 400, 'invalid_request')
  })

  it('is refused above one mebibyte', async () => {
    expectRefusal(await create({ name: 'x'.repeat(1_048_576) }), 413, 'request_too_large')
  })

  it('may be compressed once', async () => {
    const body = Bun.gzipSync(Buffer.from('{"name":"zipped"}'))
    const reply = await create(body, { headers: { 'content-encoding': 'gzip' } })
    expect(reply.body['name']).toBe('zipped')
  })

  it('is given up when it stops coming', async () => {
    const clock = createFakeClock()
    await elsewhere({ clock }, async () => {
      const headers = [
        ['Content-Type', 'application/json'] as const,
        ['Content-Length', '100'] as const,
      ]
      const request = { method: 'POST', target: KEYS, headers, body: '{"name":"x' }
      const before = clock.listeners()
      const answer = callRaw(app.url, request)
      // oxlint-disable-next-line no-await-in-loop -- each turn lets the request come a little further
      while (clock.listeners() === before) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(60_000)
      expectRawRefusal(await answer, 408, 'request_timeout')
    })
  })
})

describe('the credential of a management request', () => {
  const places = [
    ['POST', KEYS],
    ['GET', KEYS],
    ['GET', `${KEYS}/key_x`],
    ['PATCH', `${KEYS}/key_x`],
    ['DELETE', `${KEYS}/key_x`],
    ['GET', `${KEYS}/key_x/audit`],
  ] as const

  /** The same refusal everywhere: what stands at the path is told to nobody without the root key. */
  async function expectEverywhere(
    options: CallOptions,
    status: number,
    code: string,
  ): Promise<void> {
    const replies = await Promise.all(
      places.map(([method, path]) =>
        call(
          method,
          path,
          method === 'POST' || method === 'PATCH' ? { body: '[', ...options } : options,
        ),
      ),
    )
    for (const reply of replies) expectRefusal(reply, status, code)
  }

  it('is missing', async () => {
    await expectEverywhere({ key: '' }, 401, 'missing_api_key')
  })

  it.each<readonly [string, string]>([
    ['of another scheme', 'Basic dTpw'],
    ['changed at its end', `Bearer ${ROOT.slice(0, -1)}x`],
    ['an injection', "Bearer ' OR '1'='1"],
    ['after two spaces', `Bearer  ${ROOT}`],
    ['alike in its first twenty characters', `Bearer ${ROOT.slice(0, 20)}${'x'.repeat(24)}`],
    ['the hash of the root key', `Bearer ${hashSecret(ROOT)}`],
    ['the hash of the root key in disguise', `Bearer svc_${hashSecret(ROOT)}`],
  ])('is refused when it is %s', async (_, authorization) => {
    await expectEverywhere({ key: '', headers: { authorization } }, 401, 'invalid_api_key')
  })

  it('may not be a managed key, nor the hash of one', async () => {
    // At a gateway of its own, which has not yet seen the wrong keys above.
    await elsewhere({}, async () => {
      const { id, key } = await createKey()
      await expectEverywhere({ key }, 403, 'permission_denied')
      await expectEverywhere({ key: hashSecret(key) }, 401, 'invalid_api_key')
      expectRefusal(await chat(hashSecret(key)), 401, 'invalid_api_key')
      expectRefusal(await chat(`svc-sk-${hashSecret(key)}`), 401, 'invalid_api_key')
      await call('DELETE', `${KEYS}/${id}`)
      await expectEverywhere({ key }, 401, 'invalid_api_key')
    })
  })

  it.each(['https://evil.test', 'null', 'http://127.0.0.1', 'nonsense'])(
    'does not help a page of the origin %s',
    async (origin) => {
      await expectEverywhere({ headers: { origin } }, 403, 'csrf_rejected')
    },
  )

  it.each(['http', 'https'])('serves a page of its own host over %s', async (scheme) => {
    const origin = app.url.replace('http', scheme)
    expect((await create({ name: 'x' }, { headers: { origin } })).status).toBe(200)
  })
})

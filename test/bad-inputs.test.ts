// Bad requests over the wire: each gets the status and the code that say what is wrong with it, in the
// one envelope, and none reaches a supplier. What only looks wrong must pass.
import { afterEach, describe, expect, it } from 'bun:test'
import { hashSecret } from '../src/core/ids.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'
import { completion, startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

const answerWell: Script = (_, reply) => reply.json(200, completion('Hi'))

async function openHouse(): Promise<House> {
  const supplier = await startFakeSupplier(answerWell)
  const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin)] })
  open.push(supplier, gateway)
  return { gateway, supplier }
}

type Header = readonly [string, string]
type Bytes = string | Uint8Array
type Request = Bytes | ((house: House) => Bytes | Promise<Bytes>)

/** Stands in what callers send; no refusal may repeat it. */
const CANARY = 'canary-7f3a'
const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const SOUND = [KEY, JSON_TYPE]
const CHAT = '/v1/chat/completions'

function get(target: string, ...headers: readonly Header[]): Bytes {
  return formatRequest({ target, headers: [KEY, ...headers] })
}

function post(body: unknown, ...headers: readonly Header[]): Bytes {
  return postTyped(body, [JSON_TYPE, ...headers])
}

function postTyped(body: unknown, headers: readonly Header[]): Bytes {
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return formatRequest({ method: 'POST', target: CHAT, headers: [KEY, ...headers], body: text })
}

/** A sound chat request but for these fields. */
function chat(changes: Readonly<Record<string, unknown>>): Bytes {
  return post({ ...HELLO, ...changes })
}

function message(content: Readonly<Record<string, unknown>>): Bytes {
  return chat({ messages: [content] })
}

function method(name: string, target = '/health'): Bytes {
  return formatRequest({ method: name, target, headers: [KEY] })
}

function models(...headers: readonly Header[]): Bytes {
  return formatRequest({ target: '/v1/models', headers })
}

function bearer(token: string): Header {
  return ['Authorization', `Bearer ${token}`]
}

async function send(house: House, request: Request): Promise<RawResponse> {
  return sendRaw(house.gateway.url, typeof request === 'function' ? await request(house) : request)
}

const TYPES = new Map([
  [401, 'authentication_error'],
  [403, 'permission_error'],
  [503, 'api_error'],
])

function expectProblem(response: RawResponse, status: number, code: string): object {
  const text = response.body.toString()
  const { error } = JSON.parse(text) as { error: Readonly<Record<string, unknown>> }
  const type = TYPES.get(status) ?? 'invalid_request_error'
  expect(error).toMatchObject({ code, type, retryable: status === 503 })
  expect(response.status).toBe(status)
  expect(error['human_message']).toMatch(/^[A-Z`].{10,300}[.>`]$/)
  expect(error['message']).toBe(`${code} - ${String(error['human_message'])}`)
  const { headers } = response
  expect(headers.get('content-type')).toBe('application/json')
  expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
  expect(headers.get('x-should-retry')).toBe(String(error['retryable']))
  if (status !== 503) expect(headers.has('retry-after')).toBe(false)
  expect(`${text}${JSON.stringify([...headers])}`).not.toContain(CANARY)
  return error
}

type Cases = Readonly<Record<string, Request>>
/** Status, code, and the field at fault where there is one. */
type Answer = readonly [number, string, string?]

function refuses(title: string, [status, code, param]: Answer, cases: Cases): void {
  describe(`${title}: ${status} ${code}`, () => {
    for (const [name, request] of Object.entries(cases))
      it(name, async () => {
        const house = await openHouse()
        const error = expectProblem(await send(house, request), status, code)
        if (param !== undefined) expect(error).toMatchObject({ param })
        expect(house.supplier.requests).toHaveLength(0)
        expect((await send(house, method('GET'))).status).toBe(200)
      })
  })
}

function accepts(title: string, cases: Cases): void {
  describe(title, () => {
    for (const [name, request] of Object.entries(cases))
      it(name, async () => {
        const response = await send(await openHouse(), request)
        expect(response.body.toString()).not.toContain('"error"')
        expect(response.status).toBe(200)
        expect(response.headers.get('x-request-id')).toMatch(/^req_/)
      })
  })
}

/** The parser's own refusals may be empty, but are never followed by anything. */
function hangsUp(status: number, cases: Readonly<Record<string, Bytes>>): void {
  describe(`what the parser refuses by itself is hung up on: ${status}`, () => {
    for (const [name, bytes] of Object.entries(cases))
      it(name, async () => {
        const house = await openHouse()
        const client = await connectRaw(house.gateway.url)
        await client.send(bytes)
        const response = await client.response()
        expect(response.status).toBe(status)
        expect(response.headers.get('connection')).toBe('close')
        await client.closed
        expect(client.rest).toHaveLength(0)
        expect(house.supplier.requests).toHaveLength(0)
        expect((await send(house, method('GET'))).status).toBe(200)
      })
  })
}

/** A head by hand, for what no formatter would write. */
function head(...lines: readonly string[]): string {
  return `${['POST /v1/chat/completions HTTP/1.1', ...lines].join('\r\n')}\r\n\r\n`
}

const HOST = 'Host: gateway.test'
const LENGTH = 'Content-Length: 5'
const CHUNKED = 'Transfer-Encoding: chunked'
const CHUNKS = '5\r\nhello\r\n0\r\n\r\n'

/** From a caller who may, because nobody reads the body of another. */
function chunked(size: string): string {
  const type = 'Content-Type: application/json'
  return `${head(HOST, KEY.join(': '), type, CHUNKED)}${size}\r\nabc\r\n0\r\n\r\n`
}

hangsUp(400, {
  'an unknown transfer encoding': head(HOST, 'Transfer-Encoding: xchunked') + CHUNKS,
  'a stacked transfer encoding': head(HOST, 'Transfer-Encoding: gzip, chunked') + CHUNKS,
  'two transfer encodings': head(HOST, CHUNKED, CHUNKED) + CHUNKS,
  'a length beside chunks': head(HOST, CHUNKED, LENGTH) + CHUNKS,
  'chunks beside a length': head(HOST, LENGTH, CHUNKED) + CHUNKS,
  'two lengths that differ': `${head(HOST, LENGTH, 'Content-Length: 6')}hello!`,
  'a list of lengths': `${head(HOST, 'Content-Length: 5, 5')}hello`,
  'a negative length': head(HOST, 'Content-Length: -5'),
  'a length with an exponent': head(HOST, 'Content-Length: 1e3'),
  'a length of twenty nines': head(HOST, `Content-Length: ${'9'.repeat(20)}`),
  'a chunk size that is no number': chunked('zz'),
  'a negative chunk size': chunked('-1'),
  'a chunk size beyond all bounds': chunked('f'.repeat(16)),
  'no host': head(LENGTH),
  'a bare line feed in a header line': head(HOST, 'X-A: b\nX-C: d'),
  'a folded header': head(HOST, 'X-A: b\r\n c'),
  'a space before the colon': head(HOST, 'X-A : 5'),
  'a zero byte in a header': head(HOST, 'X-A: b\0c'),
  'an escape sequence in a header': head(HOST, 'X-A: \u001B[31m'),
  'the greeting of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  'the greeting of TLS': Buffer.from('16030100c8010000c40303', 'hex'),
  'a target without a slash': get('health'),
})

const LONG: Header = ['X-A', 'a'.repeat(190)]

hangsUp(431, {
  'a header of 17 KB': get('/v1/models', ['X-A', 'a'.repeat(17 * 1024)]),
  'headers of 17 KB in all': get('/health', ...Array.from({ length: 90 }, () => LONG)),
  'an entity tag of 20 KB': get('/v1/models', ['If-None-Match', 'a'.repeat(20_480)]),
  'a target of 20 KB': get(`/${'a'.repeat(20_480)}`),
})

refuses('a path that is none of ours', [404, 'not_found'], {
  'another authority in front': get('//evil.test/v1/models'),
  'an encoded slash': get('/v1%2Fmodels'),
  'another case': get('/V1/Models'),
  'a trailing slash on the models': get('/v1/models/'),
  'a trailing slash on the chat': method('POST', `${CHAT}/`),
  'a trailing slash on the health': get('/health/'),
  'an ending': get('/health.json'),
  'a fragment': get('/health#x'),
  'nothing there': get(`/${CANARY}`),
  'nothing there, and no credential': formatRequest({ target: '/nope' }),
  'a target of 10 KB': get(`/${'a'.repeat(10_240)}`),
})

refuses('a path that means nothing', [400, 'invalid_request'], {
  'a broken escape': get('/v1/models/%zz'),
  'a broken escape where nothing is': get('/%zz'),
  'an escaped zero byte': get('/v1/models/%00'),
  'an escape that is no UTF-8': get('/v1/models/%ff'),
})

function toHost(...hosts: readonly string[]): Bytes {
  const headers = hosts.map((host): Header => ['Host', host])
  return formatRequest({ target: '/v1/models', headers: [KEY, ...headers] })
}

refuses('a host', [400, 'invalid_request', 'host'], {
  twice: toHost('a', 'b'),
  'with a path': toHost(`a/health?${CANARY}`),
  'with a user': toHost('a@b'),
  'with a space': toHost('a b'),
})

refuses('an expectation', [417, 'invalid_request'], {
  'that nobody can meet': post(HELLO, ['Expect', 'banana']),
})

describe('a method that a path does not answer', () => {
  it('is hung up on when nobody has heard of it', async () => {
    const house = await openHouse()
    const client = await connectRaw(house.gateway.url)
    await client.send(method('BREW'))
    await client.closed
    expect((await send(house, method('GET'))).status).toBe(200)
  })

  const rows: readonly (readonly [string, string, string])[] = [
    ['TRACE CONNECT PUT PATCH OPTIONS PROPFIND', '/health', 'GET'],
    ['POST TRACE', '/v1/models', 'GET'],
    ['DELETE', '/v1/models/test-model', 'GET'],
    ['GET TRACE', CHAT, 'POST'],
    ['GET', '/api/hello', 'HEAD'],
  ]
  for (const [names, target, allowed] of rows)
    it(`${names} ${target}: 405, with the methods that it does answer`, async () => {
      const house = await openHouse()
      for (const name of names.split(' ')) {
        const response = await send(house, method(name, target))
        expectProblem(response, 405, 'method_not_allowed')
        expect(response.headers.get('allow')?.split(', ')).toContain(allowed)
        expect(response.headers.get('allow')?.split(', ')).not.toContain(name)
      }
    })
})

/** A valid key that has just been used, and then the same with a change. */
function altered(change: (key: string) => Header): Request {
  return async (house) => {
    const { key } = await house.gateway.createKey({ name: 'one' })
    expect((await send(house, models(bearer(key)))).status).toBe(200)
    return models(change(key))
  }
}

const swapLast = (key: string): string => key.slice(0, -1) + (key.endsWith('A') ? 'B' : 'A')

refuses('no credential', [401, 'missing_api_key'], {
  'for the models': models(),
  'for a model': formatRequest({ target: '/v1/models/test-model' }),
  'whatever else is wrong': formatRequest({ method: 'POST', target: CHAT, body: CANARY }),
  'but an empty second header': models(['x-api-key', '']),
  'but a key in the query': formatRequest({ target: `/v1/models?api_key=${ROOT_KEY}` }),
  'but a key in a cookie': models(['Cookie', `authorization=${ROOT_KEY}`]),
})

refuses('a credential that is not valid', [401, 'invalid_api_key'], {
  'a name and a password': models(['Authorization', 'Basic dTpw']),
  'the key without a scheme': models(['Authorization', ROOT_KEY]),
  'a key of another house': models(bearer(`sk-${CANARY}`)),
  'an unknown key': models(bearer(`svc-sk-${CANARY}`)),
  'a query in place of a key': models(bearer("' OR '1'='1")),
  'a query behind a prefix': models(bearer("svc_' OR '1'='1")),
  'a key of bytes beyond ASCII': models(bearer('svc_\u00E9\u00FF')),
  'a key of 10 KB': models(bearer(`svc_${'a'.repeat(10_240)}`)),
  'two spaces before the key': models(bearer(` ${ROOT_KEY}`)),
  'a tab before the key': models(['Authorization', `Bearer\t${ROOT_KEY}`]),
  'the last character changed': altered((key) => bearer(swapLast(key))),
  'the beginning of a key just used': altered((key) =>
    bearer(`${key.slice(0, 20)}${'x'.repeat(30)}`),
  ),
  'the stored hash of a key': altered((key) => bearer(hashSecret(key))),
  'the stored hash behind a prefix': altered((key) => bearer(`svc-sk-${hashSecret(key)}`)),
  'a bad one of ours before a good one': models(bearer('svc_wrong'), ['x-api-key', ROOT_KEY]),
  'a revoked key': async (house) => {
    const { id, key } = await house.gateway.createKey({ name: 'one' })
    expect((await send(house, models(bearer(key)))).status).toBe(200)
    await house.gateway.manage('DELETE', `/keys/${id}`)
    return models(bearer(key))
  },
})

refuses('a credential header', [400, 'invalid_request', 'authorization'], {
  twice: models(KEY, KEY),
  'with two keys': models(KEY, bearer(`svc_${CANARY}`)),
})

refuses('the second credential header', [400, 'invalid_request', 'x-api-key'], {
  'with two keys': models(['x-api-key', ROOT_KEY], ['X-Api-Key', CANARY]),
})

refuses('the management interface', [403, 'permission_denied'], {
  'for a managed key': async ({ gateway }) => {
    const { key } = await gateway.createKey({ name: 'one' })
    return formatRequest({ target: '/v1/manage/keys', headers: [bearer(key)] })
  },
})

accepts('a credential in any of its spellings', {
  'in lower case': models(['authorization', `bearer ${ROOT_KEY}`]),
  'in upper case': models(['AUTHORIZATION', `BEARER ${ROOT_KEY}`]),
  'in the second header': models(['x-api-key', ROOT_KEY]),
  'ours second': models(bearer('sk-other'), ['x-api-key', ROOT_KEY]),
  'ours first': models(KEY, ['x-api-key', 'sk-other']),
  'both ours, the first good': models(KEY, ['x-api-key', 'svc_other']),
  'beside another scheme': models(['Authorization', 'Basic dTpw'], ['x-api-key', ROOT_KEY]),
  'of a managed key': altered((key) => bearer(key)),
})

/** A sound request with this many levels inside of it. */
function nested(levels: number): string {
  return hello.replace('{', `{"x":${'['.repeat(levels)}${']'.repeat(levels)},`)
}

const hello = JSON.stringify(HELLO)
const manyKeys = Array.from({ length: 100_000 }, (_, at) => `"k${at}":1`).join(',')

refuses('a body that is no JSON', [400, 'invalid_json'], {
  nothing: post(''),
  'half a document': post(hello.slice(0, -1)),
  'a trailing comma': post(hello.replace(/\}$/, ',}')),
  'text after the end': post(`${hello}${CANARY}`),
  'a comment': post(`/* ${CANARY} */${hello}`),
  'a number that is none': post('{"n":NaN}'),
  'a control character in a string': post('{"model":"a\nb"}'),
  'a byte order mark': post(`\uFEFF${hello}`),
  'UTF-16': post(Buffer.from(hello, 'utf16le')),
  'a byte that is no UTF-8': post(Buffer.from('{"model":"\u00FF"}', 'latin1')),
  'half a surrogate pair': post(Buffer.from('{"model":"\u00ED\u00A0\u0080"}', 'latin1')),
  'a repeated name and a broken end': post('{"model":"a","model":"b",'),
  'a wrong field and a broken end': post('{"stream":"x","model"'),
})

refuses('a body of a wrong shape', [400, 'validation_error'], {
  'a list': post('[]'),
  'a string': post(`"${CANARY}"`),
  'a number': post('5'),
  null: post('null'),
  '200 levels': post(nested(200)),
  '65 levels': post(nested(64)),
  '100,000 levels': post('['.repeat(100_000)),
  '100,000 keys': post(hello.replace('{', `{${manyKeys},`)),
})

refuses('a body that could be read in two ways', [400, 'validation_error', 'model'], {
  'a name twice': post(hello.replace('{', `{"model":"${CANARY}",`)),
  'a name again by an escape': post(hello.replace('{', '{"mod\\u0065l":"x",')),
  'a name again in another case': post(hello.replace('{', '{"MODEL":"x",')),
})

const typed = (type: string): Bytes => postTyped(HELLO, [['Content-Type', type]])
const encoded = (encoding: string): Bytes => post(HELLO, ['Content-Encoding', encoding])

refuses('a body of another kind', [415, 'unsupported_media_type'], {
  'without a type': postTyped(HELLO, []),
  'a form': typed('application/x-www-form-urlencoded'),
  'a patch': typed('application/merge-patch+json'),
  'another character set': typed('application/json; charset=latin1'),
  'ten encodings': encoded(Array(10).fill('gzip').join(', ')),
  'an encoding twice': post(HELLO, ['Content-Encoding', 'gzip'], ['Content-Encoding', 'gzip']),
  'an unknown encoding': encoded(CANARY),
  'an inherited name for an encoding': encoded('constructor'),
  'a prototype for an encoding': encoded('__proto__'),
})

refuses('a body that is announced wrongly', [400, 'invalid_request'], {
  'two types': post(HELLO, JSON_TYPE),
  'an encoding that it does not have': encoded('gzip'),
})

for (const field of ['api_key', 'base_url', 'api_base', 'custom_host'])
  refuses(`a body with a ${field}`, [400, 'raw_secret_field_rejected', field], {
    'as text': chat({ [field]: `http://${CANARY}` }),
    'as an object': chat({ [field]: { url: CANARY } }),
  })

refuses('a body without a model', [400, 'missing_model', 'model'], {
  'no model': chat({ model: undefined }),
  'an empty model': chat({ model: '' }),
  'a model of null': chat({ model: null }),
})

refuses('a model that nobody serves', [404, 'model_not_found', 'model'], {
  'a path': chat({ model: '../../x' }),
  'another case': chat({ model: 'Test-Model' }),
  'a space': chat({ model: ' ' }),
  'the name of an inherited property': chat({ model: 'constructor' }),
  'the name of a prototype': chat({ model: '__proto__' }),
  'a very long name': chat({ model: `${'x'.repeat(64)}${CANARY}` }),
})

refuses('a model that is not listed', [404, 'model_not_found'], {
  'by an unknown id': get(`/v1/models/${CANARY}`),
  'by the name of a prototype': get('/v1/models/__proto__'),
  'by dots that are encoded': get('/v1/models/..%2f..%2fhealth'),
  'by a line break': get('/v1/models/test-model%0d%0a'),
})

refuses('a chat without messages', [400, 'missing_prompt', 'messages'], {
  'no messages': chat({ messages: undefined }),
  'messages of null': chat({ messages: null }),
  'an empty list': chat({ messages: [] }),
})

/** Values that each of these fields must not have. */
const WRONG: Readonly<Record<string, readonly unknown[]>> = {
  model: [['a', 'b'], 5, true, { id: CANARY }],
  messages: ['x', {}, 5],
  stream: ['true', 1, {}],
  temperature: [2.01, -0.01, '1', true, 1e300],
  top_p: [1.5, -1, '1'],
  max_tokens: [-5, 0, 1.5, '5', true, 1e300],
  max_completion_tokens: [-5, 0, '5'],
  n: [1000, 0, 1.5, '1'],
  region: [7, '', ['EU'], true],
  metadata: ['x', 5, []],
  tools: [{}, 'x', 5],
  response_format: ['json', 5, []],
  stream_options: ['x', 5, []],
}

for (const [field, values] of Object.entries(WRONG)) {
  const cases = values.map((value) => [JSON.stringify(value), chat({ [field]: value })] as const)
  refuses(`a wrong ${field}`, [400, 'validation_error', field], Object.fromEntries(cases))
}

const image = (url: unknown): Bytes =>
  message({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] })

const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

const WRONG_WITHIN: Readonly<Record<string, Cases>> = {
  'messages[0]': { null: chat({ messages: [null] }), 'a string': chat({ messages: [CANARY] }) },
  'messages[0].role': {
    none: message({ content: 'x' }),
    unknown: message({ role: 'root', content: 'x' }),
    'a number': message({ role: 5, content: 'x' }),
  },
  'messages[0].content': {
    none: message({ role: 'user' }),
    null: message({ role: 'user', content: null }),
    'a number': message({ role: 'user', content: 7 }),
  },
  'messages[0].content[0]': { 'a string': message({ role: 'user', content: [CANARY] }) },
  'messages[0].content[0].image_url.url': {
    'a local file': image('file:///etc/passwd'),
    'a local file in capitals': image('FILE:///etc/passwd'),
    'a number': image(5),
  },
  'response_format.type': { unknown: chat({ response_format: { type: 'xml' } }) },
  'stream_options.include_usage': { text: chat({ stream_options: { include_usage: 'yes' } }) },
  'metadata.session_id': { long: chat({ metadata: { session_id: 'x'.repeat(257) } }) },
  'metadata.sticky_key': { 'an object': chat({ metadata: { sticky_key: {} } }) },
  'X-Session-Id': { 'of 300 characters': post(HELLO, ['X-Session-Id', 'x'.repeat(300)]) },
}

for (const [field, cases] of Object.entries(WRONG_WITHIN))
  refuses(`a wrong ${field}`, [400, 'validation_error', field], cases)

accepts('a chat that only looks wrong', {
  'fields of null': chat({ stream: null, temperature: null, max_tokens: null, metadata: null }),
  'the ends of the ranges': chat({ temperature: 2, top_p: 0, n: 128, max_tokens: 1 }),
  'a whole number with a fraction of zero': post(hello.replace('{', '{"max_tokens":1.0e1,')),
  'an unknown field': chat({ future_option: { deep: [1] } }),
  'an unknown part': message({ role: 'user', content: [{ type: 'hologram', data: 'x' }] }),
  'an inline image': image('data:image/png;base64,AAAA'),
  'roles of every kind': chat({ messages: ROLES.map((role) => ({ role, content: 'x' })) }),
  'tool calls in place of content': message({ role: 'assistant', content: null, tool_calls: [{}] }),
  'a character set': typed('application/json; charset=UTF-8'),
  'an encoding that changes nothing': encoded('identity'),
  '63 levels inside of it': post(nested(63)),
  '10,000 keys': post(`{${manyKeys.split(',', 9_998).join(',')},${hello.slice(1)}`),
  'half a surrogate pair by an escape': post(hello.replace('Hello', '\\ud800')),
  'a session of 256 characters': post(HELLO, ['X-Session-Id', 'x'.repeat(256)]),
  'a prototype among the fields': post(hello.replace('{', '{"__proto__":{"polluted":1},')),
  'a query': formatRequest({ method: 'POST', target: `${CHAT}?a`, headers: SOUND, body: hello }),
})

accepts('a request that only looks wrong', {
  'the health with a credential of 10 KB': formatRequest({ headers: [bearer('a'.repeat(10_240))] }),
  'the health with a body': formatRequest({ body: 'x'.repeat(1024) }),
  'the health by range': formatRequest({ headers: [['Range', 'bytes=0-1']] }),
  'the health with a query': formatRequest({ target: '/health?x=%zz' }),
  'the health in an old version without a host': 'GET /health HTTP/1.0\r\n\r\n',
  'the models by an absolute address': get('http://evil.test/v1/models'),
  'a model by its id': get('/v1/models/test%2Dmodel'),
  'unknown headers': models(KEY, ['X-Stainless-Helper', 'x'.repeat(1024)]),
})

describe('a model’s name in a refusal', () => {
  it('is cut to 64 characters', async () => {
    const response = await send(await openHouse(), chat({ model: `${'x'.repeat(64)}yz` }))
    expect(response.body.toString()).toContain(`\\"${'x'.repeat(64)}\\"`)
  })

  it('comes without anything that a terminal would obey', async () => {
    const model = '\u001B[31m\u009B31m\u202E\u2028\u007F\r\n\0'
    const text = (await send(await openHouse(), chat({ model }))).body.toString()
    expect(text).toContain('31m')
    expect(text).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
  })
})

describe('a key with limits', () => {
  async function askAs(house: House, settings: object, changes: object = {}): Promise<RawResponse> {
    const { key } = await house.gateway.createKey({ name: 'one', ...settings })
    const headers = [bearer(key), JSON_TYPE]
    const body = JSON.stringify({ ...HELLO, ...changes })
    return send(house, formatRequest({ method: 'POST', target: CHAT, headers, body }))
  }

  const refusals = [
    ['another model', { allowed_models: ['other'] }, {}, 'model_not_allowed', 'model'],
    ['another region', { allowed_regions: 'EU' }, { region: 'US' }, 'permission_denied', 'region'],
    [
      'a region of nobody',
      { allowed_regions: 'MARS' },
      {},
      'sovereign_route_unavailable',
      'region',
    ],
  ] as const
  for (const [name, settings, changes, code, param] of refusals)
    it(`is refused ${name}: 403 ${code}`, async () => {
      const house = await openHouse()
      const response = await askAs(house, settings, changes)
      expect(expectProblem(response, 403, code)).toMatchObject({ param })
      expect(house.supplier.requests).toHaveLength(0)
    })

  it('is asked to wait where everyone in its region is down, and nobody else is asked', async () => {
    const down = await startFakeSupplier((_, reply) => reply.json(500, { error: { message: 'x' } }))
    const abroad = await startFakeSupplier(answerWell)
    const elsewhere = supplierAt(abroad.origin, { id: 'abroad', region: 'US' })
    const gateway = await startGateway({ suppliers: [supplierAt(down.origin), elsewhere] })
    open.push(down, abroad, gateway)
    const response = await askAs({ gateway, supplier: down }, { allowed_regions: 'EU' })
    expectProblem(response, 503, 'sovereign_route_unavailable')
    expect(response.headers.get('retry-after')).toBe('1')
    expect(abroad.connections()).toBe(0)
  })

  it('sees the models of its region and its list alone', async () => {
    const { gateway } = await openHouse()
    for (const [settings, count] of [
      [{ allowed_regions: 'EU' }, 1],
      [{ allowed_regions: 'US' }, 0],
      [{ allowed_models: ['other'] }, 0],
    ] as const) {
      const { key } = await gateway.createKey({ name: 'one', ...settings })
      const response = await sendRaw(gateway.url, models(bearer(key)))
      expect(JSON.parse(response.body.toString())).toHaveLength(count)
    }
  })
})

describe('a gateway that is shutting down', () => {
  for (const [name, request] of Object.entries({ chat: post(HELLO), models: get('/v1/models') }))
    it(`sends ${name} elsewhere and hangs up`, async () => {
      const house = await openHouse()
      void house.gateway.app.drain({ noticeMs: 600_000, limitMs: 600_000 })
      const client = await connectRaw(house.gateway.url)
      await client.send(request)
      const response = await client.response()
      expectProblem(response, 503, 'pod_draining')
      expect(response.headers.get('retry-after')).toBe('1')
      expect(response.headers.get('connection')).toBe('close')
      await client.closed
      expect(house.supplier.requests).toHaveLength(0)
      house.gateway.app.cut()
    })
})

// What callers and suppliers say stays where it belongs: no secret is written anywhere, no text breaks out
// into a log line or a header, and no name reaches what every object inherits.
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Secret } from '../src/core/secret.ts'
import { createLog, type Log } from '../src/observe/log.ts'
import { HELLO, ROOT_KEY, startGateway, supplierAt } from './fakes/gateway.ts'
import { formatRequest, sendRaw } from './fakes/raw.ts'
import { chunk, completion, startFakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

const answerWell: Script = (_, reply) => reply.json(200, completion('Hi'))

type Header = readonly [string, string]

const KEY: Header = ['Authorization', `Bearer ${ROOT_KEY}`]
const JSON_TYPE: Header = ['Content-Type', 'application/json']
const CHAT = '/v1/chat/completions'
const hello = JSON.stringify(HELLO)

function post(body: string, ...headers: readonly Header[]): Buffer {
  return formatRequest({
    method: 'POST',
    target: CHAT,
    headers: [KEY, JSON_TYPE, ...headers],
    body,
  })
}

interface CapturedLog {
  readonly log: Log
  readonly lines: () => readonly string[]
  readonly until: (count: number) => Promise<void>
}

/** A log whose lines can be read and waited for. */
function captureLog(): CapturedLog {
  let text = ''
  let wake = (): void => {}
  const write = (piece: string): void => {
    text += piece
    wake()
  }
  const lines = (): string[] => text.split('\n').slice(0, -1)
  return {
    log: createLog({ write, now: () => 0, isTerminal: false }),
    lines,
    until: async (count) => {
      while (lines().length < count) await new Promise<void>((resolve) => (wake = resolve))
    },
  }
}

const ESCAPES = [
  '\r\nX-Evil: 1',
  '\n{"evil":1}',
  '\u001B[31m',
  '\u009B31m',
  '\u2028',
  '\0',
  '"}\n{"',
]

describe('line breaks and escape sequences', () => {
  it('never reach a log line, a header to the supplier or one to the caller', async () => {
    const { log, lines, until } = captureLog()
    const supplier = await startFakeSupplier(answerWell)
    const price = supplierAt(supplier.origin).models.get('test-model')!.prices
    const local = supplierAt(supplier.origin, { id: 'local', anyModel: price })
    const gateway = await startGateway({ suppliers: [local], log })
    open.push(supplier, gateway)
    let count = 0
    const send = async (bytes: Uint8Array): Promise<void> => {
      const { headers } = await sendRaw(gateway.url, bytes)
      count++
      expect(headers.has('x-evil')).toBe(false)
    }
    for (const text of ESCAPES) {
      const metadata = { session_id: `s${text}`, sticky_key: text, [text]: text }
      for (const model of [text, `local/${text}`, 'test-model'])
        await send(post(JSON.stringify({ ...HELLO, model, metadata, region: undefined })))
      await send(
        formatRequest({ target: `/v1/models/${encodeURIComponent(text)}`, headers: [KEY] }),
      )
      await send(
        formatRequest({ target: `/${encodeURIComponent(text)}?${encodeURIComponent(text)}` }),
      )
    }
    await send(formatRequest({ target: '/v1/models/\u0080\u009B31m\u00FF', headers: [KEY] }))
    await send(post(hello, ['X-Session-Id', '\u0080\u009B31m\u00FF']))
    await until(count)
    expect(lines()).toHaveLength(count)
    for (const line of lines()) {
      expect(line).not.toMatch(/[\p{C}\p{Zl}\p{Zp}]/u)
      expect(Object.keys(JSON.parse(line) as object)).not.toContain('evil')
    }
    expect(supplier.requests).toHaveLength(2 * ESCAPES.length + 1)
    for (const { headers, head } of supplier.requests) {
      expect(head).not.toMatch(/evil|31m/i)
      expect([...headers.keys()].toSorted()).toEqual(SUPPLIER_HEADERS)
    }
  })
})

/** All that a supplier is ever sent, whatever the caller sends. */
const SUPPLIER_HEADERS = [
  'accept',
  'accept-encoding',
  'authorization',
  'connection',
  'content-length',
  'content-type',
  'host',
  'user-agent',
]

describe('secrets', () => {
  const root = `svc_root-canary-${'r'.repeat(32)}`
  const credential = 'supplier-canary-c0ffee'

  /** Repeats the credential to us in every way that suppliers do. */
  const echo: Script = ({ body, headers }, reply) => {
    const { user } = JSON.parse(body.toString()) as { user: string }
    const error = {
      message: `Bad key ${headers.get('authorization')}`,
      code: 'bad',
      key: credential,
    }
    if (/^\d/.test(user)) return reply.json(Number(user), { error })
    if (user === 'html') return reply.json(400, `<p>${credential}</p>`)
    if (user === 'good') return reply.json(200, completion('Hi'))
    const stream = reply.stream()
    if (user === 'late') stream.send(chunk({ content: 'Hi' }))
    stream.send(`data: ${JSON.stringify({ error })}\n\n`)
    return stream.end()
  }

  it('are in no answer, no log line and no file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
    open.push({ stop: async () => rmSync(folder, { recursive: true, force: true }) })
    const { log, lines } = captureLog()
    const supplier = await startFakeSupplier(echo)
    const gateway = await startGateway({
      log,
      environment: { GATEWAY_ROOT_KEY: root, GATEWAY_DATA: folder },
      suppliers: [supplierAt(supplier.origin, { credential: new Secret(credential) })],
    })
    open.push(supplier, gateway)
    const answers: string[] = []
    const send = async (method: string, target: string, key: string, body?: unknown) => {
      const headers: readonly Header[] = [['Authorization', `Bearer ${key}`], JSON_TYPE]
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      const request = formatRequest({
        method,
        target,
        headers,
        ...(body === undefined ? {} : { body: text }),
      })
      const answer = await sendRaw(gateway.url, request)
      answers.push(`${JSON.stringify([...answer.headers])}${answer.body.toString()}`)
      return answer
    }
    const created = await send('POST', '/v1/manage/keys', root, { name: 'one' })
    const { id, key } = JSON.parse(created.body.toString()) as { id: string; key: string }
    // The one place where a secret is shown, and the one time.
    expect(answers.splice(0)[0]).toContain(key)
    for (const user of [
      'good',
      '200',
      '400',
      '401',
      '403',
      '404',
      '422',
      '429',
      '500',
      '503',
      'html',
    ])
      expect((await send('POST', CHAT, key, { ...HELLO, user })).status).toBeGreaterThan(0)
    for (const user of ['first', 'late', '400', '500'])
      await send('POST', CHAT, key, { ...HELLO, user, stream: true })
    for (const body of ['{', `"${key}"`, { ...HELLO, api_key: root }, { ...HELLO, [key]: key }])
      await send('POST', CHAT, key, body)
    await send('POST', CHAT, `${key}x`, HELLO)
    await send('GET', `/v1/models?api_key=${root}`, key)
    for (const target of [
      '/v1/manage/keys',
      `/v1/manage/keys/${id}`,
      `/v1/manage/keys/${id}/audit`,
    ])
      for (const caller of [root, key]) await send('GET', target, caller)
    await send('PATCH', `/v1/manage/keys/${id}`, root, { key: root })
    await send('PATCH', `/v1/manage/keys/${id}`, root, { name: 'two', secret: key })
    await send('POST', '/v1/manage/keys', root, { name: 'x', token: key })
    await gateway.drain()
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    expect(supplier.requests.length).toBeGreaterThan(14)
    expect(lines().length).toBeGreaterThan(answers.length)
    expect(files.join('').length).toBeGreaterThan(1000)
    const written = [...answers, ...lines(), ...files].join('\n')
    expect(written).toContain('[redacted]')
    for (const secret of [root, key, credential])
      for (const form of [secret, btoa(secret), Buffer.from(secret).toString('hex')])
        expect(written.includes(form), `${form} is written somewhere`).toBe(false)
  })
})

describe('a credential that a supplier repeats to us', () => {
  const credential = 'sup/secret-canary'
  const spellings = ['sup/secret-canary', 'sup\\/secret-canary', '\\u0073up\\u002fsecret-canary']

  /** As a refusal, and as an error inside of a 200. */
  const CASES = spellings.flatMap((spelling) =>
    [400, 200].flatMap((status) => [false, true].map((stream) => ({ spelling, status, stream }))),
  )
  it.each(CASES)('is the only word of its answer that is left out: %j', async (each) => {
    const { spelling, status, stream } = each
    const error =
      `{"error":{"message":"The key ${spelling} has no credit","code":"stream_error",` +
      `"hint":["see ${spelling}",{"${spelling}":"pay first"}]}}`
    const supplier = await startFakeSupplier((_, reply) => reply.json(status, error))
    const suppliers = [supplierAt(supplier.origin, { credential: new Secret(credential) })]
    const gateway = await startGateway({ suppliers })
    open.push(supplier, gateway)
    const response = await gateway.chat({ ...HELLO, stream })
    expect(response.status).toBe(status === 200 ? 502 : 400)
    const text = await response.text()
    expect(text).not.toContain('secret-canary')
    expect(JSON.parse(text)).toMatchObject({
      error: {
        code: 'stream_error',
        human_message: 'The key [redacted] has no credit',
        provider: {
          message: 'The key [redacted] has no credit',
          hint: ['see [redacted]', { '[redacted]': 'pay first' }],
        },
      },
    })
  })
})

describe('a credential at the end of what a caller is told of a long message', () => {
  it.each([1, 2, 8, 15])('is left out when all but %p of its characters fit', async (missing) => {
    const credential = 'secret-canary-0123456789'
    const message = 'x'.repeat(4096 - credential.length + missing) + credential
    const supplier = await startFakeSupplier((_, reply) => reply.json(400, { error: { message } }))
    const suppliers = [supplierAt(supplier.origin, { credential: new Secret(credential) })]
    const gateway = await startGateway({ suppliers })
    open.push(supplier, gateway)
    const response = await gateway.chat(HELLO)
    expect(response.status).toBe(400)
    const text = await response.text()
    expect(text).toContain('xxx[redacted]"')
    expect(text).not.toContain('secret-c')
  })
})

describe('names that every object inherits', () => {
  for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])
    it(`are names like any other: ${name}`, async () => {
      const supplier = await startFakeSupplier(answerWell)
      const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin)] })
      open.push(supplier, gateway)
      const own = `"${name}":{"polluted":true,"constructor":{"prototype":{"polluted":true}}}`
      const asText = `"${name}":"x"`
      const bodies = [
        hello.replace('{', `{${own},`),
        hello.replace('{', `{"metadata":{${own}},`),
        hello.replace('{"role"', `{${own},"role"`),
      ]
      for (const [index, body] of bodies.entries()) {
        expect((await gateway.chat(body)).status).toBe(200)
        expect((await supplier.request(index)).body.toString()).toContain(own)
      }
      expect((await gateway.chat({ ...HELLO, model: name })).status).toBe(404)
      const manage = (body: string): Promise<Response> => gateway.manage('POST', '/keys', body)
      expect((await manage(`{"name":"one",${own}}`)).status).toBe(400)
      const created = await manage(`{"name":"one","metadata":{${asText}}}`)
      const { id } = (await created.json()) as { id: string }
      const read = await gateway.manage('GET', `/keys/${id}`)
      expect(await read.text()).toContain(`"metadata":{${asText}}`)
      for (const path of [`/v1/models/${name}`, `/v1/errors/${name}`, `/v1/manage/keys/${name}`])
        expect(
          (await sendRaw(gateway.url, formatRequest({ target: path, headers: [KEY] }))).status,
        ).toBe(404)
      const encoding = await sendRaw(gateway.url, post(hello, ['Content-Encoding', name]))
      expect(encoding.status).toBe(415)
      expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
      expect(Object.keys(Object.prototype)).toEqual([])
    })
})

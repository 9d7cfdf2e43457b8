// What goes wrong with the tokens that native suppliers are called by: before anything was served it costs nothing and
// another token or another sign-in answers, and after the first content it is a stream that broke like any other.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Log } from '../../src/observe/log.ts'
import {
  HELLO_NATIVE,
  openAgency,
  refusalOf,
  sayHello,
  type Agency,
  type AgencyOptions,
} from '../fakes/agency.ts'
import { createFakeClock, type FakeClock } from '../fakes/clock.ts'
import { IN, OUT, readOnly, SECOND, type CallRecord } from '../fakes/fault.ts'
import { answers } from '../fakes/issuer.ts'
import { readKey, toNano } from '../fakes/prices.ts'
import { dataOf, expectSoundBooks } from '../fakes/records.ts'
import { beginText, failedEvent, PREAMBLE, printEvents } from '../fakes/response-supplier.ts'
import { closeStreet, createGate, readText, tidy } from '../fakes/street.ts'
import type { FakeReply, FakeStream, Script } from '../fakes/supplier.ts'

afterEach(closeStreet)

/** Of `sayHello`: nobody has another price for what is cached. */
const EXACT = 11 * IN + 7 * OUT
const ENDED = { error: { message: 'Your sign-in has ended.', code: 'token_expired' } }
const CALLERS = 100

interface Scene extends Agency {
  readonly clock: FakeClock
  /** What the operator was told. */
  readonly notes: readonly string[]
  readonly key: { readonly id: string; readonly key: string }
  /** With the key of the scene. */
  call(signal?: AbortSignal): Promise<Response>
  /** What is written down of the only call, with sound books and nothing held. */
  record(): Promise<CallRecord>
}

async function openScene(options: AgencyOptions = {}): Promise<Scene> {
  const clock = createFakeClock()
  const notes: string[] = []
  const log: Log = { note: (_, text) => void notes.push(text), request() {}, flush() {} }
  const agency = tidy(await openAgency({ clock, log, draw: () => 0, ...options }))
  const { gateway, ask } = agency
  const key = await gateway.createKey({ name: 'payer', budget_limit: 1 })
  const call = (signal?: AbortSignal): Promise<Response> =>
    ask(HELLO_NATIVE, { key: key.key, ...(signal !== undefined && { signal }) })
  const record = (): Promise<CallRecord> => readOnly({ gateway, clock, key, notes, ask: call })
  return { ...agency, clock, notes, key, call, record }
}

async function expectHello(response: Response): Promise<void> {
  const text = await response.text()
  expect([response.status, text.includes('Hello to you')], text).toEqual([200, true])
}

describe('S46: a token that has ended by the word of the supplier', () => {
  it('is renewed once, and the call goes to the same supplier under the same hold', async () => {
    const scene = await openScene()
    const { issuer, signIn, tokens } = scene
    const { accessToken, id } = await signIn()
    issuer.revoke(accessToken)
    const response = await scene.call()
    await expectHello(response)
    expect(response.headers.get('x-svc-failover')).toBe('false')
    expect([issuer.requests.length, tokens().length, new Set(tokens()).size]).toEqual([1, 2, 2])
    const record = await scene.record()
    expect(record).toMatchObject({ status: 200, code: null, state: 'settled', attempts: 1 })
    expect(record.tries).toMatchObject([
      { supplier: 'native', identity: id, evidence: 'reported', status: 200, suspense_usd: null },
    ])
    expect(toNano(record.cost_usd)).toBe(EXACT)
  })

  it('is renewed once for a hundred callers, each of whom pays for one answer', async () => {
    const scene = await openScene()
    const { issuer, signIn, backend, gateway, key } = scene
    const { accessToken } = await signIn()
    issuer.revoke(accessToken)
    const release = issuer.hold()
    const calls = Array.from({ length: CALLERS }, () => scene.call())
    await backend.request(CALLERS - 1)
    release()
    for (const response of await Promise.all(calls)) await expectHello(response)
    expect([issuer.requests.length, backend.requests.length]).toEqual([1, 2 * CALLERS])
    const rows = gateway.audit()
    expect(rows.map(({ attempts, cost }) => [attempts, cost])).toEqual(
      Array.from({ length: CALLERS }, () => [1, EXACT]),
    )
    expect(await readKey(gateway, key.id)).toMatchObject({ used: CALLERS * EXACT, held: 0 })
    await expectSoundBooks(dataOf(gateway))
  })

  it('is not renewed again and again where the supplier refuses every new one, too', async () => {
    const scene = await openScene({ script: (_, reply) => reply.json(401, ENDED) })
    const { issuer, signIn, backend } = scene
    await signIn()
    expect(await refusalOf(await scene.call())).toEqual([403, 'native_token_error'])
    expect([issuer.requests.length, backend.requests.length]).toEqual([1, 2])
    const record = await scene.record()
    expect(record).toMatchObject({ state: 'voided', cost_usd: 0, attempts: 1 })
    expect(record.tries).toMatchObject([{ evidence: 'refused', suspense_usd: null }])
    for (const _ of [1, 2, 3]) {
      scene.clock.advance(10 * SECOND)
      expect(await refusalOf(await scene.call())).toEqual([403, 'native_token_error'])
    }
    expect(issuer.requests.length).toBe(1)
  })
})

describe('S47: a renewal', () => {
  it('that is refused ends the call with what to do, costs nothing, and the operator hears of it once', async () => {
    const scene = await openScene()
    const { issuer, signIn, notes, gateway } = scene
    const { accessToken, refreshToken } = await signIn()
    issuer.revoke(accessToken)
    issuer.revoke(refreshToken)
    const response = await scene.call()
    expect(response.headers.get('retry-after')).toBeNull()
    expect(await refusalOf(response)).toEqual([403, 'native_token_error'])
    const record = await scene.record()
    expect(record).toMatchObject({ status: 403, state: 'voided', cost_usd: 0 })
    for (const { evidence, suspense_usd: suspense } of record.tries)
      expect([evidence, suspense]).toEqual(['refused', null])
    for (const _ of [1, 2, 3])
      expect(await refusalOf(await scene.call())).toEqual([403, 'native_token_error'])
    expect(issuer.requests.length).toBe(1)
    const told = notes.filter((note) => note.includes('gateway native login'))
    // Of the sign-in and of the supplier, each once however many call.
    expect(told.length).toBe(2)
    expect(told.filter((note) => note.includes('renewed no more and')).length).toBe(1)
    const { data } = (await (await gateway.manage('GET', '/native/identities')).json()) as {
      readonly data: readonly object[]
    }
    expect(data).toMatchObject([{ status: 'refused' }])
  })

  it('that is refused leaves the call to another sign-in, which alone is paid', async () => {
    const scene = await openScene()
    const { issuer, signIn, tokens } = scene
    const [first, second] = [await signIn({ name: 'first' }), await signIn({ name: 'second' })]
    issuer.revoke(first.accessToken)
    issuer.revoke(first.refreshToken)
    await expectHello(await scene.call())
    expect(tokens()).toEqual([first.accessToken, second.accessToken])
    const record = await scene.record()
    expect(record).toMatchObject({ status: 200, state: 'settled', attempts: 2 })
    expect(record.tries).toMatchObject([
      { identity: first.id, evidence: 'refused', suspense_usd: null },
      { identity: second.id, evidence: 'reported', status: 200 },
    ])
    expect(toNano(record.cost_usd)).toBe(EXACT)
  })

  it('that is refused for one and only put off for another is worth coming back for', async () => {
    const scene = await openScene()
    const { issuer, signIn } = scene
    for (const name of ['first', 'second']) issuer.revoke((await signIn({ name })).accessToken)
    issuer.next(answers.refusal(), answers.down())
    const response = await scene.call()
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refusalOf(response)).toEqual([503, 'native_token_error'])
    expect(await scene.record()).toMatchObject({ state: 'voided', cost_usd: 0, attempts: 2 })
  })

  it.each([
    ['is out of reach', answers.down()],
    ['talks nonsense', answers.garbage()],
    ['sends elsewhere', answers.redirect('http://127.0.0.1:1/')],
  ])('whose issuer %s ends the call with a time to come back, and passes', async (_, answer) => {
    const scene = await openScene()
    const { issuer, signIn, clock, key, gateway } = scene
    const { accessToken } = await signIn()
    issuer.revoke(accessToken)
    issuer.always(answer)
    const response = await scene.call()
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refusalOf(response)).toEqual([503, 'native_token_error'])
    expect(await scene.record()).toMatchObject({ status: 503, state: 'voided', cost_usd: 0 })
    issuer.always(undefined)
    clock.advance(60 * SECOND)
    await expectHello(await scene.call())
    expect(await readKey(gateway, key.id)).toMatchObject({ used: EXACT, held: 0 })
  })

  it('whose issuer does not answer is waited for by nobody who has left, and its answer counts', async () => {
    const scene = await openScene()
    const { issuer, signIn, tokens, gateway } = scene
    const { accessToken } = await signIn()
    issuer.revoke(accessToken)
    const release = issuer.hold()
    const leaving = new AbortController()
    const left = scene.call(leaving.signal).catch(() => 'left')
    await issuer.request(0)
    leaving.abort()
    expect(await left).toBe('left')
    while (gateway.audit().length === 0) await gateway.manage('GET', '/keys')
    const record = await scene.record()
    expect(record).toMatchObject({ status: 499, cost_usd: 0 })
    release()
    await expectHello(await scene.call())
    expect([issuer.requests.length, tokens().length]).toEqual([1, 2])
  })
})

/** Two pieces of text, and then whatever happens to a supplier whose caller is signed in no more. */
type Break = (reply: FakeReply, stream: FakeStream) => void

const EVENTS = [...PREAMBLE, ...beginText(['Hello '])]
/** Four bytes a token, four a message; six bytes of text are two tokens. */
const DELIVERED = (Math.ceil(JSON.stringify(HELLO_NATIVE).length / 4) + 4) * IN + 2 * OUT

const BREAKS: readonly (readonly [string, string, Break])[] = [
  ['closes the connection', 'stream_interrupted', (reply) => reply.close()],
  ['resets the connection', 'stream_interrupted', (reply) => reply.reset()],
  ['ends without a last event', 'stream_interrupted', (_, stream) => stream.end()],
  [
    'says so',
    'stream_error',
    (_, stream) => {
      stream.send(printEvents([failedEvent('Your sign-in has ended.')], EVENTS.length))
      stream.end()
    },
  ],
]

describe('S48: a token that ends in the middle of a stream, where the supplier', () => {
  it.each(BREAKS)('%s, is told as %s, and nobody is asked again', async (_, code, breaks) => {
    const gate = createGate()
    const script: Script = async (request, reply, index) => {
      if (index > 0) return sayHello(request, reply, index)
      const stream = reply.stream()
      stream.send(printEvents(EVENTS))
      await gate.opened
      return breaks(reply, stream)
    }
    const scene = await openScene({ script })
    const { issuer, signIn, tokens } = scene
    const { accessToken } = await signIn({ name: 'first' })
    await signIn({ name: 'second' })
    const response = await scene.call()
    const reader = readText(response)
    await reader.until('Hello ')
    issuer.revoke(accessToken)
    gate.open()
    const text = await reader.rest()
    expect([response.status, tokens().length]).toEqual([200, 1])
    expect(text).toContain('"delta":"Hello "')
    expect(text).not.toContain('response.completed')
    const last = text.slice(text.lastIndexOf('event: '))
    expect(last).toStartWith('event: response.failed\n')
    expect(text).toContain(': x-svc-settlement: estimated\n')
    expect(issuer.requests.length).toBe(0)
    const record = await scene.record()
    expect(record).toMatchObject({ status: 200, code, state: 'settled', attempts: 1 })
    expect(record).toMatchObject({ evidence: 'broken' })
    expect(toNano(record.cost_usd)).toBe(DELIVERED)
  })

  it('breaks off, is renewed by the next call of the same session', async () => {
    const gate = createGate()
    const scene = await openScene({
      script: async (request, reply, index) => {
        if (index > 0) return sayHello(request, reply, index)
        reply.stream().send(printEvents(EVENTS))
        await gate.opened
        return reply.close()
      },
    })
    const { ask, issuer, signIn, tokens, key } = scene
    const { accessToken } = await signIn()
    const init = { key: key.key, headers: { 'session-id': 'one' } }
    const reader = readText(await ask(HELLO_NATIVE, init))
    await reader.until('Hello ')
    issuer.revoke(accessToken)
    gate.open()
    expect(await reader.rest()).toContain('response.failed')
    await expectHello(await ask(HELLO_NATIVE, init))
    expect([issuer.requests.length, tokens().length, new Set(tokens()).size]).toEqual([1, 3, 2])
  })
})

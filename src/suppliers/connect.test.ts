// The way to a supplier: signed as it wants it, and only to where its name may lead.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { Chain } from '../core/chain.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { completion, startFakeSupplier, type FakeSupplier } from '../../test/fakes/supplier.ts'
import { Secret } from '../core/secret.ts'
import { asFailure, type Upstream } from '../upstream/client.ts'
import { Lifeline } from '../upstream/lifeline.ts'
import { connect, findAddressTrouble, type ConnectParts } from './connect.ts'
import type { Supplier } from './supplier.ts'

const none = (): undefined => undefined
const leadingTo = (address: string): Pick<ConnectParts, 'lookup' | 'resolve'> => ({
  resolve: async () => [address],
  lookup: none,
})
const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

async function startServer(): Promise<FakeSupplier> {
  const server = await startFakeSupplier((_, reply) => reply.json(200, completion('Hi')))
  opened.push(server)
  return server
}

async function post(
  supplier: Supplier,
  answer: readonly string[],
  variables: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const clock = createFakeClock()
  const upstream: Upstream = connect(supplier, {
    now: () => clock.elapsed(),
    resolve: async () => answer,
    lookup: (name) => variables[name],
  })
  opened.push({ stop: () => upstream.close() })
  const caller = { signal: new AbortController().signal, keepOpen: () => {}, letGo: () => {} }
  const lifeline = new Lifeline(clock, caller, new Chain())
  try {
    const response = await upstream.post('/x', new TextEncoder().encode('{}'), lifeline)
    return response.status
  } catch (thrown) {
    return asFailure(thrown, lifeline.signal)
  } finally {
    lifeline.release()
  }
}

describe('a request to a supplier', () => {
  it.each([
    ['bearer', 'authorization', 'Bearer key'],
    ['api-key', 'api-key', 'key'],
  ] as const)('is signed by %s', async (signature, header, value) => {
    const server = await startServer()
    const credential = new Secret('key')
    expect(await post(supplierAt(server.origin, { signature, credential }), [])).toBe(200)
    expect(server.requests[0]?.headers.get(header)).toBe(value)
  })

  it('by name goes where the name leads, if it may', async () => {
    const server = await startServer()
    const origin = server.origin.replace('127.0.0.1', 'gpu')
    expect(await post(supplierAt(origin), ['127.0.0.1'])).toBe(200)
    expect(server.requests[0]?.headers.get('host')).toStartWith('gpu:')
  })

  it('by name goes nowhere else', async () => {
    const server = await startServer()
    const { port } = new URL(server.origin)
    const supplier = supplierAt(`https://api.example.com:${port}`, { allowPrivate: false })
    expect(await post(supplier, ['127.0.0.1'])).toMatchObject({
      evidence: 'unsent',
      problem: { code: 'upstream_unavailable' },
    })
    expect(server.connections()).toBe(0)
  })

  it.each(['http://api.example.com', 'https://10.0.0.1', 'https://localhost'])(
    'is never opened to %s by itself',
    (origin) => {
      const supplier = supplierAt(origin, { allowPrivate: false })
      expect(() => connect(supplier, { now: () => 0, lookup: none })).toThrow(
        'supplier fake: its origin is',
      )
    },
  )
})

describe('a supplier by name that is silent', () => {
  it('is looked for at the address that was called, which comes last when nobody is there', async () => {
    const silent = await startFakeSupplier(() => {})
    const { port } = new URL(silent.origin)
    const next = Bun.serve({ hostname: '127.0.0.2', port, fetch: () => new Response('{}') })
    opened.push(silent, { stop: () => next.stop(true) })
    const clock = createFakeClock()
    const knocks: string[] = []
    const upstream = connect(supplierAt(`http://gpu:${port}`), {
      now: () => clock.elapsed(),
      resolve: async () => ['127.0.0.1', '127.0.0.2'],
      lookup: none,
      async knock(origin) {
        knocks.push(origin)
        throw new Error('nobody is there')
      },
    })
    opened.push({ stop: () => upstream.close() })
    const caller = { signal: new AbortController().signal, keepOpen: () => {}, letGo: () => {} }
    const send = (): Promise<Response> => {
      const lifeline = new Lifeline(clock, caller, new Chain())
      lifeline.expect('answer', 600_000)
      return upstream
        .post('/x', new TextEncoder().encode('{}'), lifeline)
        .finally(() => lifeline.release())
    }
    const waiting = send()
    await silent.request(0)
    clock.advance(3000)
    const failure = await waiting.catch((thrown: unknown) => thrown)
    expect(failure).toMatchObject({ code: 'provider_timeout' })
    expect(knocks).toEqual([silent.origin])
    expect((await send()).status).toBe(200)
    expect(silent.requests).toHaveLength(1)
  })
})

describe('a proxy', () => {
  it('is asked for the name of the supplier, which is then not looked up here', async () => {
    const proxy = await startServer()
    const supplier = supplierAt('http://gpu.example.com')
    const nowhere: readonly string[] = []
    expect(await post(supplier, nowhere, { HTTP_PROXY: proxy.origin })).toBe(200)
    expect(proxy.requests[0]?.headers.get('host')).toBe('gpu.example.com')
  })

  it('never sees what goes to this machine, nor what goes to a host of NO_PROXY', async () => {
    const proxy = await startServer()
    const server = await startServer()
    const variables = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin, NO_PROXY: 'gpu' }
    const credential = new Secret('key')
    expect(await post(supplierAt(server.origin, { credential }), [], variables)).toBe(200)
    const named = server.origin.replace('127.0.0.1', 'gpu')
    expect(await post(supplierAt(named), ['127.0.0.1'], variables)).toBe(200)
    expect([server.requests.length, proxy.connections()]).toEqual([2, 0])
  })

  it('of one scheme leaves the names of the other held to their checked addresses', async () => {
    const proxy = await startServer()
    const supplier = supplierAt('https://api.example.com', { allowPrivate: false })
    expect(await post(supplier, ['127.0.0.1'], { HTTP_PROXY: proxy.origin })).toMatchObject({
      evidence: 'unsent',
    })
    expect(proxy.connections()).toBe(0)
  })

  it('that is no address is told by the name of its variable', () => {
    const open = (): Upstream =>
      connect(supplierAt('https://api.example.com'), {
        now: () => 0,
        lookup: (name) => (name === 'HTTPS_PROXY' ? 'socks5://user:hush@host' : undefined),
      })
    expect(open).toThrow('HTTPS_PROXY is no address of a proxy')
    expect(open).not.toThrow('hush')
  })
})

describe('the trouble with an address', () => {
  const remote = supplierAt('https://api.example.com', { allowPrivate: false })

  it('is none where the name leads to the public', async () => {
    expect(await findAddressTrouble(remote, leadingTo('8.8.8.8'))).toBeUndefined()
    expect(
      await findAddressTrouble(supplierAt('http://127.0.0.1:1'), { lookup: none }),
    ).toBeUndefined()
  })

  it('is told where it leads elsewhere or nowhere', async () => {
    const inside = await findAddressTrouble(remote, leadingTo('10.1.2.3'))
    expect(inside).toContain('api.example.com leads to 10.1.2.3')
    const missing = await findAddressTrouble(remote, {
      resolve: () => Promise.reject(new Error('no such name')),
      lookup: none,
    })
    expect(missing).toBe('no such name')
  })
})

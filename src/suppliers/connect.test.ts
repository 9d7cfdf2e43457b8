// The way to a supplier: signed as it wants it, and only to where its name may lead.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { Chain } from '../core/chain.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { completion, startFakeSupplier, type FakeSupplier } from '../../test/fakes/supplier.ts'
import { Secret } from '../core/secret.ts'
import { asFailure, type Upstream } from '../upstream/client.ts'
import { Lifeline } from '../upstream/lifeline.ts'
import { connect, findAddressTrouble } from './connect.ts'
import type { Supplier } from './supplier.ts'

const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

async function startServer(): Promise<FakeSupplier> {
  const server = await startFakeSupplier((_, reply) => reply.json(200, completion('Hi')))
  opened.push(server)
  return server
}

async function post(supplier: Supplier, answer: readonly string[]): Promise<unknown> {
  const clock = createFakeClock()
  const upstream: Upstream = connect(supplier, {
    now: () => clock.elapsed(),
    resolve: async () => answer,
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
      expect(() => connect(supplier, { now: () => 0 })).toThrow('supplier fake: its origin is')
    },
  )
})

describe('the trouble with an address', () => {
  const remote = supplierAt('https://api.example.com', { allowPrivate: false })

  it('is none where the name leads to the public', async () => {
    expect(await findAddressTrouble(remote, async () => ['8.8.8.8'])).toBeUndefined()
    expect(await findAddressTrouble(supplierAt('http://127.0.0.1:1'))).toBeUndefined()
  })

  it('is told where it leads elsewhere or nowhere', async () => {
    const inside = await findAddressTrouble(remote, async () => ['10.1.2.3'])
    expect(inside).toContain('api.example.com leads to 10.1.2.3')
    const missing = await findAddressTrouble(remote, () =>
      Promise.reject(new Error('no such name')),
    )
    expect(missing).toBe('no such name')
  })
})

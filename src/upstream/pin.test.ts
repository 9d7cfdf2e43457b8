// A name is held to checked addresses: whatever it leads to later, nothing is sent to an address that was
// not checked, and a certificate must still be the name's own.
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { Chain } from '../core/chain.ts'
import { issueCertificate, type Certificate } from '../../test/fakes/tls.ts'
import { completion, startFakeSupplier, type FakeSupplier } from '../../test/fakes/supplier.ts'
import { asFailure, createUpstream, type ExtraHeaders, type Upstream } from './client.ts'
import { Lifeline } from './lifeline.ts'
import { AddressRefused, Pin, resolveHost, type Resolve } from './pin.ts'

const PUBLIC = ['8.8.8.8', '2606:4700::6810:84e5']

/** Answers with one list after the other; the last one for ever. An error is thrown. */
function resolverOf(...answers: readonly (readonly string[] | Error)[]) {
  let asked = 0
  const resolve: Resolve = async () => {
    const answer = answers[Math.min(asked++, answers.length - 1)]!
    if (answer instanceof Error) throw answer
    return answer
  }
  return { resolve, asked: () => asked }
}

function pinOf(resolve: Resolve, allowPrivate = false) {
  const clock = createFakeClock()
  const pin = new Pin({
    host: 'supplier.example.com',
    resolve,
    allowPrivate,
    now: () => clock.elapsed(),
  })
  return { clock, pin }
}

const MISSING = Object.assign(new Error('no such name'), { code: 'ENOTFOUND' })

describe('a pin', () => {
  it('has an address once the name was looked up, and not before', async () => {
    const { pin } = pinOf(resolverOf(PUBLIC).resolve)
    expect(pin.address()).toBeUndefined()
    expect(await pin.ask()).toEqual(PUBLIC)
    expect(pin.address()).toBe('8.8.8.8')
  })

  it('looks up once for all who wait', async () => {
    const { resolve, asked } = resolverOf(PUBLIC)
    const { pin } = pinOf(resolve)
    await Promise.all([pin.ask(), pin.ask(), pin.ask()])
    expect(asked()).toBe(1)
  })

  it('looks up again after a minute, and uses what it has meanwhile', async () => {
    const { resolve, asked } = resolverOf(PUBLIC, ['9.9.9.9'])
    const { pin, clock } = pinOf(resolve)
    await pin.ask()
    clock.advance(60_000)
    expect(pin.address()).toBe('8.8.8.8')
    expect(asked()).toBe(1)
    clock.advance(1)
    expect(pin.address()).toBe('8.8.8.8')
    await pin.ask()
    expect(asked()).toBe(2)
    expect(pin.address()).toBe('9.9.9.9')
  })

  it('waits for a new answer when the old one is very old', async () => {
    const { pin, clock } = pinOf(resolverOf(PUBLIC).resolve)
    await pin.ask()
    clock.advance(600_001)
    expect(pin.address()).toBeUndefined()
    expect(await pin.ask()).toEqual(PUBLIC)
  })

  it.each([
    ['a private address', ['10.0.0.1']],
    ['a private address among public ones', ['8.8.8.8', '127.0.0.1']],
    ['an address inside of another', ['::ffff:192.168.0.1']],
    ['what hands out credentials', ['169.254.169.254']],
  ])('refuses a name that leads to %s', async (_, answer) => {
    const { pin } = pinOf(resolverOf(answer).resolve)
    expect(await pin.ask().catch((thrown: unknown) => thrown)).toBeInstanceOf(AddressRefused)
    expect(pin.address()).toBeUndefined()
  })

  it('lets go of an address when its name turns private, and asks again only later', async () => {
    const { resolve, asked } = resolverOf(PUBLIC, ['127.0.0.1'], PUBLIC)
    const { pin, clock } = pinOf(resolve)
    await pin.ask()
    clock.advance(60_001)
    expect(await pin.ask().catch((thrown: unknown) => thrown)).toBeInstanceOf(AddressRefused)
    expect(pin.address()).toBeUndefined()
    clock.advance(59_000)
    expect(await pin.ask().catch((thrown: unknown) => thrown)).toBeInstanceOf(AddressRefused)
    expect(asked()).toBe(2)
    clock.advance(2_000)
    expect(await pin.ask()).toEqual(PUBLIC)
  })

  it('keeps checked addresses while nobody can look the name up', async () => {
    const { pin, clock } = pinOf(resolverOf(PUBLIC, MISSING).resolve)
    await pin.ask()
    clock.advance(3_600_000)
    expect(await pin.ask()).toEqual(PUBLIC)
    expect(pin.address()).toBe('8.8.8.8')
  })

  it.each([
    ['cannot be found', MISSING],
    ['has no address', []],
  ])('fails while a name %s, and asks again soon', async (_, answer) => {
    const { resolve, asked } = resolverOf(answer, PUBLIC)
    const { pin, clock } = pinOf(resolve)
    const failure = (await pin.ask().catch((thrown: unknown) => thrown)) as { code: string }
    expect(failure.code).toBe('ENOTFOUND')
    await pin.ask().catch(() => {})
    expect(asked()).toBe(1)
    clock.advance(5_000)
    expect(await pin.ask()).toEqual(PUBLIC)
  })

  it('asks the machine itself when nobody else is named', async () => {
    const found = await resolveHost('localhost')
    expect(found.length).toBeGreaterThan(0)
    for (const address of found) expect(['127.0.0.1', '::1']).toContain(address)
  })
})

const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0)) await each.stop()
})

async function startSupplier(): Promise<FakeSupplier & { readonly port: string }> {
  const supplier = await startFakeSupplier((_, reply) => reply.json(200, completion('Hi')))
  opened.push(supplier)
  return Object.assign(supplier, { port: new URL(supplier.origin).port })
}

function upstreamOf(origin: string, pin: Pin): Upstream {
  const upstream = createUpstream({ origin, pin, headers: { authorization: 'Bearer key' } })
  opened.push({ stop: () => upstream.close() })
  return upstream
}

async function post(
  upstream: Upstream,
  signal = new AbortController().signal,
  extra?: ExtraHeaders,
): Promise<unknown> {
  const caller = { signal, keepOpen: () => {}, letGo: () => {} }
  const lifeline = new Lifeline(createFakeClock(), caller, new Chain())
  try {
    const response = await upstream.post('/v1/x', new TextEncoder().encode('{}'), lifeline, extra)
    await response.text()
    return response.status
  } catch (thrown) {
    return asFailure(thrown, lifeline.signal)
  } finally {
    lifeline.release()
  }
}

describe('a request by a pinned name', () => {
  it('goes to the checked address and names the host', async () => {
    const supplier = await startSupplier()
    const { pin } = pinOf(resolverOf(['127.0.0.1']).resolve, true)
    const upstream = upstreamOf(`http://supplier.example.com:${supplier.port}`, pin)
    expect(await post(upstream)).toBe(200)
    expect(await post(upstream)).toBe(200)
    expect(supplier.requests[0]?.headers.get('host')).toBe(`supplier.example.com:${supplier.port}`)
    expect(supplier.requests[0]?.head).toStartWith('POST /v1/x HTTP/1.1')
    expect(supplier.connections()).toBe(1)
  })

  it('carries what it has beside the others, and leaves nothing of it to the next', async () => {
    const supplier = await startSupplier()
    const { pin } = pinOf(resolverOf(['127.0.0.1']).resolve, true)
    const upstream = upstreamOf(`http://supplier.example.com:${supplier.port}`, pin)
    expect(await post(upstream, undefined, { 'x-extra': 'one' })).toBe(200)
    expect(await post(upstream)).toBe(200)
    const [first, second] = supplier.requests.map(({ headers }) => headers)
    expect([first?.get('x-extra'), second?.get('x-extra')]).toEqual(['one', undefined])
    for (const headers of [first, second]) {
      expect(headers?.get('host')).toBe(`supplier.example.com:${supplier.port}`)
      expect(headers?.get('authorization')).toBe('Bearer key')
    }
  })

  it('never reaches an address that the name turned to', async () => {
    const sentinel = await startSupplier()
    const { pin, clock } = pinOf(resolverOf(PUBLIC, ['127.0.0.1']).resolve)
    await pin.ask()
    clock.advance(600_001)
    const upstream = upstreamOf(`http://supplier.example.com:${sentinel.port}`, pin)
    for (let call = 0; call < 3; call++)
      expect(await post(upstream)).toMatchObject({
        evidence: 'unsent',
        isFinal: false,
        problem: { code: 'upstream_unavailable', status: 503 },
      })
    expect(sentinel.connections()).toBe(0)
  })

  it('tries the next address where nobody answers, and begins with it from then on', async () => {
    const supplier = await startSupplier()
    const { resolve, asked } = resolverOf(['127.0.0.2', '127.0.0.1'])
    const { pin } = pinOf(resolve, true)
    const upstream = upstreamOf(`http://supplier.example.com:${supplier.port}`, pin)
    expect(await post(upstream)).toBe(200)
    expect(pin.address()).toBe('127.0.0.1')
    expect(asked()).toBe(1)
  })

  it('looks up again where nobody answers, and finds a server that has moved', async () => {
    const supplier = await startSupplier()
    const { resolve, asked } = resolverOf(['127.0.0.2'], ['127.0.0.1'])
    const { pin, clock } = pinOf(resolve, true)
    await pin.ask()
    clock.advance(2_000)
    expect(await post(upstreamOf(`http://supplier.example.com:${supplier.port}`, pin))).toBe(200)
    expect(asked()).toBe(2)
  })

  it('fails when nobody answers anywhere, and has sent nothing', async () => {
    const supplier = await startSupplier()
    await supplier.stop()
    const { pin } = pinOf(resolverOf(['127.0.0.1', '127.0.0.2']).resolve, true)
    const failure = await post(upstreamOf(`http://supplier.example.com:${supplier.port}`, pin))
    expect(failure).toMatchObject({ evidence: 'unsent', problem: { code: 'upstream_unavailable' } })
  })

  it('is not sent twice when it may have arrived', async () => {
    const supplier = await startFakeSupplier((_, reply) => reply.reset())
    opened.push(supplier)
    const { pin } = pinOf(resolverOf(['127.0.0.1', '127.0.0.2']).resolve, true)
    const { port } = new URL(supplier.origin)
    const failure = await post(upstreamOf(`http://supplier.example.com:${port}`, pin))
    expect(failure).toMatchObject({ evidence: 'unknown' })
    expect(supplier.requests).toHaveLength(1)
  })

  it('ends with its caller while the name is looked up', async () => {
    const { pin } = pinOf(() => new Promise(() => {}), true)
    const caller = new AbortController()
    const failing = post(upstreamOf('http://supplier.example.com', pin), caller.signal)
    caller.abort()
    expect(await failing).toMatchObject({ name: 'CallerGone' })
  })
})

describe('an encrypted request by a pinned name', () => {
  function startEncrypted({ certificate, key }: Certificate): number {
    const server = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      tls: { cert: certificate, key },
      fetch: () => new Response('ok'),
    })
    opened.push({ stop: () => server.stop(true) })
    return server.port!
  }

  /** Who is trusted is settled when a process starts, so this takes one of its own. */
  async function postTrusting(certificate: string, name: string, port: number): Promise<unknown> {
    const folder = mkdtempSync(join(tmpdir(), 'pin-test-'))
    opened.push({ stop: () => rmSync(folder, { recursive: true, force: true }) })
    const trusted = join(folder, 'trusted.pem')
    writeFileSync(trusted, certificate)
    const child = Bun.spawn([process.execPath, '-e', CHILD, `https://${name}:${port}`], {
      cwd: import.meta.dir,
      env: { NODE_EXTRA_CA_CERTS: trusted },
      stderr: 'inherit',
    })
    return JSON.parse(await new Response(child.stdout).text()) as unknown
  }

  it('reaches a supplier whose certificate is that of its name', async () => {
    const issued = issueCertificate({ name: 'supplier.example.com' })
    const port = startEncrypted(issued)
    const seen = await postTrusting(issued.certificate, 'supplier.example.com', port)
    expect(seen).toEqual({ statuses: [200, 200] })
  })

  it('refuses a certificate of another name, and has sent nothing', async () => {
    const issued = issueCertificate({ name: 'other.example.com' })
    const port = startEncrypted(issued)
    const seen = await postTrusting(issued.certificate, 'supplier.example.com', port)
    expect(seen).toEqual({ evidence: 'unsent', code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  })

  it('refuses a certificate that nobody vouches for, and has sent nothing', async () => {
    const port = startEncrypted(issueCertificate({ name: 'supplier.example.com' }))
    const { pin } = pinOf(resolverOf(['127.0.0.1']).resolve, true)
    const failure = await post(upstreamOf(`https://supplier.example.com:${port}`, pin))
    expect(failure).toMatchObject({ evidence: 'unsent', problem: { code: 'upstream_unavailable' } })
  })
})

/** Posts twice by a pinned name and prints what came of it. */
const CHILD = `
  import { Chain } from '../core/chain.ts'
  import { createSystemClock } from '../core/clock.ts'
  import { asFailure, createUpstream } from './client.ts'
  import { Lifeline } from './lifeline.ts'
  import { Pin } from './pin.ts'
  const origin = process.argv.at(-1)
  const clock = createSystemClock()
  const pin = new Pin({
    host: new URL(origin).hostname,
    allowPrivate: true,
    resolve: async () => ['127.0.0.1'],
    now: () => clock.elapsed(),
  })
  const upstream = createUpstream({ origin, pin, headers: {} })
  const caller = { signal: new AbortController().signal, keepOpen() {}, letGo() {} }
  const lifeline = new Lifeline(clock, caller, new Chain())
  const post = async () => {
    const response = await upstream.post('/', new TextEncoder().encode('{}'), lifeline)
    await response.text()
    return response.status
  }
  try {
    console.log(JSON.stringify({ statuses: [await post(), await post()] }))
  } catch (thrown) {
    const { evidence } = asFailure(thrown, lifeline.signal)
    console.log(JSON.stringify({ evidence, code: thrown.code }))
  }
  process.exit(0)
`

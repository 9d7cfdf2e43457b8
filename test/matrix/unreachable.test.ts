// Suppliers that cannot be spoken to: a name that nobody knows, a certificate that proves nothing, a port where
// something else is spoken, a connection that has died unseen. What cannot have been sent is never in suspense.
import { afterEach, describe, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import {
  BODY,
  EXACT,
  expectTry,
  openAt,
  openScene,
  readOnly,
  readRecord,
  SECOND,
  standardChanges,
  type CallRecord,
  type Scene,
} from '../fakes/fault.ts'
import { ROOT_KEY, supplierAt } from '../fakes/gateway.ts'
import { toNano } from '../fakes/prices.ts'
import { createFolder, startProcess } from '../fakes/process.ts'
import { closeStreet, good, tidy } from '../fakes/street.ts'
import { completion, startFakeSupplier } from '../fakes/supplier.ts'
import {
  issueCertificate,
  startEncrypted,
  startGarbled,
  startPlain,
  type Stranger,
} from '../fakes/tls.ts'

afterEach(closeStreet)

const TEXT = JSON.stringify(completion('Hi'))
const ANSWER = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${TEXT.length}\r\n\r\n${TEXT}`
const OWN = { name: 'supplier.example.com' }
const OTHER = { name: 'other.example.com', isElsewhere: true }
const EXPIRED = { name: 'supplier.example.com', years: ['20', '21'] } as const

/** A gateway whose first supplier is at this origin and whose second is well. */
async function openBefore(origin: string): Promise<Scene> {
  const well = tidy(await startFakeSupplier(good))
  const scene = await openAt([supplierAt(origin), supplierAt(well.origin, standardChanges(1))])
  return { ...scene, suppliers: [well] }
}

async function expectReplaced(
  scene: Scene,
  response: Response,
  proof: string,
): Promise<CallRecord> {
  expect(await response.text()).toContain('Hi')
  expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
  expect(response.headers.get('x-svc-failover')).toBe('true')
  const record = await readOnly(scene)
  expect(record).toMatchObject({ state: 'settled', attempts: 2 })
  expect(toNano(record.cost_usd)).toBe(EXACT)
  expectTry(record.tries[0], proof, record)
  return record
}

describe('S2: a name that nobody knows', () => {
  it.each([false, true])('is replaced, and nothing was sent (stream: %p)', async (stream) => {
    const scene = await openBefore('http://nowhere.invalid')
    await expectReplaced(scene, await scene.ask({ ...BODY, stream }), 'unsent')
  })

  it('is told as unreachable where there is nobody else', async () => {
    const scene = await openAt([supplierAt('http://nowhere.invalid')])
    const response = await scene.ask()
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    await response.text()
    const record = await readOnly(scene)
    expect(record).toMatchObject({ code: 'all_providers_exhausted', state: 'voided', cost_usd: 0 })
    expectTry(record.tries[0], 'unsent', record)
  })
})

describe('S4: a certificate', () => {
  it.each([
    ['that nobody vouches for', OWN],
    ['that has expired', EXPIRED],
    ['of another name', OTHER],
  ])('%s gets nothing, is replaced, and is not tried by the next call', async (_, options) => {
    const stranger = tidy(await startEncrypted(issueCertificate(options), ANSWER))
    const scene = await openBefore(`https://127.0.0.1:${stranger.port}`)
    await expectReplaced(scene, await scene.ask(), 'unsent')
    expect(stranger.heard()).toBe('')
    const before = stranger.connections()
    const messages = [{ role: 'user', content: 'And now?' }]
    expect((await scene.ask({ ...BODY, messages })).headers.get('x-svc-failover')).toBe('false')
    expect(stranger.connections()).toBe(before)
  })

  it('is told as unreachable where there is nobody else', async () => {
    const stranger = tidy(await startEncrypted(issueCertificate(OWN), ANSWER))
    const scene = await openAt([supplierAt(`https://127.0.0.1:${stranger.port}`)])
    const response = await scene.ask()
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'all_providers_exhausted' } })
    expect(await readOnly(scene)).toMatchObject({ evidence: 'unsent', cost_usd: 0 })
  })

  it('is held to its name and its time also by who trusts its maker', async () => {
    // Who is trusted is settled when a process starts, so this takes one of its own.
    const issued = [OWN, OTHER, EXPIRED].map((options) => issueCertificate(options))
    const [own, other, expired] = (await Promise.all(
      issued.map((each) => startEncrypted(each, ANSWER)),
    )) as [Stranger, Stranger, Stranger]
    // Begun and never finished: the same word of the runtime, and now it proves nothing.
    const garbled = await startGarbled(issued[0]!, ANSWER.slice(0, -10))
    for (const each of [own, other, expired, garbled]) tidy(each)
    const well = tidy(await startFakeSupplier(good))
    using folder = createFolder()
    const trusted = join(folder.path, 'trusted.pem')
    writeFileSync(trusted, issued.map(({ certificate }) => certificate).join(''))
    const models = (...names: readonly string[]): string =>
      `models: { ${names.map((name) => `${name}: { price: free }`).join(', ')} }`
    const supplier = (name: string, origin: string, served: string): string =>
      `  ${name}: { kind: openai-compatible, origin: "${origin}/v1", allow_private: true, ${served} }\n`
    writeFileSync(
      join(folder.path, 'gateway.yaml'),
      `suppliers:\n${[
        supplier('own', `https://127.0.0.1:${own.port}`, models('m-own')),
        supplier('other', `https://127.0.0.1:${other.port}`, models('m-other')),
        supplier('expired', `https://127.0.0.1:${expired.port}`, models('m-expired')),
        supplier('garbled', `https://127.0.0.1:${garbled.port}`, models('m-garbled')),
        supplier('well', well.origin, models('m-own', 'm-other', 'm-expired', 'm-garbled')),
      ].join('')}`,
      { mode: 0o600 },
    )
    const variables = { GATEWAY_ROOT_KEY: ROOT_KEY, NODE_EXTRA_CA_CERTS: trusted }
    await using gateway = await startProcess(folder, variables)
    const headers = {
      authorization: `Bearer ${ROOT_KEY}`,
      'content-type': 'application/json',
    }
    const seen: unknown[] = []
    for (const model of ['m-own', 'm-other', 'm-expired', 'm-garbled']) {
      const body = JSON.stringify({ ...BODY, model })
      const url = `${gateway.url}/v1/chat/completions`
      const response = await fetch(url, { method: 'POST', headers, body })
      await response.text()
      const id = response.headers.get('x-request-id')
      const page = await fetch(`${gateway.url}/v1/manage/calls/${id}`, { headers })
      const { tries } = (await page.json()) as CallRecord
      seen.push([response.headers.get('x-svc-supplier'), tries[0]?.evidence])
    }
    expect(seen).toEqual([
      ['own', 'reported'],
      ['well', 'unsent'],
      ['well', 'unsent'],
      ['well', 'unknown'],
    ])
    expect([other.heard(), expired.heard()]).toEqual(['', ''])
  })
})

describe('a port where something else is spoken', () => {
  const refusing = (socket: Socket): void =>
    void socket.on('data', () =>
      socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'),
    )

  it('S4: plain HTTP where TLS was expected has heard nothing of the call', async () => {
    const stranger = tidy(await startPlain(refusing))
    const scene = await openBefore(`https://127.0.0.1:${stranger.port}`)
    await expectReplaced(scene, await scene.ask(), 'unsent')
    expect(stranger.heard()).not.toContain('messages')
  })

  // The runtime tells a handshake that is cut off by the same word as an answer that is.
  it('S5: a handshake that is cut off counts as sent, for want of a proof', async () => {
    const stranger = tidy(await startPlain((socket) => void socket.on('data', () => socket.end())))
    const scene = await openBefore(`https://127.0.0.1:${stranger.port}`)
    await expectReplaced(scene, await scene.ask(), 'unknown')
  })

  it('S4: TLS where plain HTTP was expected may have heard all of it', async () => {
    const stranger = tidy(await startEncrypted(issueCertificate(OWN), ANSWER))
    const scene = await openBefore(`http://127.0.0.1:${stranger.port}`)
    await expectReplaced(scene, await scene.ask(), 'unknown')
  })

  it.each(['https', 'http'])(
    'S3 and S5: silence from the first byte on is waited out and replaced (%s)',
    async (scheme) => {
      const stranger = tidy(await startPlain(() => {}))
      const scene = await openBefore(`${scheme}://127.0.0.1:${stranger.port}`)
      const asking = scene.ask()
      await stranger.connected(1)
      scene.clock.advance(7 * SECOND)
      const record = await expectReplaced(scene, await asking, 'unknown')
      expect(record.tries[0]).toMatchObject({ status: 504, code: 'provider_timeout' })
    },
  )
})

describe('S42: a kept connection that its supplier closes as it is used again', () => {
  it('fails over, because nobody can tell whether the request was read', async () => {
    const scene = await openScene([
      (request, reply, index) => {
        if (index === 1) reply.reset()
        else void good(request, reply, index)
      },
      good,
    ])
    const first = await scene.ask()
    expect(first.headers.get('x-svc-supplier')).toBe('fake')
    await first.text()
    const messages = [{ role: 'user', content: 'Are you still there?' }]
    const second = await scene.ask({ ...BODY, messages })
    expect(await second.text()).toContain('Hi')
    expect(second.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(scene.suppliers[0]!.connections()).toBe(1)
    expect(scene.suppliers[0]!.requests).toHaveLength(2)
    const record = await readRecord(scene.gateway, second.headers.get('x-request-id') ?? '')
    expectTry(record.tries[0], 'unknown', record)
  })
})

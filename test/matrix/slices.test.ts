// However a supplier's stream is cut into pieces, and whatever it ends its lines with, the caller gets the same bytes;
// and while nothing but signs of life come, another supplier may still be asked.
import { afterEach, describe, expect, it } from 'bun:test'
import { BODY, EXACT, expectTry, openScene, readOnly, SECOND } from '../fakes/fault.ts'
import { toNano } from '../fakes/prices.ts'
import {
  ANSWER,
  closeStreet,
  createGate,
  good,
  readText,
  ROLE,
  sendEvents,
  STOP,
} from '../fakes/street.ts'
import { chunk, DONE, USAGE_CHUNK, type Script } from '../fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...BODY, stream: true }
const TEXT = 'Grüße 👋 an 世界 – ende'

/** The next of a row of numbers that look like chance and are the same every time. */
function createChance(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    return (state >>> 0) % below
  }
}

function slice(bytes: Uint8Array, lengths: () => number): readonly Uint8Array[] {
  const slices: Uint8Array[] = []
  for (let at = 0; at < bytes.length;) {
    const length = Math.max(1, lengths())
    slices.push(bytes.subarray(at, at + length))
    at += length
  }
  return slices
}

describe('S34: a stream', () => {
  const plain = [ROLE, chunk({ content: TEXT }), ': a comment\n\n', STOP, USAGE_CHUNK, DONE].join(
    '',
  )
  const forms: readonly (readonly [string, string])[] = [
    ['LF', plain],
    ['CRLF', plain.replaceAll('\n', '\r\n')],
    ['CR', plain.replaceAll('\n', '\r')],
    ['LF and a byte order mark', `\uFEFF${plain}`],
    ['fields beside its data', plain.replaceAll('data: ', 'event: x\nid: 1\ndata:')],
  ]

  it.each(forms)('with %s is the same for its caller in any slices', async (_, text) => {
    const bytes = new TextEncoder().encode(text)
    const chance = createChance(bytes.length)
    const ways: readonly (readonly Uint8Array[])[] = [
      [bytes],
      slice(bytes, () => 1),
      slice(bytes, () => 3),
      ...Array.from({ length: 12 }, () => slice(bytes, () => chance(40))),
    ]
    const { gateway } = await openScene([
      (__, reply, index) => {
        const stream = reply.stream()
        for (const each of ways[index]!) stream.send(each)
        stream.end()
      },
    ])
    const seen: string[] = []
    while (seen.length < ways.length) seen.push(await (await gateway.chat(STREAM)).text())
    expect(seen[0]).toContain(TEXT)
    expect(seen[0]).toContain('[DONE]')
    expect(seen[0]).not.toContain('"error"')
    expect(new Set(seen).size).toBe(1)
    expect(new Set(gateway.audit().map(({ cost }) => cost))).toEqual(new Set([EXACT]))
  })
})

describe('S22: a supplier that only shows signs of life', () => {
  const LIMITS = { firstByteMs: 30 * SECOND, firstContentMs: 100 * SECOND }

  it('for a minute is waited for, and its signs are not taken for an answer', async () => {
    const gate = createGate()
    const scene = await openScene(
      [
        async (_, reply) => {
          const stream = reply.stream()
          for (let sent = 0; sent < 5; sent++) stream.send(': processing\n\n')
          await gate.opened
          for (const event of [...ANSWER, USAGE_CHUNK, DONE]) stream.send(event)
          stream.end()
        },
        good,
      ],
      { limits: LIMITS },
    )
    const asking = scene.ask(STREAM)
    await scene.suppliers[0]!.request(0)
    scene.clock.advance(15 * SECOND)
    const response = await asking
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-supplier')).toBeNull()
    const reader = readText(response)
    for (let signs = 2; signs <= 4; signs++) {
      await reader.count(': keep-alive', signs - 1)
      scene.clock.advance(15 * SECOND)
    }
    gate.open()
    const text = await reader.rest()
    expect(text).not.toContain('processing')
    expect(text).toStartWith(': keep-alive\n\n'.repeat(4) + ANSWER.join(''))
    expect(text).toContain(': x-svc-supplier: fake\n')
    expect(text).toContain(': x-svc-failover: false\n')
    expect(text).toEndWith(DONE)
    expect(await readOnly(scene)).toMatchObject({ attempts: 1, evidence: 'reported' })
  })

  const silent: Script = (_, reply) => reply.stream().send(': processing\n\n')
  const late: Script = async (_, reply) => reply.stream().send(ROLE)

  it.each([
    ['comments', silent],
    ['a role', late],
  ])(
    'by %s is given up at last, and the next answers under headers that have left',
    async (_, script) => {
      const scene = await openScene([script, good], { limits: LIMITS })
      const asking = scene.ask(STREAM, { 'x-session-id': 'mine' })
      await scene.suppliers[0]!.request(0)
      scene.clock.advance(15 * SECOND)
      const reader = readText(await asking)
      await reader.until(': keep-alive')
      scene.clock.advance(100 * SECOND)
      const text = await reader.rest()
      expect(text).toContain(ANSWER.join(''))
      expect(text).toEndWith(DONE)
      for (const line of ['supplier: fake-2', 'region: US', 'failover: true', 'session: new'])
        expect(text).toContain(`: x-svc-${line}\n`)
      await scene.suppliers[0]!.requests[0]!.closed
      const record = await readOnly(scene)
      expect(record).toMatchObject({ status: 200, code: null, attempts: 2, supplier: 'fake-2' })
      expect(toNano(record.cost_usd)).toBe(EXACT)
      expectTry(record.tries[0], 'unknown', record)
    },
  )

  it('and fails everywhere under headers that have left ends in an error, and costs nothing', async () => {
    const scene = await openScene(
      [silent, (_, reply) => sendEvents(reply, ['data: {"error":{"message":"sorry"}}\n\n'])],
      { limits: LIMITS },
    )
    const asking = scene.ask(STREAM)
    await scene.suppliers[0]!.request(0)
    scene.clock.advance(15 * SECOND)
    const reader = readText(await asking)
    await reader.until(': keep-alive')
    scene.clock.advance(100 * SECOND)
    const text = await reader.rest()
    expect(text).toContain('"code":"all_providers_exhausted"')
    expect(text).not.toContain('[DONE]')
    const record = await readOnly(scene)
    expect(record).toMatchObject({ status: 200, code: 'all_providers_exhausted', cost_usd: 0 })
    expect(record.tries.map(({ evidence }) => evidence)).toEqual(['unknown', 'refused'])
  })
})

// The main road: a chat request through the whole gateway to a supplier and back.
import { afterEach, describe, expect, it } from 'bun:test'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

async function house(...scripts: readonly Script[]): Promise<{
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
}> {
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const gateway = await startGateway({
    suppliers: suppliers.map(({ origin }, index) =>
      supplierAt(origin, index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }),
    ),
  })
  open.push(...suppliers, gateway)
  return { gateway, suppliers }
}

const STREAM = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ content: 'Hi' }),
  chunk({}, 'stop'),
]

describe('chat completions', () => {
  it('passes the answer as it came, with seven headers and both request ids', async () => {
    const answer = JSON.stringify(completion('Hi'), null, 2)
    const { gateway } = await house((_, reply) => reply.json(200, answer))
    const response = await gateway.chat(HELLO)
    expect(await response.text()).toBe(answer)
    const headers = Object.fromEntries(response.headers)
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-svc-supplier': 'fake',
      'x-svc-region': 'EU',
      'x-svc-failover': 'false',
      'x-svc-input-tokens': '11',
      'x-svc-output-tokens': '7',
      'x-svc-cost-usd': '0.00000585',
    })
    expect(headers['x-svc-latency-ms']).toMatch(/^\d+$/)
    expect(headers['x-request-id']).toMatch(/^req_[0-9a-f]{32}$/)
    expect(headers['request-id']).toBe(headers['x-request-id'])
  })

  it('sends the body on with its model renamed and nothing of its own left in it', async () => {
    const { gateway, suppliers } = await house((_, reply) => reply.json(200, completion('Hi')))
    const sent =
      '{ "model" : "test-model" ,"region":"eu", "messages":[{"role":"user","content":"\\u00e9"}],' +
      '"metadata":{"session_id":"s","team":"x"},"unknown":{"deep":[1,2.50,null]} }'
    await gateway.chat(sent)
    const { body, headers } = await suppliers[0]!.request(0)
    expect(body.toString()).toBe(
      '{ "model" : "upstream-model" ,"messages":[{"role":"user","content":"\\u00e9"}],' +
        '"metadata":{"team":"x"},"unknown":{"deep":[1,2.50,null]} }',
    )
    expect(headers.get('authorization')).toBe(`Bearer ${SUPPLIER_CANARY}`)
  })

  it('sends a supplier no header of the caller', async () => {
    const { gateway, suppliers } = await house((_, reply) => reply.json(200, completion('Hi')))
    await gateway.chat(HELLO, {
      headers: { cookie: 'a=b', 'x-forwarded-for': '1.2.3.4', 'x-any': '1' },
    })
    const { headers } = await suppliers[0]!.request(0)
    expect([...headers.keys()].toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'user-agent',
    ])
  })

  it('streams the events as they came and keeps the usage nobody asked for', async () => {
    const { gateway, suppliers } = await house((_, reply) => {
      const stream = reply.stream()
      for (const event of [...STREAM, USAGE_CHUNK, DONE]) stream.send(event)
      stream.end()
    })
    const response = await gateway.chat({ ...HELLO, stream: true })
    const comments =
      ': x-svc-input-tokens: 11\n: x-svc-output-tokens: 7\n: x-svc-cost-usd: 0.00000585\n' +
      ': x-svc-settlement: settled\n\n'
    expect(await response.text()).toBe(STREAM.join('') + comments + DONE)
    expect(response.headers.get('x-svc-supplier')).toBe('fake')
    const { body } = await suppliers[0]!.request(0)
    expect(JSON.parse(body.toString())).toMatchObject({ stream_options: { include_usage: true } })
  })

  it('gives the usage frame to a caller that asked for it', async () => {
    const { gateway } = await house((_, reply) => {
      const stream = reply.stream()
      for (const event of [...STREAM, USAGE_CHUNK, DONE]) stream.send(event)
      stream.end()
    })
    const body = { ...HELLO, stream: true, stream_options: { include_usage: true } }
    expect(await (await gateway.chat(body)).text()).toContain(USAGE_CHUNK)
  })

  it('turns to the next supplier when the first one fails, and says so', async () => {
    const { gateway, suppliers } = await house(
      (_, reply) => reply.json(500, { error: { message: 'broken' } }),
      (_, reply) => reply.json(200, completion('Hi')),
    )
    const response = await gateway.chat(HELLO)
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('never leaves the region that the call names', async () => {
    const { gateway, suppliers } = await house(
      (_, reply) => reply.json(500, { error: { message: 'broken' } }),
      (_, reply) => reply.json(200, completion('Hi')),
    )
    expect((await gateway.chat({ ...HELLO, region: 'EU' })).status).toBe(503)
    const refused = await gateway.chat({ ...HELLO, region: 'mars' })
    expect(refused.status).toBe(403)
    expect(await refused.json()).toMatchObject({ error: { code: 'sovereign_route_unavailable' } })
    expect(suppliers[1]!.connections()).toBe(0)
  })

  it('tells a stream that ended without a reason from one that finished', async () => {
    const { gateway } = await house((_, reply) => {
      const stream = reply.stream()
      for (const event of STREAM.slice(0, 2)) stream.send(event)
      stream.end()
    })
    const text = await (await gateway.chat({ ...HELLO, stream: true })).text()
    expect(text).toContain('"code":"stream_interrupted"')
    expect(text).not.toContain('[DONE]')
  })

  it('cancels the supplier the moment the caller leaves', async () => {
    const { gateway, suppliers } = await house((_, reply) => {
      const stream = reply.stream()
      for (const event of STREAM.slice(0, 2)) stream.send(event)
    })
    const leaving = new AbortController()
    const response = await gateway.chat({ ...HELLO, stream: true }, { signal: leaving.signal })
    const reader = response.body!.getReader()
    await reader.read()
    leaving.abort()
    await (
      await suppliers[0]!.request(0)
    ).closed
  })
})

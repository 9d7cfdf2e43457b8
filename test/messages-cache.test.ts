// What is written to a cache for an hour has a price of its own: charged to the nano-dollar, held for
// beforehand, and told in the records.
import { afterEach, describe, expect, it } from 'bun:test'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import {
  begin,
  end,
  event,
  HELLO_MESSAGES,
  message,
  postMessages,
  reason,
  say,
  STOP,
} from './fakes/messages.ts'
import { readKey } from './fakes/prices.ts'
import { dataOf, endsOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

const open: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each.stop()
})

interface House {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
}

/** A model of the maker at its catalogue price: 4, 0.20, 5, 8 and 20 dollars a million tokens. */
const MODEL = 'claude-opus-5-5'
const REQUEST = { ...HELLO_MESSAGES, model: MODEL }

async function house(script: Script, kind = 'anthropic', models = ''): Promise<House> {
  const supplier = await startFakeSupplier(script)
  const config = `suppliers:
  maker:
    kind: ${kind}
    origin: ${supplier.origin}
    allow_private: true
    credential: ${SUPPLIER_CANARY}
${models}`
  const gateway = await startGateway({ config })
  open.push(supplier, gateway)
  return { gateway, supplier }
}

/** Ten tokens written, so many of them for an hour. */
function usageOf(long: number): object {
  return {
    input_tokens: 3,
    cache_read_input_tokens: 6,
    cache_creation_input_tokens: 10,
    cache_creation: { ephemeral_5m_input_tokens: 10 - long, ephemeral_1h_input_tokens: long },
    output_tokens: 7,
  }
}

/** As the maker streams: only the first event tells the two sorts of writing apart. */
function streamOf(long: number): string {
  const started = { ...message(''), content: [], stop_reason: null, usage: usageOf(long) }
  const { cache_creation: _, ...last } = usageOf(long) as Readonly<Record<string, unknown>>
  return [
    event('message_start', { message: started }),
    begin(0),
    say('Hi'),
    end(0),
    reason('end_turn', last),
    STOP,
  ].join('')
}

function writing(long: number): Script {
  return (request, reply) => {
    if (!request.body.includes('"stream":true'))
      return reply.json(200, message('Hi', { usage: usageOf(long) }))
    const stream = reply.stream()
    stream.send(streamOf(long))
    return stream.end()
  }
}

/** Some models take each digit for a token, so no counting makes less of so many. */
const DIGITS = 2000

const FORMS = [
  ['whole', REQUEST],
  ['streamed', { ...REQUEST, stream: true }],
] as const

describe('writes to the cache of an hour', () => {
  it.each(FORMS)('are charged at their own rate, %s', async (_, request) => {
    const { gateway } = await house(writing(7))
    const response = await postMessages(gateway, request)
    await response.text()
    const cost = 3 * 4000 + 6 * 200 + 3 * 5000 + 7 * 8000 + 7 * 20_000
    const id = response.headers.get('request-id')!
    expect(gateway.audit()).toMatchObject([{ request_id: id, input_tokens: 19, cost }])
    const call = (await (await gateway.manage('GET', `/calls/${id}`)).json()) as object
    expect(call).toMatchObject({
      cost_usd: cost / 1e9,
      overrun_usd: 0,
      usage: { cached_tokens: 6, cache_write_tokens: 10, cache_write_long_tokens: 7 },
    })
    const [ended] = endsOf(readRecords(dataOf(gateway)))
    expect(JSON.parse(ended!.details!)).toEqual({
      cachedTokens: 6,
      cacheWriteTokens: 10,
      cacheWriteLongTokens: 7,
      reasoningTokens: 0,
    })
    await expectSoundBooks(dataOf(gateway))
  })

  it.each(FORMS)('are not in a record of a call without any, %s', async (_, request) => {
    const { gateway } = await house(writing(0))
    const response = await postMessages(gateway, request)
    await response.text()
    const cost = 3 * 4000 + 6 * 200 + 10 * 5000 + 7 * 20_000
    const [ended] = endsOf(readRecords(dataOf(gateway)))
    expect(ended).toMatchObject({ cost, overrun: 0 })
    expect(ended!.details).not.toContain('Long')
    const call = await gateway.manage('GET', `/calls/${response.headers.get('request-id')}`)
    expect(await call.json()).toMatchObject({ usage: { cache_write_long_tokens: 0 } })
  })

  it('cost what the file says, and as other writes where it says nothing', async () => {
    const price = 'input: 1, cache_write: 2, output: 4'
    const models = `    models:
      stated: { as: one, price: { ${price}, cache_write_long: 3.000001 } }
      silent: { as: two, price: { ${price} } }
      plain: { as: three, price: { input: 1, output: 4 } }
      long: { as: four, price: { ${price}, long_context: { above: 18, input: 10, cache_write_long: 30, output: 40 } } }
`
    const { gateway } = await house(writing(7), 'anthropic-compatible', models)
    for (const model of ['stated', 'silent', 'plain', 'long'])
      expect((await postMessages(gateway, { ...REQUEST, model })).status).toBe(200)
    expect(gateway.audit().map(({ cost }) => cost)).toEqual([
      // The last seven picodollars are rounded up to one nano-dollar.
      9 * 1000 + 3 * 2000 + 7 * 3000 + 1 + 7 * 4000,
      9 * 1000 + 10 * 2000 + 7 * 4000,
      19 * 1000 + 7 * 4000,
      12 * 10_000 + 7 * 30_000 + 7 * 40_000,
    ])
    await expectSoundBooks(dataOf(gateway))
  })

  it('never take a key past its budget, nor the operator past what was held', async () => {
    const { gateway, supplier } = await house((request, reply) => {
      // The worst that it can honestly come to: all of the text written for an hour, all of the output used.
      const { max_tokens: output } = JSON.parse(request.body.toString()) as typeof REQUEST
      const usage = {
        input_tokens: 0,
        cache_creation_input_tokens: DIGITS,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: DIGITS },
        output_tokens: output,
      }
      return reply.json(200, message('Hi', { usage }))
    })
    const { id, key } = await gateway.createKey({ name: 'k', budget_limit: 0.1 })
    const mark = { type: 'ephemeral', ttl: '1h' }
    const content = [{ type: 'text', text: '7'.repeat(DIGITS), cache_control: mark }]
    const body = { ...REQUEST, messages: [{ role: 'user', content }] }
    let status = 200
    while (status === 200)
      ({ status } = await postMessages(gateway, body, { headers: { 'x-api-key': key } }))
    expect(status).toBe(402)
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds.length).toBeGreaterThan(2)
    expect(supplier.requests).toHaveLength(holds.length)
    for (const { cost, overrun, held } of ends) {
      expect(overrun).toBe(0)
      expect(cost).toBeLessThanOrEqual(held ?? 0)
    }
    const { used, limit, held } = await readKey(gateway, id)
    expect(used).toBeLessThanOrEqual(limit)
    expect(held).toBe(0)
    await expectSoundBooks(dataOf(gateway))
  })
})

// What a call costs its key, whatever became of it: a supplier that says too much or too little, ends in the
// middle or never, and a caller that hangs up after any event. Each call ends once, and never above its hold.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Clock } from '../src/core/clock.ts'
import { createFakeClock } from './fakes/clock.ts'
import { HELLO, startGateway, type Gateway } from './fakes/gateway.ts'
import { answerWith, pricedAt, readAsked, readKey, toNano, toUsd } from './fakes/prices.ts'
import { dataOf, endsOf, expectSoundBooks, readRecords, type EndLine } from './fakes/records.ts'
import {
  closeStreet,
  createGate,
  readText,
  refuse,
  sendEvents,
  STOP,
  tidy,
  until,
} from './fakes/street.ts'
import {
  chunk,
  DONE,
  startFakeSupplier,
  USAGE,
  USAGE_CHUNK,
  type FakeRequest,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

const IN = 150
const OUT = 600
const PRICES = { input: IN * 1000, output: OUT * 1000 }
const BODY = { ...HELLO, max_tokens: 100 }
/** What the gateway takes the input for, for want of a supplier's word: four bytes a token, four a message. */
const INPUT_TOKENS = Math.ceil(JSON.stringify({ ...BODY, stream: true }).length / 4) + 4
/** Four bytes, so one token by the gateway's own count. */
const WORD = 'word'
const EXACT_COST = USAGE.prompt_tokens * IN + USAGE.completion_tokens * OUT
const LEFT = { status: 499, code: 'streaming_settlement_cancelled' }

interface Shop {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly key: { readonly id: string; readonly key: string }
  /** Asks with a key that has a budget, large enough. */
  ask(body: object, signal?: AbortSignal): Promise<Response>
}

async function openShop(scripts: readonly Script[], ledger = '', clock?: Clock): Promise<Shop> {
  const fakes = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  for (const fake of fakes) tidy(fake)
  const suppliers = fakes.map(({ origin }, index) =>
    pricedAt(origin, PRICES, index === 0 ? {} : { id: `fake-${index + 1}` }),
  )
  const options = {
    ...(ledger !== '' && { config: `ledger: { ${ledger} }\n` }),
    ...(clock !== undefined && { clock }),
  }
  const gateway = tidy(await startGateway({ suppliers, ...options }))
  const key = await gateway.createKey({ name: 'payer', budget_limit: 1 })
  const headers = { authorization: `Bearer ${key.key}` }
  return {
    gateway,
    suppliers: fakes,
    key,
    ask: (body, signal) =>
      gateway.chat(body, signal === undefined ? { headers } : { headers, signal }),
  }
}

/** The end of the only call, once it is in the books; the key has paid it and holds nothing. */
async function onlyEnd({ gateway, key }: Shop): Promise<EndLine> {
  const folder = dataOf(gateway)
  await until(() => endsOf(readRecords(folder)).length > 0)
  const ends = endsOf(readRecords(folder))
  expect(ends).toHaveLength(1)
  const [end] = ends as [EndLine]
  expect(await readKey(gateway, key.id)).toMatchObject({ used: end.cost, held: 0 })
  await expectSoundBooks(folder)
  return end
}

interface CallPage {
  readonly settlement: Readonly<Record<string, unknown>>
  readonly tries?: readonly Readonly<Record<string, unknown>>[]
}

async function readCall({ gateway }: Shop, requestId: string): Promise<CallPage> {
  return (await (await gateway.manage('GET', `/calls/${requestId}`)).json()) as CallPage
}

describe('a supplier that tells more than was held', () => {
  const USED = 1_000_000
  const huge: Script = (request, reply) =>
    answerWith(reply, readAsked(request.body), { prompt_tokens: 11, completion_tokens: USED })
  const actual = 11 * IN + USED * OUT

  it.each([false, true])(
    'costs the key what was held, and the operator the rest (stream: %p)',
    async (stream) => {
      const shop = await openShop([huge])
      const response = await shop.ask({ ...BODY, stream })
      await response.text()
      const end = await onlyEnd(shop)
      expect(end).toMatchObject({ state: 'settled', evidence: 'reported', output_tokens: USED })
      expect(end.cost).toBe(end.held!)
      expect(end.cost + end.overrun).toBe(actual)
      const { settlement } = await readCall(shop, end.request_id)
      expect([toNano(settlement['cost_usd']), toNano(settlement['overrun_usd'])]).toEqual([
        end.cost,
        end.overrun,
      ])
    },
  )

  it('costs the key all of it where the operator wants it so, and the key is stopped', async () => {
    const shop = await openShop([huge], 'overrun: charge')
    await shop.gateway.manage('PATCH', `/keys/${shop.key.id}`, { budget_limit: 0.1 })
    await (await shop.ask(BODY)).text()
    expect(await onlyEnd(shop)).toMatchObject({ cost: actual, overrun: 0, state: 'settled' })
    const next = await shop.ask(BODY)
    expect(next.status).toBe(402)
    await next.text()
  })
})

describe('a usage that is no usage', () => {
  const COUNTED = { evidence: 'counted', state: 'settled', output_tokens: 1, overrun: 0 }
  const estimate = (stream: boolean): number =>
    Math.ceil(JSON.stringify({ ...BODY, stream }).length / 4) + 4

  it.each([
    ['negative', { prompt_tokens: -1, completion_tokens: -7 }],
    ['a text', { prompt_tokens: '11', completion_tokens: '7' }],
    ['no number', { prompt_tokens: 'NaN', completion_tokens: null }],
    ['beyond all measure', { prompt_tokens: 1e15, completion_tokens: 1e15 }],
    ['a fraction', { prompt_tokens: 11.5, completion_tokens: 7 }],
    ['a list', []],
    ['missing', undefined],
  ])('is counted instead: %s', async (_, usage) => {
    for (const stream of [false, true]) {
      const shop = await openShop([
        (request, reply) => answerWith(reply, readAsked(request.body), usage, WORD),
      ])
      const response = await shop.ask({ ...BODY, stream })
      expect(await response.text()).toContain(WORD)
      const cost = estimate(stream) * IN + OUT
      expect(await onlyEnd(shop)).toMatchObject({
        ...COUNTED,
        cost,
        input_tokens: estimate(stream),
      })
    }
  })

  it('is no answer at all where it is not even JSON, and the operator learns of it', async () => {
    const broken = '{"choices":[{"message":{"content":"word"}}],"usage":{"prompt_tokens":NaN}}'
    const shop = await openShop([(_, reply) => reply.json(200, broken)])
    const response = await shop.ask(BODY)
    expect(response.status).toBe(502)
    await response.text()
    const end = await onlyEnd(shop)
    expect(end).toMatchObject({ state: 'voided', evidence: 'unknown', cost: 0 })
    const { tries } = await readCall(shop, end.request_id)
    expect(tries).toMatchObject([{ evidence: 'unknown', suspense_usd: toUsd(end.held!) }])
  })

  it.each([false, true])('is zero where it says zero (stream: %p)', async (stream) => {
    const shop = await openShop([
      (request, reply) =>
        answerWith(reply, readAsked(request.body), { prompt_tokens: 0, completion_tokens: 0 }),
    ])
    await (await shop.ask({ ...BODY, stream })).text()
    const told = { input_tokens: 0, output_tokens: 0, cost: 0 }
    expect(await onlyEnd(shop)).toMatchObject({ ...told, state: 'settled', evidence: 'reported' })
  })
})

describe('a supplier that ignores the maximum', () => {
  it('is ended with a reason, and the key pays no more than was held', async () => {
    const sent = { events: 0 }
    const shop = await openShop([
      async ({ closed }, reply) => {
        const stream = reply.stream()
        let isClosed = false
        void closed.then(() => (isClosed = true))
        await until(() => {
          sent.events += 1
          stream.send(chunk({ content: WORD.repeat(100) }))
          return isClosed
        })
      },
    ])
    const response = await shop.ask({ ...BODY, stream: true })
    const text = await response.text()
    await (
      await shop.suppliers[0]!.request(0)
    ).closed
    expect(text).toEndWith(DONE)
    expect(text.split('\n\n').at(-3)).toContain('"finish_reason":"length"')
    expect(text).not.toContain('"error"')
    expect(text.split(WORD.repeat(100)).length - 1).toBeLessThan(sent.events)
    const end = await onlyEnd(shop)
    expect(end).toMatchObject({ state: 'settled', evidence: 'counted', status: 200, code: null })
    expect(end.cost).toBeLessThanOrEqual(end.held!)
    expect(end.overrun).toBe(0)
  })
})

/** Sends so many words as events, then waits. */
function saying(words: number, then: Script = () => {}): Script {
  return async (request, reply, index) => {
    const stream = reply.stream()
    stream.send(chunk({ role: 'assistant', content: '' }))
    for (let count = 0; count < words; count++) stream.send(chunk({ content: WORD }))
    await then(request, { ...reply, stream: () => stream }, index)
  }
}

describe('a caller that hangs up', () => {
  async function leaveAfter(shop: Shop, words: number): Promise<FakeRequest> {
    const leaving = new AbortController()
    const response = await shop.ask({ ...BODY, stream: true }, leaving.signal)
    await readText(response).count(`"${WORD}"`, words)
    leaving.abort()
    return shop.suppliers[0]!.request(0)
  }

  it.each([1, 2, 3, 5, 8])(
    'after event %p pays for the input and for what it was sent, and the supplier is ended',
    async (words) => {
      const shop = await openShop([saying(words)])
      const { closed } = await leaveAfter(shop, words)
      await closed
      expect(await onlyEnd(shop)).toMatchObject({
        ...LEFT,
        state: 'settled',
        evidence: 'broken',
        input_tokens: INPUT_TOKENS,
        output_tokens: words,
        cost: INPUT_TOKENS * IN + words * OUT,
      })
    },
  )

  it('pays for the sound that it was sent', async () => {
    const SOUND = chunk({ audio: { id: 'a', data: 'A'.repeat(8000) } })
    const shop = await openShop([(_, reply) => reply.stream().send(SOUND + SOUND)])
    const leaving = new AbortController()
    const audio = { modalities: ['text', 'audio'], audio: { voice: 'x', format: 'pcm16' } }
    const response = await shop.ask({ ...BODY, stream: true, ...audio }, leaving.signal)
    await readText(response).count('"audio"', 2)
    leaving.abort()
    // 500 bytes of sound a token, and one for each event that says nothing in text, in bytes.
    const output_tokens = 12_000 / 500 + 1
    expect(await onlyEnd(shop)).toMatchObject({ ...LEFT, evidence: 'broken', output_tokens })
  })

  it.each([false, true])('before any content pays for the input (stream: %p)', async (stream) => {
    const shop = await openShop([() => {}])
    const leaving = new AbortController()
    const body = { ...BODY, stream }
    const answering = shop.ask(body, leaving.signal)
    const { closed } = await shop.suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await closed
    const tokens = Math.ceil(JSON.stringify(body).length / 4) + 4
    expect(await onlyEnd(shop)).toMatchObject({
      ...LEFT,
      state: 'settled',
      evidence: 'broken',
      input_tokens: tokens,
      output_tokens: 0,
      cost: tokens * IN,
    })
  })

  it('at the reason to stop pays exactly, when the usage still comes', async () => {
    const gate = createGate()
    const shop = await openShop([
      saying(1, async (_, reply) => {
        const stream = reply.stream()
        stream.send(STOP)
        await gate.opened
        stream.send(USAGE_CHUNK + DONE)
        stream.end()
      }),
    ])
    const leaving = new AbortController()
    const response = await shop.ask({ ...BODY, stream: true }, leaving.signal)
    await readText(response).until('"finish_reason":"stop"')
    leaving.abort()
    await until(() => shop.gateway.app.pending() === 0)
    gate.open()
    expect(await onlyEnd(shop)).toMatchObject({ ...LEFT, evidence: 'reported', cost: EXACT_COST })
  })

  it('is read for to the end where the operator wants the exact figure', async () => {
    const gate = createGate()
    const shop = await openShop(
      [
        saying(2, async (_, reply) => {
          const stream = reply.stream()
          await gate.opened
          stream.send(chunk({ content: WORD }) + STOP + USAGE_CHUNK + DONE)
          stream.end()
        }),
      ],
      'on_disconnect: drain',
    )
    await leaveAfter(shop, 2)
    await until(() => shop.gateway.app.pending() === 0)
    expect(endsOf(readRecords(dataOf(shop.gateway)))).toEqual([])
    gate.open()
    expect(await onlyEnd(shop)).toMatchObject({ evidence: 'reported', cost: EXACT_COST })
  })

  it('is read for to the end of a whole answer, too', async () => {
    const gate = createGate()
    const shop = await openShop(
      [
        async (request, reply) => {
          await gate.opened
          answerWith(reply, readAsked(request.body), USAGE)
        },
      ],
      'on_disconnect: drain',
    )
    const leaving = new AbortController()
    const answering = shop.ask(BODY, leaving.signal)
    await shop.suppliers[0]!.request(0)
    leaving.abort()
    expect(await answering.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await until(() => shop.gateway.app.pending() === 0)
    gate.open()
    expect(await onlyEnd(shop)).toMatchObject({ evidence: 'reported', cost: EXACT_COST })
  })
})

describe('answers that are read to their end for callers who have left', () => {
  const DRAIN = 'on_disconnect: drain'
  /** Of one account. */
  const DRAINS_MAX = 64

  it('are so many at once and no more', async () => {
    const callers = DRAINS_MAX + 6
    const gate = createGate()
    const shop = await openShop(
      [
        saying(1, async (_, reply) => {
          await gate.opened
          reply.stream().send(STOP + USAGE_CHUNK + DONE)
          reply.stream().end()
        }),
      ],
      DRAIN,
    )
    const leaving = new AbortController()
    const calls = Array.from({ length: callers }, async () => {
      const response = await shop.ask({ ...BODY, stream: true }, leaving.signal)
      await readText(response).until(WORD)
    })
    await Promise.all(calls)
    const ended = () => endsOf(readRecords(dataOf(shop.gateway)))
    leaving.abort()
    await until(() => ended().length >= callers - DRAINS_MAX)
    expect(new Set(ended().map(({ evidence }) => evidence))).toEqual(new Set(['broken']))
    expect(ended()).toHaveLength(callers - DRAINS_MAX)
    gate.open()
    await until(() => ended().length >= callers)
    const exact = ended().filter(
      ({ evidence, cost }) => evidence === 'reported' && cost === EXACT_COST,
    )
    expect(exact).toHaveLength(DRAINS_MAX)
    expect(await readKey(shop.gateway, shop.key.id)).toMatchObject({ held: 0 })
  })

  it('are waited for a minute, and then counted', async () => {
    const clock = createFakeClock()
    const shop = await openShop([saying(2)], DRAIN, clock)
    const leaving = new AbortController()
    const response = await shop.ask({ ...BODY, stream: true }, leaving.signal)
    await readText(response).count(`"${WORD}"`, 2)
    leaving.abort()
    await until(() => shop.gateway.app.pending() === 0)
    clock.advance(59_000)
    expect(endsOf(readRecords(dataOf(shop.gateway)))).toEqual([])
    clock.advance(2_000)
    await shop.suppliers[0]!.requests[0]!.closed
    const cost = INPUT_TOKENS * IN + 2 * OUT
    expect(await onlyEnd(shop)).toMatchObject({ ...LEFT, evidence: 'broken', cost })
  })
})

describe('a usage that is told as the answer goes', () => {
  const LONG = WORD.repeat(40)
  const RUNNING = { prompt_tokens: 11, completion_tokens: 1 }
  const NOTHING = { prompt_tokens: 0, completion_tokens: 0 }
  const FINAL = { prompt_tokens: 11, completion_tokens: 90 }
  const told = (usage: object): string => `data: ${JSON.stringify({ choices: [], usage })}\n\n`

  /** Tells this usage with all that it says, and the final one when it is let. */
  function telling(early: object, ending: Promise<void>): Script {
    return async (_, reply) => {
      const stream = reply.stream()
      stream.send(chunk({ content: LONG }, null, { usage: early }))
      stream.send(chunk({ content: LONG }, null, { usage: early }))
      stream.send(chunk({}, 'stop', { usage: early }))
      await ending
      stream.send(told(FINAL) + DONE)
      stream.end()
    }
  }

  async function leaveAtTheStop(shop: Shop): Promise<void> {
    const leaving = new AbortController()
    const response = await shop.ask({ ...BODY, stream: true }, leaving.signal)
    await readText(response).until('"finish_reason":"stop"')
    leaving.abort()
    await until(() => shop.gateway.app.pending() === 0)
  }

  it.each([NOTHING, RUNNING])(
    'is not what it costs to hang up at the reason to stop: %j',
    async (early) => {
      const gate = createGate()
      const shop = await openShop([telling(early, gate.opened)])
      await leaveAtTheStop(shop)
      gate.open()
      const cost = 11 * IN + 90 * OUT
      expect(await onlyEnd(shop)).toMatchObject({ ...LEFT, evidence: 'reported', cost })
    },
  )

  it.each([
    [NOTHING, INPUT_TOKENS],
    [RUNNING, 11],
  ])('is no less than what was put out where the end never comes: %j', async (early, input) => {
    const clock = createFakeClock()
    const shop = await openShop([telling(early, createGate().opened)], '', clock)
    await leaveAtTheStop(shop)
    clock.advance(3_000)
    await shop.suppliers[0]!.requests[0]!.closed
    const cost = input * IN + 80 * OUT
    expect(await onlyEnd(shop)).toMatchObject({ ...LEFT, evidence: 'broken', cost })
  })

  it.each([
    [NOTHING, INPUT_TOKENS],
    [RUNNING, 11],
  ])('only before the text is not that of the text: %j', async (early, input) => {
    const opening = chunk({ role: 'assistant', content: '' }, null, { usage: early })
    const events = [opening, chunk({ content: LONG }), STOP, DONE]
    const shop = await openShop([(_, reply) => sendEvents(reply, events)])
    await (await shop.ask({ ...BODY, stream: true })).text()
    const cost = input * IN + 40 * OUT
    expect(await onlyEnd(shop)).toMatchObject({ code: null, evidence: 'counted', cost })
  })

  it('is not taken back by a smaller one', async () => {
    const events = [chunk({ content: LONG }), STOP, told(FINAL), told(NOTHING), DONE]
    const shop = await openShop([(_, reply) => sendEvents(reply, events)])
    await (await shop.ask({ ...BODY, stream: true })).text()
    const cost = 11 * IN + 90 * OUT
    expect(await onlyEnd(shop)).toMatchObject({ evidence: 'reported', cost })
  })
})

describe('a call that its supplier breaks', () => {
  const reset: Script = (_, reply) => reply.reset()

  it.each([false, true])(
    'before any output is free for the key, and told to the operator (stream: %p)',
    async (stream) => {
      const shop = await openShop([reset, reset])
      const response = await shop.ask({ ...BODY, stream })
      expect(response.status).toBe(503)
      await response.text()
      const end = await onlyEnd(shop)
      expect(end).toMatchObject({ state: 'voided', evidence: 'unknown', cost: 0, overrun: 0 })
      const { settlement, tries } = await readCall(shop, end.request_id)
      expect(settlement).toMatchObject({ state: 'voided', cost_usd: 0 })
      expect(tries).toMatchObject([
        { supplier: 'fake', evidence: 'unknown', suspense_usd: toUsd(end.held!) },
        { supplier: 'fake-2', evidence: 'unknown', suspense_usd: toUsd(end.held!) },
      ])
    },
  )

  it('by refusing it is free for both', async () => {
    const shop = await openShop([
      refuse(500, { message: 'sorry' }),
      refuse(429, { message: 'busy' }),
    ])
    await (await shop.ask(BODY)).text()
    const end = await onlyEnd(shop)
    expect(end).toMatchObject({ state: 'voided', evidence: 'refused', cost: 0 })
    const { tries } = await readCall(shop, end.request_id)
    expect(tries).toMatchObject([
      { supplier: 'fake', evidence: 'refused', status: 500, suspense_usd: null },
      { supplier: 'fake-2', evidence: 'refused', status: 429, suspense_usd: null },
    ])
  })

  it.each([1, 4])('after %p words costs the input and those words', async (words) => {
    const gate = createGate()
    const shop = await openShop([
      saying(words, async (_, reply) => {
        await gate.opened
        reply.reset()
      }),
    ])
    const reader = readText(await shop.ask({ ...BODY, stream: true }))
    await reader.count(`"${WORD}"`, words)
    gate.open()
    expect(await reader.rest()).toContain('stream_interrupted')
    expect(await onlyEnd(shop)).toMatchObject({
      status: 200,
      code: 'stream_interrupted',
      state: 'settled',
      evidence: 'broken',
      cost: INPUT_TOKENS * IN + words * OUT,
    })
  })

  it('only by telling no usage is counted, and whole', async () => {
    const shop = await openShop([
      (_, reply) =>
        sendEvents(reply, [chunk({ content: WORD }), chunk({ content: WORD }), STOP, DONE]),
    ])
    const text = await (await shop.ask({ ...BODY, stream: true })).text()
    expect(text).toEndWith(DONE)
    expect(text).toContain(': x-svc-settlement: estimated\n')
    const cost = INPUT_TOKENS * IN + 2 * OUT
    expect(await onlyEnd(shop)).toMatchObject({ code: null, evidence: 'counted', cost })
  })
})

describe('a call with several suppliers', () => {
  const good: Script = (request, reply) => answerWith(reply, readAsked(request.body), USAGE)
  const DEAR = { input: 10 * PRICES.input, output: 10 * PRICES.output }

  it.each([
    ['the dear one is first', DEAR, PRICES],
    ['the dear one is second', PRICES, DEAR],
  ])('is held once, for the dearest of them, when %s', async (_, first, second) => {
    const [one, two] = await Promise.all([
      startFakeSupplier(refuse(500, { message: 'sorry' })),
      startFakeSupplier(good),
    ])
    tidy(one)
    tidy(two)
    const suppliers = [pricedAt(one.origin, first), pricedAt(two.origin, second, { id: 'fake-2' })]
    const gateway = tidy(await startGateway({ suppliers }))
    const response = await gateway.chat(BODY)
    expect([response.status, response.headers.get('x-svc-failover')]).toEqual([200, 'true'])
    await response.text()
    const { holds, ends } = readRecords(dataOf(gateway))
    expect(holds).toHaveLength(1)
    const bytes = JSON.stringify(BODY).length
    expect(holds[0]!.amount).toBe((bytes + 16) * 10 * IN + 100 * 10 * OUT)
    const cost = (EXACT_COST * second.output) / PRICES.output
    expect(ends).toMatchObject([{ supplier: 'fake-2', attempts: 2, cost, state: 'settled' }])
    await expectSoundBooks(dataOf(gateway))
  })

  it('shows what the first may have cost beside what the second did', async () => {
    const shop = await openShop([(_, reply) => reply.reset(), good])
    await (await shop.ask(BODY)).text()
    const end = await onlyEnd(shop)
    expect(end).toMatchObject({ cost: EXACT_COST, supplier: 'fake-2', evidence: 'reported' })
    const { tries } = await readCall(shop, end.request_id)
    expect(tries).toMatchObject([
      { supplier: 'fake', evidence: 'unknown', suspense_usd: toUsd(end.held!) },
      { supplier: 'fake-2', evidence: 'reported', suspense_usd: null },
    ])
  })
})

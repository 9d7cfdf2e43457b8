// The models that fail on purpose, each in the way its row promises. A break must look like a break to
// an ordinary client, and a caller who leaves must be noticed.
import { afterAll, describe, expect, test } from 'bun:test'
import { demoOffers, taskOf } from './models.ts'
import { startDemo } from './server.ts'
import {
  createClient,
  CREDENTIAL,
  deltasOf,
  readAnswer,
  readFrames,
} from '../../../test/fakes/demo-client.ts'
import { textOf, user, type Failure } from '../../../test/fakes/demo-client.ts'

const demo = startDemo({ name: 'demo', credential: CREDENTIAL })
const backup = startDemo({ name: 'demo-backup', credential: CREDENTIAL })
const { send, complete, refuse, stream } = createClient(demo)

afterAll(async () => {
  await demo.stop()
  await backup.stop()
})

const WORDS = 'one two three four five six seven eight'
const ASKED = user(`Reply with exactly: ${WORDS}`)

interface Drained {
  readonly text: string
  readonly isBroken: boolean
}

/** Reads until the body ends or breaks, and tells which. */
async function drain(pending: Promise<Response>): Promise<Drained> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    const { body } = await pending
    for await (const chunk of body ?? []) text += decoder.decode(chunk, { stream: true })
    return { text, isBroken: false }
  } catch {
    // A broken connection is what the test asks about.
    return { text, isBroken: true }
  }
}

/** The reader of a reply that has already begun. */
async function begin(body: object, signal: AbortSignal): Promise<string> {
  const response = await send({ ...ASKED, ...body }, { signal })
  const first = await response.body?.getReader().read()
  return new TextDecoder().decode(first?.value)
}

function expectSomeWords(text: string): void {
  expect(text).not.toBe('')
  expect(WORDS).toStartWith(text)
  expect(text).not.toBe(WORDS)
}

describe('refusals', () => {
  test.each([
    ['error-500', 500, 'server_error', null],
    ['error-400', 400, 'invalid_request_error', 'invalid_value'],
    ['context-full', 400, 'invalid_request_error', 'context_length_exceeded'],
    ['rate-limited', 429, 'requests', 'rate_limit_exceeded'],
    ['overloaded', 503, 'server_error', null],
    ['bad-credential', 401, 'invalid_request_error', 'invalid_api_key'],
    ['failover', 500, 'server_error', null],
  ])('%s answers with status %d, streaming or not', async (model, status, type, code) => {
    for (const streaming of [false, true]) {
      const refused = await refuse({ model, stream: streaming, ...ASKED })
      expect(refused.status).toBe(status)
      expect(refused.error).toMatchObject({ type, code })
      expect(refused.error.message).not.toBe('')
      expect(refused.headers.get('content-type')).toBe('application/json')
    }
  })

  test('context-full uses the wording that clients look for', async () => {
    const { error } = await refuse({ model: 'context-full', ...ASKED })
    expect(error.message).toContain('maximum context length is 8192 tokens')
  })

  test('rate-limited says how long to wait', async () => {
    const { headers } = await refuse({ model: 'rate-limited', ...ASKED })
    expect(headers.get('retry-after')).toBe('3')
  })

  test('redirect points elsewhere', async () => {
    const response = await send({ model: 'redirect', ...ASKED })
    expect(response.status).toBe(302)
    expect(response.headers.get('location')).toBe('/v1/elsewhere')
  })

  test('failover answers on the backup', async () => {
    const body = { model: 'failover', ...ASKED }
    expect(await createClient(backup).say(body)).toBe(WORDS)
    const chunks = await createClient(backup).stream(body)
    expect(textOf(deltasOf(chunks))).toBe(WORDS)
  })
})

describe('replies that are no answer', () => {
  test('empty says nothing', async () => {
    for (const streaming of [false, true]) {
      const response = await send({ model: 'empty', stream: streaming, ...ASKED })
      expect(response.status).toBe(200)
      expect(await response.text()).toBe('')
    }
  })

  test('garbage is a web page', async () => {
    for (const streaming of [false, true]) {
      const response = await send({ model: 'garbage', stream: streaming, ...ASKED })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toStartWith('text/html')
      expect(await response.text()).toStartWith('<!doctype html>')
    }
  })

  test('truncated is half a JSON', async () => {
    const unary = await send({ model: 'truncated', ...ASKED })
    expect(unary.status).toBe(200)
    const text = await unary.text()
    expect(() => JSON.parse(text)).toThrow()
    const streamed = await send({ model: 'truncated', stream: true, ...ASKED })
    const [frame] = readFrames(await streamed.text())
    expect(() => JSON.parse(frame ?? '{}')).toThrow()
  })

  test('error-first has an error where the answer belongs', async () => {
    const unary = await send({ model: 'error-first', ...ASKED })
    expect(unary.status).toBe(200)
    const body: Failure = JSON.parse(await unary.text())
    expect(body.error.type).toBe('server_error')
    const streamed = await send({ model: 'error-first', stream: true, ...ASKED })
    expect(streamed.headers.get('content-type')).toBe('text/event-stream')
    const frames = readFrames(await streamed.text())
    expect(frames).toHaveLength(1)
    expect(frames[0]).toContain('"error"')
  })
})

describe('answers that break off', () => {
  test('cut-stream is seen as a broken connection', async () => {
    for (const streaming of [true, false]) {
      const pending = send({ model: 'cut-stream', stream: streaming, ...ASKED })
      const { text, isBroken } = await drain(pending)
      expect(isBroken).toBe(true)
      expect(text).not.toContain('finish_reason":"stop')
      expect(text).not.toContain('[DONE]')
    }
  })

  test('end-early ends cleanly without a finish', async () => {
    const pending = send({ model: 'end-early', stream: true, ...ASKED })
    const { text, isBroken } = await drain(pending)
    expect(isBroken).toBe(false)
    const chunks = readFrames(text).map(readAnswer)
    expectSomeWords(textOf(deltasOf(chunks)))
    for (const chunk of chunks) expect(chunk.choices[0]?.finish_reason).toBeNull()
    const unary = await complete({ model: 'end-early', ...ASKED })
    expect(unary.choices[0]?.finish_reason).toBeNull()
  })

  test('error-mid-stream reports an error after some pieces', async () => {
    const response = await send({ model: 'error-mid-stream', stream: true, ...ASKED })
    const frames = readFrames(await response.text())
    expectSomeWords(textOf(deltasOf(frames.slice(0, -1).map(readAnswer))))
    const last: Failure = JSON.parse(frames.at(-1) ?? '')
    expect(last.error.type).toBe('server_error')
    expect((await refuse({ model: 'error-mid-stream', ...ASKED })).status).toBe(500)
  })

  test('even the shortest answer shows its text before it breaks', async () => {
    const short = user('Reply with exactly: ok')
    const response = await send({ model: 'end-early', stream: true, ...short })
    const chunks = readFrames(await response.text()).map(readAnswer)
    expect(textOf(deltasOf(chunks))).toBe('ok')
  })

  test('no-usage never tells', async () => {
    const body = { model: 'no-usage', ...ASKED }
    expect(await complete(body)).not.toHaveProperty('usage')
    const chunks = await stream({ ...body, stream_options: { include_usage: true } })
    expect(textOf(deltasOf(chunks))).toBe(WORDS)
    expect(chunks.filter((chunk) => 'usage' in chunk)).toEqual([])
  })

  test('slow says all of it in the end', async () => {
    const body = { model: 'slow', ...user('Reply with exactly: ok') }
    const [unary, chunks] = await Promise.all([complete(body), stream(body)])
    expect(unary.choices[0]?.message.content).toBe('ok')
    expect(textOf(deltasOf(chunks))).toBe('ok')
  })
})

// Each of these would hang, and the test with it, if the departure went unnoticed.
describe('a caller who leaves', () => {
  test('is noticed before any answer', async () => {
    const before = demo.calls()
    const leaving = new AbortController()
    const pending = send({ model: 'hang', ...ASKED }, { signal: leaving.signal })
    while (demo.calls() === before) await new Promise(setImmediate)
    leaving.abort()
    expect(await pending.catch((thrown: unknown) => String(thrown))).toContain('AbortError')
    await demo.idle()
  })

  test('is noticed while the answer hangs', async () => {
    for (const streaming of [true, false]) {
      const leaving = new AbortController()
      const body = { model: 'hang-mid-stream', stream: streaming }
      expect(await begin(body, leaving.signal)).toContain('"id"')
      leaving.abort()
      await demo.idle()
    }
  })

  test('is noticed in a slow stream', async () => {
    const leaving = new AbortController()
    const endless = user(`Reply with exactly: ${'word '.repeat(10_000)}`)
    const body = { model: 'slow', stream: true, ...endless }
    expect(await begin(body, leaving.signal)).toContain('"role":"assistant"')
    leaving.abort()
    await demo.idle()
  })

  test('is noticed in the middle of a long answer that nobody reads', async () => {
    const leaving = new AbortController()
    const body = { model: 'maximal', stream: true, max_tokens: 100_000 }
    expect(await begin(body, leaving.signal)).toContain('"role":"assistant"')
    leaving.abort()
    await demo.idle()
  })
})

test('stops although a call hangs', async () => {
  const server = startDemo({ name: 'demo', credential: CREDENTIAL })
  const response = await createClient(server).send({
    model: 'hang-mid-stream',
    stream: true,
    ...ASKED,
  })
  const reading = drain(Promise.resolve(response))
  await server.stop()
  expect((await reading).isBroken).toBe(true)
  await server.idle()
})

test('every model has its own name, a summary and a price', () => {
  const models = [...demoOffers.demo.models, ...demoOffers['demo-native'].models]
  const names = models.map((model) => model.name)
  expect(new Set(names).size).toBe(names.length)
  for (const model of models) {
    const { summary, price } = model
    expect(summary).toMatch(/^[A-Z].{10,70}\.$/)
    if (taskOf(model) === undefined) expect(price.output).toBeGreaterThan(price.input)
    else expect(Math.max(...Object.values(price).map(Number))).toBeGreaterThan(0)
  }
})

// The language of native agents: what of a request counts and what is refused, which headers go with it, and how it
// is told of failures. A request as an agent sends it passes untouched but for its model.
import { describe, expect, it } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { GatewayError } from '../src/core/problem.ts'
import type { StreamWatcher } from '../src/dialects/dialect.ts'
import { nativeResponses } from '../src/dialects/native-responses/index.ts'
import { beginText, PREAMBLE, printEvents } from './fakes/response-supplier.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const { relay, problem } = nativeResponses
const peek = (text: string) => nativeResponses.peek(encoder.encode(text))

const USER = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }
const HELLO = { model: 'm', stream: true, input: [USER] }

function facts(changes: object = {}) {
  return peek(JSON.stringify({ ...HELLO, ...changes }))
}

function problemOf(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

/** A turn as version 0.166.0 of an agent sends it, with a call of a tool behind it, and shorter texts. */
const TURN = readFileSync(join(import.meta.dir, 'fixtures/native/turn.txt'), 'utf8')

describe('the request of an agent', () => {
  it('is read for what admission needs', () => {
    expect(peek(TURN)).toMatchObject({
      model: 'gw-native',
      stream: true,
      maxTokens: undefined,
      usesTools: true,
      asksReasoning: true,
      goesOn: true,
      resumes: false,
      load: { messages: 5, elsewhere: 'tools[3]', unbounded: undefined },
    })
  })

  it('passes as it came, but for the name of its model', () => {
    const bytes = encoder.encode(TURN)
    const rewrite = { model: 'theirs', usage: 'always' as const }
    const sent = relay.patch(bytes, nativeResponses.peek(bytes), rewrite)
    expect(decoder.decode(sent)).toBe(TURN.replace('"gw-native"', '"theirs"'))
  })

  it('may hold items and tools that nobody knows', () => {
    const dream = { type: 'dream', of: [{ electric: 'sheep' }] }
    expect(facts({ input: [USER, dream] }).load.elsewhere).toBe('input[1]')
    expect(facts({ tools: [dream] }).load).toMatchObject({
      elsewhere: 'tools[0]',
      unbounded: undefined,
    })
  })

  it('says nothing of `store` and of `instructions` that would be refused or counted', () => {
    for (const store of [true, false, null])
      expect(facts({ store, instructions: 'Be brief.' }).load.elsewhere).toBeUndefined()
  })
})

describe('tools that run at the supplier', () => {
  const search = { type: 'web_search', external_web_access: false }
  const own = { type: 'function', name: 'f', parameters: {} }

  it.each([
    ['in the list', { tools: [own, search] }, 'tools[1]'],
    [
      'in a namespace',
      { tools: [{ type: 'namespace', tools: [own, search] }] },
      'tools[0].tools[1]',
    ],
    [
      'in an item',
      { input: [USER, { type: 'additional_tools', role: 'developer', tools: [search] }] },
      'input[1].tools[0]',
    ],
  ])('%s take up the model’s window, and no more than that', (_, changes, place) => {
    expect(facts(changes).load).toMatchObject({ elsewhere: place, unbounded: undefined })
  })

  it('count for nothing where the caller runs all of them', () => {
    const shell = { type: 'shell', environment: { type: 'local' } }
    expect(facts({ tools: [own, shell] }).load).toMatchObject({
      elsewhere: undefined,
      unbounded: undefined,
    })
    expect(facts({ plugins: [{ id: 'web' }], tools: [own, shell] }).load).toMatchObject({
      elsewhere: undefined,
      unbounded: 'plugins',
    })
  })

  it.each(['context_management', 'web_search_options', 'plugins', 'prompt'])(
    'hide nothing of `%s`, which nothing bounds',
    (field) => {
      const asked = { [field]: { id: 'x' } }
      expect(facts({ tools: [search], ...asked }).load.unbounded).toBe(field)
      expect(facts({ ...asked, tools: [search] }).load.unbounded).toBe(field)
    },
  )
})

describe('what goes on from what the supplier has kept', () => {
  it.each(['previous_response_id', 'conversation'])('is known by `%s`', (field) => {
    expect(facts({ [field]: 'x' })).toMatchObject({ resumes: true, load: { elsewhere: field } })
    expect(facts({ [field]: null }).resumes).toBe(false)
  })

  it.each(['previous_response_id', 'conversation', 'prompt'])(
    'has something new to answer beside `%s`',
    (field) => {
      const { status, code } = problemOf(() => facts({ [field]: 'x', input: undefined }))
      expect([status, code]).toEqual([400, 'missing_prompt'])
    },
  )
})

describe('a native request is refused', () => {
  it.each<readonly [object, string, string]>([
    [{ input: undefined }, 'missing_prompt', 'input'],
    [{ input: null }, 'missing_prompt', 'input'],
    [{ input: [] }, 'missing_prompt', 'input'],
    [{ input: 'Hi' }, 'validation_error', 'input'],
    [{ input: USER }, 'validation_error', 'input'],
    [{ input: ['Hi'] }, 'validation_error', 'input[0]'],
    [{ stream: undefined }, 'validation_error', 'stream'],
    [{ stream: null }, 'validation_error', 'stream'],
    [{ stream: false }, 'validation_error', 'stream'],
    [{ stream: 'true' }, 'validation_error', 'stream'],
    [{ stream: 1 }, 'validation_error', 'stream'],
    [{ max_output_tokens: -1 }, 'validation_error', 'max_output_tokens'],
    [{ background: true }, 'unsupported_parameter', 'background'],
    [{ service_tier: 'priority' }, 'unsupported_parameter', 'service_tier'],
    [{ api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
  ])('%j', (changes, code, param) => {
    const refusal = problemOf(() => facts(changes))
    expect([refusal.status, refusal.code, refusal.param]).toEqual([400, code as never, param])
    // Agents print the whole of it to their users.
    expect(problem.encode(refusal, 'req_1').length).toBeLessThan(400)
  })

  it.each([
    '{"model":"m","stream":true,"stream":true,"input":[{"id":"x"}]}',
    '{"model":"m","stream":true,"Stream":false,"input":[{"id":"x"}]}',
    '{"model":"m","stream":true,"input":[{"id":"x"}],"inpu\\u0074":[]}',
    '{"model":"m","stream":TRUE,"input":[{"id":"x"}]}',
  ])('where parsers read it in two ways, or not at all: %s', (text) => {
    expect(problemOf(() => peek(text)).status).toBe(400)
  })
})

describe('the headers of an agent', () => {
  const passed = (headers: Readonly<Record<string, string>>) => relay.headers!(new Headers(headers))
  const STREAM = { accept: 'text/event-stream' }

  it('go with its request', () => {
    const headers = {
      originator: 'codex_exec',
      version: '0.166.0',
      'openai-beta': 'responses=experimental',
      'user-agent': 'codex_exec/0.166.0 (Debian 12.0.0; x86_64) unknown (codex_exec; 0.166.0)',
      'session-id': '01a1dcaa-6e82',
      session_id: '01a1dcaa-6e82',
      'thread-id': '01a1dcaa-6e82',
      'conversation-id': 'c',
      conversation_id: 'c',
      'x-client-request-id': 'r',
      'x-codex-window-id': 'w',
      'x-codex-turn-metadata': '{"turn_id":"t"}',
      'x-codex-what-comes-later': 'l',
      'x-openai-subagent': 'review',
    }
    expect(passed(headers)).toEqual({ ...headers, ...STREAM })
  })

  it('say that a stream is awaited, whatever they said before', () => {
    expect(passed({ accept: 'application/json' })).toEqual(STREAM)
    expect(passed({})).toEqual(STREAM)
    expect(passed({ originator: '' })).toEqual(STREAM)
  })

  it.each([
    'authorization',
    'proxy-authorization',
    'cookie',
    'x-api-key',
    'chatgpt-account-id',
    'openai-organization',
    'x-svc-project',
    'x-session-id',
    'idempotency-key',
    'host',
    'forwarded',
    'x-forwarded-for',
    'x-real-ip',
    'content-type',
    'content-encoding',
    'traceparent',
    'x-codex-',
    'x-codexes',
    'x-openai-actor-authorization',
    'x-openai-api-key',
    'x-openai-fedramp',
    'x-openai-internal-codex-residency',
    'x-codex-access-token',
    'x-codex-account-id',
    'x-codex-routing-hint',
  ])('stay here where they are none of the supplier’s business: %s', (name) => {
    expect(passed({ [name]: 'canary' })).toEqual(STREAM)
  })

  const refusal = (headers: Readonly<Record<string, string>>): readonly unknown[] => {
    const { status, code, param } = problemOf(() => passed(headers))
    return [status, code, param]
  }

  it.each([
    ['session-id', 'x'.repeat(8193)],
    ['x-codex-turn-metadata', 'Zürich'],
    ['x-openai-subagent', 'a\tb'],
  ])('are refused by their names where they cannot be sent: %s', (name, value) => {
    expect(refusal({ [name]: value })).toEqual([400, 'validation_error', name])
  })

  it('are refused where there are too many of them, or too much', () => {
    const many = (count: number, value: string): Readonly<Record<string, string>> =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-codex-${at + 10}`, value]))
    expect(Object.keys(passed(many(32, 'x')))).toHaveLength(33)
    expect(refusal(many(33, 'x'))).toEqual([400, 'validation_error', 'x-codex-42'])
    expect(Object.keys(passed(many(3, 'x'.repeat(8192))))).toHaveLength(4)
    expect(refusal(many(4, 'x'.repeat(8192)))).toEqual([400, 'validation_error', 'x-codex-13'])
  })

  it('are not repeated at any length by what refuses them', () => {
    const { param, message } = problemOf(() => passed({ [`x-codex-${'y'.repeat(500)}`]: 'ü' }))
    expect(param!.length).toBeLessThanOrEqual(64)
    expect(message.length).toBeLessThan(200)
  })
})

describe('a plan of which nothing is left', () => {
  const said = (status: number, error: object): GatewayError =>
    problem.decode(status, encoder.encode(JSON.stringify({ error })))

  it.each(['usage_limit_reached', 'usage_not_included', 'insufficient_quota'])(
    'is known by %s as a type and as a code',
    (name) => {
      expect(problem.isSpent(said(429, { type: name, message: 'No.' }))).toBe(true)
      expect(problem.isSpent(said(429, { code: name, message: 'No.' }))).toBe(true)
    },
  )

  it('is told in the words of its supplier', () => {
    const error = {
      type: 'usage_limit_reached',
      message: 'The usage limit has been reached',
      plan_type: 'plus',
      resets_in_seconds: 90,
    }
    const { status, message, origin } = said(429, error)
    expect([status, message, origin?.type, origin?.raw]).toEqual([
      429,
      error.message,
      error.type,
      error,
    ])
  })

  it('is no server that is merely busy', () => {
    for (const name of ['rate_limit_exceeded', 'server_is_overloaded', 'slow_down'])
      expect(problem.isSpent(said(429, { type: name, code: name, message: 'No.' }))).toBe(false)
  })

  it('is heard inside of a stream, too', () => {
    const error = { code: 'usage_limit_reached', message: 'No.' }
    const event = { type: 'response.failed', response: { id: 'resp_1', error } }
    const failure = problemOf(() => see(relay.watch(), JSON.stringify(event)))
    expect([failure.status, problem.isSpent(failure)]).toEqual([429, true])
  })
})

function see(watcher: StreamWatcher, text: string): void {
  const data = encoder.encode(text)
  watcher.see(data, 0, data.length)
}

describe('a stream that breaks off', () => {
  it('is ended by an event of its own answer, with the next number', () => {
    const watcher = relay.watch()
    const events = [...PREAMBLE, ...beginText(['Hel', 'lo'])]
    for (const [, data] of printEvents(events, 7).matchAll(/^data: (.*)$/gm)) see(watcher, data!)
    const error = new GatewayError('stream_interrupted', 'It broke.')
    const [name, data] = problem.frame(error, 'req_1', watcher.place!()).split('\n')
    expect(name).toBe('event: response.failed')
    expect(JSON.parse(data!.slice('data: '.length))).toMatchObject({
      type: 'response.failed',
      sequence_number: 7 + events.length,
      response: {
        id: 'resp_1',
        status: 'failed',
        output: [],
        error: { code: 'stream_interrupted', message: 'stream_interrupted - It broke.' },
      },
    })
    expect(watcher.isFinished(1)).toBe(false)
  })
})

it('is spoken to the end and never put into another language', () => {
  expect([nativeResponses.isNative, nativeResponses.codec, relay.normalize]).toEqual([
    true,
    undefined,
    undefined,
  ])
  expect(relay.findFault?.({ usage: 'always', drop: ['stream'] })).toBeDefined()
})

// The rest of the language: what a relay changes, what a unary answer proves, problems, and headers.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { extra, space } from '../../../test/fakes/json-text.ts'
import { GatewayError } from '../../core/problem.ts'
import type { Quirks } from '../quirk.ts'
import { anthropicMessages } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const { relay, problem } = anthropicMessages

interface Change extends Omit<Quirks, 'usage'> {
  readonly model?: string
  readonly maxTokens?: number
}

function patched(text: string, { model = 'm', maxTokens, ...quirks }: Change = {}): string {
  const body = encoder.encode(text)
  const rewrite = { ...quirks, model, usage: 'always' as const }
  return decoder.decode(relay.patch(body, anthropicMessages.peek(body), rewrite, { maxTokens }))
}

const HEAD = '"model":"m","max_tokens":9,"messages":[{"role":"user","content":""}]'

describe('a request on its way to a supplier', () => {
  it('keeps each byte that no splice touches', () => {
    fc.assert(
      fc.property(fc.array(extra, { maxLength: 5 }), space, (members, gap) => {
        const rest = members.map((each) => `${gap},${each}`).join('')
        const sent = (model: string): string => `{${HEAD.replace('"m"', model)}${rest}${gap}}`
        expect(patched(sent('"m"'))).toBe(sent('"m"'))
        expect(patched(sent('"m"'), { model: 'a/"b' })).toBe(sent('"a/\\"b"'))
      }),
    )
  })

  it.each<readonly [string, Change, string, string]>([
    ['loses its region', {}, `{"region":"EU", ${HEAD}}`, `{${HEAD}}`],
    ['loses a region of null', {}, `{${HEAD},"region":null}`, `{${HEAD}}`],
    [
      'loses its session',
      {},
      `{${HEAD},"metadata":{"session_id":"s" , "user_id":"u"}}`,
      `{${HEAD},"metadata":{"user_id":"u"}}`,
    ],
    ['loses what held nothing else', {}, `{${HEAD},"metadata":{"sticky_key":"s"}}`, `{${HEAD}}`],
    ['keeps metadata of its own', {}, `{${HEAD},"metadata":{ }}`, `{${HEAD},"metadata":{ }}`],
    ['gets a lower limit', { maxTokens: 5 }, `{${HEAD}}`, `{${HEAD.replace('9', '5')}}`],
    [
      'gets a lower budget with it, and keeps room for an answer',
      { maxTokens: 5000 },
      `{"thinking":{"type":"enabled","budget_tokens": 8000},${HEAD}}`,
      `{"thinking":{"type":"enabled","budget_tokens": 3976},${HEAD.replace('9', '5000')}}`,
    ],
    [
      'gets no budget below the least',
      { maxTokens: 1025 },
      `{${HEAD},"thinking":{"budget_tokens":1025}}`,
      `{${HEAD.replace('9', '1025')},"thinking":{"budget_tokens":1024}}`,
    ],
    [
      'keeps its budget where there is no right one',
      { maxTokens: 1024 },
      `{${HEAD},"thinking":{"budget_tokens":8000}}`,
      `{${HEAD.replace('9', '1024')},"thinking":{"budget_tokens":8000}}`,
    ],
    [
      'keeps a budget that still fits',
      { maxTokens: 5000 },
      `{${HEAD},"thinking":{"budget_tokens":4999}}`,
      `{${HEAD.replace('9', '5000')},"thinking":{"budget_tokens":4999}}`,
    ],
    [
      'loses what a quirk drops',
      { drop: ['thinking'], maxTokens: 5000 },
      `{${HEAD},"thinking":{"budget_tokens":8000}}`,
      `{${HEAD.replace('9', '5000')}}`,
    ],
    [
      'has a field by another name',
      { rename: { top_k: 'k' } },
      `{${HEAD},"top_k":1}`,
      `{${HEAD},"k":1}`,
    ],
    ['gets what a quirk adds', { default: { top_k: 3 } }, `{${HEAD}}`, `{${HEAD},"top_k":3}`],
    ['knows one limit alone', { maxTokensName: 'max_completion_tokens' }, `{${HEAD}}`, `{${HEAD}}`],
  ])('%s', (_, change, sent, arrived) => {
    expect(patched(sent, change)).toBe(arrived)
  })

  it.each<readonly [Partial<Quirks>, string]>([
    [{ drop: ['max_tokens'] }, 'drop'],
    [{ drop: ['Thread'] }, 'drop'],
    [{ default: { service_tier: 'auto' } }, 'default'],
    [{ rename: { top_k: 'model' } }, 'rename'],
    [{ default: { cache_control: { type: 'ephemeral', ttl: '1h' } } }, 'default'],
    [{ rename: { top_k: 'cache_control' } }, 'rename'],
  ])('is kept from the quirk %j', (quirks, place) => {
    expect(relay.findFault?.({ usage: 'always', ...quirks })?.path[0]).toBe(place)
  })
})

describe('what a model has thought, on its way to a supplier', () => {
  const MARKED = '{"type":"thinking","thinking":"t","signature":"gw1.x"}'
  const HIDDEN = '{"data":"gw1.x","type":"redacted_thinking"}'
  const OWN = '{"type":"thinking","thinking":"t","signature":"EqoB"}'
  const TEXT = '{"type":"text","text":"x"}'
  const NOTHING = '{"type":"text","text":"…"}'

  function relayed(content: string, dropsThoughts = false): string {
    const frame = (list: string): string =>
      `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"u"},{"role":"assistant","content":${list}}]}`
    const body = encoder.encode(frame(content))
    const rewrite = { model: 'm', usage: 'always' as const }
    const adjustment = { maxTokens: undefined, dropsThoughts }
    const sent = relay.patch(body, anthropicMessages.peek(body), rewrite, adjustment)
    const [before = '', after = ''] = frame('|').split('|')
    const text = decoder.decode(sent)
    expect(text.startsWith(before) && text.endsWith(after)).toBe(true)
    return text.slice(before.length, text.length - after.length)
  }

  it.each([
    ['passes as it is where the supplier made it', `[ ${OWN} , ${TEXT} ]`, `[ ${OWN} , ${TEXT} ]`],
    ['goes from the front', `[ ${MARKED} , ${TEXT} ]`, `[ ${TEXT} ]`],
    ['goes from the end', `[ ${TEXT} , ${HIDDEN}]`, `[ ${TEXT} ]`],
    ['goes from between', `[${TEXT},${HIDDEN}, ${MARKED},${TEXT}]`, `[${TEXT},${TEXT}]`],
    [
      'goes from three places',
      `[${MARKED},${TEXT},${MARKED},${OWN},${HIDDEN}]`,
      `[${TEXT},${OWN}]`,
    ],
    ['leaves something behind', `[ ${MARKED} ]`, `[ ${NOTHING} ]`],
    ['leaves one thing behind', `[ ${MARKED}, ${HIDDEN} ]`, `[ ${NOTHING} ]`],
  ])('%s', (_, content, expected) => {
    expect(relayed(content)).toBe(expected)
  })

  it('goes altogether where the supplier has refused it', () => {
    expect(relayed(`[${OWN},${TEXT},${MARKED}]`, true)).toBe(`[${TEXT}]`)
    expect(relayed(`[${OWN},{"type":"redacted_thinking","data":"x"}]`, true)).toBe(`[${NOTHING}]`)
  })

  it('stays inside of what is no message', () => {
    const inside = `[{"type":"tool_result","tool_use_id":"t","content":[${MARKED}]}]`
    expect(relayed(inside, true)).toBe(inside)
  })

  it('is a list in any order and with any gaps', () => {
    const blocks = fc.array(fc.constantFrom(MARKED, HIDDEN, OWN, TEXT), { minLength: 1 })
    fc.assert(
      fc.property(blocks, space, fc.boolean(), (list, gap, dropsAll) => {
        const kept = list.filter((each) => each === TEXT || (each === OWN && !dropsAll))
        const sent: unknown = JSON.parse(
          relayed(`[${gap}${list.join(`${gap},${gap}`)}${gap}]`, dropsAll),
        )
        const expected = kept.length === 0 ? [NOTHING] : kept
        expect(sent).toEqual(expected.map((each): unknown => JSON.parse(each)))
      }),
    )
  })
})

describe('a unary answer', () => {
  const WHOLE = {
    type: 'message',
    content: [{ type: 'text', text: 'abc' }],
    stop_reason: 'end_turn',
  }

  function read(answer: unknown) {
    return relay.read(encoder.encode(typeof answer === 'string' ? answer : JSON.stringify(answer)))
  }

  it('is whole with its type, its content and its reason to stop', () => {
    const usage = { input_tokens: 4, cache_read_input_tokens: 5, output_tokens: 6 }
    expect(read({ ...WHOLE, usage })).toMatchObject({
      usage: { inputTokens: 9, cachedTokens: 5, outputTokens: 6 },
      hasUnreadUsage: false,
    })
    expect(read({ ...WHOLE, content: [], usage }).usage).toBeDefined()
    const split = { ephemeral_5m_input_tokens: 2, ephemeral_1h_input_tokens: 1 }
    const writing = { ...usage, cache_creation_input_tokens: 3, cache_creation: split }
    expect(read({ ...WHOLE, usage: writing })).toMatchObject({
      usage: { inputTokens: 12, cachedTokens: 5, cacheWriteTokens: 3, cacheWriteLongTokens: 1 },
      hasUnreadUsage: false,
    })
  })

  it('is counted where no usage is told', () => {
    expect(read(WHOLE)).toMatchObject({ usage: undefined, outputBytes: 3, hasUnreadUsage: false })
    const tool = { type: 'tool_use', id: 't', name: 'ab', input: { a: 1 } }
    expect(read({ ...WHOLE, content: [...WHOLE.content, tool] }).outputBytes).toBe(12)
    const hidden = { type: 'thinking', thinking: '', signature: 'abcd' }
    expect(read({ ...WHOLE, content: [hidden, ...WHOLE.content] }).outputBytes).toBe(7)
    expect(read({ ...WHOLE, usage: { input_tokens: 'x' } })).toMatchObject({ hasUnreadUsage: true })
  })

  it.each<readonly [unknown, string]>([
    [{ ...WHOLE, type: undefined }, 'upstream_invalid_response'],
    [{ ...WHOLE, type: 'completion' }, 'upstream_invalid_response'],
    [{ ...WHOLE, stop_reason: null }, 'upstream_invalid_response'],
    [{ ...WHOLE, content: 'abc' }, 'upstream_invalid_response'],
    ['{}', 'empty_response'],
    ['', 'empty_response'],
    ['{"type":', 'upstream_invalid_response'],
    ['<html>', 'non_json_provider_response'],
    [{ type: 'error', error: { type: 'overloaded_error', message: 'x' } }, 'provider_error'],
  ])('%j is none', (answer, code) => {
    expect(() => read(answer)).toThrow(expect.objectContaining({ code }))
  })
})

describe('a problem', () => {
  const decode = (status: number, error: object): GatewayError =>
    problem.decode(status, encoder.encode(JSON.stringify({ type: 'error', error })))

  it('is told in the envelope of the language, with the id of the request', () => {
    const error = new GatewayError('budget_exceeded', 'Too much.', { param: 'x' })
    const told: unknown = JSON.parse(problem.encode(error, 'req_1'))
    expect(told).toMatchObject({
      type: 'error',
      request_id: 'req_1',
      error: {
        code: 'budget_exceeded',
        type: 'billing_error',
        message: 'budget_exceeded - Too much.',
        human_message: 'Too much.',
        param: 'x',
      },
    })
    expect(problem.frame(error, 'req_1')).toBe(
      `event: error\ndata: ${problem.encode(error, 'req_1')}\n\n`,
    )
  })

  it('of a supplier keeps its type and its words', () => {
    const error = decode(404, { type: 'not_found_error', message: 'model: x' })
    expect(error).toMatchObject({
      code: 'provider_error',
      status: 404,
      message: 'model: x',
      retryable: false,
    })
    expect(JSON.parse(problem.encode(error, ''))).toMatchObject({
      error: { type: 'not_found_error' },
    })
    expect(problem.decode(502, encoder.encode('<html>')).status).toBe(502)
  })

  it.each([
    ['prompt is too long: 210000 tokens > 200000 maximum', 'context_length_exceeded'],
    ['input length and `max_tokens` exceed context limit: 1 + 2 > 2', 'context_length_exceeded'],
    ['messages: the prompt is too long for me', 'provider_error'],
  ])('of the length is told by its wording: %s', (message, code) => {
    const error = decode(400, { type: 'invalid_request_error', message })
    expect([error.wireCode, error.message]).toEqual([code, message])
  })

  it('of an account without money is the account’s, whatever its status', () => {
    const message =
      'Your credit balance is too low to access the API. Please go to Plans & Billing.'
    const spent = decode(400, { type: 'invalid_request_error', message })
    expect([problem.isSpent(spent), spent.status]).toEqual([true, 402])
    expect(problem.isSpent(decode(402, { type: 'billing_error', message: 'x' }))).toBe(true)
    expect(problem.isSpent(decode(429, { type: 'rate_limit_error', message: 'x' }))).toBe(false)
  })

  it('without a status gets that of its type', () => {
    expect(decode(0, { type: 'overloaded_error', message: 'x' }).status).toBe(529)
    expect(decode(0, { type: 'invalid_request_error', message: 'x' }).status).toBe(400)
    expect(decode(0, { type: 'new_error', message: 'x' }).status).toBe(502)
  })
})

describe('the headers of a caller', () => {
  const read = (headers: Readonly<Record<string, string>>) => relay.headers!(new Headers(headers))

  it('pass where they are part of the language', () => {
    expect(read({ 'x-api-key': 'k', authorization: 'a' })).toEqual({
      'anthropic-version': '2023-06-01',
    })
    expect(read({ 'anthropic-version': '', 'messages-version': '' })).toEqual({
      'anthropic-version': '2023-06-01',
    })
    expect(read({ 'messages-version': '2024-01-02', 'anthropic-beta': 'a, b' })).toEqual({
      'anthropic-version': '2024-01-02',
      'anthropic-beta': 'a, b',
    })
  })

  it.each<readonly [Readonly<Record<string, string>>, string]>([
    [{ 'messages-version': 'yesterday' }, 'invalid_schema_version'],
    [{ 'anthropic-version': '2023-06-01, 2023-06-01' }, 'invalid_schema_version'],
    [{ 'anthropic-version': '2023-06-01', 'messages-version': 'x' }, 'invalid_schema_version'],
    [{ 'anthropic-beta': 'x'.repeat(4097) }, 'validation_error'],
    [{ 'anthropic-beta': 'é' }, 'validation_error'],
  ])('are refused: %j', (headers, code) => {
    expect(() => read(headers)).toThrow(expect.objectContaining({ code, status: 400 }))
  })
})

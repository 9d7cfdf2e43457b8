// The relay half of the responses language: what is changed in a request, what an answer tells the books, and how a
// stream is ended that would not end by itself.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import type { Adjustment, Rewrite } from '../dialect.ts'
import type { Quirks } from '../quirk.ts'
import { openaiResponses } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const { relay, problem } = openaiResponses

function patched(
  body: string,
  changes: Partial<Rewrite> = {},
  adjustment: Adjustment = { maxTokens: undefined },
): string {
  const bytes = encoder.encode(body)
  const rewrite = { model: 'theirs', usage: 'always' as const, ...changes }
  return decoder.decode(relay.patch(bytes, openaiResponses.peek(bytes), rewrite, adjustment))
}

describe('a request', () => {
  it('is sent on as it came, but for the name of its model', () => {
    const rest =
      '"input":[ {"type":"message","role":"user","content":[{"type":"input_text","text":"\\u0061"}]} ],' +
      '"unknown":{"deep":[1,2.50,null]},"store":true ,"stream_options":{"include_obfuscation":false}'
    expect(patched(`{ "model" : "ours" ,${rest}}`)).toBe(`{ "model" : "theirs" ,${rest}}`)
    const same = `{"model":"theirs",${rest}}`
    expect(patched(same)).toBe(same)
  })

  it.each([
    ['"region":"eu","input":"Hi"', '"input":"Hi"'],
    ['"input":"Hi","region":null', '"input":"Hi"'],
    ['"input":"Hi","metadata":{"session_id":"s"}', '"input":"Hi"'],
    ['"input":"Hi","metadata":{"a":"b","sticky_key":"s"}', '"input":"Hi","metadata":{"a":"b"}'],
    ['"input":"Hi","metadata":{}', '"input":"Hi","metadata":{}'],
  ])('loses what is the gateway’s own: %s', (sent, kept) => {
    expect(patched(`{"model":"m",${sent}}`)).toBe(`{"model":"theirs",${kept}}`)
  })

  it.each([
    ['"input":"Hi"', '"input":"Hi","max_output_tokens":9'],
    ['"max_output_tokens":90,"input":"Hi"', '"max_output_tokens":9,"input":"Hi"'],
    ['"max_output_tokens":null,"input":"Hi"', '"max_output_tokens":9,"input":"Hi"'],
  ])('gets its limit set or lowered: %s', (sent, kept) => {
    expect(patched(`{"model":"m",${sent}}`, {}, { maxTokens: 9 })).toBe(
      `{"model":"theirs",${kept}}`,
    )
  })

  it('is changed as quirks want it, in whole fields', () => {
    const quirks = {
      drop: ['include', 'temperature'],
      rename: { user: 'end_user' },
      default: { store: false },
    }
    const sent = '{"model":"m","temperature":1,"input":"Hi","user":"u","include":["x"]}'
    expect(patched(sent, quirks)).toBe(
      '{"model":"theirs","input":"Hi","end_user":"u","store":false}',
    )
  })

  it('keeps what admission relies on from quirks', () => {
    const fault = (quirks: Quirks) => relay.findFault?.(quirks)
    for (const name of ['model', 'input', 'stream', 'max_output_tokens', 'background', 'Region'])
      expect(fault({ usage: 'always', drop: [name] })?.path, name).toEqual(['drop', 0])
    expect(fault({ usage: 'always', default: { service_tier: 'flex' } })).toBeDefined()
    expect(fault({ usage: 'always', drop: ['service_tier', 'text', 'prompt'] })).toBeUndefined()
  })
})

describe('what was thought before', () => {
  const own = '{"type":"reasoning","summary":[],"encrypted_content":"gw1.abc"}'
  const theirs = '{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}'
  const user = '{"role":"user","content":"Hi"}'
  const send = (input: string, dropsThoughts = false): string =>
    patched(`{"model":"m","input":[${input}]}`, {}, { maxTokens: undefined, dropsThoughts })
  const sent = (input: string): string => `{"model":"theirs","input":[${input}]}`

  it.each([
    [`${user},${own}`, user],
    [`${own} , ${user}`, user],
    [`${user}, ${own}\n,${user}`, `${user}\n,${user}`],
    [`${user},${own},${own}`, user],
    [`${own},${own},${user},${own}`, user],
    [`${user},${theirs},${own}`, `${user},${theirs}`],
    [own, ''],
  ])('is taken out where this gateway has sealed it for others: %s', (input, kept) => {
    expect(send(input)).toBe(sent(kept))
  })

  it('is taken out altogether where a supplier has refused it', () => {
    expect(send(`${user},${theirs},${own},${user}`, true)).toBe(sent(`${user},${user}`))
  })

  it.each([
    '{"error":{"message":"No.","code":"invalid_encrypted_content"}}',
    '{"error":{"message":"The encrypted content gAAA...DQ== could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}',
    '{"error":{"message":"The encrypted content for item rs_1 could not be verified. Reason: Encrypted content could not be decrypted or parsed."}}',
  ])('is known to be refused by %s', (text) => {
    const refused = problem.decode(400, encoder.encode(text))
    expect(problem.refusesThoughts?.(refused)).toBe(true)
  })

  it('is not what other refusals are about', () => {
    const text = '{"error":{"message":"Unknown parameter: x","code":"unknown_parameter"}}'
    expect(problem.refusesThoughts?.(problem.decode(400, encoder.encode(text)))).toBe(false)
  })
})

function read(answer: unknown) {
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  return relay.read(encoder.encode(text))
}

function failureOf(answer: unknown): GatewayError {
  try {
    read(answer)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const MESSAGE = { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }
const ANSWER = {
  id: 'resp_1',
  object: 'response',
  status: 'completed',
  error: null,
  output: [MESSAGE],
}
const USAGE = { input_tokens: 3, output_tokens: 2, total_tokens: 5 }

describe('an answer', () => {
  it('tells what was used', () => {
    expect(read({ ...ANSWER, usage: USAGE })).toMatchObject({
      usage: { inputTokens: 3, outputTokens: 2 },
      outputBytes: 0,
      hasUnreadUsage: false,
    })
  })

  it('is whole at its limit, with nothing in it, and without a word on its status', () => {
    const details = { reason: 'max_output_tokens' }
    expect(read({ ...ANSWER, status: 'incomplete', incomplete_details: details })).toBeDefined()
    expect(read({ ...ANSWER, output: [] }).outputBytes).toBe(0)
    expect(read({ output: [MESSAGE] }).outputBytes).toBe(5)
  })

  it('is counted where nobody tells what was used', () => {
    const call = { type: 'function_call', name: 'ab', arguments: '{}' }
    const thought = { type: 'reasoning', summary: [], encrypted_content: 'x'.repeat(40) }
    expect(read({ ...ANSWER, output: [MESSAGE, call, thought] }).outputBytes).toBe(5 + 4 + 30)
    expect(read({ ...ANSWER, usage: { input_tokens: -1 } })).toMatchObject({
      usage: undefined,
      hasUnreadUsage: true,
      outputBytes: 5,
    })
  })

  it.each<readonly [unknown, string]>([
    ['', 'empty_response'],
    [{}, 'empty_response'],
    ['<html>', 'non_json_provider_response'],
    ['{"output":[', 'upstream_invalid_response'],
    [{ choices: [] }, 'upstream_invalid_response'],
    [{ ...ANSWER, output: null }, 'upstream_invalid_response'],
    [{ ...ANSWER, status: 'queued' }, 'upstream_invalid_response'],
    [{ ...ANSWER, status: 'in_progress' }, 'upstream_invalid_response'],
  ])('is none: %j', (answer, code) => {
    expect(failureOf(answer).code).toBe(code as never)
  })

  it('is a refusal in its supplier’s own words, unless something came before', () => {
    const error = { code: 'rate_limit_exceeded', message: 'Slow down' }
    const refused = failureOf({ ...ANSWER, status: 'failed', output: [], error })
    expect([refused.status, refused.wireCode, refused.message]).toEqual([
      429,
      'rate_limit_exceeded',
      'Slow down',
    ])
    expect(refused.origin?.isLate).toBeUndefined()
    expect(failureOf({ error: { message: 'No' } }).message).toBe('No')
    expect(failureOf({ ...ANSWER, status: 'failed' }).message).toContain('without a reason')
    expect(failureOf({ ...ANSWER, status: 'failed', error }).origin?.isLate).toBe(true)
    const spent = { ...ANSWER, output: [], status: 'failed', error, usage: USAGE }
    expect(failureOf(spent).origin?.isLate).toBe(true)
  })
})

it('knows a prompt that is too long by the words of its supplier', () => {
  const message = 'Your input exceeds the context window of this model. Please adjust your input.'
  const refused = problem.decode(400, encoder.encode(JSON.stringify({ error: { message } })))
  expect(refused.code).toBe('context_length_exceeded')
})

describe('a usage', () => {
  const usageOf = (usage: object) => read({ ...ANSWER, usage }).usage

  it('has its parts', () => {
    expect(
      usageOf({
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 },
        output_tokens: 20,
        output_tokens_details: { reasoning_tokens: 15 },
        total_tokens: 120,
      }),
    ).toEqual({
      inputTokens: 100,
      cachedTokens: 60,
      cacheWriteTokens: 30,
      cacheWriteLongTokens: 0,
      audioInputTokens: 0,
      outputTokens: 20,
      reasoningTokens: 15,
      audioOutputTokens: 0,
    })
  })

  it('is read by the names of chats, too', () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 }
    expect(usageOf(usage)).toMatchObject({ inputTokens: 3, outputTokens: 2 })
  })

  it('is never less than its total, or than its parts', () => {
    expect(usageOf({ ...USAGE, total_tokens: 9 })).toMatchObject({
      inputTokens: 3,
      outputTokens: 6,
    })
    const cached = { ...USAGE, input_tokens_details: { cached_tokens: 8 } }
    expect(usageOf(cached)).toMatchObject({ inputTokens: 11, cachedTokens: 8 })
    const reasoned = { ...USAGE, output_tokens_details: { reasoning_tokens: 8 } }
    expect(usageOf(reasoned)).toMatchObject({ outputTokens: 10, reasoningTokens: 8 })
  })
})

describe('a stream that', () => {
  it('reaches its limit is ended as incomplete, with nothing said twice', () => {
    const text = decoder.decode(relay.cutOff({ id: 'req_1', model: 'm', created: 5 }))
    expect(text).toMatch(/^event: response\.incomplete\ndata: \{.*\}\n\n$/)
    const { response } = JSON.parse(text.split('data: ')[1]!) as { response: object }
    expect(response).toMatchObject({
      id: 'resp_req_1',
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [],
    })
  })

  it('fails is ended by an event that clients of the language know', () => {
    const error = new GatewayError('stream_interrupted', 'It broke.')
    const text = problem.frame(error, 'req_1')
    expect(text).toMatch(/^event: response\.failed\ndata: \{.*\}\n\n$/)
    expect(JSON.parse(text.split('data: ')[1]!)).toMatchObject({
      type: 'response.failed',
      sequence_number: 0,
      response: {
        id: 'resp_req_1',
        object: 'response',
        status: 'failed',
        output: [],
        error: { code: 'stream_interrupted', message: 'stream_interrupted - It broke.' },
      },
    })
  })
})

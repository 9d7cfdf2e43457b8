// How problems of other languages are worded here: clients of this one act on a type and on a few words.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { problem } from './problem.ts'

interface Told {
  readonly type: string
  readonly error: Readonly<Record<string, unknown>>
}

function tell(error: GatewayError): Told {
  const body = problem.encode(error, 'req_1')
  expect(problem.frame(error, 'req_1')).toBe(`event: error\ndata: ${body}\n\n`)
  return JSON.parse(body) as Told
}

function tooLong(message: string, code = 'context_length_exceeded'): GatewayError {
  const raw = { message, type: 'invalid_request_error', code }
  return new GatewayError('provider_error', message, {
    status: 400,
    origin: { code, type: 'invalid_request_error', raw },
  })
}

describe('a prompt that is too long', () => {
  it.each([
    [
      "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
      ': 9000 tokens > 8192 maximum',
    ],
    [
      "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8500 in the messages, 500 in the completion).",
      ': 9000 tokens > 8192 maximum',
    ],
    [
      'The input token count (1,200,000) exceeds the maximum number of tokens allowed (1048576).',
      ': 1200000 tokens > 1048576 maximum',
    ],
    ['Error 400: gpt-4-32k takes 32768 tokens, 40000 were sent.', ': 40000 tokens > 32768 maximum'],
    ['At most 10 tokens, got 12.', ': 12 tokens > 10 maximum'],
    ['The request exceeds the available context size (4096 tokens).', ''],
    ['Llama-3.1-70b has a window of 128k.', ''],
    ['4096 is 4096.', ''],
    ['Too long.', ''],
  ])('is told in the words that clients look for: %s', (message, figures) => {
    const error = tooLong(message)
    const text = `prompt is too long${figures}. ${message}`
    expect(tell(error).error).toMatchObject({
      code: 'context_length_exceeded',
      message: `context_length_exceeded - ${text}`,
      human_message: text,
      type: 'invalid_request_error',
      // What the supplier said stays as it was.
      provider: { message },
    })
    expect(error.message).toBe(message)
  })

  it('is told so where the gateway itself says it', () => {
    const { error } = tell(new GatewayError('context_length_exceeded'))
    expect(error['human_message']).toStartWith('prompt is too long. The prompt is longer')
  })

  it.each([
    'prompt is too long: 210000 tokens > 200000 maximum',
    'messages: prompt is too long',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
  ])('keeps wording that clients know: %s', (message) => {
    expect(tell(tooLong(message)).error).toMatchObject({
      message: `context_length_exceeded - ${message}`,
      human_message: message,
    })
  })

  it('is no other problem', () => {
    const { error } = tell(tooLong('You sent 9000 of 8192 files.', 'too_many_files'))
    expect(error['human_message']).toBe('You sent 9000 of 8192 files.')
  })
})

describe('the type of a problem', () => {
  it.each([
    ['requests', 429, 'rate_limit_error'],
    ['insufficient_quota', 402, 'billing_error'],
    ['server_error', 500, 'api_error'],
    ['BadRequestError', 400, 'invalid_request_error'],
    ['overloaded_error', 529, 'overloaded_error'],
    ['request_too_large', 413, 'request_too_large'],
    ['invented_later_error', 400, 'invented_later_error'],
  ])('is one that this language has: %s', (type, status, told) => {
    const origin = { type, raw: { type, message: 'x' } }
    const { error } = tell(new GatewayError('provider_error', 'x', { status, origin }))
    expect([error['type'], error['provider']]).toEqual([told, { type, message: 'x' }])
  })
})

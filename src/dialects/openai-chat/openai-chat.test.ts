// What the chat dialect changes in a request and makes of an answer: every splice, every kind of event,
// and the errors of real suppliers in all the shapes they have.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { openaiChat } from './index.ts'

const { relay, problem } = openaiChat
const encoder = new TextEncoder()
const decoder = new TextDecoder()

const MESSAGES = '[{"role":"user","content":"Hi"}]'

/** A request that is whole, with more members behind. */
function request(members = ''): string {
  return `{"model":"m","messages":${MESSAGES}${members === '' ? '' : ','}${members}}`
}

function thrownBy(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

describe('patch', () => {
  function patched(text: string, usage: 'ask' | 'always' | 'never' = 'ask', model = 'up'): string {
    const body = encoder.encode(text)
    return decoder.decode(relay.patch(body, openaiChat.peek(body), { model, usage }))
  }
  const tail = `"messages":${MESSAGES}`

  it('hands back the very same bytes when there is nothing to change', () => {
    const body = encoder.encode(request())
    expect(relay.patch(body, openaiChat.peek(body), { model: 'm', usage: 'ask' })).toBe(body)
  })

  it.each([
    [`{"model":"m",${tail}}`, `{"model":"up",${tail}}`],
    [`{ "model" :\t"m" ,${tail}}`, `{ "model" :\t"up" ,${tail}}`],
    [`{"region":"EU","model":"m",${tail}}`, `{"model":"up",${tail}}`],
    [`{"model":"m",${tail},"region":"EU"}`, `{"model":"up",${tail}}`],
    [`{"model":"m",${tail},"region":null}`, `{"model":"up",${tail}}`],
    [`{"region":"EU","metadata":{"session_id":"s"},"model":"m",${tail}}`, `{"model":"up",${tail}}`],
    [
      `{"model":"m",${tail},"metadata":{"session_id":"s","sticky_key":"k"},"region":"EU"}`,
      `{"model":"up",${tail}}`,
    ],
    [
      `{"model":"m",${tail},"metadata":{"a":1,"session_id":"s","b":2,"sticky_key":"k"}}`,
      `{"model":"up",${tail},"metadata":{"a":1,"b":2}}`,
    ],
    [
      `{"model":"m",${tail},"metadata":{"session_id":"s","sticky_key":"k","b":2}}`,
      `{"model":"up",${tail},"metadata":{"b":2}}`,
    ],
    [`{"model":"m",${tail},"metadata":{}}`, `{"model":"up",${tail},"metadata":{}}`],
    [`{"model":"m",${tail},"metadata":null}`, `{"model":"up",${tail},"metadata":null}`],
    [
      `{"model":"m",${tail},"metadata":{"region":"x"}}`,
      `{"model":"up",${tail},"metadata":{"region":"x"}}`,
    ],
  ])('makes of %s no more than %s', (text, expected) => {
    expect(patched(text)).toBe(expected)
  })

  it('writes a model name that needs escapes as valid JSON', () => {
    expect(JSON.parse(patched(request(), 'ask', 'a"b\\c\n'))).toMatchObject({ model: 'a"b\\c\n' })
  })

  const asked = '"stream_options":{"include_usage":true}'
  it.each([
    ['"stream":true', `"stream":true,${asked}`],
    ['"stream":true,"region":"EU"', `"stream":true,${asked}`],
    ['"stream":true,"stream_options":null', `"stream":true,${asked}`],
    ['"stream":true,"stream_options":{}', `"stream":true,${asked}`],
    ['"stream":true,"stream_options":{"include_usage":false}', `"stream":true,${asked}`],
    ['"stream":true,"stream_options":{"include_usage":null}', `"stream":true,${asked}`],
    [
      '"stream":true,"stream_options":{"include_obfuscation":false}',
      '"stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}',
    ],
    [`"stream":true,${asked}`, `"stream":true,${asked}`],
    ['"stream":false', '"stream":false'],
  ])('asks for usage on a stream: %s becomes %s', (members, expected) => {
    expect(patched(request(members), 'ask', 'm')).toBe(request(expected))
  })

  it.each(['always', 'never'] as const)('asks no supplier whose habit is `%s`', (habit) => {
    expect(patched(request('"stream":true'), habit, 'm')).toBe(request('"stream":true'))
  })

  it.each([
    ['"stream":true,"stream_options":{"include_usage":true}', '"stream":true'],
    ['"stream_options":{"include_usage":true},"stream":true', '"stream":true'],
    ['"stream":true,"stream_options":{ }', '"stream":true'],
    ['"stream":true,"stream_options":null', '"stream":true'],
    [
      '"stream":true,"stream_options":{"include_usage":true,"x":1}',
      '"stream":true,"stream_options":{"x":1}',
    ],
    [
      '"stream":true,"stream_options":{"x":1,"include_usage":false}',
      '"stream":true,"stream_options":{"x":1}',
    ],
    ['"stream":true,"stream_options":{"x":1}', '"stream":true,"stream_options":{"x":1}'],
  ])('lets no caller ask who tells usage unasked: %s becomes %s', (members, expected) => {
    expect(patched(request(members), 'always', 'm')).toBe(request(expected))
    expect(patched(request(members), 'never', 'm')).toBe(request(expected))
  })
})

function see(watcher: StreamWatcher, data: unknown): FrameKind {
  const bytes = encoder.encode(typeof data === 'string' ? data : JSON.stringify(data))
  return watcher.see(bytes, 0, bytes.length)
}

const delta = (content: object, index = 0) => ({
  choices: [{ index, delta: content, finish_reason: null }],
})
const finish = (index = 0, reason = 'stop') => ({
  choices: [{ index, delta: {}, finish_reason: reason }],
})

describe('the stream watcher', () => {
  it.each([
    ['preamble', delta({ role: 'assistant', content: '' })],
    ['preamble', delta({ role: 'assistant', content: null, refusal: null, tool_calls: [] })],
    ['preamble', { choices: [], prompt_filter_results: [{ prompt_index: 0 }] }],
    ['preamble', { id: 'x' }],
    ['preamble', finish()],
    ['preamble', { choices: [], usage: null }],
    ['content', delta({ content: 'Hi' })],
    ['content', delta({ tool_calls: [{ index: 0, id: 'a' }] })],
    ['content', delta({ reasoning_content: 'Hm' })],
    ['content', delta({ refusal: 'No' })],
    ['content', delta({ audio: { id: 'a' } })],
    ['content', delta({ of_tomorrow: 5 })],
    ['usage', { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }],
    ['usage', { usage: { prompt_tokens: 1, completion_tokens: 2 } }],
    ['end', '[DONE]'],
    ['void', ''],
  ] as const)('calls it %s: %j', (kind, data) => {
    expect(see(relay.watch(), data)).toBe(kind)
  })

  it('finds a payload in the middle of a buffer', () => {
    const bytes = encoder.encode(`xx${JSON.stringify(delta({ content: 'Hi' }))}yy`)
    expect(relay.watch().see(bytes, 2, bytes.length - 2)).toBe('content')
  })

  it('is finished when each choice that began has its reason', () => {
    const watcher = relay.watch()
    expect(watcher.isFinished(1)).toBe(false)
    see(watcher, delta({ content: 'a' }, 0))
    see(watcher, delta({ content: 'b' }, 1))
    see(watcher, finish(1))
    expect(watcher.isFinished(1)).toBe(false)
    see(watcher, finish(0, 'length'))
    expect(watcher.isFinished(1)).toBe(true)
    see(watcher, '[DONE]')
  })

  it('stays finished when a supplier adds to a choice that has its reason', () => {
    const watcher = relay.watch()
    see(watcher, delta({ content: 'a' }))
    see(watcher, finish())
    see(watcher, {
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      usage: { prompt_tokens: 3, completion_tokens: 4 },
    })
    see(watcher, { choices: [{ index: 0, finish_reason: null, content_filter_offsets: {} }] })
    expect(watcher.isFinished(1)).toBe(true)
    expect(watcher.usage()).toMatchObject({ inputTokens: 3, outputTokens: 4 })
  })

  it('takes neither null nor an empty text for a reason', () => {
    const watcher = relay.watch()
    see(watcher, finish(0, ''))
    expect(watcher.isFinished(1)).toBe(false)
  })

  it('is not finished by the marker or by usage alone', () => {
    const watcher = relay.watch()
    see(watcher, { choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } })
    see(watcher, '[DONE]')
    expect(watcher.isFinished(1)).toBe(false)
  })

  const usage = {
    prompt_tokens: 10,
    completion_tokens: 6,
    prompt_tokens_details: { cached_tokens: 4, audio_tokens: 3 },
    completion_tokens_details: { reasoning_tokens: 2, audio_tokens: 1 },
  }
  const read = {
    inputTokens: 10,
    cachedTokens: 4,
    cacheWriteTokens: 0,
    cacheWriteLongTokens: 0,
    audioInputTokens: 3,
    outputTokens: 6,
    reasoningTokens: 2,
    audioOutputTokens: 1,
  }

  it('reads usage from an event of its own and from the event with the reason', () => {
    for (const frame of [
      { choices: [], usage },
      { ...finish(), usage },
    ]) {
      const watcher = relay.watch()
      expect(watcher.usage()).toBeUndefined()
      see(watcher, frame)
      expect(watcher.usage()).toEqual(read)
    }
  })

  it('keeps the last usage that was told', () => {
    const watcher = relay.watch()
    see(watcher, { ...delta({ content: 'a' }), usage: { ...usage, completion_tokens: 1 } })
    see(watcher, { ...finish(), usage })
    expect(watcher.hasUnreadUsage()).toBe(false)
    see(watcher, { choices: [], usage: { prompt_tokens: -1, completion_tokens: 1 } })
    expect(watcher.usage()).toEqual(read)
    expect(watcher.hasUnreadUsage()).toBe(true)
  })

  it.each([[-1], [1.5], ['5'], [null], [[]], [true], [1e300], ['missing']])(
    'takes %p for usage that cannot be read, and says so',
    (count) => {
      for (const field of ['prompt_tokens', 'completion_tokens']) {
        const watcher = relay.watch()
        expect(
          see(watcher, {
            choices: [],
            usage: { ...usage, [field]: count === 'missing' ? undefined : count },
          }),
        ).toBe('usage')
        expect(watcher.usage()).toBeUndefined()
        expect(watcher.hasUnreadUsage()).toBe(true)
      }
    },
  )

  it('never counts more cached or reasoning tokens than there are tokens', () => {
    const watcher = relay.watch()
    see(watcher, {
      choices: [],
      usage: {
        prompt_tokens: 3,
        completion_tokens: 2,
        prompt_tokens_details: { cached_tokens: 99 },
        completion_tokens_details: { reasoning_tokens: 99 },
      },
    })
    expect(watcher.usage()).toMatchObject({
      inputTokens: 102,
      cachedTokens: 99,
      outputTokens: 101,
      reasoningTokens: 99,
    })
  })

  it.each(['{"choices":', 'Hello', '5', '[]', '{"choices":[]}x'])(
    'gives up on the event %s',
    (data) => {
      expect(thrownBy(() => see(relay.watch(), data)).code).toBe('stream_error')
    },
  )

  it('throws what a supplier reports in the middle of its stream', () => {
    const error = thrownBy(() =>
      see(relay.watch(), { error: { message: 'Overloaded', code: 'server_overloaded' } }),
    )
    expect(error).toMatchObject({
      message: 'Overloaded',
      wireCode: 'server_overloaded',
      status: 502,
    })
    expect(see(relay.watch(), { ...delta({ content: 'a' }), error: null })).toBe('content')
  })
})

describe('unary answers', () => {
  const choices = [
    { index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' },
  ]
  const read = (answer: unknown) =>
    relay.read(encoder.encode(typeof answer === 'string' ? answer : JSON.stringify(answer)))

  it('reads one with more probabilities than any request may hold items', () => {
    const token = `{"token":"a","top_logprobs":[${'{"token":"b"},'.repeat(19)}{"token":"c"}]}`
    const content = Array(14_000).fill(token).join()
    const usage = '{"prompt_tokens":1,"completion_tokens":14000}'
    const text = `{"choices":[{"logprobs":{"content":[${content}]}}],"usage":${usage}}`
    const answer = openaiChat.relay.read(new TextEncoder().encode(text))
    expect(answer.usage?.outputTokens).toBe(14_000)
  })

  it('reads the usage of a whole answer', () => {
    const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 }
    expect(read({ choices, usage }).usage).toMatchObject({ inputTokens: 4, outputTokens: 2 })
    expect(read(JSON.stringify({ usage, choices }, null, '\t')).usage).toBeDefined()
    expect(read({ choices }).usage).toBeUndefined()
    expect(read({ choices, usage: null }).usage).toBeUndefined()
    expect(read({ choices, usage: { ...usage, prompt_tokens: '4' } }).usage).toBeUndefined()
    expect(read({ choices, error: null }).usage).toBeUndefined()
    expect(read({ choices, usage: null }).hasUnreadUsage).toBe(false)
    expect(read({ choices, usage: { ...usage, prompt_tokens: '4' } }).hasUnreadUsage).toBe(true)
  })

  it.each([
    ['', 'empty_response'],
    [' \n', 'empty_response'],
    ['{}', 'empty_response'],
    ['<!doctype html><p>Hi</p>', 'non_json_provider_response'],
    ['"Hi"', 'non_json_provider_response'],
    ['[]', 'non_json_provider_response'],
    ['{"choices":[{"index":0,"mess', 'upstream_invalid_response'],
    ['{"choices":[{}]}{"choices":[{}]}', 'upstream_invalid_response'],
    ['{"id":"x"}', 'upstream_invalid_response'],
    ['{"choices":[]}', 'upstream_invalid_response'],
    ['{"choices":[ ]}', 'upstream_invalid_response'],
    ['{"choices":null}', 'upstream_invalid_response'],
    ['{"choices":{"0":1}}', 'upstream_invalid_response'],
  ] as const)('refuses %p as %s', (answer, code) => {
    expect(thrownBy(() => read(answer)).code).toBe(code)
  })

  it('throws the error inside of a 200', () => {
    const error = thrownBy(() =>
      read({ error: { message: 'Busy', type: 'server_error', code: 529 } }),
    )
    expect(error).toMatchObject({ message: 'Busy', wireCode: '529', status: 529 })
    const silent = thrownBy(() => read({ error: 'Busy' }))
    expect(silent).toMatchObject({ message: 'Busy', wireCode: 'provider_error', status: 502 })
  })
})

describe('a supplier’s problem', () => {
  const decode = (status: number, body: unknown) =>
    problem.decode(status, encoder.encode(typeof body === 'string' ? body : JSON.stringify(body)))
  const encode = (error: GatewayError) => {
    const { error: fields } = JSON.parse(problem.encode(error, 'req_1')) as {
      error: Record<string, unknown>
    }
    return fields
  }
  const wordless = 'The supplier refused the request without a reason.'

  it.each([
    [
      'nested',
      {
        error: {
          message: 'Too long.',
          type: 'invalid_request_error',
          code: 'string_above_max',
          param: 'x',
        },
      },
      {
        code: 'string_above_max',
        type: 'invalid_request_error',
        human_message: 'Too long.',
        param: 'x',
      },
    ],
    [
      'nested without a code',
      { error: { message: 'Bad.', type: 'bad', code: null, param: null } },
      { code: 'provider_error', type: 'bad', human_message: 'Bad.', param: null },
    ],
    [
      'nested with a numeric code',
      { error: { message: 'Bad.', code: 400, status: 'INVALID_ARGUMENT' } },
      { code: '400', type: 'invalid_request_error', human_message: 'Bad.' },
    ],
    [
      'flat',
      { object: 'error', message: 'Bad.', type: 'BadRequestError', code: 40_001 },
      { code: '40001', type: 'BadRequestError', human_message: 'Bad.' },
    ],
    ['a string', { error: 'Bad.' }, { code: 'provider_error', human_message: 'Bad.' }],
    [
      'a string beside a code',
      { error: 'Bad.', code: 'oops' },
      { code: 'oops', human_message: 'Bad.' },
    ],
    ['a detail', { detail: 'Bad.' }, { code: 'provider_error', human_message: 'Bad.' }],
    [
      'a list of details',
      { detail: [{ loc: ['body', 'n'], msg: 'too large' }] },
      { code: 'provider_error', human_message: '[{"loc":["body","n"],"msg":"too large"}]' },
    ],
    [
      'a detail in place of the message',
      {
        object: 'error',
        message: { detail: [{ loc: ['body', 'store'], msg: 'not permitted' }] },
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
      {
        code: 'provider_error',
        type: 'invalid_request_error',
        human_message: '[{"loc":["body","store"],"msg":"not permitted"}]',
      },
    ],
    [
      'alone in a list',
      [{ error: { code: 400, message: 'Unknown name "store".', status: 'INVALID_ARGUMENT' } }],
      { code: '400', human_message: 'Unknown name "store".' },
    ],
    ['a bare JSON string', '"Bad."', { code: 'provider_error', human_message: 'Bad.' }],
    ['a web page', '<html>Bad Request</html>', { code: 'provider_error', human_message: wordless }],
    ['nothing', '', { code: 'provider_error', human_message: wordless }],
    ['a list', [1], { code: 'provider_error', human_message: wordless }],
    [
      'a gateway behind a gateway',
      {
        error: {
          code: 'context_length_exceeded',
          message: 'context_length_exceeded - Too long - cut it.',
        },
      },
      {
        code: 'context_length_exceeded',
        message: 'context_length_exceeded - Too long - cut it.',
        human_message: 'Too long - cut it.',
      },
    ],
    [
      'a gateway that shows its code in the message alone',
      { error: { message: 'context_length_exceeded - Too long.' } },
      { code: 'context_length_exceeded', human_message: 'Too long.' },
    ],
    [
      'a message with a dash and no code',
      { error: { message: 'Sorry - no.' } },
      { code: 'provider_error', human_message: 'Sorry - no.' },
    ],
  ])('keeps its own words: %s', (_, body, expected) => {
    const error = decode(400, body)
    expect(error.status).toBe(400)
    expect(error.retryable).toBe(false)
    expect(encode(error)).toMatchObject(expected)
  })

  it('shows the original beside the envelope, and none where there was none', () => {
    const fields = { message: 'Bad.', code: 7, inner: { a: [1] } }
    expect(encode(decode(400, { error: fields }))['provider']).toEqual(fields)
    expect(encode(decode(400, '<html>'))).not.toHaveProperty('provider')
  })

  it('keeps the status where there is one, and finds one where there is none', () => {
    expect(decode(422, {}).status).toBe(422)
    expect(decode(0, { error: { message: 'x', code: 429 } }).status).toBe(429)
    expect(decode(0, { error: { message: 'x', code: 'busy' } }).status).toBe(502)
    expect(decode(200, { error: { message: 'x' } }).status).toBe(502)
  })

  it('does not pass on a book', () => {
    const error = decode(400, { error: { message: 'x'.repeat(10_000) } })
    expect(error.message).toHaveLength(4096)
    expect(encode(decode(400, { error: { message: 'x'.repeat(20_000) } }))).not.toHaveProperty(
      'provider',
    )
  })

  it('writes our own problems as the envelope, and as the event that ends a stream', () => {
    const error = new GatewayError('rate_limit_exceeded', 'Slow down.', {
      retryAfter: 7,
      param: 'n',
    })
    const envelope = {
      code: 'rate_limit_exceeded',
      type: 'rate_limit_error',
      message: 'rate_limit_exceeded - Slow down.',
      human_message: 'Slow down.',
      param: 'n',
      retryable: true,
      retry_after: 7,
    }
    expect(JSON.parse(problem.encode(error, 'req_1'))).toEqual({ error: envelope })
    const frame = problem.frame(error, 'req_1')
    expect(frame).toStartWith('data: ')
    expect(frame).toEndWith('\n\n')
    expect(JSON.parse(frame.slice(6))).toEqual({ error: envelope })
  })
})

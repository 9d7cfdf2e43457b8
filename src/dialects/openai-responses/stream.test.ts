// What the watcher of a stream of responses says of each event, and what it has counted at the end.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../core/problem.ts'
import type { FrameKind } from '../dialect.ts'
import { watch, type ResponsesWatcher } from './stream.ts'

const encoder = new TextEncoder()

function see(watcher: ResponsesWatcher, event: unknown): FrameKind {
  const bytes = encoder.encode(typeof event === 'string' ? event : JSON.stringify(event))
  return watcher.see(bytes, 0, bytes.length)
}

function watched(...events: readonly unknown[]): ResponsesWatcher {
  const watcher = watch()
  for (const event of events) see(watcher, event)
  return watcher
}

function failureOf(...events: readonly unknown[]): GatewayError {
  try {
    watched(...events)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const USAGE = {
  input_tokens: 11,
  input_tokens_details: { cached_tokens: 6, cache_write_tokens: 2 },
  output_tokens: 7,
  output_tokens_details: { reasoning_tokens: 3 },
  total_tokens: 18,
}
const created = { type: 'response.created', response: { id: 'resp_1', status: 'in_progress' } }
const added = (item: object, index = 0) => ({
  type: 'response.output_item.added',
  output_index: index,
  item,
})
const done = (item: object, index = 0) => ({
  type: 'response.output_item.done',
  output_index: index,
  item,
})
const text = (delta: string, number = 3, index = 0) => ({
  type: 'response.output_text.delta',
  sequence_number: number,
  item_id: 'msg_1',
  output_index: index,
  content_index: 0,
  delta,
  logprobs: [],
  obfuscation: 'x'.repeat((number * 7) % 5),
})
const message = (said: string) => ({
  type: 'message',
  content: said === '' ? [] : [{ type: 'output_text', text: said }],
})
const ended = (fields: object = {}, type = 'response.completed') => ({
  type,
  response: { id: 'resp_1', output: [], usage: USAGE, ...fields },
})

it('a stream is closing from the end of what was said until more comes: its usage is worth waiting for', () => {
  const item = { type: 'message', id: 'msg_1', role: 'assistant', content: [] }
  const watcher = watched(created, added(item), text('Hi'))
  expect(watcher.isClosing()).toBe(false)
  see(watcher, done({ ...item, content: [{ type: 'output_text', text: 'Hi' }] }))
  expect(watcher.isClosing()).toBe(true)
  see(watcher, added({ ...item, id: 'msg_2' }, 1))
  see(watcher, text('more', 9, 1))
  expect(watcher.isClosing()).toBe(false)
})

describe('an event', () => {
  it.each<readonly [string, object, FrameKind, number]>([
    ['the beginning', created, 'preamble', 0],
    ['a sign of progress', { type: 'response.in_progress', response: {} }, 'preamble', 0],
    ['what was invented later', { type: 'response.weather', sky: 'x' }, 'preamble', 0],
    ['a message that begins', added(message('')), 'preamble', 0],
    ['a thought that begins', added({ type: 'reasoning', encrypted_content: 'x' }), 'preamble', 0],
    [
      'a call that begins',
      added({ type: 'function_call', name: 'ab', arguments: '' }),
      'content',
      2,
    ],
    ['a search that begins', added({ type: 'web_search_call', id: 'ws_1' }), 'content', 1],
    ['text', text('é'), 'content', 2],
    ['no text', text(''), 'preamble', 0],
    ['a refusal', { type: 'response.refusal.delta', delta: 'no' }, 'content', 2],
    [
      'a piece of a thought',
      { type: 'response.reasoning_summary_text.delta', delta: 'abc' },
      'content',
      3,
    ],
    [
      'a piece of a call',
      { type: 'response.function_call_arguments.delta', delta: '{"a"' },
      'content',
      4,
    ],
    [
      'a text that is told again',
      { type: 'response.output_text.done', text: 'abc' },
      'preamble',
      0,
    ],
    ['a message that was not told in pieces', done(message('abc')), 'content', 3],
    ['the end', ended(), 'end', 0],
    ['the end at a limit', ended({}, 'response.incomplete'), 'end', 0],
  ])('%s', (_, event, kind, bytes) => {
    const watcher = watch()
    expect(see(watcher, event)).toBe(kind)
    expect(watcher.outputBytes()).toBe(bytes)
  })

  it('without data is none, and the marker of another language ends nothing', () => {
    const watcher = watch()
    expect(see(watcher, '')).toBe('void')
    expect(see(watcher, '[DONE]')).toBe('end')
    expect(watcher.isFinished()).toBe(false)
  })

  it('of sound counts as sound', () => {
    const watcher = watch()
    expect(see(watcher, { type: 'response.audio.delta', delta: 'AAAA' })).toBe('content')
    expect([watcher.audioBytes(), watcher.outputBytes()]).toEqual([3, 0])
  })
})

describe('a stream', () => {
  it('is whole when its last event has come, and not before', () => {
    const watcher = watched(created, added(message('')), text('Hi'), done(message('Hi')))
    expect(watcher.isFinished()).toBe(false)
    see(watcher, ended())
    expect(watcher.isFinished()).toBe(true)
    expect(watcher.isUsageLast()).toBe(true)
    expect(watcher.usage()).toMatchObject({
      inputTokens: 11,
      cachedTokens: 6,
      cacheWriteTokens: 2,
      outputTokens: 7,
      reasoningTokens: 3,
    })
  })

  it('counts once what is told in pieces, as a whole and at the end', () => {
    const call = { type: 'function_call', name: 'ab', arguments: '{"a":1}' }
    const watcher = watched(
      added({ type: 'reasoning', summary: [] }),
      { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'abc' },
      done({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'abc' }] }),
      added(message(''), 1),
      text('Hi', 4, 1),
      done(message('Hi'), 1),
      added({ ...call, arguments: '' }, 2),
      { type: 'response.function_call_arguments.delta', output_index: 2, delta: '{"a":1}' },
      done(call, 2),
      ended({ usage: null, output: [message('Hi'), call] }),
    )
    expect(watcher.outputBytes()).toBe(3 + 2 + 2 + 7)
    expect(watcher.usage()).toBeUndefined()
  })

  it('counts what comes in one piece at the end', () => {
    expect(watched(created, ended({ usage: null, output: [message('Hi')] })).outputBytes()).toBe(2)
  })

  it('tells which items are open, for whoever has to close them', () => {
    const watcher = watched(added(message('')), added({ type: 'function_call', name: 'f' }, 1))
    expect(watcher.openChoices()).toEqual([0, 1])
    see(watcher, done(message('Hi')))
    expect(watcher.openChoices()).toEqual([1])
  })

  it('tells where it has come to: its answer, and the number of the next event', () => {
    const watcher = watched({ ...created, sequence_number: 0 })
    expect(watcher.place()).toEqual({ id: 'resp_1', sequence: 1 })
    for (const number of [4, 5, 6]) see(watcher, text('word', number))
    expect(watcher.place()).toEqual({ id: 'resp_1', sequence: 7 })
  })

  it('gives the number of an event that says that it failed to what stands for it', () => {
    const watcher = watched({ ...created, sequence_number: 0 })
    expect(() => see(watcher, { type: 'error', sequence_number: 1, message: 'no' })).toThrow('no')
    expect(watcher.place()).toEqual({ id: 'resp_1', sequence: 1 })
  })

  it('is never before what came, whatever number an error has', () => {
    const watcher = watched({ ...created, sequence_number: 6 })
    expect(() => see(watcher, { type: 'error', sequence_number: 0, message: 'no' })).toThrow('no')
    expect(watcher.place()).toEqual({ id: 'resp_1', sequence: 7 })
  })

  it('counts its events by itself where they have no number', () => {
    const unnumbered = { type: 'response.output_text.delta', output_index: 0, delta: 'Hi' }
    const watcher = watched(created, unnumbered, unnumbered, unnumbered)
    expect(watcher.place().sequence).toBe(4)
  })

  it('guesses what was thought and not shown by its seal', () => {
    const thought = { type: 'reasoning', summary: [], encrypted_content: 'a'.repeat(400) }
    expect(watched(added(thought), done(thought)).unshownBytes()).toBe(300)
    const shown = { ...thought, summary: [{ type: 'summary_text', text: 'b'.repeat(100) }] }
    expect(watched(added(thought), done(shown)).unshownBytes()).toBe(200)
    expect(watched(done(message('Hi'))).unshownBytes()).toBe(0)
  })

  it('says when a usage was told that cannot be read', () => {
    expect(
      watched(ended({ usage: { input_tokens: 'x', output_tokens: 1 } })).hasUnreadUsage(),
    ).toBe(true)
    expect(watched(ended({ usage: null })).hasUnreadUsage()).toBe(false)
  })
})

describe('a supplier that fails', () => {
  it.each<readonly [string, object, number, string]>([
    [
      'in its answer',
      ended({ usage: null, error: { code: 'server_error', message: 'Ouch' } }, 'response.failed'),
      500,
      'server_error',
    ],
    [
      'flat',
      { type: 'error', sequence_number: 2, code: 'rate_limit_exceeded', message: 'Ouch' },
      429,
      'rate_limit_exceeded',
    ],
    [
      'nested',
      {
        type: 'error',
        error: { type: 'invalid_request_error', code: 'invalid_prompt', message: 'Ouch' },
      },
      400,
      'invalid_prompt',
    ],
  ])('%s is heard in its own words', (_, event, status, code) => {
    const failure = failureOf(created, event)
    expect([failure.status, failure.wireCode, failure.message]).toEqual([status, code, 'Ouch'])
  })

  it('is heard whatever else it says beside that', () => {
    const error = { code: 'context_length_exceeded', message: 'Too long' }
    const instructions = 'x'.repeat(100_000)
    const failure = failureOf(ended({ error, instructions }, 'response.failed'))
    expect([failure.status, failure.code]).toEqual([400, 'context_length_exceeded'])
    const longer = failureOf(
      ended({ error, instructions: instructions.repeat(20) }, 'response.failed'),
    )
    expect([longer.status, longer.code]).toEqual([400, 'context_length_exceeded'])
  })

  it('without a word is told so', () => {
    expect(failureOf({ type: 'response.failed', response: {} }).message).toContain(
      'without a reason',
    )
  })

  it('sends what is no event', () => {
    for (const broken of ['{', '[]', '"x"', '<html>'])
      expect(failureOf(broken).code, broken).toBe('stream_error')
  })
})

describe('events that are too long to be made into values', () => {
  const long = 'x'.repeat(1_100_000)

  it('are understood all the same', () => {
    const watcher = watched({ ...created, sequence_number: 0 })
    expect(see(watcher, text(long))).toBe('content')
    expect(watcher.outputBytes()).toBe(long.length + 2)
    const echo = { instructions: long, output: [message('Hi')] }
    expect(see(watcher, { ...ended(echo), sequence_number: 9 })).toBe('end')
    expect(watcher.usage()).toMatchObject({ inputTokens: 11, outputTokens: 7 })
    expect(watcher.place()).toEqual({ id: 'resp_1', sequence: 10 })
  })

  it('count for text and not for images', () => {
    const image = { type: 'image_generation_call', id: 'ig_1', result: long }
    expect(watched(done(image)).outputBytes()).toBe(1)
    expect(watched(done(message(long))).outputBytes()).toBeGreaterThan(long.length)
  })

  it('are refused where they have too many parts', () => {
    const parts = { type: 'response.weather', sky: Array.from({ length: 600_000 }, () => 0) }
    expect(failureOf(parts).code).toBe('provider_response_too_large')
  })
})

it('counts the same whether events repeat each other or not', () => {
  const piece = fc.record({
    delta: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', 'a"b', '\n', '"delta":"x"')),
    index: fc.integer({ min: 0, max: 2 }),
    kind: fc.constantFrom('output_text', 'refusal', 'reasoning_summary_text'),
    hasFiller: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
      const watcher = watch()
      let expected = 0
      for (const [number, { delta, index, kind, hasFiller }] of pieces.entries()) {
        const { obfuscation, ...plain } = text(delta, number, index)
        const event = {
          ...plain,
          type: `response.${kind}.delta`,
          ...(hasFiller ? { obfuscation } : {}),
        }
        const bytes = Buffer.byteLength(delta)
        expect(see(watcher, event)).toBe(bytes === 0 ? 'preamble' : 'content')
        expected += bytes
        expect(watcher.place().sequence).toBe(number + 1)
      }
      expect(watcher.outputBytes()).toBe(expected)
    }),
    { numRuns: 300 },
  )
})

it('takes nothing for a repetition that says more', () => {
  const more = { ...text('Hi', 5), type: 'response.completed', response: { usage: USAGE } }
  const watcher = watched(text('Hi', 3), text('Ho', 4), more)
  expect(watcher.isFinished()).toBe(true)
  const nested = (inner: string) => ({ type: 'response.x.delta', x: { delta: inner }, delta: 'a' })
  expect(watched(nested('b'), nested('bbbb')).outputBytes()).toBe(2)
  const event = JSON.stringify(text('Hi'))
  expect(failureOf(event, `${event}}`).code).toBe('stream_error')
})

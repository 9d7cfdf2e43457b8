// What the watcher of a stream of messages says of each event, and what it has counted at the end.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../core/problem.ts'
import type { FrameKind, StreamWatcher } from '../dialect.ts'
import { watch } from './stream.ts'

const encoder = new TextEncoder()

function see(watcher: StreamWatcher, event: unknown): FrameKind {
  const bytes = encoder.encode(typeof event === 'string' ? event : JSON.stringify(event))
  return watcher.see(bytes, 0, bytes.length)
}

function watched(...events: readonly unknown[]): StreamWatcher {
  const watcher = watch()
  for (const event of events) see(watcher, event)
  return watcher
}

const begin = (block: object, index = 0) => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const add = (delta: object, index = 0) => ({ type: 'content_block_delta', index, delta })
const text = (said: string) => add({ type: 'text_delta', text: said })
const start = (usage: unknown) => ({ type: 'message_start', message: { content: [], usage } })
const stop = (usage?: unknown, reason: string | null = 'end_turn') => ({
  type: 'message_delta',
  delta: { stop_reason: reason },
  usage,
})

describe('an event', () => {
  it.each<readonly [string, object, FrameKind, number]>([
    ['message_start', start({ input_tokens: 1, output_tokens: 1 }), 'preamble', 0],
    ['ping', { type: 'ping' }, 'preamble', 0],
    ['what was invented later', { type: 'weather' }, 'preamble', 0],
    ['an empty text', begin({ type: 'text', text: '' }), 'preamble', 0],
    ['a text that begins', begin({ type: 'text', text: 'abc' }), 'content', 3],
    ['an empty thought', begin({ type: 'thinking', thinking: '', signature: '' }), 'preamble', 0],
    ['a secret thought', begin({ type: 'redacted_thinking', data: 'abcd' }), 'content', 4],
    ['a tool', begin({ type: 'tool_use', id: 'toolu_1', name: 'ab', input: {} }), 'content', 2],
    [
      'a tool with its input',
      begin({ type: 'tool_use', name: 'ab', input: { a: 1 } }),
      'content',
      9,
    ],
    [
      'what a search found',
      begin({ type: 'web_search_tool_result', content: [{ url: 'x' }] }),
      'content',
      1,
    ],
    ['text', text('é'), 'content', 2],
    ['no text', text(''), 'preamble', 0],
    ['a thought', add({ type: 'thinking_delta', thinking: 'abc' }), 'content', 3],
    ['a signature', add({ type: 'signature_delta', signature: 'abc' }), 'preamble', 0],
    ['input', add({ type: 'input_json_delta', partial_json: '{"a' }), 'content', 3],
    ['a citation', add({ type: 'citations_delta', citation: { cited_text: 'x' } }), 'content', 1],
    ['the end of a block', { type: 'content_block_stop', index: 0 }, 'preamble', 0],
    ['the reason', stop({ output_tokens: 1 }), 'preamble', 0],
    ['the end', { type: 'message_stop' }, 'end', 0],
  ])('%s is told for what it is', (_, event, kind, bytes) => {
    const watcher = watch()
    expect([see(watcher, event), watcher.outputBytes()]).toEqual([kind, bytes])
  })

  it('without data is nothing', () => {
    expect(watch().see(encoder.encode(''), 0, 0)).toBe('void')
  })

  it('that is broken or tells of a failure throws', () => {
    const thrownBy = (event: unknown): unknown => {
      try {
        return see(watch(), event)
      } catch (thrown) {
        return thrown
      }
    }
    expect(thrownBy('{"type":')).toMatchObject({ code: 'stream_error' })
    const error = { type: 'overloaded_error', message: 'Overloaded' }
    const failure = thrownBy({ type: 'error', error })
    expect(failure).toBeInstanceOf(GatewayError)
    expect(failure).toMatchObject({
      status: 529,
      message: 'Overloaded',
      origin: { type: 'overloaded_error', raw: error },
    })
    expect(thrownBy({ error: { type: 'api_error', message: 'x' } })).toMatchObject({ status: 500 })
  })

  it('of a megabyte and more is read by its outline', () => {
    const watcher = watched(begin({ type: 'text', text: '' }))
    const long = JSON.stringify(add({ type: 'text_delta', text: 'x'.repeat(2_000_000) }, 3))
    expect(see(watcher, long)).toBe('content')
    expect(watcher.outputBytes()).toBe(long.length)
    see(watcher, begin({ type: 'redacted_thinking', data: 'x'.repeat(2_000_000) }, 4))
    expect(watcher.openChoices()).toEqual([0, 4])
    expect(() => see(watcher, start({ odd: 'x'.repeat(2_000_000) }))).toThrow('too large')
    expect(() =>
      see(watcher, { type: 'error', error: { message: 'x'.repeat(2_000_000) } }),
    ).toThrow()
  })

  it('counts the same whether it looks like the one before or not', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'binary' })), (texts) => {
        const counted = watched(...texts.map(text)).outputBytes()
        const alone = texts.reduce((sum, each) => sum + watched(text(each)).outputBytes(), 0)
        expect(counted).toBe(alone)
      }),
    )
  })
})

describe('what was thought and not shown', () => {
  const thought = begin({ type: 'thinking', thinking: '', signature: '' })
  const progress = (tokens: unknown, thinking = '') =>
    add({ type: 'thinking_delta', thinking, estimated_tokens: tokens })
  const seal = (signature: string) => add({ type: 'signature_delta', signature })

  it.each<readonly [string, readonly object[], number]>([
    ['nothing', [thought], 0],
    ['what it is said to have been', [thought, progress(50), progress(25), progress(null)], 300],
    ['its seal', [thought, seal('x'.repeat(70)), seal('y')], 71],
    ['a seal that came at once', [begin({ type: 'thinking', thinking: '', signature: 'xy' })], 2],
    ['the larger of both', [thought, progress(50), seal('x'.repeat(70))], 200],
    ['all thoughts', [thought, progress(50), thought, seal('xyz')], 203],
    ['no seal of what was shown', [thought, progress(null, 'abc'), seal('xyz')], 0],
    ['what was shown only once', [thought, progress(50, 'x'.repeat(150))], 50],
    ['no seal of a tool', [begin({ type: 'tool_use', name: 't' }), seal('xyz')], 0],
    ['no odd figures', [thought, progress(-5), progress(1.5), progress('9'), progress(1e300)], 0],
  ])('counts for a guess alone: %s', (_, events, bytes) => {
    expect(watched(...events).unshownBytes()).toBe(bytes)
  })

  it('neither begins an answer nor brings it to its limit', () => {
    const watcher = watched(start({ input_tokens: 1, output_tokens: 1 }), thought)
    expect(see(watcher, seal('x'.repeat(9_000)))).toBe('preamble')
    expect([watcher.outputBytes(), watcher.unshownBytes()]).toEqual([0, 9_000])
    expect(watcher.isUsageLast()).toBe(false)
  })
})

describe('a stream', () => {
  it('is finished by its reason to stop alone', () => {
    const watcher = watched(start({}), begin({ type: 'text', text: '' }, 2), text('x'))
    expect(watcher.isFinished(1)).toBe(false)
    expect(watcher.openChoices()).toEqual([2])
    see(watcher, { type: 'content_block_stop', index: 2 })
    see(watcher, stop(undefined, null))
    expect([watcher.isFinished(1), watcher.openChoices()]).toEqual([false, []])
    see(watcher, stop())
    expect(watcher.isFinished(1)).toBe(true)
  })

  const USAGE = {
    input_tokens: 3,
    cache_read_input_tokens: 6,
    cache_creation_input_tokens: 2,
    output_tokens: 1,
  }

  it('has used what was told at its beginning and at its end', () => {
    const watcher = watched(start(USAGE), text('abc'))
    expect(watcher.isUsageLast()).toBe(false)
    see(watcher, stop({ output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }))
    expect(watcher.isUsageLast()).toBe(true)
    expect(watcher.usage()).toEqual({
      inputTokens: 11,
      cachedTokens: 6,
      cacheWriteTokens: 2,
      cacheWriteLongTokens: 0,
      audioInputTokens: 0,
      outputTokens: 9,
      reasoningTokens: 4,
      audioOutputTokens: 0,
    })
  })

  it.each<readonly [string, unknown, unknown, readonly number[] | undefined]>([
    [
      'a guess first',
      { input_tokens: 50, output_tokens: 0 },
      { input_tokens: 10, cache_read_input_tokens: 30, output_tokens: 5 },
      [40, 30, 5],
    ],
    [
      'one figure last, and a smaller one',
      { input_tokens: 50, output_tokens: 0 },
      { input_tokens: 40, output_tokens: 5 },
      [50, 0, 5],
    ],
    ['all of the input last', USAGE, { input_tokens: 11, output_tokens: 5 }, [11, 6, 5]],
    ['more than all of it last', USAGE, { input_tokens: 20, output_tokens: 5 }, [20, 6, 5]],
    ['its plain part again', USAGE, { input_tokens: 3, output_tokens: 5 }, [11, 6, 5]],
    ['more of the plain part', USAGE, { input_tokens: 10, output_tokens: 5 }, [18, 6, 5]],
    ['less of the plain part', USAGE, { input_tokens: 2, output_tokens: 5 }, [11, 6, 5]],
    [
      'nothing first',
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 40, output_tokens: 5 },
      [40, 0, 5],
    ],
    [
      'zeros last',
      USAGE,
      { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 5 },
      [11, 6, 5],
    ],
    ['less output last', { input_tokens: 4, output_tokens: 8 }, { output_tokens: 5 }, [4, 0, 8]],
    ['no input at all', undefined, { output_tokens: 5 }, undefined],
    [
      'nulls',
      { input_tokens: 4, cache_read_input_tokens: null, output_tokens: 1 },
      { output_tokens: 2 },
      [4, 0, 2],
    ],
    [
      'a summary beside the answer',
      { input_tokens: 4, output_tokens: 1 },
      {
        output_tokens: 2,
        iterations: [
          { type: 'compaction', input_tokens: 100, output_tokens: 10 },
          { type: 'message', input_tokens: 4, output_tokens: 2 },
        ],
      },
      [104, 0, 12],
    ],
    [
      'advice beside the answer',
      { input_tokens: 4, output_tokens: 1 },
      {
        output_tokens: 2,
        iterations: [
          { type: 'advisor_message', input_tokens: 30, output_tokens: 3 },
          { type: 'message', input_tokens: 4, output_tokens: 2 },
        ],
      },
      [34, 0, 5],
    ],
  ])('that tells %s', (_, first, last, expected) => {
    const usage = watched(start(first), text('x'), stop(last)).usage()
    const told = usage && [usage.inputTokens, usage.cachedTokens, usage.outputTokens]
    expect(told).toEqual(expected as number[] | undefined)
  })

  it.each([undefined, null, {}, { input_tokens: 11 }, { input_tokens: 11, output_tokens: null }])(
    'has not told its output by ending with the usage %j',
    (usage) => {
      expect(watched(start(USAGE), text('abc'), stop(usage)).isUsageLast()).toBe(false)
    },
  )

  const written = (whole: number | undefined, short?: number, long?: number) => ({
    input_tokens: 3,
    output_tokens: 1,
    cache_creation_input_tokens: whole,
    ...(short !== undefined && {
      cache_creation: { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long },
    }),
  })

  it.each<readonly [string, unknown, unknown, readonly number[]]>([
    ['at the beginning alone', written(9, 4, 5), { output_tokens: 5 }, [12, 9, 5]],
    ['at the beginning, and their sum again', written(9, 4, 5), written(9), [12, 9, 5]],
    ['at the end alone', written(0), written(9, 4, 5), [12, 9, 5]],
    ['otherwise at the end', written(9, 4, 5), written(9, 7, 2), [12, 9, 2]],
    [
      'with zeros at the end',
      written(9, 4, 5),
      { ...written(0, 0, 0), input_tokens: 0 },
      [12, 9, 5],
    ],
    ['without their sum', written(undefined, 4, 5), {}, [12, 9, 5]],
    ['beyond their sum', written(6, 4, 5), {}, [12, 9, 5]],
    ['and less of both later', written(9, 4, 5), written(3), [6, 3, 3]],
    ['and more later, which count as the dearer', written(9, 4, 5), written(11), [14, 11, 7]],
    ['and more later where none was for an hour', written(9, 9, 0), written(11), [14, 11, 0]],
    ['as null', { ...written(9), cache_creation: null }, written(9), [12, 9, 0]],
    [
      'round by round',
      written(0, 0, 0),
      {
        ...written(9),
        iterations: [
          { type: 'message', ...written(4, 4, 0) },
          { type: 'message', ...written(5, 0, 5) },
        ],
      },
      [12, 9, 5],
    ],
    [
      'of a summary, too',
      written(9, 4, 5),
      { output_tokens: 2, iterations: [{ type: 'compaction', ...written(10, 2, 8) }] },
      [25, 19, 13],
    ],
  ])('that tells writes for an hour %s', (_, first, last, expected) => {
    const usage = watched(start(first), text('x'), stop(last)).usage()!
    const { inputTokens, cacheWriteTokens, cacheWriteLongTokens } = usage
    expect([inputTokens, cacheWriteTokens, cacheWriteLongTokens]).toEqual([...expected])
  })

  it('says so where what was told cannot be read', () => {
    for (const usage of [
      'x',
      written(9, 4, -5),
      [1],
      { input_tokens: 'many', output_tokens: 1 },
      { input_tokens: 1, output_tokens: -1 },
    ])
      expect(watched(start(usage)).hasUnreadUsage()).toBe(true)
    expect(watched(start(USAGE)).hasUnreadUsage()).toBe(false)
  })
})

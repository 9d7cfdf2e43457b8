// Streams as chat clients get them.
import { describe, expect, it } from 'bun:test'
import type { AnswerHead } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { readSeal } from '../../seal.ts'
import { watch } from '../stream.ts'
import { createEncoder } from './stream-encode.ts'

const USAGE: Usage = {
  inputTokens: 7,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}
const HEAD: AnswerHead = {
  id: 'abc',
  model: 'a "model"',
  created: 1_800_000_000,
  supplier: 'maker',
  inputTokens: 9,
  asksUsage: false,
}
const START: ChatEvent = { kind: 'start' }
const finish = (reason: 'end' | 'tools' | 'refusal' | 'stop', stopText?: string): ChatEvent => ({
  kind: 'finish',
  finish: { reason, raw: 'raw', ...(stopText === undefined ? {} : { stopText }) },
})

interface Chunk {
  readonly choices: { delta: Record<string, unknown>; [name: string]: unknown }[]
  readonly [name: string]: unknown
}

function framesOf(text: string): string[] {
  expect(text.endsWith('\n\n')).toBe(true)
  return text
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      expect(frame.startsWith('data: ')).toBe(true)
      return frame.slice(6)
    })
}

function encode(events: readonly ChatEvent[], head: Partial<AnswerHead> = {}): Chunk[] {
  const encoder = createEncoder({ ...HEAD, ...head })
  const text = events.map((event) => encoder.encode(event)).join('') + encoder.end(USAGE)
  const frames = framesOf(text)
  expect(frames.pop()).toBe('[DONE]')
  return frames.map((frame) => JSON.parse(frame) as Chunk)
}

const deltasOf = (chunks: readonly Chunk[]) =>
  chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta))

describe('a stream', () => {
  it('says who it is in every chunk, its role first, its reason once and last', () => {
    const chunks = encode([
      START,
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      finish('end'),
    ])
    const basics = {
      id: 'chatcmpl-abc',
      object: 'chat.completion.chunk',
      created: 1_800_000_000,
      model: 'a "model"',
    }
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...basics,
      choices: [{ index: 0, delta, finish_reason }],
    })
    expect(chunks as unknown[]).toEqual([
      chunk({ role: 'assistant', content: '' }, null),
      chunk({ content: 'Hel' }, null),
      chunk({ content: 'lo' }, null),
      chunk({}, 'stop'),
    ])
  })

  it('tells the usage behind the reason, to who has asked for it', () => {
    const last = encode([START, finish('end')], { asksUsage: true }).at(-1)
    expect(last).toMatchObject({
      id: 'chatcmpl-abc',
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 },
    })
  })

  it('numbers calls by their order, whatever their places, and tells what each is given', () => {
    const chunks = encode([
      START,
      { kind: 'call', place: 7, id: 'a', name: 'f' },
      { kind: 'call', place: 3, id: 'b', name: 'g' },
      { kind: 'input', place: 3, text: '{"x":' },
      { kind: 'input', place: 7, text: '{}' },
      { kind: 'input', place: 3, text: '"\n"}' },
      finish('tools'),
    ])
    expect(deltasOf(chunks).slice(1)).toEqual([
      {
        tool_calls: [
          { index: 0, id: 'a', type: 'function', function: { name: 'f', arguments: '' } },
        ],
      },
      {
        tool_calls: [
          { index: 1, id: 'b', type: 'function', function: { name: 'g', arguments: '' } },
        ],
      },
      { tool_calls: [{ index: 1, function: { arguments: '{"x":' } }] },
      { tool_calls: [{ index: 0, function: { arguments: '{}' } }] },
      { tool_calls: [{ index: 1, function: { arguments: '"\n"}' } }] },
      {},
    ])
    expect(chunks.at(-1)?.choices[0]?.['finish_reason']).toBe('tool_calls')
  })

  it('gives a call that is given nothing an empty object, for clients parse it', () => {
    const deltas = deltasOf(
      encode([START, { kind: 'call', place: 0, id: 'a', name: 'f' }, finish('tools')]),
    )
    expect(deltas.at(-2)).toEqual({ tool_calls: [{ index: 0, function: { arguments: '{}' } }] })
  })

  it('tells thoughts, and each seal with the thought that it belongs to', () => {
    const deltas = deltasOf(
      encode([
        START,
        { kind: 'thinking', text: 'Fir' },
        { kind: 'thinking', text: 'st' },
        { kind: 'seal', data: 'one' },
        { kind: 'hidden', data: 'dark' },
        { kind: 'thinking', text: 'unsealed' },
        { kind: 'break' },
        { kind: 'thinking', text: 'second' },
        { kind: 'seal', data: 'two' },
        { kind: 'text', text: 'So.' },
        { kind: 'seal', data: 'of a call' },
        finish('end'),
      ]),
    )
    expect(deltas.map((delta) => delta['reasoning_content']).filter(Boolean)).toEqual([
      'Fir',
      'st',
      'unsealed',
      'second',
    ])
    const details = deltas.flatMap(
      (delta) => (delta['reasoning_details'] ?? []) as Record<string, string>[],
    )
    const told = details.map(({ type, text, signature, data }) => [
      type,
      text,
      readSeal(signature ?? data ?? ''),
    ])
    expect(told as unknown[]).toEqual([
      ['reasoning.text', 'First', { data: 'one', supplier: 'maker' }],
      ['reasoning.encrypted', undefined, { data: 'dark', supplier: 'maker' }],
      ['reasoning.text', 'second', { data: 'two', supplier: 'maker' }],
      ['reasoning.text', '', { data: 'of a call', supplier: 'maker' }],
    ])
  })

  it('says a refusal in its own place, and names the text that stopped it', () => {
    const refused = encode([START, { kind: 'refusal', text: 'No.' }, finish('refusal')])
    expect(deltasOf(refused)[1]).toEqual({ refusal: 'No.' })
    expect(refused.at(-1)?.choices[0]?.['finish_reason']).toBe('stop')
    const stopped = encode([START, finish('stop', 'END')])
    expect(stopped.at(-1)?.choices[0]).toMatchObject({ finish_reason: 'stop', stop_reason: 'END' })
  })

  it('does not say that it ends before it has ended well', () => {
    const encoder = createEncoder(HEAD)
    const sent = [START, { kind: 'text', text: 'a' } as const, finish('end')]
      .map((event) => encoder.encode(event))
      .join('')
    for (const frame of framesOf(sent)) expect(frame).toContain('"finish_reason":null')
  })

  it('says its role even where nobody told that it begins', () => {
    expect(deltasOf(encode([{ kind: 'text', text: 'a' }]))[0]).toHaveProperty('role')
    expect(deltasOf(encode([]))[0]).toHaveProperty('role')
  })

  it('is whole and sound to whoever watches it', () => {
    const encoder = createEncoder({ ...HEAD, asksUsage: true })
    const events = [START, { kind: 'text', text: 'a\u2028\u0000\ud800"' } as const, finish('end')]
    const text = events.map((event) => encoder.encode(event)).join('') + encoder.end(USAGE)
    const watcher = watch()
    const kinds = framesOf(text).map((frame) => {
      const data = new TextEncoder().encode(frame)
      return watcher.see(data, 0, data.length)
    })
    expect(kinds).toEqual(['preamble', 'content', 'preamble', 'usage', 'end'])
    expect(watcher.isFinished(1)).toBe(true)
    expect(watcher.usage()).toEqual(USAGE)
  })
})

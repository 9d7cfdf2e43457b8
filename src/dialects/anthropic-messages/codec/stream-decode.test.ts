// What is read of the events of suppliers of this language, of odd ones too.
import { describe, expect, it } from 'bun:test'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { createDecoder } from './stream-decode.ts'

const begin = (block: object, index = 0) => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
const add = (delta: object, index = 0) => ({ type: 'content_block_delta', index, delta })
const stop = (index = 0) => ({ type: 'content_block_stop', index })
const reason = (stop_reason: unknown, fields: object = {}, delta: object = {}) => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null, ...delta },
  usage: { output_tokens: 1 },
  ...fields,
})
const MESSAGE = { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage: {} }
const text = (said: string, index = 0) => add({ type: 'text_delta', text: said }, index)
const json = (said: string, index = 0) =>
  add({ type: 'input_json_delta', partial_json: said }, index)
const TEXT = { type: 'text', text: '' }
const THOUGHT = { type: 'thinking', thinking: '', signature: '' }
const CALL = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }

interface Read {
  /** Without the start. */
  readonly events: readonly ChatEvent[]
  readonly lost: readonly string[]
}

function read(...frames: readonly (object | string)[]): Read {
  const decoder = createDecoder()
  const [first, ...events] = frames.flatMap((frame) =>
    decoder.decode(
      new TextEncoder().encode(typeof frame === 'string' ? frame : JSON.stringify(frame)),
    ),
  )
  expect(first).toEqual({ kind: 'start' })
  return { events, lost: decoder.lost }
}

describe('a stream', () => {
  it('is read as it comes', () => {
    expect(
      read(
        { type: 'message_start', message: MESSAGE },
        begin(THOUGHT),
        { type: 'ping' },
        add({ type: 'thinking_delta', thinking: 'hm', estimated_tokens: 4 }),
        add({ type: 'signature_delta', signature: 'sig' }),
        stop(),
        begin({ type: 'redacted_thinking', data: 'secret' }, 1),
        stop(1),
        begin(TEXT, 2),
        text('a', 2),
        text('', 2),
        text('b', 2),
        stop(2),
        begin(CALL, 3),
        json('', 3),
        json('{"a":', 3),
        json('12345678901234567890}', 3),
        stop(3),
        reason('tool_use'),
        reason('end_turn'),
      ),
    ).toEqual({
      events: [
        { kind: 'thinking', text: 'hm' },
        { kind: 'seal', data: 'sig' },
        { kind: 'hidden', data: 'secret' },
        { kind: 'text', text: 'a' },
        { kind: 'text', text: 'b' },
        { kind: 'call', place: 3, id: 'toolu_1', name: 'f' },
        { kind: 'input', place: 3, text: '{"a":' },
        { kind: 'input', place: 3, text: '12345678901234567890}' },
        { kind: 'finish', finish: { reason: 'tools', raw: 'tool_use' } },
      ],
      lost: [],
    })
  })

  it('begins with its first event where nobody says so, and a sign of life is none', () => {
    const decoder = createDecoder()
    expect(decoder.decode(new TextEncoder().encode('{"type":"ping"}'))).toEqual([])
    expect(read({ type: 'ping' }, text('a')).events).toEqual([{ kind: 'text', text: 'a' }])
  })

  it('names the text that stopped it', () => {
    expect(read(reason('stop_sequence', {}, { stop_sequence: 'END' })).events).toEqual([
      { kind: 'finish', finish: { reason: 'stop', raw: 'stop_sequence', stopText: 'END' } },
    ])
  })

  it('waits for the calls where there are any and it claims to be done', () => {
    const { events } = read(begin(CALL), stop(), reason('end_turn'))
    expect(events.at(-1)).toEqual({ kind: 'finish', finish: { reason: 'tools', raw: 'end_turn' } })
  })

  it('has no finish without a reason', () => {
    expect(read(begin(TEXT), text('a'), stop(), reason(null)).events).toHaveLength(1)
  })

  it('tells nothing after its reason to stop, but that it is lost', () => {
    const { events, lost } = read(reason('end_turn'), begin(TEXT), text('a'), begin(CALL, 1))
    expect(events).toHaveLength(1)
    expect(lost).toEqual(['/content/*/text', '/content/*/tool_use'])
  })
})

describe('a block', () => {
  it('keeps apart from one of its kind, also where something lost stood between', () => {
    const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
    const { events, lost } = read(
      begin(TEXT),
      text('a'),
      stop(),
      begin(search, 1),
      json('{"query":"x"}', 1),
      stop(1),
      begin({ type: 'web_search_tool_result', content: [] }, 2),
      stop(2),
      begin({ type: 'text', text: 'b' }, 3),
      stop(3),
      begin(TEXT, 4),
      stop(4),
      begin({ ...THOUGHT, thinking: 'c' }, 5),
      stop(5),
      begin({ ...THOUGHT, signature: 'd' }, 6),
      stop(6),
    )
    expect(events).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'break' },
      { kind: 'text', text: 'b' },
      { kind: 'thinking', text: 'c' },
      { kind: 'break' },
      { kind: 'seal', data: 'd' },
    ])
    expect(lost).toEqual(['/content/*/server_tool_use', '/content/*/web_search_tool_result'])
  })

  it('ends with the next one, or with the answer, where nobody says so', () => {
    expect(
      read(begin({ ...THOUGHT, thinking: 'a', signature: 'b' }), begin(TEXT, 1), text('c', 1))
        .events,
    ).toEqual([
      { kind: 'thinking', text: 'a' },
      { kind: 'seal', data: 'b' },
      { kind: 'text', text: 'c' },
    ])
    const { events } = read(
      begin(CALL),
      begin({ ...CALL, id: 'x' }, 1),
      json('{"a":1}'),
      reason('x'),
    )
    expect(events.map((event) => ('text' in event ? event.text : event.kind))).toEqual([
      'call',
      'call',
      '{"a":1}',
      '{}',
      'finish',
    ])
  })

  it('need not be announced', () => {
    expect(read(add({ type: 'thinking_delta', thinking: 'a' }), text('b', 1)).events).toEqual([
      { kind: 'thinking', text: 'a' },
      { kind: 'text', text: 'b' },
    ])
  })

  it('loses what has no counterpart', () => {
    const { events, lost } = read(
      { type: 'message_start', message: { ...MESSAGE, container: { id: 'c' } } },
      { type: 'weather', sun: true },
      begin(TEXT),
      add({ type: 'citations_delta', citation: { cited_text: 'x' } }),
      add({ type: 'hologram_delta', data: 'x' }),
      add({ type: 'signature_delta', signature: 'x' }),
      stop(),
      reason(
        'end_turn',
        { context_management: { applied_edits: [1] } },
        { stop_details: { a: 1 } },
      ),
    )
    expect(events).toHaveLength(1)
    expect(lost).toEqual([
      '/container',
      '/weather',
      '/content/*/citations',
      '/content/*/hologram_delta',
      '/content/*/signature',
      '/context_management',
      '/stop_details',
    ])
  })
})

describe('a call', () => {
  const inputsOf = ({ events }: Read): string =>
    events.map((event) => (event.kind === 'input' ? event.text : '')).join('')

  it('that comes with its whole input keeps it as it was written', () => {
    const input = '{"n": 12345678901234567890, "1": 1.0}'
    const block = `{"type":"tool_use","id":"x","name":"f","input":${input}}`
    const frame = `{"type":"content_block_start","index":0,"content_block":${block}}`
    expect(inputsOf(read(frame, stop()))).toBe(input)
  })

  it('that comes with an input and is told another has the other', () => {
    expect(inputsOf(read(begin({ ...CALL, input: { a: 1 } }), json('{"a":2}'), stop()))).toBe(
      '{"a":2}',
    )
  })

  it('without input has an empty one', () => {
    expect(inputsOf(read(begin(CALL), json(''), stop()))).toBe('{}')
    expect(inputsOf(read(begin({ ...CALL, input: null }), stop(), stop()))).toBe('{}')
  })

  it('without a name is none', () => {
    expect(read(begin({ ...CALL, name: '' }), json('{}'), stop())).toEqual({
      events: [],
      lost: ['/content/*/tool_use'],
    })
  })
})

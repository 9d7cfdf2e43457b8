// Streams as suppliers of this language send them: as its maker does, and as others do who got something wrong.
import { describe, expect, it } from 'bun:test'
import { collect } from '../../../../test/fakes/conversations.ts'
import type { AssistantPart, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { createDecoder } from './stream-decode.ts'

type Json = Readonly<Record<string, unknown>>

function eventsOf(frames: readonly (Json | string)[]): ChatEvent[] {
  return hear(frames).events
}

function hear(frames: readonly (Json | string)[]): {
  readonly events: ChatEvent[]
  readonly lost: readonly string[]
} {
  const decoder = createDecoder()
  const events = frames.flatMap((frame) => {
    const text = typeof frame === 'string' ? frame : JSON.stringify(frame)
    return [...decoder.decode(new TextEncoder().encode(text))]
  })
  return { events, lost: decoder.lost }
}

function partsOf(frames: readonly (Json | string)[]): readonly AssistantPart[] {
  return collect(eventsOf(frames)).parts
}

function event(type: string, fields: Json = {}): Json {
  return { type: `response.${type}`, sequence_number: 1, ...fields }
}

const added = (output_index: number, item: Json): Json =>
  event('output_item.added', { output_index, item })
const done = (output_index: number, item: Json): Json =>
  event('output_item.done', { output_index, item })
const completed = (...output: readonly unknown[]): Json =>
  event('completed', { response: { id: 'resp_1', status: 'completed', output } })
const piece = (kind: string, delta: string, at: Json = {}): Json =>
  event(`${kind}.delta`, { output_index: 0, content_index: 0, item_id: 'i', ...at, delta })
const message = (...texts: readonly string[]): Json => ({
  type: 'message',
  id: 'i',
  role: 'assistant',
  status: 'completed',
  content: texts.map((text) => ({ type: 'output_text', text, annotations: [], logprobs: [] })),
})
const called = (id: string, fields: Json = {}): Json => ({
  type: 'function_call',
  id: `fc_${id}`,
  call_id: id,
  name: 'look',
  arguments: '',
  ...fields,
})
const text = (text: string): AssistantPart => ({ kind: 'text', text })
const end = (finish: Finish): ChatEvent => ({ kind: 'finish', finish })
const COMPLETE = end({ reason: 'end', raw: 'completed' })

describe('a stream', () => {
  it('is told as it comes: a start, pieces of text, the finish', () => {
    const begun = { id: 'resp_1', status: 'in_progress', output: [] }
    const part = { type: 'output_text', text: '', annotations: [] }
    const at = { output_index: 0, content_index: 0, item_id: 'i' }
    const events = eventsOf([
      event('created', { response: begun }),
      event('in_progress', { response: begun }),
      added(0, { ...message(), status: 'in_progress' }),
      event('content_part.added', { ...at, part }),
      piece('output_text', 'Hel', { logprobs: [], obfuscation: 'x' }),
      piece('output_text', 'lo'),
      event('output_text.done', { ...at, text: 'Hello' }),
      event('content_part.done', { ...at, part: { ...part, text: 'Hello' } }),
      done(0, message('Hello')),
      completed(message('Hello')),
    ])
    expect(events).toEqual([
      { kind: 'start' },
      { kind: 'text', text: 'Hel' },
      { kind: 'text', text: 'lo' },
      COMPLETE,
    ])
  })

  it('tells thoughts before they are sealed, whether shown, summarized in parts or hidden', () => {
    const thought = (id: string, fields: Json): Json => ({ type: 'reasoning', id, ...fields })
    const at = (id: string, place: number, output_index: number): Json => ({
      item_id: id,
      output_index,
      summary_index: place,
      content_index: place,
    })
    const { events, lost } = hear([
      added(0, thought('a', { summary: [], encrypted_content: 'not yet' })),
      piece('reasoning_summary_text', 'One', at('a', 0, 0)),
      piece('reasoning_summary_text', 'Two', at('a', 1, 0)),
      done(
        0,
        thought('a', { summary: [{ text: 'One' }, { text: 'Two' }], encrypted_content: 'A' }),
      ),
      added(1, thought('b', { summary: [] })),
      done(1, thought('b', { summary: [], encrypted_content: 'B' })),
      added(2, thought('c', { summary: [], content: [] })),
      piece('reasoning_text', 'Three', at('c', 0, 2)),
      done(2, thought('c', { summary: [], content: [{ type: 'reasoning_text', text: 'Three' }] })),
      completed(),
    ])
    expect(collect(events).parts).toEqual([
      { kind: 'thinking', text: 'One\n\nTwo', seal: { data: 'A', supplier: undefined } },
      { kind: 'thinking', text: '', isHidden: true, seal: { data: 'B', supplier: undefined } },
      { kind: 'thinking', text: 'Three' },
    ])
    expect(lost).toEqual([])
  })

  it('tells calls that come mixed, each with what it is given', () => {
    const at = (place: number): Json => ({ output_index: place, item_id: `fc_${'ab'[place]}` })
    const events = eventsOf([
      added(0, called('a')),
      piece('function_call_arguments', '{"x"', at(0)),
      added(1, called('b')),
      piece('function_call_arguments', '{}', at(1)),
      piece('function_call_arguments', ':1}', at(0)),
      event('function_call_arguments.done', { ...at(1), arguments: '{}' }),
      done(1, called('b', { arguments: '{}' })),
      done(0, called('a', { arguments: '{"x":1}' })),
      completed(called('a', { arguments: '{"x":1}' }), called('b', { arguments: '{}' })),
    ])
    expect(events.slice(1)).toEqual([
      { kind: 'call', place: 0, id: 'a', name: 'look' },
      { kind: 'input', place: 0, text: '{"x"' },
      { kind: 'call', place: 1, id: 'b', name: 'look' },
      { kind: 'input', place: 1, text: '{}' },
      { kind: 'input', place: 0, text: ':1}' },
      end({ reason: 'tools', raw: 'completed' }),
    ])
  })

  it('keeps apart the parts of a message, and messages', () => {
    const frames = [
      piece('output_text', 'A'),
      piece('output_text', 'B', { content_index: 1 }),
      piece('refusal', 'C', { content_index: 2 }),
      piece('output_text', 'D', { output_index: 1, item_id: 'j' }),
      piece('output_text', 'E', { output_index: 2, item_id: 'k' }),
      completed(),
    ]
    expect(partsOf(frames)).toEqual([
      text('A'),
      text('B'),
      { kind: 'refusal', text: 'C' },
      text('D'),
      text('E'),
    ])
  })

  it('needs nothing to keep texts apart that a call stands between', () => {
    const events = eventsOf([
      piece('output_text', 'A'),
      added(1, called('a')),
      piece('output_text', 'B', { output_index: 2, item_id: 'k' }),
      completed(),
    ])
    expect(events.map(({ kind }) => kind)).toEqual(['start', 'text', 'call', 'text', 'finish'])
  })

  it('says why it ends, and never takes what was cut for complete', () => {
    const finishOf = (response: Json | undefined, type = 'completed'): Finish | undefined =>
      collect(eventsOf([piece('output_text', 'A'), event(type, response && { response })])).finish
    const cut = (reason: string): Json => ({ status: 'incomplete', incomplete_details: { reason } })
    const table: readonly (readonly [Json | undefined, string, Finish])[] = [
      [{ status: 'completed' }, 'completed', { reason: 'end', raw: 'completed' }],
      [{}, 'completed', { reason: 'end', raw: undefined }],
      [undefined, 'completed', { reason: 'end', raw: undefined }],
      [cut('max_output_tokens'), 'incomplete', { reason: 'length', raw: 'max_output_tokens' }],
      [cut('content_filter'), 'incomplete', { reason: 'refusal', raw: 'content_filter' }],
      [cut('steered'), 'incomplete', { reason: 'length', raw: 'steered' }],
      [{ output: [] }, 'incomplete', { reason: 'length', raw: 'incomplete' }],
      [undefined, 'incomplete', { reason: 'length', raw: 'incomplete' }],
      [{ status: 'cancelled' }, 'completed', { reason: 'length', raw: 'cancelled' }],
    ]
    for (const [response, type, finish] of table) expect(finishOf(response, type)).toEqual(finish)
  })

  it('has no finish unless it says so itself', () => {
    const { events } = hear([
      added(0, message()),
      piece('output_text', 'Hi'),
      done(0, message('Hi')),
    ])
    expect(events.map(({ kind }) => kind)).toEqual(['start', 'text'])
  })

  it('says nothing behind its finish', () => {
    const { events } = hear([completed(), piece('output_text', 'Ho'), completed(message('Ho'))])
    expect(events).toEqual([{ kind: 'start' }, COMPLETE])
  })

  it('loses what only its supplier can do, and says so', () => {
    const { events, lost } = hear([
      added(0, { type: 'web_search_call', id: 'ws' }),
      event('web_search_call.searching', { output_index: 0, item_id: 'ws' }),
      done(0, { type: 'web_search_call', id: 'ws', status: 'completed', action: {} }),
      piece('output_text', 'A', { output_index: 1 }),
      event('output_text.annotation.added', { output_index: 1, annotation: { type: 'x' } }),
      done(1, {
        ...message(),
        phase: 'commentary',
        content: [
          { type: 'output_text', text: 'A', annotations: [{ type: 'x' }], logprobs: [{}] },
          { type: 'output_audio', data: 'x' },
        ],
      }),
      done(2, called('a', { arguments: '{}', namespace: 'n', caller: { type: 'direct' } })),
      event('novelty', { mood: 'good' }),
      event('completed', { response: { id: 'r', status: 'completed', output: [], mood: 'good' } }),
    ])
    expect(collect(events).parts).toHaveLength(2)
    expect(lost).toEqual([
      '/output/*/web_search_call',
      '/output/*/content/*/annotations',
      '/output/*/content/*/logprobs',
      '/output/*/content/*/output_audio',
      '/output/*/phase',
      '/output/*/namespace',
      '/response.novelty',
      '/mood',
    ])
  })
})

describe('a stream that is not quite right', () => {
  it('is told from its last event where that is all there is', () => {
    const thought = { type: 'reasoning', summary: [{ text: 'Hm' }], encrypted_content: 'x' }
    expect(
      partsOf([
        completed(thought, message('A', 'B'), called('a', { arguments: '{}' }), message('C')),
      ]),
    ).toEqual([
      { kind: 'thinking', text: 'Hm', seal: { data: 'x', supplier: undefined } },
      text('A'),
      text('B'),
      { kind: 'call', id: 'a', name: 'look', input: '{}' },
      text('C'),
    ])
  })

  it('is told from whole items where nothing comes in pieces', () => {
    const item = called('a', { arguments: '{"x":1}' })
    const frames = [added(0, message('Hi')), done(0, message('Hi')), added(1, item), done(1, item)]
    expect(partsOf([...frames, completed(message('Hi'), item)])).toEqual([
      text('Hi'),
      { kind: 'call', id: 'a', name: 'look', input: '{"x":1}' },
    ])
  })

  it('is told the rest where the end of a text has more than its pieces', () => {
    const frames = [
      piece('output_text', 'Hel'),
      event('output_text.done', { item_id: 'i', text: 'Hello' }),
    ]
    expect(partsOf([...frames, done(0, message('Hello, you')), completed()])).toEqual([
      text('Hello, you'),
    ])
    // Another text is no rest of this one.
    expect(partsOf([...frames, done(0, message('Good day')), completed()])).toEqual([text('Hello')])
  })

  it('is read by ids where there are no indexes', () => {
    const bare = { output_index: undefined, content_index: undefined }
    const frames = [
      event('output_item.added', { item: called('a') }),
      event('output_item.added', { item: called('b') }),
      piece('function_call_arguments', '{"a":1}', { ...bare, item_id: 'fc_a' }),
      piece('function_call_arguments', '{"b":1}', { ...bare, item_id: 'fc_b' }),
      completed(),
    ]
    expect(partsOf(frames)).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{"a":1}' },
      { kind: 'call', id: 'b', name: 'look', input: '{"b":1}' },
    ])
  })

  it('is read by indexes where every event has another id', () => {
    const frames = [
      added(0, { ...message(), id: 'one' }),
      piece('output_text', 'H', { item_id: 'two' }),
      piece('output_text', 'i', { item_id: 'three' }),
      done(0, { ...message('Hi'), id: 'four' }),
      added(1, called('a', { id: 'five' })),
      piece('function_call_arguments', '{}', { item_id: 'six', output_index: 1 }),
      done(1, called('a', { id: 'seven', arguments: '{}' })),
      completed({ ...message('Hi'), id: 'eight' }, called('a', { id: 'nine', arguments: '{}' })),
    ]
    expect(partsOf(frames)).toEqual([
      text('Hi'),
      { kind: 'call', id: 'a', name: 'look', input: '{}' },
    ])
  })

  it('is read by ids where all items have one index', () => {
    const frames = [
      added(0, message()),
      added(0, called('a')),
      piece('output_text', 'Hi'),
      piece('function_call_arguments', '{}', { item_id: 'fc_a' }),
      added(0, called('b')),
      piece('function_call_arguments', '{"b":1}', { item_id: 'fc_b' }),
      done(0, called('a', { arguments: '{}' })),
      completed(
        called('a', { arguments: '{}' }),
        called('b', { arguments: '{"b":1}' }),
        message('Hi'),
      ),
    ]
    expect(partsOf(frames)).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{}' },
      text('Hi'),
      { kind: 'call', id: 'b', name: 'look', input: '{"b":1}' },
    ])
  })

  it('is read in the order of its events where neither is told', () => {
    const bare = { output_index: undefined, content_index: undefined, item_id: undefined }
    const frames = [
      event('output_item.added', { item: null }),
      piece('reasoning_text', 'Hm', bare),
      piece('output_text', 'H', bare),
      piece('output_text', 'i', bare),
      event('output_item.done', { item: { ...message('Hi'), id: undefined } }),
      piece('output_text', 'Ho', bare),
      completed(),
    ]
    expect(partsOf(frames)).toEqual([{ kind: 'thinking', text: 'Hm' }, text('Hi'), text('Ho')])
  })

  it('is read by the ids that calls have for their caller where nothing else fits', () => {
    const frames = [
      added(0, called('a')),
      added(1, called('b')),
      piece('function_call_arguments', '{"a":', { item_id: 'fc_a', output_index: 0 }),
      done(5, called('a', { id: 'other', arguments: '{"a":1}' })),
      completed(called('b', { id: 'another', arguments: '{"b":1}' })),
    ]
    expect(partsOf(frames)).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{"a":1}' },
      { kind: 'call', id: 'b', name: 'look', input: '{"b":1}' },
    ])
  })

  it('goes on where an item was done too early', () => {
    const frames = [piece('output_text', 'H'), done(0, message('H')), piece('output_text', 'i')]
    expect(partsOf([...frames, completed(message('Hi'))])).toEqual([text('Hi')])
  })

  it('does not repeat what its end has put into other items', () => {
    const frames = [
      added(0, message()),
      piece('output_text', 'Hm. Hi'),
      done(0, message('Hm. Hi')),
      completed(
        { type: 'reasoning', id: 'r', summary: [{ text: 'Hm.' }] },
        { ...message('Hi'), id: 'another' },
      ),
    ]
    expect(partsOf(frames)).toEqual([text('Hm. Hi')])
  })

  it('gets the calls that only its end tells of', () => {
    const frames = [piece('output_text', 'Hi'), completed(message('Hi'), called('a'))]
    expect(partsOf(frames)).toEqual([
      text('Hi'),
      { kind: 'call', id: 'a', name: 'look', input: '' },
    ])
  })

  it('keeps two calls apart that have one id for their caller', () => {
    const frames = ['x', 'y'].flatMap((id, place) => {
      const item = called('a', { id, arguments: `{"x":${place}}` })
      return [added(place, { ...item, arguments: '' }), done(place, item)]
    })
    expect(partsOf([...frames, completed()])).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{"x":0}' },
      { kind: 'call', id: 'a', name: 'look', input: '{"x":1}' },
    ])
  })

  it('tells a call once that is announced twice', () => {
    const frames = [added(0, called('a')), added(0, called('a')), done(0, called('a')), completed()]
    expect(partsOf(frames)).toHaveLength(1)
  })

  it('keeps what a call is given before its name for it, and loses a call without one', () => {
    const at = { item_id: 'fc_a', output_index: 0 }
    const { events, lost } = hear([
      piece('function_call_arguments', '{"x":', at),
      piece('function_call_arguments', '1}', at),
      done(0, called('a', { arguments: '{"x":1}' })),
      piece('function_call_arguments', '{}', { item_id: 'fc_b', output_index: 1 }),
      completed(),
    ])
    expect(collect(events).parts).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{"x":1}' },
    ])
    expect(lost).toEqual(['/output/*/function_call'])
  })

  it('gives calls without ids one that the whole answer would give them, too', () => {
    const item = { type: 'function_call', name: 'now', arguments: '{}' }
    const ids = (frames: readonly Json[]): readonly unknown[] =>
      partsOf(frames).map((part) => (part.kind === 'call' ? part.id : part))
    const begun = event('created', { response: { id: 'resp_1' } })
    const streamed = ids([
      begun,
      added(0, item),
      done(0, item),
      added(1, item),
      done(1, item),
      completed(item, item),
    ])
    expect(new Set(streamed).size).toBe(2)
    expect(ids([completed(item, item)])).toEqual(streamed)
  })

  it('keeps the numbers of input that is no text', () => {
    const item =
      '{"type":"function_call","call_id":"a","name":"look","arguments":{"x":12345678901234567890}}'
    const frame = `{"type":"response.output_item.done","output_index":0,"item":${item}}`
    expect(partsOf([frame, completed()])).toEqual([
      { kind: 'call', id: 'a', name: 'look', input: '{"x":12345678901234567890}' },
    ])
  })

  it('loses a seal that comes when something else was said, rather than to seal that', () => {
    const at = { item_id: 'r', output_index: 0 }
    const { events, lost } = hear([
      piece('reasoning_text', 'Hm', at),
      piece('output_text', 'Hi', { output_index: 1 }),
      completed({ type: 'reasoning', id: 'r', content: [{ text: 'Hm' }], encrypted_content: 'x' }),
    ])
    expect(collect(events).parts).toEqual([{ kind: 'thinking', text: 'Hm' }, text('Hi')])
    expect(lost).toEqual(['/output/*/encrypted_content'])
  })

  it('tells one of a thought and its summary, and says which it has left', () => {
    const both = { content: [{ text: 'All of it' }], summary: [{ text: 'It' }] }
    const whole = hear([completed({ type: 'reasoning', ...both })])
    expect(collect(whole.events).parts).toEqual([{ kind: 'thinking', text: 'All of it' }])
    expect(whole.lost).toEqual(['/output/*/summary'])
    const same = { content: [{ text: 'It' }], summary: [{ text: 'It' }] }
    expect(hear([completed({ type: 'reasoning', ...same })]).lost).toEqual([])
    const at = { item_id: 'r', output_index: 0, summary_index: 0 }
    const streamed = hear([
      piece('reasoning_summary_text', 'It', at),
      piece('reasoning_text', 'All of it', at),
      done(0, { type: 'reasoning', id: 'r', ...both }),
      completed(),
    ])
    expect(collect(streamed.events).parts).toEqual([{ kind: 'thinking', text: 'It' }])
    expect(streamed.lost).toEqual(['/output/*/content'])
  })
})

// Streams as clients of this language get them, event by event.
import { describe, expect, it } from 'bun:test'
import {
  checkFailedResponseStream,
  checkResponseStream,
} from '../../../../test/fakes/response-grammar.ts'
import type { AnswerHead, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { watch } from '../stream.ts'
import { readSealing } from './reasoning-seal.ts'
import { createEncoder } from './stream-encode.ts'

const USAGE: Usage = {
  inputTokens: 7,
  cachedTokens: 3,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 2,
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

function finish(reason: Finish['reason']): ChatEvent {
  return { kind: 'finish', finish: { reason, raw: 'raw' } }
}

function call(place: number, id: string): ChatEvent {
  return { kind: 'call', place, id, name: `do_${id}` }
}

function input(place: number, text: string): ChatEvent {
  return { kind: 'input', place, text }
}

interface Frame {
  readonly type: string
  readonly [name: string]: unknown
}

interface Item {
  readonly id: string
  readonly type: string
  readonly status?: string
  readonly encrypted_content: string
  readonly [name: string]: unknown
}

function print(events: readonly ChatEvent[]): string {
  const encoder = createEncoder(HEAD)
  const stream = events.map((event) => encoder.encode(event)).join('') + encoder.end(USAGE)
  checkResponseStream(stream)
  return stream
}

function framesOf(stream: string): Frame[] {
  return stream
    .split('\n\n')
    .slice(0, -1)
    .map((frame) => {
      const [event, data] = frame.split('\ndata: ')
      const fields = JSON.parse(data!) as Frame
      expect(event).toBe(`event: ${fields.type}`)
      return fields
    })
}

/** What is told of the items, by the names of events and where they belong. */
function outline(stream: string): readonly string[] {
  return framesOf(stream).map(({ type, output_index: index, delta }) => {
    const name = type.replace('response.', '')
    const told = typeof delta === 'string' ? ` ${delta}` : ''
    return typeof index === 'number' ? `${name} ${index}${told}` : name
  })
}

function itemsOf(stream: string): readonly Item[] {
  const { response } = framesOf(stream).at(-1) as unknown as { response: { output: Item[] } }
  return response.output
}

describe('a stream', () => {
  it('announces its answer, tells a text in pieces and once more whole, and repeats all at its end', () => {
    const frames = framesOf(
      print([START, { kind: 'text', text: 'Hel' }, { kind: 'text', text: 'lo' }, finish('end')]),
    )
    const response = {
      id: 'resp_abc',
      object: 'response',
      created_at: 1_800_000_000,
      status: 'in_progress',
      error: null,
      incomplete_details: null,
      model: 'a "model"',
      output: [],
      usage: null,
      instructions: null,
      metadata: {},
      parallel_tool_calls: true,
      tool_choice: 'auto',
      tools: [],
      temperature: null,
      top_p: null,
      text: { format: { type: 'text' } },
      store: false,
      previous_response_id: null,
      reasoning: { effort: null, summary: null },
      truncation: 'disabled',
    }
    const begun = { id: 'msg_abc_0', type: 'message', status: 'in_progress', role: 'assistant' }
    const part = { type: 'output_text', text: 'Hello', annotations: [], logprobs: [] }
    const item = { ...begun, status: 'completed', content: [part] }
    const at = { item_id: 'msg_abc_0', output_index: 0, content_index: 0 }
    const usage = {
      input_tokens: 7,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 5,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 12,
    }
    const expected = [
      { type: 'created', response },
      { type: 'in_progress', response },
      { type: 'output_item.added', output_index: 0, item: { ...begun, content: [] } },
      { type: 'content_part.added', ...at, part: { ...part, text: '' } },
      { type: 'output_text.delta', ...at, delta: 'Hel', logprobs: [] },
      { type: 'output_text.delta', ...at, delta: 'lo', logprobs: [] },
      { type: 'output_text.done', ...at, text: 'Hello', logprobs: [] },
      { type: 'content_part.done', ...at, part },
      { type: 'output_item.done', output_index: 0, item },
      { type: 'completed', response: { ...response, status: 'completed', output: [item], usage } },
    ]
    expect(frames as unknown[]).toEqual(
      expected.map(({ type, ...rest }, sequence_number) => ({
        type: `response.${type}`,
        sequence_number,
        ...rest,
      })),
    )
  })

  it('tells calls side by side, and each as done as soon as it is whole and another begins', () => {
    const stream = print([
      START,
      call(7, 'a'),
      input(7, '{"x"'),
      call(3, 'b'),
      input(3, '{}'),
      input(7, ':1}'),
      call(5, 'c'),
      finish('tools'),
    ])
    expect(outline(stream).slice(2)).toEqual([
      'output_item.added 0',
      'function_call_arguments.delta 0 {"x"',
      'output_item.added 1',
      'function_call_arguments.delta 1 {}',
      'function_call_arguments.delta 0 :1}',
      'function_call_arguments.done 0',
      'output_item.done 0',
      'function_call_arguments.done 1',
      'output_item.done 1',
      'output_item.added 2',
      // Clients parse what a call is given.
      'function_call_arguments.delta 2 {}',
      'function_call_arguments.done 2',
      'output_item.done 2',
      'completed',
    ])
    expect(itemsOf(stream) as unknown[]).toEqual(
      ['{"x":1}', '{}', '{}'].map((text, place) => ({
        id: `fc_abc_${place}`,
        type: 'function_call',
        status: 'completed',
        arguments: text,
        call_id: 'abc'[place],
        name: `do_${'abc'[place]}`,
      })),
    )
  })

  it('adds nothing to a call that is done, and does not take for done what can be added to', () => {
    const stream = print([
      START,
      call(0, 'a'),
      input(0, '{}'),
      call(1, 'b'),
      input(0, ' '),
      input(1, '1'),
      call(2, 'c'),
      input(1, '2'),
      finish('tools'),
    ])
    expect(itemsOf(stream).map((item) => item['arguments'])).toEqual(['{}', '12', '{}'])
  })

  it('says a text in the midst of a call where it stands, and goes on with the call', () => {
    const stream = print([
      START,
      { kind: 'text', text: 'A' },
      call(0, 'a'),
      input(0, '{"x"'),
      { kind: 'text', text: 'B' },
      input(0, ':1}'),
      { kind: 'text', text: 'C' },
      finish('tools'),
    ])
    const said = itemsOf(stream).map((item) => item['arguments'] ?? textsOf(item))
    expect(said).toEqual([['A'], '{"x":1}', ['BC']])
  })

  it('keeps texts apart that are two, in one message', () => {
    const stream = print([
      START,
      { kind: 'text', text: 'A' },
      { kind: 'break' },
      { kind: 'break' },
      { kind: 'text', text: 'B' },
      { kind: 'refusal', text: 'No' },
      finish('refusal'),
    ])
    expect(itemsOf(stream).map(textsOf)).toEqual([['A', 'B', 'No']])
  })

  it('tells thoughts as summaries, and each with the seal that belongs to it, marked with its maker', () => {
    const stream = print([
      START,
      { kind: 'thinking', text: 'Fir' },
      { kind: 'thinking', text: 'st' },
      { kind: 'seal', data: 'one' },
      { kind: 'hidden', data: 'dark' },
      { kind: 'thinking', text: 'unsealed' },
      { kind: 'break' },
      { kind: 'thinking', text: 'second' },
      { kind: 'text', text: 'So.' },
      { kind: 'seal', data: 'of a call' },
      call(0, 'a'),
      finish('tools'),
    ])
    const told = itemsOf(stream).map((item) =>
      item.type === 'reasoning' ? [textsOf(item), sealOf(item)] : item.type,
    )
    const marked = (data: string, isHidden = false): unknown => ({
      seal: { data, supplier: 'maker' },
      isHidden,
    })
    expect(told).toEqual([
      [['First'], marked('one')],
      [[], marked('dark', true)],
      // Nobody has sealed these: the mark keeps them from whoever would not know them.
      [['unsealed'], marked('')],
      [['second'], marked('')],
      'message',
      [[], marked('of a call')],
      'function_call',
    ])
    // A reasoning item with a status is refused when it comes back.
    for (const item of itemsOf(stream)) expect('status' in item).toBe(item.type !== 'reasoning')
  })

  it('is incomplete where it was cut, and so is what was under way', () => {
    const cut = (reason: Finish['reason']): readonly unknown[] => {
      const stream = print([
        START,
        { kind: 'text', text: 'A' },
        call(0, 'a'),
        input(0, '{"x":'),
        call(1, 'b'),
        input(1, '{}'),
        call(2, 'c'),
        { kind: 'text', text: 'B' },
        finish(reason),
      ])
      const { type, response } = framesOf(stream).at(-1) as never as {
        type: string
        response: { status: string; incomplete_details: unknown }
      }
      const statuses = itemsOf(stream).map(({ status }) => status)
      return [type, response.status, response.incomplete_details, statuses]
    }
    const open = ['completed', 'incomplete', 'completed', 'completed', 'incomplete']
    const whole = open.map(() => 'completed')
    const limit = ['response.incomplete', 'incomplete', { reason: 'max_output_tokens' }, open]
    expect(cut('length')).toEqual(limit)
    expect(cut('window')).toEqual(limit)
    expect(cut('refusal')).toEqual([
      'response.incomplete',
      'incomplete',
      { reason: 'content_filter' },
      open,
    ])
    for (const reason of ['end', 'stop', 'tools', 'pause'] as const)
      expect(cut(reason)).toEqual(['response.completed', 'completed', null, whole])
  })

  it('is complete where the model says why it does not answer', () => {
    const stream = print([START, { kind: 'refusal', text: 'No.' }, finish('refusal')])
    expect(outline(stream)).toContain('refusal.delta 0 No.')
    expect(outline(stream).at(-1)).toBe('completed')
  })

  it('is whole and sound to whoever watches it', () => {
    const stream = print([START, { kind: 'text', text: 'a\u2028\u0000\ud800"' }, finish('end')])
    const watcher = watch()
    const kinds = framesOf(stream).map((frame) => {
      const data = new TextEncoder().encode(JSON.stringify(frame))
      return watcher.see(data, 0, data.length)
    })
    expect(kinds.indexOf('content')).toBe(
      outline(stream).findIndex((name) => name.includes('delta')),
    )
    expect([kinds.at(-1), kinds.filter((kind) => kind === 'content').length]).toEqual(['end', 1])
    expect(watcher.isFinished()).toBe(true)
    expect(watcher.usage()).toEqual(USAGE)
  })

  it('announces nothing that stays empty', () => {
    const stream = print([
      START,
      { kind: 'text', text: '' },
      { kind: 'thinking', text: '' },
      { kind: 'seal', data: '' },
      input(3, '{}'),
      finish('end'),
    ])
    expect(outline(stream)).toEqual(['created', 'in_progress', 'completed'])
  })

  it('has a beginning even where nobody told of one', () => {
    expect(outline(print([]))).toEqual(['created', 'in_progress', 'completed'])
    expect(outline(print([{ kind: 'text', text: 'a' }]))[0]).toBe('created')
  })

  it('does not say that it ends before it has ended well', () => {
    const encoder = createEncoder(HEAD)
    const sent = [START, { kind: 'text', text: 'a' } as const, finish('length')]
      .map((event) => encoder.encode(event))
      .join('')
    expect(outline(sent).slice(2)).toEqual([
      'output_item.added 0',
      'content_part.added 0',
      'output_text.delta 0 a',
    ])
    // Whoever has to tell of a failure knows what to tell it of, and by which number.
    expect(encoder.place()).toEqual({ id: 'resp_abc', sequence: 5 })
    const response = { id: 'resp_abc', object: 'response', status: 'failed', output: [] }
    const failure = { ...response, error: { code: 'stream_error', message: 'Broken.' } }
    const data = { type: 'response.failed', sequence_number: 5, response: failure }
    const frame = `event: response.failed\ndata: ${JSON.stringify(data)}\n\n`
    checkFailedResponseStream(sent + frame)
    expect(() => checkResponseStream(sent + frame)).toThrow()
  })
})

describe('the grammar that streams are held to', () => {
  const STREAM = print([
    START,
    { kind: 'thinking', text: 'Hm' },
    { kind: 'thinking', text: 'm' },
    { kind: 'seal', data: 'x' },
    { kind: 'text', text: 'A' },
    { kind: 'text', text: 'A' },
    { kind: 'refusal', text: 'No' },
    call(0, 'a'),
    input(0, '{}'),
    call(1, 'b'),
    input(1, '{}'),
    finish('refusal'),
  ])
  const FRAMES = framesOf(STREAM)

  function renumber(frames: readonly Frame[]): string {
    return frames
      .map((frame, sequence_number) => ({ ...frame, sequence_number }))
      .map((frame) => `event: ${frame['type']}\ndata: ${JSON.stringify(frame)}\n\n`)
      .join('')
  }

  function areApart({ output_index: one }: Frame, { output_index: other }: Frame): boolean {
    return (
      one !== undefined &&
      other !== undefined &&
      one !== other &&
      Math.min(Number(one), Number(other)) > 1
    )
  }

  it('misses every event that is left out, and notices every one that comes twice or too early', () => {
    expect(() => checkResponseStream(renumber(FRAMES))).not.toThrow()
    for (const place of FRAMES.keys()) {
      expect(() => checkResponseStream(renumber(FRAMES.toSpliced(place, 1)))).toThrow()
      expect(() =>
        checkResponseStream(renumber(FRAMES.toSpliced(place, 0, FRAMES[place]!))),
      ).toThrow()
      const [before, after] = [FRAMES[place - 1], FRAMES[place]!]
      // What two calls are told may come mixed, and two pieces have the same name.
      if (before === undefined || before.type === after.type || areApart(before, after)) continue
      const swapped = renumber(FRAMES.toSpliced(place - 1, 2, after, before))
      expect(() => checkResponseStream(swapped)).toThrow()
    }
  })

  it('misses every member of every event', () => {
    for (const [place, frame] of FRAMES.entries())
      for (const name of Object.keys(frame)) {
        const { [name]: _, ...rest } = frame
        const lines = FRAMES.map((each, at) => (at === place ? rest : each)).map(
          (each) => `event: ${String(each['type'])}\ndata: ${JSON.stringify(each)}\n\n`,
        )
        expect(() => checkResponseStream(lines.join(''))).toThrow()
      }
  })
})

function textsOf({ content, summary }: Item): readonly unknown[] {
  const parts = (content ?? summary ?? []) as readonly { text?: string; refusal?: string }[]
  return parts.map(({ text, refusal }) => text ?? refusal)
}

function sealOf({ encrypted_content: seal }: Item): unknown {
  return readSealing(seal)
}

// The events that callers of this language see: their order, who waits for whom, and what the grammar of the tests
// would not let pass.
import { describe, expect, it } from 'bun:test'
import { checkFailedStream, checkMessageStream } from '../../../../test/fakes/message-grammar.ts'
import type { AnswerHead, Finish } from '../../../core/chat.ts'
import type { ChatEvent } from '../../../core/chat-event.ts'
import type { Usage } from '../../../core/usage.ts'
import { printSeal } from '../../seal.ts'
import { createEncoder } from './stream-encode.ts'

const HEAD: AnswerHead = {
  id: 'abc',
  model: 'maker/model',
  created: 1,
  supplier: 'shop',
  inputTokens: 12,
  asksUsage: false,
}
const USAGE: Usage = {
  inputTokens: 10,
  cachedTokens: 3,
  cacheWriteTokens: 2,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 7,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}

const START: ChatEvent = { kind: 'start' }
const BREAK: ChatEvent = { kind: 'break' }
const text = (said: string): ChatEvent => ({ kind: 'text', text: said })
const thinking = (said: string): ChatEvent => ({ kind: 'thinking', text: said })
const refusal = (said: string): ChatEvent => ({ kind: 'refusal', text: said })
const seal = (data: string): ChatEvent => ({ kind: 'seal', data })
const hidden = (data: string): ChatEvent => ({ kind: 'hidden', data })
const call = (place: number): ChatEvent => ({ kind: 'call', place, id: `c${place}`, name: 'f' })
const input = (place: number, json: string): ChatEvent => ({ kind: 'input', place, text: json })
const ends = (reason: Finish['reason'], stopText?: string): ChatEvent => ({
  kind: 'finish',
  finish: { reason, raw: 'x', ...(stopText === undefined ? {} : { stopText }) },
})

interface Data {
  readonly type: string
  readonly index?: number
  readonly content_block?: Readonly<Record<string, unknown>> & { readonly type: string }
  readonly delta?: {
    readonly text?: string
    readonly thinking?: string
    readonly partial_json?: string
    readonly signature?: string
  }
  readonly usage?: object
}

function readFrames(frames: string): readonly Data[] {
  const lines = frames.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => JSON.parse(line.slice('data: '.length)) as Data)
}

/** A short word for each frame of a block, such as `0+text`, `0:Hi` and `0-`. */
function brief(frames: string): string {
  return readFrames(frames).map(briefOf).join(' ')
}

function briefOf({ type, index, content_block: block, delta }: Data): string {
  if (type === 'content_block_start') return `${index}+${String(block?.type)}`
  if (type === 'content_block_stop') return `${index}-`
  if (type !== 'content_block_delta') return type
  const said = delta?.text ?? delta?.thinking ?? delta?.partial_json
  return `${index}:${said ?? (delta?.signature === sealed('') ? 'sealed empty' : 'sealed full')}`
}

function sealed(data: string): string {
  return printSeal(HEAD.supplier, data)
}

function stream(...events: readonly ChatEvent[]): string {
  const encoder = createEncoder(HEAD)
  return events.map((event) => encoder.encode(event)).join('') + encoder.end(USAGE)
}

/** The frames of the blocks of a whole stream. */
function blocks(...events: readonly ChatEvent[]): string {
  const whole = stream(...events)
  checkMessageStream(whole)
  return brief(whole)
    .replace(/^message_start ?/, '')
    .replace(/ ?message_delta message_stop$/, '')
}

/** What each event brings out at once. */
function step(...events: readonly ChatEvent[]): readonly string[] {
  const encoder = createEncoder(HEAD)
  encoder.encode(START)
  return events.map((event) => brief(encoder.encode(event)))
}

describe('a stream', () => {
  it('is told in whole frames, byte for byte', () => {
    const encoder = createEncoder({ ...HEAD, inputTokens: 0 })
    expect(encoder.encode(START)).toBe(
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_abc",' +
        '"type":"message","role":"assistant","model":"maker/model","content":[],' +
        '"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":0}}}\n\n',
    )
    expect(encoder.encode(text('H"\n'))).toBe(
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,' +
        '"content_block":{"type":"text","text":""}}\n\n' +
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,' +
        '"delta":{"type":"text_delta","text":"H\\"\\n"}}\n\n',
    )
    expect(encoder.encode(ends('stop', 'END'))).toBe('')
    expect(encoder.end({ ...USAGE, reasoningTokens: 4 })).toBe(
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}\n\n' +
        'event: message_delta\ndata: {"type":"message_delta",' +
        '"delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},' +
        '"usage":{"input_tokens":5,"cache_creation_input_tokens":2,"cache_read_input_tokens":3,' +
        '"output_tokens":7,"output_tokens_details":{"thinking_tokens":4}}}\n\n' +
        'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    )
  })

  it('begins with the first event, whatever it is', () => {
    const encoder = createEncoder(HEAD)
    expect(brief(encoder.encode(text('a')))).toBe('message_start 0+text 0:a')
    expect(encoder.encode(START)).toBe('')
    expect(brief(createEncoder(HEAD).end(USAGE))).toBe('message_start message_delta message_stop')
  })

  it.each<readonly [Finish['reason'] | undefined, string]>([
    ['end', 'end_turn'],
    ['stop', 'stop_sequence'],
    ['length', 'max_tokens'],
    ['window', 'model_context_window_exceeded'],
    ['tools', 'tool_use'],
    ['refusal', 'refusal'],
    ['pause', 'pause_turn'],
    [undefined, 'end_turn'],
  ])('that ends with %s says %s', (reason, word) => {
    const frames = stream(text('a'), ...(reason === undefined ? [] : [ends(reason)]))
    checkMessageStream(frames)
    const delta = readFrames(frames).at(-2)?.delta
    expect(delta as unknown).toEqual({ stop_reason: word, stop_sequence: null })
  })

  it('never tells less than no input', () => {
    const encoder = createEncoder(HEAD)
    const [delta] = readFrames(encoder.end({ ...USAGE, inputTokens: 1 })).slice(-2)
    expect(delta?.usage).toMatchObject({ input_tokens: 0, cache_read_input_tokens: 3 })
  })
})

describe('a block', () => {
  it('goes on until something else begins', () => {
    expect(step(text('a'), text(''), text('b'), thinking('c'), thinking('d'), text('e'))).toEqual([
      '0+text 0:a',
      '',
      '0:b',
      '0- 1+thinking 1:c',
      '1:d',
      '1:sealed empty 1- 2+text 2:e',
    ])
  })

  it('is another one after a break, or where a refusal follows', () => {
    expect(blocks(text('a'), BREAK, text('b'), refusal('c'), refusal('d'))).toBe(
      '0+text 0:a 0- 1+text 1:b 1- 2+text 2:c 2:d 2-',
    )
    expect(blocks(thinking('a'), BREAK, thinking('b'))).toBe(
      '0+thinking 0:a 0:sealed empty 0- 1+thinking 1:b 1:sealed empty 1-',
    )
  })

  it('does not begin with nothing', () => {
    expect(blocks(text(''), thinking(''), refusal(''), BREAK, seal(''))).toBe('')
  })
})

describe('what was thought', () => {
  it('is sealed with what its supplier wants back, marked as its own', () => {
    const frames = stream(thinking('a'), seal('sig'), text('b'))
    checkMessageStream(frames)
    const deltas = readFrames(frames).flatMap(({ delta }) => (delta === undefined ? [] : [delta]))
    expect<unknown[]>(deltas).toContainEqual({ type: 'signature_delta', signature: sealed('sig') })
    expect(brief(frames)).toContain('0:a 0:sealed full 0- 1+text')
  })

  it('goes on in another block once it is sealed', () => {
    expect(blocks(thinking('a'), seal('x'), thinking('b'))).toBe(
      '0+thinking 0:a 0:sealed full 0- 1+thinking 1:b 1:sealed empty 1-',
    )
  })

  it('and is hidden, or is a seal alone, is a block of its own', () => {
    const frames = stream(thinking('a'), seal('x'), seal('y'), call(0), hidden('z'), text('b'))
    const begun = readFrames(frames).flatMap(({ content_block: block }) =>
      block === undefined ? [] : [block],
    )
    expect(begun.filter(({ type }) => type === 'redacted_thinking')).toEqual([
      { type: 'redacted_thinking', data: sealed('y') },
      { type: 'redacted_thinking', data: sealed('z') },
    ])
    expect(begun.map(({ type }) => type)).toEqual([
      'thinking',
      'redacted_thinking',
      'tool_use',
      'redacted_thinking',
      'text',
    ])
    checkMessageStream(frames)
  })
})

describe('a call', () => {
  it('begins with its id, its name and no input', () => {
    const frames = stream(call(3), input(3, '{"a":1}'))
    expect(readFrames(frames)[1]).toEqual({
      type: 'content_block_start',
      index: 0,
      content_block: { type: 'tool_use', id: 'c3', name: 'f', input: {} },
    })
  })

  it('streams while it is the first, and the others wait for its last bracket', () => {
    expect(
      step(
        call(0),
        input(0, '{"a":'),
        call(1),
        input(1, '{"b":'),
        input(0, '"}"'),
        input(1, '[]'),
        input(0, '}'),
        input(1, '}'),
      ),
    ).toEqual(['0+tool_use', '0:{"a":', '', '', '0:"}"', '', '0:} 0- 1+tool_use 1:{"b":[]', '1:}'])
  })

  it('that is complete does not hold up the next', () => {
    expect(step(call(0), input(0, '{}'), call(1), input(1, '{}'), text('a'))).toEqual([
      '0+tool_use',
      '0:{}',
      '0- 1+tool_use',
      '1:{}',
      '1- 2+text 2:a',
    ])
  })

  it('holds up text and thoughts too, until it is complete', () => {
    expect(
      step(call(0), input(0, '{'), text('a'), text('b'), thinking('c'), seal('s'), input(0, '}')),
    ).toEqual(['0+tool_use', '0:{', '', '', '', '', '0:} 0- 1+text 1:ab 1- 2+thinking 2:c'])
  })

  it('without input has none, and those behind it come at the end', () => {
    expect(blocks(call(0), call(1), input(1, '{"a":1}'), text('b'))).toBe(
      '0+tool_use 0- 1+tool_use 1:{"a":1} 1- 2+text 2:b 2-',
    )
  })

  it.each(['null', '""', '[1]', ' \n', '7'])('with %j for an input has none', (json) => {
    expect(blocks(call(0), input(0, json))).toBe('0+tool_use 0-')
  })

  it('ends with its object, whatever follows it', () => {
    expect(blocks(call(0), input(0, '\n{"a":1} '), input(0, '{"a":2}'), text('b'))).toBe(
      '0+tool_use 0:{"a":1} 0- 1+text 1:b 1-',
    )
    expect(blocks(call(0), input(0, '{}'), call(1), input(0, 'x'), input(9, '{}'))).toBe(
      '0+tool_use 0:{} 0- 1+tool_use 1-',
    )
  })

  it('that is cut off is told as far as it came', () => {
    expect(blocks(call(0), input(0, '{"a'), call(1), input(1, '{"b'), ends('length'))).toBe(
      '0+tool_use 0:{"a 0- 1+tool_use 1:{"b 1-',
    )
  })

  it('comes in ten thousand pieces, mixed with another, in no time', () => {
    const encoder = createEncoder(HEAD)
    encoder.encode(call(0))
    encoder.encode(call(1))
    let frames = encoder.encode(input(1, '{"a":"')) + encoder.encode(input(0, '{"a":"'))
    for (let piece = 0; piece < 10_000; piece++)
      frames += encoder.encode(input(1, 'b'.repeat(100))) + encoder.encode(input(0, 'a'))
    frames += encoder.encode(input(1, '"}')) + encoder.encode(input(0, '"}')) + encoder.end(USAGE)
    expect(readFrames(frames).at(-4)?.delta?.partial_json).toHaveLength(1_000_008)
  })
})

describe('the grammar', () => {
  const GOOD = stream(
    thinking('a'),
    seal('s'),
    text('b'),
    call(0),
    input(0, '{"a":1}'),
    hidden('h'),
  )
  const frames = GOOD.split(/(?<=\n\n)/)

  it('lets comments and pings pass', () => {
    checkMessageStream(GOOD)
    checkMessageStream(`: hi\n\n${frames.join('event: ping\ndata: {"type":"ping"}\n\n')}`)
  })

  it('misses every frame but the input of a call', () => {
    for (const [place, frame] of frames.entries()) {
      const rest = frames.toSpliced(place, 1).join('')
      if (frame.includes('input_json_delta')) checkMessageStream(rest)
      else expect(() => checkMessageStream(rest)).toThrow('Not a stream of messages')
    }
  })

  it('wants them in order, and each once', () => {
    for (let place = 0; place + 1 < frames.length; place++) {
      const swapped = frames.toSpliced(place, 2, frames[place + 1]!, frames[place]!).join('')
      expect(() => checkMessageStream(swapped)).toThrow()
      const isRepeatable = /text_delta|thinking_delta/.test(frames[place]!)
      const twice = frames.toSpliced(place, 0, frames[place]!).join('')
      if (!isRepeatable) expect(() => checkMessageStream(twice)).toThrow()
    }
  })

  it('knows how a stream fails', () => {
    const error = 'event: error\ndata: {"type":"error","error":{"type":"api_error"}}\n\n'
    for (let place = 0; place < frames.length; place++)
      checkFailedStream(frames.slice(0, place).join('') + error)
    expect(() => checkFailedStream(GOOD + error)).toThrow()
    expect(() => checkFailedStream(frames.slice(0, 2).join(''))).toThrow()
    expect(() => checkMessageStream(frames.slice(0, 4).join('') + error)).toThrow('error')
    expect(() => checkMessageStream(`${GOOD}data: [DONE]\n\n`)).toThrow('not an event line')
  })
})

// What a model has put out is counted in bytes of text, the same on the fast road and on the slow one, and
// never as nothing where something was said. A stream that is cut off ends like one that was not.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type { StreamWatcher } from '../dialect.ts'
import { openaiChat } from './index.ts'

const { relay } = openaiChat
const encoder = new TextEncoder()
const decoder = new TextDecoder()

type Delta = Readonly<Record<string, unknown>>

function event(delta: Delta, fields: object = {}): object {
  return { id: 'c', choices: [{ index: 0, delta, finish_reason: null }], ...fields }
}

function watched(...events: readonly object[]): StreamWatcher {
  const watcher = relay.watch()
  for (const each of events) {
    const bytes = encoder.encode(JSON.stringify(each))
    watcher.see(bytes, 0, bytes.length)
  }
  return watcher
}

function countOf(...events: readonly object[]): number {
  return watched(...events).outputBytes()
}

const TOOL = { name: 'find', arguments: '{"a":\n1}' }

describe('the output of a stream', () => {
  it.each<readonly [Delta, number]>([
    [{ role: 'assistant', content: '' }, 0],
    [{ role: 'assistant', content: null, refusal: null, tool_calls: [] }, 0],
    [{ content: 'Hi' }, 2],
    [{ content: 'é\n"😀' }, 8],
    [{ refusal: 'No' }, 2],
    [{ reasoning: 'Hm', content: 'Hi' }, 4],
    [{ reasoning_content: 'Hm.' }, 3],
    [{ reasoning: 'Hm.', reasoning_content: 'Hm.' }, 3],
    [{ tool_calls: [{ index: 0, id: 'call_123', type: 'function', function: TOOL }] }, 12],
    [{ tool_calls: [{ index: 0, custom: { name: 'c', input: 'Hi' } }, { index: 1 }] }, 3],
    [{ function_call: TOOL }, 12],
    [{ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }, 2],
    [{ content: [{ type: 'text', text: 'Hi' }, 'é'] }, 4],
    [{ audio: { id: 'a', data: 'AAAAAAAA', transcript: 'Hi' } }, 2],
    [{ audio: { id: 'a', data: 'AAAAAAAA' } }, 1],
    [{ of_tomorrow: 5 }, 1],
  ])('in %j is %p bytes', (delta, bytes) => {
    expect(countOf(event(delta))).toBe(bytes)
  })

  it('adds up over events and choices', () => {
    const two = [0, 1].map((index) => ({ index, delta: { content: 'ab' } }))
    expect(countOf({ choices: two }, event({ content: 'c' }), { choices: [] })).toBe(5)
  })

  it('is counted in the event that ends the answer or tells the usage', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 }
    const last = { choices: [{ index: 0, delta: { content: 'ab' }, finish_reason: 'stop' }], usage }
    expect(countOf(last)).toBe(2)
  })

  it('is the same for events that are alike, whichever of them was read first', () => {
    const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.constantFrom('a', '"', '\\', '\n'))
    const delta = fc.oneof(
      { weight: 4, arbitrary: fc.record({ content: text }) },
      fc.record({ content: text, reasoning: fc.constantFrom('', 'Hm', null) }),
      fc.record({
        x: fc.record({ content: fc.constantFrom('1', '22', '333') }),
        content: fc.constantFrom('a', 'bb', 'ccc'),
      }),
      fc.record({ content: text, function_call: fc.constant(TOOL) }),
    )
    fc.assert(
      fc.property(fc.array(delta, { maxLength: 20 }), (deltas) => {
        const alone = deltas.map((each) => countOf(event(each)))
        expect(countOf(...deltas.map((each) => event(each)))).toBe(
          alone.reduce((sum, bytes) => sum + bytes, 0),
        )
      }),
      { numRuns: 1000 },
    )
  })

  it('in an event that is too long to be made into values is no less than its text', () => {
    const text = 'é\n'.repeat(400_000)
    const counted = countOf(event({ role: 'assistant', content: text }))
    expect(counted).toBeGreaterThanOrEqual(Buffer.byteLength(text))
    expect(counted).toBeLessThan(2 * Buffer.byteLength(text))
  })

  it('in a long event is not what stands beside the text', () => {
    const padding = 'x'.repeat(1_100_000)
    expect(countOf(event({ content: 'Hi' }, { padding }))).toBeLessThan(8)
    expect(countOf(event({ audio: { data: padding } }))).toBe(1)
    expect(countOf(event({ role: 'assistant', content: '' }, { padding }))).toBe(0)
  })
})

describe('the sound of a stream', () => {
  const sound = (data: string) => event({ audio: { id: 'a', data } })

  it('adds up over events, in bytes of sound and not of what it is written as', () => {
    expect(watched(event({ content: 'Hi' })).audioBytes()).toBe(0)
    expect(watched(sound('A'.repeat(8000)), sound('A'.repeat(400))).audioBytes()).toBe(6300)
  })

  it('is counted beside text that looks alike each time', () => {
    const spoken = event({ content: 'Hi', audio: { data: 'AAAA' } })
    expect(watched(spoken, spoken, spoken).audioBytes()).toBe(9)
  })
})

describe('a usage that is told more than once', () => {
  const told = (input: number, output: number) => ({
    usage: { prompt_tokens: input, completion_tokens: output },
  })

  it('is the largest of each figure', () => {
    const watcher = watched(
      { choices: [], ...told(11, 5) },
      { choices: [], ...told(3, 7) },
      { choices: [], ...told(0, 0) },
    )
    expect(watcher.usage()).toMatchObject({ inputTokens: 11, outputTokens: 7 })
  })

  it('is the last word only until something is put out', () => {
    expect(watched(event({ content: 'Hi' })).isUsageLast()).toBe(false)
    const watcher = watched(event({ content: 'Hi' }), event({ content: 'Ho' }, told(1, 2)))
    const see = (each: object): boolean => {
      const bytes = encoder.encode(JSON.stringify(each))
      watcher.see(bytes, 0, bytes.length)
      return watcher.isUsageLast()
    }
    expect(watcher.isUsageLast()).toBe(true)
    expect(see({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })).toBe(true)
    expect(see(event({ content: 'Oh' }))).toBe(false)
    expect(see({ choices: [], usage: { prompt_tokens: 'many' } })).toBe(false)
    expect(see({ choices: [], ...told(1, 3) })).toBe(true)
  })
})

describe('the output of an answer', () => {
  const outputOf = (answer: unknown) =>
    relay.read(encoder.encode(typeof answer === 'string' ? answer : JSON.stringify(answer)))
      .outputBytes
  const say = (message: Delta) => ({ index: 0, message, finish_reason: 'stop' })

  it('is what all of its choices say', () => {
    const choices = [
      say({ role: 'assistant', content: 'é\n', refusal: null, annotations: [] }),
      say({ role: 'assistant', content: null, reasoning: 'Hm', tool_calls: [{ function: TOOL }] }),
    ]
    expect(outputOf({ choices })).toBe(17)
    expect(outputOf({ usage: null, choices })).toBe(17)
    expect(outputOf({ choices, usage: { tokens: 5 } })).toBe(17)
  })

  it('is not counted where the supplier has', () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 }
    expect(outputOf({ choices: [say({ content: 'Hi' })], usage })).toBe(0)
  })

  it('may be sound', () => {
    const answer = { choices: [say({ content: null, audio: { data: 'AAAA', transcript: 'Hi' } })] }
    expect(relay.read(encoder.encode(JSON.stringify(answer)))).toMatchObject({
      outputBytes: 2,
      audioBytes: 3,
    })
  })

  it('is nothing only where nothing was said', () => {
    expect(outputOf({ choices: [say({ role: 'assistant', content: '' })] })).toBe(0)
    expect(outputOf({ choices: [say({ role: 'assistant', images: [{}] })] })).toBe(1)
  })

  it.each(['[{"text":"Hello"}]', '[5]', '[{"message":"Hello"}]', '[{"message":{}},{}]'])(
    'is all there is where nobody knows what it is: %s',
    (choices) => expect(outputOf(`{"choices": ${choices} }`)).toBe(choices.length),
  )

  it('that is too long to be made into values is no less than its text', () => {
    const text = 'x'.repeat(1_100_000)
    expect(outputOf({ choices: [say({ content: text })] })).toBeGreaterThanOrEqual(text.length)
  })
})

describe('a stream that is cut off', () => {
  const BASICS = { id: 'req_1', model: 'm', created: 1_700_000_000 }

  function read(bytes: Uint8Array): readonly unknown[] {
    const frames = decoder.decode(bytes).split('\n\n')
    expect(frames.splice(-2)).toEqual(['data: [DONE]', ''])
    return frames.map((frame) => JSON.parse(frame.slice('data: '.length)) as unknown)
  }

  it('ends with a reason and the closing marker', () => {
    expect(read(relay.cutOff(BASICS))).toEqual([
      {
        id: 'chatcmpl-req_1',
        object: 'chat.completion.chunk',
        created: 1_700_000_000,
        model: 'm',
        choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: 'length' }],
      },
    ])
  })

  it('gives its reason to each choice that has none', () => {
    const watcher = relay.watch()
    expect(watcher.openChoices()).toEqual([0])
    const see = (index: number, finish_reason: string | null) => {
      const choices = [{ index, delta: { content: 'a' }, finish_reason }]
      const bytes = encoder.encode(JSON.stringify({ choices }))
      watcher.see(bytes, 0, bytes.length)
    }
    see(0, null)
    see(1, 'stop')
    see(2, null)
    expect(read(relay.cutOff(BASICS, watcher.openChoices()))).toMatchObject([
      { choices: [{ index: 0 }, { index: 2 }] },
    ])
    see(0, 'stop')
    see(2, 'stop')
    expect(read(relay.cutOff(BASICS, watcher.openChoices()))).toEqual([])
  })

  it('is whole to whoever watches it', () => {
    const watcher = relay.watch()
    const [chunk] = read(relay.cutOff(BASICS))
    const bytes = encoder.encode(JSON.stringify(chunk))
    watcher.see(bytes, 0, bytes.length)
    expect(watcher.isFinished(1)).toBe(true)
  })
})

// A long event is judged as a short one of the same meaning would be, and whatever a supplier sends, only
// little of it is ever made into values.
import { afterAll, beforeEach, describe, expect, it, spyOn } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { openaiChat } from './index.ts'

const { relay } = openaiChat
const encoder = new TextEncoder()
const LONG = 'x'.repeat(1_100_000)
const USAGE = { prompt_tokens: 3, completion_tokens: 4 }

/** Kind, usage and end of a stream of this one event; or what it was refused as. */
function judge(event: string): unknown {
  const watcher = relay.watch()
  const bytes = encoder.encode(event)
  try {
    const kind = watcher.see(bytes, 0, bytes.length)
    const isFinished = watcher.isFinished(1)
    return { kind, isFinished, usage: watcher.usage(), isUnread: watcher.hasUnreadUsage() }
  } catch (thrown) {
    return thrown instanceof GatewayError ? thrown.code : thrown
  }
}

const parse = spyOn(JSON, 'parse')
beforeEach(() => void parse.mockClear())
afterAll(() => parse.mockRestore())

/** The longest text that was made into values. */
function longestParsed(): number {
  return Math.max(0, ...parse.mock.calls.map(([text]) => text.length))
}

describe('a long event', () => {
  const choice = (fields: object) => ({ choices: [{ index: 0, ...fields }] })
  it.each([
    choice({ delta: { role: 'assistant', content: 'Hi' } }),
    choice({ delta: { role: 'assistant', content: '' } }),
    choice({ delta: { role: 'assistant', content: null, tool_calls: [] } }),
    choice({ delta: { tool_calls: [{ index: 0, id: 'a' }] } }),
    choice({ delta: { content: 'Hi' }, finish_reason: 'stop' }),
    choice({ delta: {}, finish_reason: '' }),
    choice({ delta: null, finish_reason: null }),
    { choices: [{ delta: { content: 'Hi' }, finish_reason: 'stop' }, { index: 1 }, 5] },
    { choices: [], usage: USAGE },
    { ...choice({ delta: {}, finish_reason: 'stop' }), usage: USAGE },
    { choices: [], usage: { prompt_tokens: '3' } },
    { choices: null, usage: null },
    { choices: 'none', error: null },
    { error: { message: 'Busy' } },
    { object: 'error', message: 'Busy' },
    { object: 'chunk', choices: [] },
    {},
  ])('is taken for what it is: %j', (event) => {
    const judged = judge(JSON.stringify({ ...event, padding: LONG }))
    expect(longestParsed()).toBeLessThan(65_536)
    expect(judged).toEqual(judge(JSON.stringify(event)))
  })

  it('may be content through and through', () => {
    expect(judge(JSON.stringify(choice({ delta: { content: LONG } })))).toMatchObject({
      kind: 'content',
    })
    expect(longestParsed()).toBe(0)
  })

  it('that is broken is refused', () => {
    const event = JSON.stringify({ choices: [], padding: LONG })
    for (const broken of [event.slice(0, -1), `${event}}`, `[${event}]`, JSON.stringify(LONG)])
      expect(judge(broken)).toBe('stream_error')
  })

  it('with more parts than can be read in good time is refused', () => {
    expect(judge(`{"choices":[],"x":[${'[],'.repeat(500_000)}0]}`)).toBe(
      'provider_response_too_large',
    )
    expect(judge(`{"choices":[${'{"index":0,"delta":{}},'.repeat(250_001)}0]}`)).toBe(
      'provider_response_too_large',
    )
  })

  it('with an endless usage has one that was not read', () => {
    const usage = { ...USAGE, padding: LONG }
    expect(judge(JSON.stringify({ choices: [], usage }))).toMatchObject({
      usage: undefined,
      isUnread: true,
    })
  })
})

describe('a long answer', () => {
  const read = (text: string): unknown => {
    try {
      return relay.read(encoder.encode(text))
    } catch (thrown) {
      return thrown instanceof GatewayError ? thrown.code : thrown
    }
  }

  it('with an endless usage has one that was not read', () => {
    const usage = `{"prompt_tokens":3,"completion_tokens":4,"padding":"${LONG}"}`
    expect(read(`{"choices":[{}],"usage":${usage}}`)).toMatchObject({
      usage: undefined,
      hasUnreadUsage: true,
    })
    expect(longestParsed()).toBeLessThan(65_536)
  })

  it('with more parts than can be read in good time is refused', () => {
    expect(read(`{"choices":[{}],"x":[${'0,'.repeat(2_000_000)}0]}`)).toBe(
      'provider_response_too_large',
    )
    expect(read(`{"choices":[{}],"x":{${'"":0,'.repeat(3_000_000)}"":0}}`)).toBe(
      'provider_response_too_large',
    )
  })
})

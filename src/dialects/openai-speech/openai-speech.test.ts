// Speech requests: what is read of them, what each may cost at the most, and what a supplier gets to see.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { asSoundDetail } from '../sound.ts'
import type { Facts, Rewrite } from '../dialect.ts'
import { openaiSpeech } from './index.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const HELLO = { model: 'voice-1', input: 'Hello there.' }
const SAME: Rewrite = { model: 'voice-1', usage: 'never' }

function peek(body: object | string): Facts {
  return openaiSpeech.peek(encoder.encode(typeof body === 'string' ? body : JSON.stringify(body)))
}

function refusal(body: object | string): GatewayError {
  try {
    peek(body)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
  }
  throw new Error('it was taken')
}

function patch(body: string, rewrite: Partial<Rewrite> = {}): string {
  const bytes = encoder.encode(body)
  const facts = openaiSpeech.peek(bytes)
  return decoder.decode(openaiSpeech.relay.patch(bytes, facts, { ...SAME, ...rewrite }))
}

function costOf(changes: object): { readonly most: number; readonly likely: number } {
  const { load, detail } = peek({ ...HELLO, ...changes })
  return { most: load.maxTokens ?? 0, likely: asSoundDetail(detail).audioTokens }
}

describe('what is read', () => {
  it('is the model, the region, the session and the format of the sound', () => {
    const facts = peek({
      ...HELLO,
      region: 'eu',
      metadata: { session_id: 's-1' },
      response_format: 'wav',
    })
    expect(facts).toMatchObject({
      model: 'voice-1',
      region: 'EU',
      sessionId: 's-1',
      stream: false,
      answersSound: true,
      detail: { contentType: 'audio/wav' },
    })
    expect(peek(HELLO).detail).toMatchObject({ contentType: 'audio/mpeg' })
    expect(peek({ ...HELLO, response_format: null }).detail).toMatchObject({
      contentType: 'audio/mpeg',
    })
  })

  it.each([
    ['Hello there.', 12],
    ['Grüße', 5],
    ['🙂🙂', 2],
    ['日本語', 3],
    ['a\n"b"', 5],
  ])('counts the code points of %p', (input, characters) => {
    expect(peek({ ...HELLO, input }).load.units).toEqual({ characters })
  })

  it('counts what is escaped as what it stands for', () => {
    const body = String.raw`{"model":"m","input":"\ud83d\ude42\u00e9"}`
    expect(peek(body).load.units).toEqual({ characters: 2 })
  })

  it('takes 4096 code points, however they are written, and not one more', () => {
    const pair = String.raw`\ud83d\ude42`
    const escaped = (count: number): string => `{"model":"m","input":"${pair.repeat(count)}"}`
    expect(peek({ ...HELLO, input: '🙂'.repeat(4096) }).load.units).toEqual({ characters: 4096 })
    expect(peek(escaped(4096)).load.units).toEqual({ characters: 4096 })
    for (const body of [
      { ...HELLO, input: 'x'.repeat(4097) },
      { ...HELLO, input: '🙂'.repeat(4097) },
      { ...HELLO, input: 'x'.repeat(1_000_000) },
      escaped(4097),
    ]) {
      const { code, param, message } = refusal(body)
      expect([code, param]).toEqual(['validation_error', 'input'])
      expect(message).toContain('code points')
    }
  })

  it('takes null for absence', () => {
    const nulls = { voice: null, speed: null, stream: null, instructions: null, region: null }
    expect(peek({ ...HELLO, ...nulls }).load.units).toEqual({ characters: 12 })
  })

  it.each(['alloy', 'Fritz-PlayAI', 'laidback woman', 'af_bella(2)+af_sky(1)', 'Zoë', 'x.1'])(
    'takes the voice %p, as a name or as an object',
    (voice) => {
      peek({ ...HELLO, voice })
      peek({ ...HELLO, voice: { id: voice } })
    },
  )
})

describe('what is refused', () => {
  it.each([
    [{ model: 'm' }, 'missing_prompt', 'input'],
    [{ ...HELLO, input: '' }, 'missing_prompt', 'input'],
    [{ ...HELLO, input: null }, 'missing_prompt', 'input'],
    [{ ...HELLO, input: ' \n\t\u00a0' }, 'validation_error', 'input'],
    [{ ...HELLO, input: ['Hello'] }, 'validation_error', 'input'],
    [{ input: 'Hello' }, 'missing_model', 'model'],
    [{ ...HELLO, voice: '../x' }, 'validation_error', 'voice'],
    [{ ...HELLO, voice: '' }, 'validation_error', 'voice'],
    [{ ...HELLO, voice: '..' }, 'validation_error', 'voice'],
    [{ ...HELLO, voice: 'x'.repeat(65) }, 'validation_error', 'voice'],
    [{ ...HELLO, voice: 1 }, 'validation_error', 'voice'],
    [{ ...HELLO, voice: {} }, 'validation_error', 'voice.id'],
    [{ ...HELLO, voice: { id: '../x' } }, 'validation_error', 'voice.id'],
    [{ ...HELLO, voice: { id: 7 } }, 'validation_error', 'voice.id'],
    [{ ...HELLO, response_format: 1 }, 'validation_error', 'response_format'],
    [{ ...HELLO, response_format: 'opus' }, 'validation_error', 'response_format'],
    [{ ...HELLO, response_format: 'MP3' }, 'validation_error', 'response_format'],
    [{ ...HELLO, speed: 4.01 }, 'validation_error', 'speed'],
    [{ ...HELLO, speed: 0.24 }, 'validation_error', 'speed'],
    [{ ...HELLO, speed: '1' }, 'validation_error', 'speed'],
    [{ ...HELLO, instructions: 5 }, 'validation_error', 'instructions'],
    [{ ...HELLO, stream: true }, 'unsupported_parameter', 'stream'],
    [{ ...HELLO, stream: 'true' }, 'validation_error', 'stream'],
    [{ ...HELLO, stream_format: 'sse' }, 'unsupported_parameter', 'stream_format'],
    [{ ...HELLO, stream_format: 'x' }, 'validation_error', 'stream_format'],
    [{ ...HELLO, api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
    [{ ...HELLO, fallbacks: ['x'] }, 'unsupported_parameter', 'fallbacks'],
  ])('%p is %s', (body, code, param) => {
    const error = refusal(body)
    expect([error.code, error.param]).toEqual([code, param])
  })

  it('is a text that is spelled twice, since a supplier might read the other one', () => {
    expect(refusal('{"model":"m","input":"a","input":"b"}').param).toBe('input')
    expect(refusal(String.raw`{"model":"m","input":"a","inpu\u0074":"b"}`).param).toBe('input')
    expect(refusal('{"model":"m","voice":{"id":"a","ID":"b"},"input":"a"}').code).toBe(
      'validation_error',
    )
  })

  it('says which formats there are', () => {
    const { message } = refusal({ ...HELLO, response_format: 'flac' })
    expect(message).toContain('mp3 or wav')
  })
})

describe('what it can cost', () => {
  it('is at least what it is likely to cost, at every speed and in every script', () => {
    for (const text of ['x', 'Hello there. ', '日本語', '🙂', 'Привет'])
      for (const times of [1, 10, 1000])
        for (const speed of [0.25, 1, 4]) {
          const { most, likely } = costOf({ input: text.repeat(times).slice(0, 4096), speed })
          expect(most).toBeGreaterThan(likely)
        }
  })

  it('grows as the speech gets slower, and does not shrink because somebody wishes it fast', () => {
    expect(costOf({ speed: 0.25 }).most).toBe(4 * costOf({}).most)
    expect(costOf({ speed: 4 }).most).toBe(costOf({}).most)
    expect(costOf({ speed: 0.5 }).likely).toBeGreaterThan(costOf({}).likely)
  })

  it('is likely what was measured of prose', () => {
    const { likely } = costOf({ input: 'x'.repeat(4096) })
    expect(likely).toBe(5376)
  })

  it('counts the text and the instructions as read, and nothing else of the body', () => {
    const { load } = peek({ ...HELLO, instructions: 'Whisper.', user: 'x'.repeat(1000) })
    expect(load.bytes).toBe(12 + 8)
  })
})

describe('what a supplier gets', () => {
  it('is the very same bytes where nothing has to change', () => {
    const body = '{ "model" : "voice-1", "input":"Hi \\u00e9", "voice":{"id":"v"}, "other": [1] }'
    expect(patch(body)).toBe(body)
  })

  it('has its own name of the model, and nothing of what is meant for the gateway', () => {
    const body =
      '{"region":"EU","model":"voice-1","input":"Hi","metadata":{"session_id":"s","own":1}}'
    expect(patch(body, { model: 'up"1' })).toBe(
      String.raw`{"model":"up\"1","input":"Hi","metadata":{"own":1}}`,
    )
    const spent = '{"model":"voice-1","input":"Hi","metadata":{"sticky_key":"s"},"region":null}'
    expect(patch(spent)).toBe('{"model":"voice-1","input":"Hi"}')
  })

  it('has what it demands, and not what it refuses', () => {
    const quirks = {
      default: { voice: 'alloy' },
      drop: ['speed'],
      rename: { instructions: 'style' },
    }
    expect(openaiSpeech.relay.findFault?.({ usage: 'never', ...quirks })).toBeUndefined()
    const body = '{"model":"voice-1","input":"Hi","speed":1.5,"instructions":"Whisper."}'
    expect(JSON.parse(patch(body, quirks))).toEqual({
      model: 'voice-1',
      input: 'Hi',
      style: 'Whisper.',
      voice: 'alloy',
    })
    expect(JSON.parse(patch('{"model":"voice-1","input":"Hi","voice":"echo"}', quirks))).toEqual({
      model: 'voice-1',
      input: 'Hi',
      voice: 'echo',
    })
    expect(openaiSpeech.relay.findFault?.({ usage: 'never', drop: ['input'] })).toBeDefined()
  })
})

describe('an answer that can be read', () => {
  function read(text: string): GatewayError {
    try {
      openaiSpeech.relay.read(encoder.encode(text))
    } catch (thrown) {
      if (thrown instanceof GatewayError) return thrown
    }
    throw new Error('it was taken')
  }

  it.each(['{}', '{"audio":"UklGRg=="}', '<html>', '{"error":{"message":"out of order"}}'])(
    '%p is no sound',
    (text) => expect(read(text).code).toBe('upstream_invalid_response'),
  )

  it('is told where it blames the request', () => {
    const error = read('{"error":{"message":"no such voice","code":400}}')
    expect([error.status, error.message]).toEqual([400, 'no such voice'])
  })

  it('is empty', () => {
    expect(read('').code).toBe('empty_response')
  })
})

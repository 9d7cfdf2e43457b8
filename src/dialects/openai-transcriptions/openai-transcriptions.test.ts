// The language of transcriptions by itself: what answers are taken for, what quirks do to a form, and which languages
// there are.
import { describe, expect, it } from 'bun:test'
import { fieldsOf } from '../../../test/fakes/forms.ts'
import { wav } from '../../../test/fakes/audio-files.ts'
import type { Form } from '../../core/form.ts'
import { GatewayError } from '../../core/problem.ts'
import type { AnswerFacts, Facts, OutgoingForm, Rewrite } from '../dialect.ts'
import { openaiTranscriptions } from './index.ts'
import { LANGUAGES } from './languages.ts'

const { relay } = openaiTranscriptions
const SPEECH = wav({ frames: 16_001 })
const encoder = new TextEncoder()

function formOf(fields: Readonly<Record<string, string>>): Form {
  const entries = Object.entries({ model: 'm', ...fields })
  return {
    fields: new Map(entries),
    entries,
    fileField: 'file',
    file: {
      name: 'x',
      type: 'x/y',
      bytes: SPEECH.length,
      head: SPEECH.subarray(0, 100),
      read: (from, length) => Promise.resolve(SPEECH.subarray(from, from + length)),
    },
  }
}

function peek(fields: Readonly<Record<string, string>> = {}): Promise<Facts> {
  return openaiTranscriptions.peekForm!(formOf(fields), undefined)
}

async function read(answer: unknown, format = 'json'): Promise<AnswerFacts | string> {
  const facts = await peek({ response_format: format })
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer)
  try {
    return relay.read(encoder.encode(text), facts)
  } catch (thrown) {
    if (!(thrown instanceof GatewayError)) throw thrown
    return thrown.wireCode
  }
}

async function patched(
  fields: Readonly<Record<string, string>>,
  quirks: Partial<Rewrite>,
): Promise<ReturnType<typeof fieldsOf>> {
  const form = formOf(fields)
  const facts = await openaiTranscriptions.peekForm!(form, undefined)
  const sent = relay.patchForm!(form, facts, { usage: 'ask', model: 'theirs', ...quirks })
  return fieldsOf(await readBack(sent))
}

async function readBack({ body, headers }: OutgoingForm): Promise<FormData> {
  const bytes = await new Response(body.open()).bytes()
  expect(bytes.length).toBe(body.bytes)
  return (await new Response(bytes, { headers }).formData()) as FormData
}

describe('a request', () => {
  it('is held for the seconds that have begun, the sound and the words beside it', async () => {
    const { load, stream, region, model } = await peek({ prompt: 'é', region: 'eu' })
    expect(load.units).toEqual({ seconds: 2 })
    expect(load.audioBytes).toBe(SPEECH.length)
    expect(load.bytes).toBeGreaterThanOrEqual(2)
    expect([stream, region, model]).toEqual([false, 'EU', 'm'])
  })

  it('can be sent again as it was', async () => {
    const form = formOf({ prompt: 'x' })
    const facts = await openaiTranscriptions.peekForm!(form, undefined)
    const sent = relay.patchForm!(form, facts, { usage: 'ask', model: 'theirs' })
    const first = await new Response(sent.body.open()).bytes()
    expect(await new Response(sent.body.open()).bytes()).toEqual(first)
  })

  it('knows the 183 languages', () => {
    expect(LANGUAGES.size).toBe(183)
    for (const language of ['en', 'de', 'ja', 'zh', 'zu', 'aa', 'yi'])
      expect(LANGUAGES).toContain(language)
    for (const other of ['xx', 'EN', 'e', 'eng', 'iw']) expect(LANGUAGES).not.toContain(other)
  })
})

describe('a quirk', () => {
  it('drops, renames and adds', async () => {
    const quirks = {
      drop: ['temperature'],
      rename: { prompt: 'context_bias' },
      default: { diarize: true, language: 'en', deep: { x: 1 } },
    }
    expect(await patched({ prompt: 'p', temperature: '0', language: 'de' }, quirks)).toEqual([
      ['model', 'theirs'],
      ['context_bias', 'p'],
      ['language', 'de'],
      ['diarize', 'true'],
    ])
  })

  it.each([
    [{ drop: ['model'] }, ['drop', 0]],
    [{ drop: ['response_format'] }, ['drop', 0]],
    [{ rename: { x: 'model' } }, ['rename', 'x']],
    [{ default: { stream: true } }, ['default', 'stream']],
    [{ default: { api_key: 'x' } }, ['default', 'api_key']],
  ])('may not touch what admission relies on: %p', (quirks, path) => {
    expect(relay.findFault!({ usage: 'ask', ...quirks })?.path).toEqual(path)
  })
})

describe('an answer', () => {
  it('tells tokens, of which some are sound', async () => {
    const usage = {
      type: 'tokens',
      input_tokens: 20,
      output_tokens: 5,
      input_token_details: { audio_tokens: 15 },
    }
    expect(await read({ text: 'x', usage })).toMatchObject({
      usage: { inputTokens: 20, audioInputTokens: 15, outputTokens: 5 },
      hasUnreadUsage: false,
    })
  })

  it.each([
    [{ usage: { type: 'duration', seconds: 3.01 } }, 4],
    [{ usage: { prompt_audio_seconds: 7, prompt_tokens: 1 } }, 7],
    [{ duration: '8.1', segments: [] }, 9],
    [{ duration: 8 }, 8],
  ])('tells seconds: %p', async (fields, seconds) => {
    expect(await read({ text: 'x', ...fields })).toMatchObject({ usage: { units: { seconds } } })
  })

  it.each([
    ['nothing', {}, false],
    ['no time at all', { duration: 0 }, false],
    ['no number', { usage: { seconds: 'long' } }, true],
    ['less than nothing', { usage: { seconds: -1 } }, true],
    ['more than can be', { duration: 1e300 }, true],
  ])('may tell %s', async (_, fields, hasUnreadUsage) => {
    expect(await read({ text: 'xyz', ...fields })).toEqual({
      usage: undefined,
      outputBytes: 3,
      audioBytes: 0,
      hasUnreadUsage,
    })
  })

  it.each([
    ['', 'json', 'empty_response'],
    [' ', 'json', 'empty_response'],
    ['{}', 'json', 'empty_response'],
    ['{"text":', 'json', 'upstream_invalid_response'],
    ['{"text":7}', 'json', 'upstream_invalid_response'],
    ['{"language":"en"}', 'verbose_json', 'upstream_invalid_response'],
    ['Hello.', 'json', 'non_json_provider_response'],
    ['["text"]', 'json', 'non_json_provider_response'],
    ['{"error":{"code":"busy","message":"x"}}', 'text', 'busy'],
    ['<!DOCTYPE html><p>down', 'text', 'non_json_provider_response'],
    ['', 'text', 'empty_response'],
    ['Hello.', 'vtt', 'upstream_invalid_response'],
    ['Hello.', 'srt', 'upstream_invalid_response'],
  ])('is none: %p for %s', async (answer, format, code) => {
    expect(await read(answer, format)).toBe(code)
  })

  it.each([
    ['\n', 'text'],
    ['Hello.', 'text'],
    ['{ said the man', 'text'],
    ['\n', 'srt'],
    ['\uFEFFWEBVTT\n', 'vtt'],
  ])('is one: %p for %s', async (answer, format) => {
    expect(await read(answer, format)).toMatchObject({ usage: undefined, hasUnreadUsage: false })
  })
})

// What a request can cost beyond its text is seen wherever it stands; what nobody can bound is named, and text
// alone is never taken for more than it is.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type { Load } from '../../core/load.ts'
import { peek } from './peek.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const MESSAGES = '[{"role":"user","content":"Hi"}]'

function load(text: string): Load {
  return peek(encoder.encode(text)).load
}

/** Of a request with more members behind. */
function withMembers(members: string): Load {
  return load(`{"model":"m","messages":${MESSAGES}${members === '' ? '' : `,${members}`}}`)
}

function withMessages(...messages: readonly string[]): Load {
  return load(`{"model":"m","messages":[${messages.join()}]}`)
}

function withParts(...parts: readonly string[]): Load {
  return withMessages(`{"role":"user","content":[${parts.join()}]}`)
}

const NOTHING = {
  images: 0,
  inline: [],
  audioBytes: 0,
  maxTokens: undefined,
  choices: 1,
  thinkingTokens: 0,
  predictedBytes: 0,
  asksAudio: false,
  writesLong: false,
  elsewhere: undefined,
  unbounded: undefined,
}

const TEXT = '{"type":"text","text":"Hi"}'
const PIXEL = 'data:image/png;base64,iVBORw0KGgo='

function image(url: string): string {
  return `{"type":"image_url","image_url":{"url":"${url}","detail":"high"}}`
}

function audio(data: string): string {
  return `{"type":"input_audio","input_audio":{"data":"${data}","format":"wav"}}`
}

describe('the load of a request', () => {
  it('is its text and its messages, where it has nothing else', () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"é"},{"role":"user","content":[${TEXT}]}]}`
    expect(load(text)).toEqual({ ...NOTHING, bytes: Buffer.byteLength(text), messages: 2 })
  })

  it('knows the limits that the caller sets', () => {
    expect(withMembers('"max_tokens":5,"n":3')).toMatchObject({ maxTokens: 5, choices: 3 })
    expect(withMembers('"max_tokens":5,"max_completion_tokens":9').maxTokens).toBe(9)
  })

  it.each([
    TEXT,
    '{"text":"Hi"}',
    '{"type":null,"text":"Hi"}',
    '{"type":"refusal","refusal":"No."}',
    '{"type":"thinking","thinking":"Hm.","signature":"x"}',
    '{"type":"text","text":"see data:image/png;base64,AAAA and {\\"cache_control\\":1}"}',
  ])('is no more than text in the part %s', (part) => {
    expect(withParts(part)).toMatchObject(NOTHING)
  })

  it.each([
    ['', '"content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f"}}]'],
    ['', '"content":"Hi","reasoning_content":"Hm.","audio":null,"images":[]'],
    ['', '"content":"Hi","name":"file","of_tomorrow":{"type":"file"}'],
  ])('is no more than text in a message%s with %s', (_, members) => {
    expect(withMessages(`{"role":"assistant",${members}}`)).toMatchObject(NOTHING)
  })
})

describe('images', () => {
  it.each([
    image('https://example.com/a.png'),
    image(PIXEL),
    '{"type":"image_url","image_url":"https://example.com/a.png"}',
    '{"image_url":{"url":"https://example.com/a.png"},"type":"image_url"}',
    '{"type":"input_image","image_url":"https://example.com/a.png"}',
    '{"type":"image","source":{"type":"base64","data":"AAAA"}}',
    '{"type":"image_url"}',
    '{"image_url":{"url":"https://example.com/a.png"}}',
  ])('are counted: %s', (part) => {
    expect(withParts(TEXT, part)).toMatchObject({ images: 1, elsewhere: undefined })
  })

  it('of a model that are handed back are counted', () => {
    const made = `"images":[${image(PIXEL)},${image(PIXEL)}]`
    expect(withMessages(`{"role":"assistant","content":"Hi",${made}}`).images).toBe(2)
  })

  it.each([
    'data:application/pdf;base64,AAAA',
    'data:video/mp4;base64,AAAA',
    'gs://bucket/film.mp4',
    'ms://file-1',
    'data\\u003aapplication/pdf;base64,AAAA',
    'file-abc',
  ])('are not what stands at %s', (url) => {
    expect(withParts(image(url)).elsewhere).toBe('messages[0].content[0].image_url.url')
  })
})

describe('inline bytes', () => {
  function inlineOf(text: string): readonly string[] {
    const body = encoder.encode(text)
    return peek(body).load.inline.map(({ from, to }) => decoder.decode(body.subarray(from, to)))
  }

  it('are found wherever they stand, and nothing beside them', () => {
    const escaped = 'DATA:image\\/png;base64,iV\\/B'
    const file =
      '{"type":"file","file":{"filename":"é","file_data":"data:application/pdf;base64,JVBE"}}'
    const parts = [image(PIXEL), TEXT, `{"image_url" :\t"${escaped}"}`, audio('UklGRg=='), file]
    const content = parts.join(' , ')
    expect(
      inlineOf(`{ "model":"m","messages":[{"content":[ ${content} ],"role":"user"}]}`),
    ).toEqual([PIXEL, escaped, 'UklGRg==', 'data:application/pdf;base64,JVBE'])
  })

  it('of sound are counted as what they stand for', () => {
    const data = Buffer.alloc(300).toString('base64')
    expect(withParts(audio(data), audio(data))).toMatchObject({
      audioBytes: 600,
      elsewhere: undefined,
    })
    // By a client that escapes what need not be.
    expect(withParts(audio('\\/\\/uQxAAA')).elsewhere).toBeUndefined()
    expect(withParts(`{"type":"input_audio","input_audio":"${data}"}`)).toMatchObject({
      audioBytes: 300,
      elsewhere: undefined,
    })
  })

  it('of any mix of parts add up', () => {
    const part = fc.oneof(
      fc.base64String({ maxLength: 40 }).map((data) => ({
        text: image(`data:image/jpeg;base64,${data}`),
        images: 1,
        inline: [`data:image/jpeg;base64,${data}`],
        audioBytes: 0,
      })),
      fc.base64String({ minLength: 4, maxLength: 40 }).map((data) => ({
        text: audio(data),
        images: 0,
        inline: [data],
        audioBytes: (data.length * 3) / 4,
      })),
      fc.string({ unit: 'grapheme' }).map((text) => ({
        text: JSON.stringify({ type: 'text', text }),
        images: 0,
        inline: [],
        audioBytes: 0,
      })),
    )
    const messages = fc.array(fc.array(part, { maxLength: 5 }), { minLength: 1, maxLength: 5 })
    fc.assert(
      fc.property(messages, (all) => {
        const parts = all.flat()
        const list = all.map(
          (each) => `{"role":"user","content":[${each.map(({ text }) => text).join()}]}`,
        )
        const text = `{"messages":[${list.join()}],"model":"m"}`
        expect(load(text)).toMatchObject({
          messages: all.length,
          images: parts.reduce((sum, each) => sum + each.images, 0),
          audioBytes: parts.reduce((sum, each) => sum + each.audioBytes, 0),
          elsewhere: undefined,
        })
        expect(inlineOf(text)).toEqual(parts.flatMap(({ inline }) => inline))
      }),
    )
  })
})

describe('what stands elsewhere', () => {
  const place = 'messages[0].content[1]'
  it.each([
    ['a file by its id', '{"type":"file","file":{"file_id":"f"}}', `${place}.file`],
    ['a file', '{"type":"file","file":{"file_data":"data:a;base64,AA=="}}', `${place}.file`],
    ['a file beside a text', '{"type":"text","text":"a","file":{}}', `${place}.file`],
    ['a file in another shape', '{"type":"file","file_id":"f"}', place],
    ['a document', '{"type":"document_url","document_url":"https://a/"}', place],
    ['a film', '{"type":"video_url","video_url":{"url":"https://a/"}}', place],
    ['a film without its kind', '{"video_url":{"url":"https://a/"}}', place],
    ['a film beside a text', '{"text":"a","video_url":{"url":"https://a/"}}', place],
    ['a film that is called so in escapes', '{"type":"vide\\u006f","text":"a"}', place],
    ['nothing at all', '{}', place],
    ['sound at an address', audio('https://a/b.wav'), `${place}.input_audio.data`],
    ['sound at an escaped address', audio('\\u0068ttps://a/b.wav'), `${place}.input_audio.data`],
    [
      'sound at a long address',
      audio(`https://a/?${'x'.repeat(20_000)}`),
      `${place}.input_audio.data`,
    ],
    ['sound by its id', '{"type":"input_audio","input_audio":{"id":"a"}}', `${place}.input_audio`],
    ['sound that is none', '{"type":"input_audio","input_audio":5}', `${place}.input_audio`],
    ['sound in another shape', '{"type":"input_audio","audio":"AA=="}', place],
  ])('is named: %s', (_, part, field) => {
    expect(withParts(TEXT, part, '{"type":"of_tomorrow"}').elsewhere).toBe(field)
  })

  it('is named: an answer in sound, by its id', () => {
    const answer = '{"role":"assistant","content":null,"audio":{"id":"a"}}'
    expect(withMessages('{"role":"user","content":"Hi"}', answer).elsewhere).toBe(
      'messages[1].audio',
    )
  })

  it('is named: a conversation by its id', () => {
    expect(withMembers('"previous_response_id":"r"').elsewhere).toBe('previous_response_id')
  })
})

describe('what no number of tokens bounds', () => {
  it.each([
    ['web_search_options', '{}'],
    ['search_parameters', '{"mode":"auto"}'],
    ['enable_search', 'true'],
    ['plugins', '[{"id":"web"}]'],
    ['data_sources', '[{"type":"azure_search"}]'],
    ['preset', '"p"'],
    ['safety_model', '"s"'],
    ['deferred', 'true'],
    ['modalities', '["text","image"]'],
    ['modalities', '"image"'],
    ['modalities', '[{}]'],
    ['extra_body', '{"google":{"thinking_config":{},"cached_content":"c"}}'],
    ['extra_body', '{"google":5}'],
    ['extra_body', '{"max_tokens":1000000}'],
    ['extra_body', '"x"'],
  ])('is named: %s of %s', (field, value) => {
    expect(withMembers(`"${field}":${value}`).unbounded).toBe(field)
  })

  it.each([
    '"enable_search":false',
    '"plugins":[]',
    '"data_sources":[ ]',
    '"deferred":false',
    '"modalities":["text"]',
    '"extra_body":{}',
    '"extra_body":{"google":{"thinking_config":{"thinking_budget":5},"safety_settings":[]}}',
    '"tools":[]',
    '"tools":[{"type":"function","function":{"name":"f"}},{"type":"custom","custom":{"name":"c"}}]',
    '"tools":[{"function":{"name":"f"}},{"type":null,"function":{}},{"name":"f","parameters":{}}]',
    '"tools":[{"type":"functi\\u006fn","function":{"parameters":{"type":"web_search"}}}]',
    '"functions":[{"name":"web_search"}],"tool_choice":"auto","unknown":{"plugins":[1]}',
  ])('is not: %s', (members) => {
    expect(withMembers(members).unbounded).toBeUndefined()
  })

  it.each([
    '{"type":"web_search"}',
    '{"type":"code_interpreter","function":{"name":"f"}}',
    '{"type":"builtin_function","function":{"name":"$web_search"}}',
    '{"type":"FUNCTION","function":{}}',
    '{"type":5,"function":{}}',
    '{"googleSearch":{}}',
    '{}',
    '"web_search"',
  ])('is named: the tool %s', (tool) => {
    const own = '{"type":"function","function":{"name":"f"}}'
    expect(withMembers(`"tools":[${own},${tool},{"type":"mcp"}]`).unbounded).toBe('tools[1]')
  })
})

describe('output', () => {
  it('may be sound where that is asked for', () => {
    expect(withMembers('"modalities":["text","audio"]')).toMatchObject({ asksAudio: true })
    expect(withMembers('"modalities":["\\u0061udio"]').asksAudio).toBe(true)
    expect(withMembers('"audio":{"voice":"a","format":"wav"}').asksAudio).toBe(true)
    expect(withMembers('"modalities":["text"],"audio":null').asksAudio).toBe(false)
  })

  it('that is foretold has the length of what is foretold', () => {
    const prediction = '{"type":"content","content":"Hello"}'
    expect(withMembers(`"prediction" : ${prediction} `).predictedBytes).toBe(prediction.length)
  })
})

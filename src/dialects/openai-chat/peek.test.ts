// What admission reads of a chat request, and everything that it refuses: broken JSON, wrong fields, and
// every spelling that a supplier might read differently.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { COST_FIELDS } from './fields.ts'
import { peek } from './peek.ts'

const encoder = new TextEncoder()

const MESSAGES = '[{"role":"user","content":"Hi"}]'

/** A request that is whole, with more members behind. */
function request(members = ''): string {
  return `{"model":"m","messages":${MESSAGES}${members === '' ? '' : ','}${members}}`
}

function withMessages(messages: string): string {
  return `{"model":"m","messages":${messages}}`
}

function facts(text: string) {
  return peek(encoder.encode(text))
}

function thrownBy(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

function refusal(text: string | Uint8Array) {
  const body = typeof text === 'string' ? encoder.encode(text) : text
  const { status, code, param } = thrownBy(() => peek(body))
  return { status, code, param }
}

const invalid = (param?: string) => ({ status: 400, code: 'validation_error' as const, param })
const broken = { status: 400, code: 'invalid_json' as const, param: undefined }

describe('peek', () => {
  it('reads what admission needs', () => {
    const text = request(
      '"stream":true,"max_tokens":5,"n":3,"region":"eu","metadata":{"session_id":"s","sticky_key":"k"},' +
        '"stream_options":{"include_usage":true}',
    )
    expect(facts(text)).toMatchObject({
      model: 'm',
      stream: true,
      maxTokens: 5,
      choices: 3,
      region: 'EU',
      sessionId: 's',
      asksUsage: true,
    })
  })

  it.each([
    ['model', `{"model":"${'m'.repeat(257)}","messages":${MESSAGES}}`],
    ['model', `{"model":"${'m'.repeat(100_000)}","messages":${MESSAGES}}`],
    ['model', `{"model":"m\\ud800","messages":${MESSAGES}}`],
    ['region', request(`"region":"${'E'.repeat(65)}"`)],
    ['region', request(`"region":"${'\u00df'.repeat(100_000)}"`)],
    ['region', request('"region":"E U"')],
    ['metadata.session_id', request(`"metadata":{"session_id":"${'s'.repeat(100_000)}"}`)],
    ['max_tokens', request(`"max_tokens":${'1'.repeat(100_000)}`)],
  ])('takes no %s of any length or kind', (param, text) => {
    expect(refusal(text)).toEqual(invalid(param))
  })

  it('fills in what a request leaves out', () => {
    expect(facts(request())).toMatchObject({
      model: 'm',
      stream: false,
      maxTokens: undefined,
      choices: 1,
      region: undefined,
      sessionId: undefined,
      asksUsage: false,
    })
  })

  it.each([
    'stream',
    'stream_options',
    'max_tokens',
    'max_completion_tokens',
    'n',
    'temperature',
    'top_p',
    'region',
    'metadata',
    'tools',
    'response_format',
    ...COST_FIELDS,
  ])('takes null on `%s` for absence', (field) => {
    const withoutPlaces = (text: string) => {
      const { layout: _, load, ...read } = facts(text)
      return { ...read, load: { ...load, bytes: 0 } }
    }
    expect(withoutPlaces(request(`"${field}":null`))).toEqual(withoutPlaces(request()))
  })

  it('takes null inside metadata and stream options for absence', () => {
    const text = request('"metadata":{"session_id":null},"stream_options":{"include_usage":null}')
    expect(facts(text)).toMatchObject({ sessionId: undefined, asksUsage: false })
  })

  it('counts the looser of two names for one limit', () => {
    expect(facts(request('"max_tokens":5,"max_completion_tokens":9')).maxTokens).toBe(9)
    expect(facts(request('"max_completion_tokens":9,"max_tokens":5')).maxTokens).toBe(9)
  })

  it('prefers the session over the sticky key and ignores empty ones', () => {
    expect(facts(request('"metadata":{"sticky_key":"k","session_id":"s"}')).sessionId).toBe('s')
    expect(facts(request('"metadata":{"sticky_key":"k","session_id":""}')).sessionId).toBe('k')
    expect(facts(request('"metadata":{"sticky_key":"k"}')).sessionId).toBe('k')
  })

  it.each([
    ['{"role":"user","content":"a"}', ['"a"']],
    ['{"content":"a","role":"user"},{"role":"user","content":"b"}', ['"a"']],
    ['{"role":"system","content":"s"},{"role":"user","content":"a"}', ['"s"', '"a"']],
    [
      '{"role":"developer","content":[{"type":"text","text":"s"}]},{"role":"assistant","content":"x"},' +
        '{"role":"user","content":[{"text":"a","type":"text","cache_control":{}}]},{"role":"system","content":"t"}',
      ['"s"', '"x"', '"a"'],
    ],
    [
      '{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y"}}]}',
      ['{"url":"https://x/y"}'],
    ],
    ['{"role":"assistant","tool_calls":[]}', []],
  ])('finds the texts that %s begins with', (messages, texts) => {
    const text = withMessages(`[${messages}]`)
    const { opening } = facts(text)
    const found = opening.flatMap((from, index) =>
      index % 2 === 0 ? [text.slice(from, opening[index + 1])] : [],
    )
    expect(found).toEqual(texts)
  })

  it('reads escaped values as what they mean', () => {
    const text = `{"model":"\\u006d\\/x","messages":${MESSAGES},"region":"\\u0065u"}`
    expect(facts(text)).toMatchObject({ model: 'm/x', region: 'EU' })
  })

  it.each([
    ['nothing', '', broken],
    ['white space', ' \n', broken],
    ['a trailing comma', '{"model":"m",}', broken],
    ['a comma too many in a list', '{"model":"m","messages":[1,]}', broken],
    ['a byte order mark', `\ufeff${request()}`, broken],
    ['an end in the middle', request().slice(0, -1), broken],
    ['text after the end', `${request()}x`, broken],
    ['a second document', `${request()}${request()}`, broken],
    ['single quotes', "{'model':'m'}", broken],
    ['a comment', `{/* */"model":"m"}`, broken],
    ['NaN', request('"temperature":NaN'), broken],
    ['a leading zero', request('"n":01'), broken],
    ['a control character in a string', request('"user":"a\nb"'), broken],
    ['a broken escape', request('"user":"\\x41"'), broken],
    ['a list', '[]', invalid()],
    ['a number', '5', invalid()],
    ['null', 'null', invalid()],
    ['a string', '"x"', invalid()],
    ['200 levels', request(`"x":${'['.repeat(200)}${']'.repeat(200)}`), invalid()],
    [
      '100,000 members',
      request(Array.from({ length: 100_000 }, (_, index) => `"k${index}":1`).join()),
      invalid(),
    ],
  ])('refuses a body that is or has %s', (_, text, expected) => {
    expect(refusal(text)).toEqual(expected)
  })

  it('refuses bytes that are no UTF-8', () => {
    expect(refusal(Buffer.from(request('"user":"\xff"'), 'latin1'))).toEqual(broken)
  })

  it('takes 60 levels', () => {
    expect(facts(request(`"x":${'['.repeat(60)}${']'.repeat(60)}`)).model).toBe('m')
  })

  it('tells of broken JSON before it tells of a wrong field', () => {
    expect(refusal('{"model":5,"messages":[},')).toEqual(broken)
  })

  const missingModel = { status: 400, code: 'missing_model' as const, param: 'model' }
  const missingPrompt = { status: 400, code: 'missing_prompt' as const, param: 'messages' }

  it.each([
    ['{}', missingModel],
    [`{"messages":${MESSAGES}}`, missingModel],
    [`{"model":"","messages":${MESSAGES}}`, missingModel],
    [`{"model":null,"messages":${MESSAGES}}`, missingModel],
    [`{"model":["a","b"],"messages":${MESSAGES}}`, invalid('model')],
    [`{"model":5,"messages":${MESSAGES}}`, invalid('model')],
    [`{"model":{},"messages":${MESSAGES}}`, invalid('model')],
    ['{"model":"m"}', missingPrompt],
    ['{"model":"m","messages":null}', missingPrompt],
    ['{"model":"m","messages":[]}', missingPrompt],
    [withMessages('"Hi"'), invalid('messages')],
    [withMessages('{}'), invalid('messages')],
    [withMessages('[null]'), invalid('messages[0]')],
    [withMessages('["Hi"]'), invalid('messages[0]')],
    [withMessages('[{"content":"Hi"}]'), invalid('messages[0].role')],
    [withMessages('[{"role":"root","content":"Hi"}]'), invalid('messages[0].role')],
    [withMessages('[{"role":5,"content":"Hi"}]'), invalid('messages[0].role')],
    [withMessages('[{"role":"","content":"Hi"}]'), invalid('messages[0].role')],
    [withMessages('[{"role":"user"}]'), invalid('messages[0].content')],
    [withMessages('[{"role":"user","content":null}]'), invalid('messages[0].content')],
    [withMessages('[{"role":"user","content":5}]'), invalid('messages[0].content')],
    [withMessages('[{"role":"user","content":["a"]}]'), invalid('messages[0].content[0]')],
    [
      withMessages('[{"role":"user","content":"a"},{"role":"user"}]'),
      invalid('messages[1].content'),
    ],
    [request('"stream":"true"'), invalid('stream')],
    [request('"stream":1'), invalid('stream')],
    [request('"temperature":2.01'), invalid('temperature')],
    [request('"temperature":-0.1'), invalid('temperature')],
    [request('"temperature":"1"'), invalid('temperature')],
    [request('"temperature":1e999'), invalid('temperature')],
    [request('"top_p":1.5'), invalid('top_p')],
    [request('"top_p":-1'), invalid('top_p')],
    [request('"max_tokens":-5'), invalid('max_tokens')],
    [request('"max_tokens":0'), invalid('max_tokens')],
    [request('"max_tokens":1.5'), invalid('max_tokens')],
    [request('"max_tokens":"5"'), invalid('max_tokens')],
    [request('"max_tokens":1e400'), invalid('max_tokens')],
    [request('"max_completion_tokens":0'), invalid('max_completion_tokens')],
    [request('"n":1000'), invalid('n')],
    [request('"n":0'), invalid('n')],
    [request('"n":"2"'), invalid('n')],
    [request('"tools":{}'), invalid('tools')],
    [request('"response_format":{"type":"xml"}'), invalid('response_format.type')],
    [request('"response_format":{"type":5}'), invalid('response_format.type')],
    [request('"response_format":"json"'), invalid('response_format')],
    [request('"metadata":"x"'), invalid('metadata')],
    [request('"metadata":[]'), invalid('metadata')],
    [request('"metadata":{"sticky_key":{}}'), invalid('metadata.sticky_key')],
    [request('"metadata":{"session_id":5}'), invalid('metadata.session_id')],
    [request(`"metadata":{"session_id":"${'s'.repeat(257)}"}`), invalid('metadata.session_id')],
    [request('"region":7'), invalid('region')],
    [request('"region":""'), invalid('region')],
    [request('"stream_options":true'), invalid('stream_options')],
    [request('"stream_options":{"include_usage":1}'), invalid('stream_options.include_usage')],
  ])('refuses %s', (text, expected) => {
    expect(refusal(text)).toEqual(expected)
  })

  it.each(['api_key', 'base_url', 'api_base', 'custom_host'])(
    'refuses `%s` whatever it holds',
    (field) => {
      const expected = { status: 400, code: 'raw_secret_field_rejected' as const, param: field }
      expect(refusal(request(`"${field}":"x"`))).toEqual(expected)
      expect(refusal(request(`"${field}":{"a":1}`))).toEqual(expected)
    },
  )

  it.each([
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    '\\u0066ile:///etc/passwd',
    'file\\u003a///etc/passwd',
    ' file:///etc/passwd',
    '\\tfi\\nle:///etc/passwd',
  ])('refuses the local file "%s" as an image', (url) => {
    const part = `{"type":"image_url","image_url":{"url":"${url}"}}`
    const field = 'messages[0].content[0].image_url'
    expect(refusal(withMessages(`[{"role":"user","content":[${part}]}]`))).toEqual(
      invalid(`${field}.url`),
    )
    const short = `{"type":"image_url","image_url":"${url}"}`
    expect(refusal(withMessages(`[{"role":"user","content":[${short}]}]`))).toEqual(invalid(field))
  })

  it.each([
    '[{"role":"developer","content":"Hi"},{"role":"function","name":"f","content":"Hi"}]',
    '[{"role":"assistant","content":null,"tool_calls":[{"id":"a"}]},{"role":"tool","tool_call_id":"a","content":"x"}]',
    '[{"role":"assistant","tool_calls":[{"id":"a"}]}]',
    '[{"role":"assistant","content":null,"refusal":"no"}]',
    '[{"role":"assistant","content":null,"audio":{"id":"a"}}]',
    '[{"role":"assistant","content":null,"function_call":{"name":"f"}}]',
    '[{"role":"user","content":""}]',
    '[{"role":"user","content":[]}]',
    '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png","detail":"low"}}]}]',
    '[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}]',
    '[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AA==","format":"wav"}}]}]',
    '[{"role":"user","content":[{"type":"of_tomorrow","any":{"thing":[1]}}],"unknown":true}]',
    '[{"role":"user","content":[{"type":"text","text":"Hi","image_url":null,"file":null,"input_audio":null}]}]',
  ])('lets the messages %s pass', (messages) => {
    expect(facts(withMessages(messages)).model).toBe('m')
  })

  it.each([
    '"temperature":2,"top_p":1',
    '"temperature":0,"top_p":0',
    '"n":128',
    '"tools":[]',
    '"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true}}',
    '"response_format":{"type":"json_object"}',
    '"stop":["a"],"seed":1,"user":"u","store":true,"reasoning_effort":"low","parallel_tool_calls":false',
    '"metadata":{}',
    '"unknown":{"model":"other","messages":5,"stream":"x"}',
    '"unknown":1,"unknown":2',
  ])('lets the fields %s pass', (members) => {
    expect(facts(request(members)).model).toBe('m')
  })

  it.each([
    ['content', '{"role":"user","content":"a","Content":[]}'],
    ['content', '{"role":"user","content":"a","c\\u006fntent":[]}'],
    ['type', '{"role":"user","content":[{"type":"text","text":"a","Type":"file"}]}'],
    ['file', '{"role":"user","content":[{"type":"text","text":"a","fil\\u0065":{}}]}'],
    ['url', '{"role":"user","content":[{"image_url":{"url":"https://a/","URL":"https://b/"}}]}'],
    ['data', '{"role":"user","content":[{"input_audio":{"data":"AA==","Data":"AA=="}}]}'],
  ])('refuses a second spelling of `%s` inside of a message', (name, message) => {
    expect(refusal(withMessages(`[${message}]`))).toEqual(invalid(name))
  })

  it.each(['{"type":"function","Type":"web_search"}', '{"type":"function","type":"mcp"}'])(
    'refuses the tool %s, which is of two kinds',
    (tool) => expect(refusal(request(`"tools":[${tool}]`))).toEqual(invalid('type')),
  )

  it.each(COST_FIELDS)('refuses a second spelling of `%s`', (field) => {
    for (const other of [
      field,
      field.toUpperCase(),
      `\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}`,
    ])
      expect(refusal(request(`"${field}":null,"${other}":1`))).toEqual(invalid(field))
  })

  it('refuses a second spelling of what it reads inside of metadata and stream options', () => {
    const refused = ['"session_id":"a","session_id":"b"', '"session_\\u0069d":"b"']
    for (const members of refused)
      expect(refusal(request(`"metadata":{${members}}`))).toEqual(invalid('session_id'))
    const options = ['"include_usage":true,"include_usage":false', '"Include_Usage":true']
    for (const members of options)
      expect(refusal(request(`"stream_options":{${members}}`))).toEqual(invalid('include_usage'))
  })
})

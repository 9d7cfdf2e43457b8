// What admission reads of a responses request, what bounds its cost, and everything that it refuses.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { REQUEST_FIELDS } from './fields.ts'
import { peek } from './peek.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const USER = { role: 'user', content: 'Hi' }
const BASE = { model: 'm', input: 'Hi' }

function facts(changes: object = {}) {
  return peek(encoder.encode(JSON.stringify({ ...BASE, ...changes })))
}

function withItems(...input: readonly unknown[]) {
  return facts({ input }).load
}

function withParts(...content: readonly unknown[]) {
  return withItems({ role: 'user', content })
}

function withTools(...tools: readonly unknown[]) {
  return facts({ tools }).load.unbounded
}

function problemOf(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was thrown')
}

function refusal(changes: object): readonly unknown[] {
  const { status, code, param } = problemOf(() => facts(changes))
  return [status, code, param]
}

describe('peek', () => {
  it('reads what admission needs of a text', () => {
    expect(
      facts({
        stream: true,
        region: 'eu',
        max_output_tokens: 9,
        metadata: { session_id: 's', more: 'x' },
        tools: [],
      }),
    ).toMatchObject({
      model: 'm',
      stream: true,
      maxTokens: 9,
      choices: 1,
      region: 'EU',
      sessionId: 's',
      usesTools: false,
      asksUsage: false,
      goesOn: false,
      thoughts: [],
      load: { messages: 1, images: 0, elsewhere: undefined, unbounded: undefined },
    })
  })

  it('reads what admission needs of a list', () => {
    const load = withItems({ role: 'developer', content: 'Be brief.' }, USER, USER)
    expect(load).toMatchObject({ messages: 3, elsewhere: undefined, unbounded: undefined })
  })

  it('takes null for absence, and lets pass what it does not know', () => {
    const absent = Object.fromEntries(
      REQUEST_FIELDS.filter((name) => !['model', 'input'].includes(name)).map((name) => [
        name,
        null,
      ]),
    )
    const strange = { store: true, include: ['x'], truncation: 'auto', top_k: 5, odd: [{ a: 1 }] }
    const { load, maxTokens } = facts({ ...absent, ...strange })
    expect([load.unbounded, load.elsewhere, maxTokens]).toEqual([undefined, undefined, undefined])
  })

  it.each<readonly [unknown, boolean]>([
    [undefined, false],
    [null, false],
    [{}, false],
    [{ effort: null, summary: null }, false],
    [{ effort: 'none', summary: 'auto' }, false],
    [{ enabled: false }, false],
    [{ effort: 'minimal' }, true],
    [{ summary: 'auto' }, true],
  ])('takes reasoning %j for a wish to think: %p', (reasoning, isAsked) => {
    expect(facts({ reasoning }).asksReasoning).toBe(isAsked)
  })

  it('finds where a conversation begins, in a text and in a list', () => {
    const opening = (changes: object): readonly string[] => {
      const body = encoder.encode(JSON.stringify({ ...BASE, ...changes }))
      const { opening: places } = peek(body)
      return Array.from({ length: places.length / 2 }, (_, index) =>
        decoder.decode(body.subarray(places[2 * index], places[2 * index + 1])),
      )
    }
    expect(opening({ input: 'one', instructions: 'two' })).toEqual(['"one"'])
    expect(opening({ input: undefined, instructions: 'two', conversation: 'x' })).toEqual(['"two"'])
    const parts = [{ type: 'input_text', text: 'three' }]
    const input = [
      { role: 'system', content: 'one' },
      { type: 'message', role: 'user', content: parts },
      { role: 'user', content: 'later' },
    ]
    expect(opening({ input })).toEqual(['"one"', '"three"'])
  })

  it('knows when a conversation has got beyond its beginning', () => {
    const goesOn = (...input: readonly object[]): boolean => facts({ input }).goesOn
    expect(goesOn(USER, USER)).toBe(false)
    expect(goesOn(USER, { role: 'assistant', content: 'Yes?' })).toBe(true)
    expect(goesOn(USER, { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' })).toBe(
      true,
    )
    expect(facts({ previous_response_id: 'resp_1' }).goesOn).toBe(true)
  })

  it('notes what was thought before, and which of it this gateway has sealed', () => {
    const own = { type: 'reasoning', summary: [], encrypted_content: 'gw1.abc' }
    const theirs = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAA' }
    const body = encoder.encode(JSON.stringify({ model: 'm', input: [USER, own, theirs] }))
    const { thoughts } = peek(body)
    expect(thoughts.map(({ isMarked }) => isMarked)).toEqual([true, false])
    expect(
      thoughts.map(({ from, to }): unknown => JSON.parse(decoder.decode(body.subarray(from, to)))),
    ).toEqual([own, theirs])
  })
})

describe('what cannot be counted in the body', () => {
  it.each(['previous_response_id', 'conversation', 'prompt'])('%s is elsewhere', (field) => {
    expect(facts({ [field]: 'x' }).load.elsewhere).toBe(field)
    // There may be nothing to add to it.
    expect(facts({ [field]: { id: 'x' }, input: undefined }).load.messages).toBe(1)
  })

  it('a prompt that is kept has tools that nobody here sees', () => {
    expect(facts({ prompt: { id: 'pmpt_1' } }).load.unbounded).toBe('prompt')
    expect(facts({ conversation: 'conv_1' }).load.unbounded).toBeUndefined()
  })

  it.each<readonly [string, object]>([
    ['an item by its id', { type: 'item_reference', id: 'msg_1' }],
    ['an item by its id alone', { id: 'msg_1' }],
    ['a thought by its id', { type: 'reasoning', id: 'rs_1', summary: [] }],
    ['a summary that is sealed', { type: 'compaction', encrypted_content: 'x' }],
    ['what a search has found', { type: 'web_search_call', id: 'ws_1', action: {} }],
    ['what a program has printed', { type: 'code_interpreter_call', id: 'ci_1', code: 'x' }],
    ['an image by its id', { type: 'image_generation_call', id: 'ig_1' }],
    ['what was invented later', { type: 'dream', content: 'x' }],
  ])('%s is elsewhere', (_, item) => {
    expect(withItems(USER, item).elsewhere).toBe('input[1]')
  })

  it.each<readonly [string, object]>([
    ['a call', { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }],
    ['its result', { type: 'function_call_output', call_id: 'c', output: 'x' }],
    [
      'a result in parts',
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'x' }] },
    ],
    ['a sealed thought', { type: 'reasoning', summary: [], encrypted_content: 'x' }],
    [
      'a thought in plain words',
      { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'x' }] },
    ],
    [
      'what a shell has printed',
      {
        type: 'shell_call_output',
        call_id: 'c',
        output: [{ stdout: 'a', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
      },
    ],
    [
      'an answer',
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [
          { type: 'output_text', text: 'x', annotations: [], logprobs: [] },
          { type: 'refusal', refusal: 'no' },
        ],
      },
    ],
  ])('%s stands in the body', (_, item) => {
    expect(withItems(USER, item).elsewhere).toBeUndefined()
  })
})

describe('images, sound and files', () => {
  const data = 'iVBORw0KGgo='
  const image = { type: 'input_image', image_url: `data:image/png;base64,${data}` }

  it('count where they stand in the body, and are no text', () => {
    const load = withParts(image, { type: 'input_image', image_url: 'https://a.example/b.png' })
    expect(load).toMatchObject({ images: 2, elsewhere: undefined })
    expect(load.inline).toHaveLength(1)
    const sound = withParts({ type: 'input_audio', input_audio: { data, format: 'wav' } })
    expect(sound).toMatchObject({ audioBytes: 9, elsewhere: undefined })
  })

  it('count in what a tool has found, too', () => {
    const shot = { type: 'computer_screenshot', image_url: image.image_url }
    const load = withItems(
      { type: 'function_call_output', call_id: 'c', output: [image] },
      { type: 'computer_call_output', call_id: 'd', output: shot },
      { type: 'image_generation_call', id: 'ig_1', result: data },
    )
    expect(load).toMatchObject({ images: 3, elsewhere: undefined })
    expect(load.inline).toHaveLength(3)
  })

  it('a text that only calls itself a result of an image is text', () => {
    expect(withItems({ ...USER, result: 'x'.repeat(99) }).inline).toEqual([])
  })

  it.each<readonly [string, object]>([
    ['an image by its id', { type: 'input_image', file_id: 'file_1' }],
    ['an image without anything', { type: 'input_image' }],
    ['an image with more than that', { ...image, file_id: 'file_1' }],
    ['a document', { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;,' }],
    ['a document by its address', { type: 'input_file', file_url: 'https://a.example/b.pdf' }],
    ['a document by its id', { type: 'input_file', file_id: 'file_1' }],
    ['sound by its address', { type: 'input_audio', input_audio: { data: 'https://a.example' } }],
    ['sound without anything', { type: 'input_audio' }],
    ['what was invented later', { type: 'input_smell', text: 'x' }],
    ['what says nothing of its kind', { odour: 'x' }],
  ])('%s is elsewhere', (_, part) => {
    expect(withParts(part).elsewhere).toStartWith('input[0].content[0]')
  })

  it.each([
    { type: 'input_image', image_url: 'file:///etc/passwd' },
    { type: 'input_image', image_url: ' \tFILE:///etc/passwd' },
    { type: 'input_image', image_url: { url: 'https://a.example' } },
    { type: 'input_file', file_url: 'file:///etc/passwd' },
  ])('no local file may be named: %j', (part) => {
    expect(problemOf(() => withParts(part)).param).toStartWith('input[0].content[0].')
  })
})

describe('tools', () => {
  it('of the caller are bounded by what they say', () => {
    const parameters = { type: 'object', properties: {} }
    const own = { type: 'function', name: 'f', description: 'd', parameters, strict: true }
    expect(
      withTools(
        own,
        { type: 'custom', name: 'c', format: { type: 'text' } },
        { type: 'local_shell' },
        { type: 'apply_patch' },
        { type: 'shell', environment: { type: 'local' } },
        { type: 'tool_search', execution: 'client' },
        { type: 'namespace', name: 'n', description: 'd', tools: [own] },
      ),
    ).toBeUndefined()
    expect(facts({ tools: [own] }).usesTools).toBe(true)
  })

  it.each([
    'web_search',
    'web_search_preview',
    'file_search',
    'code_interpreter',
    'computer',
    'computer_use_preview',
    'mcp',
    'image_generation',
    'programmatic_tool_calling',
    'tool_search',
    'shell',
    'invented_later',
  ])('%s runs at the supplier, as often as the model likes', (type) => {
    expect(withTools({ type: 'function', name: 'f' }, { type })).toBe('tools[1]')
  })

  it('are not made the caller’s by a field of another kind', () => {
    const hosted = { type: 'container_auto' }
    expect(withTools({ type: 'shell', environment: hosted, execution: 'client' })).toBe('tools[0]')
    const local = { type: 'local' }
    expect(withTools({ type: 'tool_search', execution: 'server', environment: local })).toBe(
      'tools[0]',
    )
  })

  it('in a namespace, or in an item, are the same', () => {
    const tools = [{ type: 'function', name: 'f' }, { type: 'web_search' }]
    expect(withTools({ type: 'namespace', name: 'n', tools })).toBe('tools[0].tools[1]')
    const item = { type: 'additional_tools', role: 'developer', tools }
    expect(withItems(USER, item).unbounded).toBe('input[1].tools[1]')
  })

  it.each<readonly [string, unknown]>([
    ['context_management', [{ type: 'compaction' }]],
    ['multi_agent', { enabled: true }],
    ['web_search_options', {}],
    ['plugins', [{ id: 'web' }]],
    ['search_parameters', { mode: 'on' }],
    ['preset', 'x'],
    ['modalities', ['text', 'image']],
    ['extra_body', { plugins: [] }],
  ])('%s is bounded by nothing', (field, value) => {
    expect(facts({ [field]: value }).load.unbounded).toBe(field)
  })
})

describe('what is refused', () => {
  it.each<readonly [object, string, string]>([
    [{ model: undefined }, 'missing_model', 'model'],
    [{ input: undefined }, 'missing_prompt', 'input'],
    [{ input: null }, 'missing_prompt', 'input'],
    [{ input: [] }, 'missing_prompt', 'input'],
    [{ input: 5 }, 'validation_error', 'input'],
    [{ input: {} }, 'validation_error', 'input'],
    [{ input: ['Hi'] }, 'validation_error', 'input[0]'],
    [{ input: [{}] }, 'validation_error', 'input[0].type'],
    [{ input: [{ content: 'Hi' }] }, 'validation_error', 'input[0].type'],
    [{ input: [{ role: 'tool', content: 'Hi' }] }, 'validation_error', 'input[0].role'],
    [{ input: [{ role: 5, content: 'Hi' }] }, 'validation_error', 'input[0].role'],
    [{ input: [{ type: 'message', content: 'Hi' }] }, 'validation_error', 'input[0].role'],
    [{ input: [{ role: 'user' }] }, 'validation_error', 'input[0].content'],
    [{ input: [{ role: 'user', content: null }] }, 'validation_error', 'input[0].content'],
    [{ input: [{ role: 'user', content: 5 }] }, 'validation_error', 'input[0].content'],
    [{ input: [{ role: 'user', content: ['Hi'] }] }, 'validation_error', 'input[0].content[0]'],
    [{ instructions: ['x'] }, 'validation_error', 'instructions'],
    [{ max_output_tokens: 0 }, 'validation_error', 'max_output_tokens'],
    [{ max_output_tokens: '9' }, 'validation_error', 'max_output_tokens'],
    [{ max_output_tokens: 1.5 }, 'validation_error', 'max_output_tokens'],
    [{ temperature: 3 }, 'validation_error', 'temperature'],
    [{ top_p: -1 }, 'validation_error', 'top_p'],
    [{ stream: 'yes' }, 'validation_error', 'stream'],
    [{ tools: {} }, 'validation_error', 'tools'],
    [{ tools: ['f'] }, 'validation_error', 'tools[0]'],
    [{ reasoning: 'high' }, 'validation_error', 'reasoning'],
    [{ text: 'json' }, 'validation_error', 'text'],
    [{ text: { format: 'json' } }, 'validation_error', 'text.format'],
    [{ text: { format: { type: 'xml' } } }, 'validation_error', 'text.format.type'],
    [{ background: true }, 'unsupported_parameter', 'background'],
    [{ background: 'true' }, 'validation_error', 'background'],
    [{ service_tier: 'priority' }, 'unsupported_parameter', 'service_tier'],
    [{ models: ['a', 'b'] }, 'unsupported_parameter', 'models'],
    [{ base_url: 'https://a.example' }, 'raw_secret_field_rejected', 'base_url'],
    [{ api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
  ])('%j', (changes, code, param) => {
    expect(refusal(changes)).toEqual([400, code, param])
  })

  it('but not an answer that is asked for at once', () => {
    expect(facts({ background: false, service_tier: 'default' }).model).toBe('m')
  })

  it.each([
    '{"model":"m","model":"n","input":"Hi"}',
    '{"model":"m","mod\\u0065l":"n","input":"Hi"}',
    '{"model":"m","input":"Hi","Max_Output_Tokens":9}',
    '{"model":"m","input":[{"role":"user","role":"user","content":"Hi"}]}',
    '{"model":"m","input":[{"role":"user","content":[{"type":"input_text","TEXT":"a","text":"b"}]}]}',
    '{"model":"m","input":"Hi","tools":[{"type":"function","typ\\u0065":"mcp"}]}',
    '{"model":"m","input":"Hi","background":false,"BACKGROUND":true}',
  ])('what parsers read in two ways: %s', (text) => {
    expect(problemOf(() => peek(encoder.encode(text))).status).toBe(400)
  })

  it('a broken document before anything that is wrong in it', () => {
    const text = '{"model":5,"input":"Hi",'
    expect(problemOf(() => peek(encoder.encode(text))).code).toBe('invalid_json')
  })

  it('whatever is repeated of the fields that are read', () => {
    for (const name of REQUEST_FIELDS) {
      const text = `{"model":"m","input":"Hi","${name}":null,"${name}":null}`
      expect(problemOf(() => peek(encoder.encode(text))).status, name).toBe(400)
    }
  })
})

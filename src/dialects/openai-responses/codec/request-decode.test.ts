// Responses requests in our words: what they say is understood in every spelling, and what is not is told by name.
import { describe, expect, it } from 'bun:test'
import type { ChatRequest, Turn, UserPart } from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import { printSeal } from '../../seal.ts'
import { peek } from '../peek.ts'
import { printSealing } from './reasoning-seal.ts'
import { decodeRequest } from './request-decode.ts'

const encoder = new TextEncoder()

const EMPTY: ChatRequest = { system: [], turns: [], tools: [], stream: false, stop: [] }
const HI: Turn = { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }

function decode(fields: Record<string, unknown>) {
  const body = encoder.encode(JSON.stringify({ model: 'm', input: 'Hi', ...fields }))
  peek(body)
  return decodeRequest(body)
}

function turnsOf(...input: object[]) {
  const { request, lost } = decode({ input })
  expect(lost).toEqual([])
  return request.turns
}

function refusal(work: () => unknown) {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return { code: thrown.code, param: thrown.param }
    throw thrown
  }
  throw new Error('nothing was thrown')
}

const PNG = 'data:image/png;base64,iVBO'
const USER = { role: 'user', content: 'Hi' }
const CALL = { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"a":1}' }
const OUTPUT = { type: 'function_call_output', call_id: 'c1', output: 'one' }
const TOOL = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false }
const CALL_PART = { kind: 'call', id: 'c1', name: 'look', input: '{"a":1}' } as const
const RESULT_PART = {
  kind: 'result',
  id: 'c1',
  parts: [{ kind: 'text', text: 'one' }],
  isError: false,
} as const

describe('numbers of more digits than a number holds', () => {
  it('are kept in schemas and in inputs that are no text', () => {
    const input = '{"id":12345678901234567890,"far":1e400}'
    const schema = '{"type":"object","maximum":9223372036854775807}'
    const body = `{"model":"m","tools":[{"type":"function","name":"look","parameters":${schema}}],
      "input":[{"type":"function_call","call_id":"c","name":"look","arguments":${input}}]}`
    const { request, lost } = decodeRequest(encoder.encode(body))
    expect(request.turns[0]?.parts).toEqual([{ kind: 'call', id: 'c', name: 'look', input }])
    expect(JSON.stringify(request.tools[0]?.schema)).toBe(schema)
    expect(lost).toEqual([])
  })
})

describe('the input of a request', () => {
  it('is a text of the user, or a list of items', () => {
    expect(decode({ input: 'Hi' }).request).toEqual({ ...EMPTY, turns: [HI] })
    expect(turnsOf(USER)).toEqual([HI])
    expect(turnsOf({ type: 'message', ...USER, id: 'msg_1', status: 'completed' })).toEqual([HI])
    expect(refusal(() => decodeRequest(encoder.encode('{"model":"m"}')))).toEqual({
      code: 'validation_error',
      param: 'input',
    })
  })

  it('puts instructions and what stands first before all turns, and leaves what comes later', () => {
    const cache = { mode: 'explicit' }
    const { request, lost } = decode({
      instructions: 'a',
      input: [
        { role: 'system', content: 'b' },
        {
          role: 'developer',
          content: [{ type: 'input_text', text: 'c', prompt_cache_breakpoint: cache }],
        },
        USER,
        { role: 'developer', content: 'd' },
      ],
    })
    expect(request.system).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'b' },
      { kind: 'text', text: 'c', cache: 'short' },
    ])
    expect(request.turns).toEqual([HI, { role: 'system', parts: [{ kind: 'text', text: 'd' }] }])
    expect(lost).toEqual([])
  })

  it('has one turn for all that a model does at once, in its order', () => {
    const turns = turnsOf(
      USER,
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
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
      { ...CALL, id: 'fc_1', status: 'completed', caller: { type: 'direct' } },
      { role: 'assistant', content: 'y' },
    )
    expect(turns).toEqual([
      HI,
      {
        role: 'assistant',
        parts: [
          { kind: 'thinking', text: 'hm' },
          { kind: 'text', text: 'x' },
          { kind: 'refusal', text: 'no' },
          CALL_PART,
          { kind: 'text', text: 'y' },
        ],
      },
    ])
  })

  it('gathers results that follow each other, and the user behind them, in one turn', () => {
    const turns = turnsOf(
      CALL,
      { ...CALL, call_id: 'c2' },
      OUTPUT,
      { ...OUTPUT, call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
      { role: 'user', content: 'so?' },
      { role: 'user', content: 'well?' },
    )
    expect(turns).toEqual([
      { role: 'assistant', parts: [CALL_PART, { ...CALL_PART, id: 'c2' }] },
      {
        role: 'user',
        parts: [
          RESULT_PART,
          { ...RESULT_PART, id: 'c2', parts: [{ kind: 'text', text: 'two' }] },
          { kind: 'text', text: 'so?' },
        ],
      },
      { role: 'user', parts: [{ kind: 'text', text: 'well?' }] },
    ])
  })

  it('has each result next to its call, whatever was said in between', () => {
    const system = { role: 'system', parts: [{ kind: 'text', text: 's' }] } as const
    expect(turnsOf(CALL, USER, OUTPUT)).toEqual([
      { role: 'assistant', parts: [CALL_PART] },
      { role: 'user', parts: [RESULT_PART, { kind: 'text', text: 'Hi' }] },
    ])
    expect(turnsOf(CALL, { role: 'developer', content: 's' }, OUTPUT, USER)).toEqual([
      { role: 'assistant', parts: [CALL_PART] },
      { role: 'user', parts: [RESULT_PART] },
      system,
      HI,
    ])
    const later = { role: 'assistant', content: 'z' }
    const second = { ...CALL, call_id: 'c2' }
    expect(turnsOf(CALL, second, OUTPUT, later, { ...OUTPUT, call_id: 'c2' })).toEqual([
      { role: 'assistant', parts: [CALL_PART, { ...CALL_PART, id: 'c2' }] },
      { role: 'user', parts: [RESULT_PART, { ...RESULT_PART, id: 'c2' }] },
      { role: 'assistant', parts: [{ kind: 'text', text: 'z' }] },
    ])
  })

  it('has calls of several rounds apart, also where their ids are used again', () => {
    expect(turnsOf(CALL, OUTPUT, CALL, OUTPUT)).toEqual([
      { role: 'assistant', parts: [CALL_PART] },
      { role: 'user', parts: [RESULT_PART] },
      { role: 'assistant', parts: [CALL_PART] },
      { role: 'user', parts: [RESULT_PART] },
    ])
  })

  it('keeps results whose calls nobody has seen in their place, and the user behind them', () => {
    const second = { ...OUTPUT, call_id: 'c2', output: '' }
    expect(turnsOf(USER, OUTPUT, second, USER, USER)).toEqual([
      HI,
      {
        role: 'user',
        parts: [RESULT_PART, { ...RESULT_PART, id: 'c2', parts: [] }, { kind: 'text', text: 'Hi' }],
      },
      HI,
    ])
  })

  it.each<readonly [string, object, UserPart]>([
    [
      'an image of data',
      { type: 'input_image', image_url: PNG, detail: 'low' },
      {
        kind: 'image',
        source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' },
        detail: 'low',
      },
    ],
    [
      'an image by its address',
      { type: 'input_image', image_url: 'https://a.test/b.png', file_id: null, detail: 'auto' },
      { kind: 'image', source: { kind: 'url', url: 'https://a.test/b.png' } },
    ],
    [
      'a file of data',
      {
        type: 'input_file',
        filename: 'a.pdf',
        file_data: 'data:application/pdf;base64,JVBE',
        prompt_cache_breakpoint: { mode: 'explicit', ttl: '12h' },
      },
      {
        kind: 'file',
        source: { kind: 'data', mediaType: 'application/pdf', data: 'JVBE' },
        name: 'a.pdf',
        cache: 'long',
      },
    ],
    [
      'a file of bare data',
      { type: 'input_file', file_data: 'JVBE', filename: 'unnamed.pdf', detail: 'auto' },
      { kind: 'file', source: { kind: 'data', mediaType: '', data: 'JVBE' } },
    ],
    [
      'a file by its address',
      { type: 'input_file', file_url: 'https://a.test/b.pdf' },
      { kind: 'file', source: { kind: 'url', url: 'https://a.test/b.pdf' } },
    ],
  ])('shows %s, also as the result of a call', (_, part, expected) => {
    expect(turnsOf({ role: 'user', content: [part] })).toEqual([
      { role: 'user', parts: [expected] },
    ])
    const [, turn] = turnsOf(CALL, { ...OUTPUT, output: [part] })
    expect(turn?.parts).toEqual([{ ...RESULT_PART, parts: [expected as never] }])
  })

  it('has images and files by the ids of one supplier, but no message of nothing else', () => {
    const image = { type: 'input_image', file_id: 'f' }
    const file = { type: 'input_file', file_id: 'f' }
    const text = { type: 'input_text', text: 'Hi' }
    expect(turnsOf({ role: 'user', content: [image, file, text] })).toEqual([
      {
        role: 'user',
        parts: [
          { kind: 'image', source: { kind: 'id', id: 'f' } },
          { kind: 'file', source: { kind: 'id', id: 'f' } },
          { kind: 'text', text: 'Hi' },
        ],
      },
    ])
    expect(refusal(() => decode({ input: [{ role: 'user', content: [image, file] }] }))).toEqual({
      code: 'unsupported_parameter',
      param: 'input[0].content',
    })
  })

  it('loses parts of a kind that is not known, but never a whole message', () => {
    const film = { type: 'input_video', video_url: 'https://a.test/b' }
    const text = { type: 'input_text', text: 'Hi' }
    const { request, lost } = decode({ input: [{ role: 'user', content: [film, text] }] })
    expect(request.turns).toEqual([HI])
    expect(lost).toEqual(['/input/*/content/*/input_video'])
    expect(refusal(() => decode({ input: [{ role: 'user', content: [film] }] }))).toEqual({
      code: 'unsupported_parameter',
      param: 'input[0].content',
    })
  })

  it('tells what only this language says of what is kept', () => {
    const cited = { type: 'output_text', text: 'x', annotations: [{ type: 'url_citation' }] }
    const { lost } = decode({
      input: [
        { role: 'user', content: [{ type: 'input_file', file_data: 'JVBE', detail: 'high' }] },
        { role: 'assistant', content: [cited], phase: 'commentary' },
        { ...CALL, namespace: 'n' },
        { ...OUTPUT, name: 'look', async: false },
      ],
    })
    expect(lost).toEqual([
      '/input/*/content/*/detail',
      '/input/*/phase',
      '/input/*/content/*/annotations',
      '/input/*/namespace',
    ])
  })

  it('loses what a supplier has done by itself, and goes on around it', () => {
    const { request, lost } = decode({
      input: [
        USER,
        { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] },
        { type: 'web_search_call', id: 'ws_1', status: 'completed', action: {} },
        { type: 'mcp_list_tools', id: 'm', server_label: 's', tools: [] },
        { role: 'assistant', content: 'x' },
      ],
    })
    expect(request.turns).toEqual([
      HI,
      {
        role: 'assistant',
        parts: [
          { kind: 'thinking', text: 'hm' },
          { kind: 'text', text: 'x' },
        ],
      },
    ])
    expect(lost).toEqual(['/input/*/web_search_call', '/input/*/mcp_list_tools'])
    const only = { input: [{ type: 'web_search_call', id: 'ws_1', status: 'completed' }] }
    expect(refusal(() => decode(only))).toEqual({ code: 'unsupported_parameter', param: 'input' })
  })

  it('keeps a call of a tool that takes any text, because its result stays', () => {
    const { request, lost } = decode({
      input: [
        { type: 'custom_tool_call', call_id: 'c1', name: 'sh', input: 'ls' },
        { type: 'custom_tool_call_output', call_id: 'c1', output: 'one' },
      ],
    })
    expect(request.turns).toEqual([
      {
        role: 'assistant',
        parts: [{ kind: 'call', id: 'c1', name: 'sh', input: '{"input":"ls"}' }],
      },
      { role: 'user', parts: [RESULT_PART] },
    ])
    expect(lost).toEqual(['/input/*/custom_tool_call', '/input/*/custom_tool_call_output'])
  })

  it.each<readonly [string, object]>([
    ['input[0].call_id', { ...OUTPUT, call_id: undefined }],
    ['input[0].call_id', { ...CALL, call_id: 5 }],
    ['input[0].name', { ...CALL, name: null }],
    ['input[0].arguments', { ...CALL, arguments: 5 }],
    ['input[0].output', { ...OUTPUT, output: { a: 1 } }],
    ['input[0].encrypted_content', { type: 'reasoning', summary: [], encrypted_content: 5 }],
    ['input[0].content[0].text', { role: 'user', content: [{ type: 'input_text' }] }],
    [
      'input[0].content[0].image_url',
      { role: 'user', content: [{ type: 'input_image', image_url: 'data:image/png,x' }] },
    ],
  ])('is refused by name where it makes no sense: %s', (param, item) => {
    expect(refusal(() => decode({ input: [item] }))).toEqual({ code: 'validation_error', param })
  })
})

describe('what was thought before', () => {
  const hm = { type: 'summary_text', text: 'hm' }

  it('has seals that know their maker', () => {
    const [turn] = turnsOf(
      { type: 'reasoning', summary: [hm, hm], encrypted_content: printSeal('acme', 'sig') },
      { type: 'reasoning', summary: [], encrypted_content: printSeal('acme', 'sig') },
      { type: 'reasoning', summary: [], encrypted_content: printSealing('acme', 'sig', true) },
      { type: 'reasoning', summary: [], encrypted_content: 'hidden:own', status: null },
      { type: 'reasoning', summary: [], encrypted_content: 'gw1.' },
    )
    const seal = { data: 'sig', supplier: 'acme' }
    expect(turn?.parts).toEqual([
      { kind: 'thinking', text: 'hm\n\nhm', seal },
      { kind: 'thinking', text: '', seal },
      { kind: 'thinking', text: '', seal, isHidden: true },
      { kind: 'thinking', text: '', seal: { data: 'hidden:own', supplier: undefined } },
      { kind: 'thinking', text: '', seal: { data: '', supplier: '' } },
    ])
  })

  it('is told once where it is told at length and in short, and not at all where nothing is said', () => {
    const long = { type: 'reasoning_text', text: 'hmmm' }
    expect(turnsOf({ type: 'reasoning', summary: [hm], content: [long] })).toEqual([
      { role: 'assistant', parts: [{ kind: 'thinking', text: 'hmmm' }] },
    ])
    expect(turnsOf({ type: 'reasoning', id: 'rs_1', summary: [] }, USER)).toEqual([HI])
  })
})

describe('what only a supplier that keeps it could know', () => {
  it.each<readonly [string, object]>([
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: { id: 'conv_1' } }],
    ['prompt', { prompt: { id: 'pmpt_1' } }],
    ['input[1]', { input: [USER, { type: 'item_reference', id: 'msg_1' }] }],
    ['input[1]', { input: [USER, { id: 'msg_1' }] }],
    ['input[0]', { input: [{ type: 'compaction', encrypted_content: 'x' }, USER] }],
  ])('is refused, and the whole conversation asked for: %s', (param, fields) => {
    let thrown: unknown
    try {
      decode({ ...fields })
    } catch (error) {
      thrown = error
    }
    expect(thrown).toMatchObject({ code: 'unsupported_parameter', status: 400, param })
    expect((thrown as GatewayError).message).toStartWith('Send the whole conversation in `input`')
  })

  it('is not asked for by null, nor by what is stored of an answer', () => {
    const fields = { previous_response_id: null, conversation: null, background: false }
    expect(decode({ ...fields, store: true }).lost).toEqual([])
    const body = encoder.encode('{"model":"m","input":"Hi","background":true}')
    expect(refusal(() => decodeRequest(body))).toEqual({
      code: 'unsupported_parameter',
      param: 'background',
    })
  })
})

describe('fields of a request', () => {
  it('say what is asked of the model', () => {
    const { request, lost } = decode({
      max_output_tokens: 9,
      temperature: 1.5,
      top_p: 0.5,
      user: 'u',
      stream: true,
      tools: [TOOL],
      tool_choice: { type: 'function', name: 'look' },
      parallel_tool_calls: false,
    })
    expect(lost).toEqual([])
    expect(request).toEqual({
      system: [],
      turns: [HI],
      tools: [{ name: 'look', schema: { type: 'object' } }],
      toolChoice: { mode: 'named', name: 'look' },
      parallelTools: false,
      maxTokens: 9,
      stream: true,
      stop: [],
      temperature: 1.5,
      topP: 0.5,
      user: 'u',
    })
  })

  it('are lost where nobody else has them, and not where they change nothing', () => {
    const { lost } = decode({
      store: false,
      stream: true,
      stream_options: { include_obfuscation: false },
      include: ['reasoning.encrypted_content'],
      truncation: 'disabled',
      service_tier: 'auto',
      top_logprobs: 0,
      prompt_cache_key: 'k',
      metadata: { session_id: 's', sticky_key: 'k' },
      region: 'eu',
      text: { format: { type: 'text' }, verbosity: 'medium' },
      reasoning: { effort: null, summary: 'auto' },
      max_tool_calls: null,
      tool_choice: 'auto',
      parallel_tool_calls: true,
      safety_identifier: 'u',
    })
    expect(lost).toEqual([])
    const others = decode({
      include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
      truncation: 'auto',
      top_logprobs: 3,
      max_tool_calls: 2,
      stop: ['x'],
      metadata: { session_id: 's', team: 'x' },
      text: { verbosity: 'low' },
      reasoning: { summary: 'detailed' },
      user: 'u',
      safety_identifier: 'v',
      'a/b~c': 1,
    })
    expect(others.lost).toEqual([
      '/text/verbosity',
      '/reasoning/summary',
      '/safety_identifier',
      '/include',
      '/truncation',
      '/top_logprobs',
      '/max_tool_calls',
      '/stop',
      '/a~1b~0c',
      '/metadata/team',
    ])
    expect(others.request.user).toBe('u')
  })

  it('say how much to think, and what a later item says of it counts', () => {
    const update = { type: 'configuration_update', reasoning: { effort: 'high' } }
    const reasoning = { effort: 'low' }
    expect(decode({ reasoning }).request.reasoning).toEqual({ effort: 'low' })
    const later = decode({ reasoning, input: [USER, update, { type: 'configuration_update' }] })
    expect(later.request).toEqual({ ...EMPTY, turns: [HI], reasoning: { effort: 'high' } })
    expect(later.lost).toEqual([])
    const loud = decode({
      reasoning: { effort: 'loud' },
      input: [USER, { ...update, reasoning: { effort: 'odd' }, text: { format: {} } }],
    })
    expect(loud.request.reasoning).toBeUndefined()
    expect(loud.lost).toEqual(['/input/*/text', '/input/*/reasoning/effort', '/reasoning/effort'])
  })

  it.each<readonly [object, object | undefined, readonly string[]]>([
    [{ type: 'text' }, undefined, []],
    [{ type: 'json_object' }, { kind: 'json' }, []],
    [
      { type: 'json_schema', name: 'a', strict: true, schema: { $schema: 'x' } },
      { kind: 'schema', name: 'a', isStrict: true, schema: { $schema: 'x' } },
      [],
    ],
    [{ type: 'grammar', grammar: 'x' }, undefined, ['/text/format']],
  ])('say what form the answer has: %j', (form, format, lost) => {
    const decoded = decode({ text: { format: form } })
    expect(decoded.request.format).toEqual(format as never)
    expect(decoded.lost).toEqual(lost)
  })

  it('are refused by name where they are of the wrong kind', () => {
    const wrong = { user: 5, parallel_tool_calls: 'no', tool_choice: 'maybe', include: 'x' }
    for (const [param, value] of Object.entries(wrong))
      expect(refusal(() => decode({ [param]: value }))).toEqual({ code: 'validation_error', param })
  })
})

describe('tools of a request', () => {
  const open = { type: 'object', properties: { a: {} } }
  const closed = { ...open, required: ['a'], additionalProperties: false }

  it.each<readonly [string, object, true | undefined]>([
    ['said so', { parameters: open, strict: true }, true],
    ['said not to be', { parameters: closed, strict: false }, undefined],
    ['closed, without a word', { parameters: closed }, true],
    ['closed, and null', { parameters: closed, strict: null }, true],
    ['open, without a word', { parameters: open }, undefined],
  ])('are strict where others can be told so: %s', (_, fields, isStrict) => {
    const [tool] = decode({ tools: [{ type: 'function', name: 'look', ...fields }] }).request.tools
    expect(tool?.isStrict).toBe(isStrict)
  })

  it('lose those that are no functions, and what only this language says of the others', () => {
    const { request, lost } = decode({
      tools: [
        { type: 'web_search' },
        { type: 'custom', name: 'c' },
        { ...TOOL, defer_loading: true, output_schema: {}, allowed_callers: ['direct'] },
        { name: 'bare', description: 'd', parameters: null, async: false },
      ],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [] },
    })
    expect(request.tools).toEqual([
      { name: 'look', schema: { type: 'object' } },
      { name: 'bare', description: 'd', schema: { type: 'object', properties: {} } },
    ])
    expect(request.toolChoice).toEqual({ mode: 'any' })
    expect(lost).toEqual([
      '/tools/*/web_search',
      '/tools/*/custom',
      '/tools/*/defer_loading',
      '/tools/*/output_schema',
      '/tool_choice/allowed_tools',
    ])
  })

  it('take the choice with them where none is left, and cannot be asked for by name', () => {
    const tools = [{ type: 'custom', name: 'c' }]
    const { request } = decode({ tools, tool_choice: 'required', parallel_tool_calls: false })
    expect(request).toEqual({ ...EMPTY, turns: [HI] })
    const gone = { code: 'unsupported_parameter', param: 'tool_choice' } as const
    const named = { type: 'function', name: 'c' }
    expect(refusal(() => decode({ tools, tool_choice: named }))).toEqual(gone)
    expect(refusal(() => decode({ tools, tool_choice: { type: 'custom', name: 'c' } }))).toEqual(
      gone,
    )
    expect(refusal(() => decode({ tools: [TOOL], tool_choice: named }))).toEqual({
      code: 'validation_error',
      param: 'tool_choice',
    })
  })
})

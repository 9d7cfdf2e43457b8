// What admission reads of a messages request, what bounds its cost, and everything that it refuses.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../../core/problem.ts'
import { REQUEST_FIELDS } from './fields.ts'
import { peek, peekCount } from './peek.ts'

const encoder = new TextEncoder()
const USER = { role: 'user', content: 'Hi' }
const BASE = { model: 'm', max_tokens: 9, messages: [USER] }

function facts(changes: object = {}) {
  return peek(encoder.encode(JSON.stringify({ ...BASE, ...changes })))
}

function withBlocks(...content: readonly unknown[]) {
  return facts({ messages: [{ role: 'user', content }] }).load
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
  it('reads what admission needs', () => {
    expect(
      facts({ stream: true, region: 'eu', metadata: { session_id: 's', user_id: 'u' }, tools: [] }),
    ).toMatchObject({
      model: 'm',
      stream: true,
      maxTokens: 9,
      choices: 1,
      region: 'EU',
      sessionId: 's',
      usesTools: false,
      load: { messages: 1, elsewhere: undefined, unbounded: undefined },
    })
  })

  it('takes null for absence, and lets pass what it does not know', () => {
    const absent = { stream: null, system: null, tools: null, metadata: null, region: null }
    const more = { thinking: null, thread: null, service_tier: null, speed: null, fallbacks: null }
    const strange = { output_config: { effort: 'low' }, stop_sequences: ['x'], top_k: 5, odd: [1] }
    expect(facts({ ...absent, ...more, ...strange }).load.unbounded).toBeUndefined()
    expect(facts({ max_tokens: 0 }).maxTokens).toBe(0)
    expect(facts({ service_tier: 'standard_only', speed: 'standard' }).maxTokens).toBe(9)
  })

  it('knows whether the model is asked to think', () => {
    const asks = (thinking: unknown): boolean => facts({ thinking }).asksReasoning
    expect([undefined, null, {}, { type: 'disabled' }].map(asks)).toEqual([
      false,
      false,
      false,
      false,
    ])
    expect(['enabled', 'adaptive', 'between-tools'].map((type) => asks({ type }))).toEqual([
      true,
      true,
      true,
    ])
  })

  it('demands no limit of what is only to be counted, and refuses the same otherwise', () => {
    const count = (changes: object) =>
      peekCount(encoder.encode(JSON.stringify({ model: 'm', messages: [USER], ...changes })))
    expect(count({}).maxTokens).toBeUndefined()
    expect(count({ max_tokens: 7 }).maxTokens).toBe(7)
    expect(problemOf(() => count({ thread: { type: 'create' } })).param).toBe('thread')
  })

  it('takes what the system says at the front and among the messages, in either form', () => {
    const text = [{ type: 'text', text: 's', cache_control: { type: 'ephemeral' } }]
    expect(facts({ system: 's' }).goesOn).toBe(false)
    expect(facts({ system: text }).load.elsewhere).toBeUndefined()
    const late = { role: 'system', content: text, output_config: { effort: 'medium' } }
    expect(facts({ messages: [USER, late] })).toMatchObject({
      goesOn: false,
      load: { messages: 2 },
    })
    expect(facts({ messages: [USER, { role: 'assistant', content: 'x' }, USER] }).goesOn).toBe(true)
  })

  it('finds the texts that a conversation begins with', () => {
    const body = encoder.encode(
      JSON.stringify({
        ...BASE,
        system: 'one',
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'two' }] },
          { role: 'assistant', content: 'three' },
        ],
      }),
    )
    const shown = (text: string): string => {
      const { opening } = peek(encoder.encode(text))
      const bytes = encoder.encode(text)
      return opening.reduce(
        (all, from, index) =>
          index % 2 === 1
            ? all
            : all + new TextDecoder().decode(bytes.subarray(from, opening[index + 1])),
        '',
      )
    }
    const head = '"model":"m","max_tokens":9,'
    expect(
      shown(
        `{${head}"system":"one","messages":[{"role":"user","content":[{"type":"text","text":"two"}]},{"role":"assistant","content":"three"}]}`,
      ),
    ).toBe('"one""two"')
    expect(peek(body).opening).not.toBeEmpty()
  })

  it.each<readonly [object, string, string, string?]>([
    [{ model: undefined }, 'missing_model', 'model'],
    [{ model: '' }, 'missing_model', 'model'],
    [{ model: ['a'] }, 'validation_error', 'model'],
    [{ messages: undefined }, 'missing_prompt', 'messages'],
    [{ messages: null }, 'missing_prompt', 'messages'],
    [{ messages: [] }, 'missing_prompt', 'messages'],
    [{ messages: 'x' }, 'validation_error', 'messages'],
    [{ messages: [null] }, 'validation_error', 'messages[0]'],
    [{ messages: [{ role: 'root', content: 'x' }] }, 'validation_error', 'messages[0].role'],
    [{ messages: [{ role: 1, content: 'x' }] }, 'validation_error', 'messages[0].role'],
    [{ messages: [{ content: 'x' }] }, 'validation_error', 'messages[0].role'],
    [{ messages: [{ role: 'user' }] }, 'validation_error', 'messages[0].content'],
    [{ messages: [{ role: 'user', content: null }] }, 'validation_error', 'messages[0].content'],
    [{ messages: [{ role: 'user', content: 7 }] }, 'validation_error', 'messages[0].content'],
    [
      { messages: [{ role: 'user', content: ['x'] }] },
      'validation_error',
      'messages[0].content[0]',
    ],
    [
      { messages: [{ role: 'user', content: [{ text: 'x' }] }] },
      'validation_error',
      'messages[0].content[0].type',
    ],
    [{ messages: [{ role: 'assistant', content: 'x' }] }, 'validation_error', 'messages'],
    [{ max_tokens: undefined }, 'missing_fields', 'max_tokens'],
    [{ max_tokens: null }, 'missing_fields', 'max_tokens'],
    [{ max_tokens: 1.5 }, 'validation_error', 'max_tokens'],
    [{ max_tokens: -1 }, 'validation_error', 'max_tokens'],
    [{ max_tokens: '5' }, 'validation_error', 'max_tokens'],
    [{ stream: 'yes' }, 'validation_error', 'stream'],
    [{ system: 5 }, 'validation_error', 'system'],
    [{ system: ['x'] }, 'validation_error', 'system[0]'],
    [{ tools: {} }, 'validation_error', 'tools'],
    [{ tools: ['x'] }, 'validation_error', 'tools[0]'],
    [{ tools: [{ name: 'x' }] }, 'validation_error', 'tools[0].input_schema'],
    [
      { tools: [{ type: 'custom', name: 'x', input_schema: 'y' }] },
      'validation_error',
      'tools[0].input_schema',
    ],
    [{ metadata: 'x' }, 'validation_error', 'metadata'],
    [{ metadata: { sticky_key: {} } }, 'validation_error', 'metadata.sticky_key'],
    [{ thinking: 'on' }, 'validation_error', 'thinking'],
    [{ temperature: 2.1 }, 'validation_error', 'temperature'],
    [{ top_p: 'x' }, 'validation_error', 'top_p'],
    [{ region: 7 }, 'validation_error', 'region'],
    [{ thread: { type: 'create' } }, 'unsupported_parameter', 'thread'],
    [{ inference_geo: 'us' }, 'unsupported_parameter', 'inference_geo'],
    [{ service_tier: 'priority' }, 'unsupported_parameter', 'service_tier'],
    [{ speed: 'fast' }, 'unsupported_parameter', 'speed'],
    [{ fallbacks: 'default' }, 'unsupported_parameter', 'fallbacks'],
    [{ api_key: 'x' }, 'raw_secret_field_rejected', 'api_key'],
    [{ base_url: 'x' }, 'raw_secret_field_rejected', 'base_url'],
  ])('refuses %j', (changes, code, param) => {
    expect(refusal(changes)).toEqual([400, code, param])
  })

  it('refuses a thread in the words after which clients begin anew without one', () => {
    const { details, retryable } = problemOf(() => facts({ thread: { type: 'continue' } }))
    expect(details).toEqual({
      details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] },
    })
    expect(retryable).toBe(false)
  })

  it.each(REQUEST_FIELDS)('refuses a second spelling of `%s`', (field) => {
    for (const other of [
      field,
      field.toUpperCase(),
      `\\u00${field.charCodeAt(0).toString(16)}${field.slice(1)}`,
    ]) {
      const text = `{"${field}":null,${JSON.stringify({ ...BASE, [field]: undefined }).slice(1, -1)},"${other}":null}`
      expect(problemOf(() => peek(encoder.encode(text)))).toMatchObject({
        code: 'validation_error',
        param: field,
      })
    }
  })
})

describe('what bounds a request', () => {
  const base64 = (data: string) => ({ type: 'base64', media_type: 'image/png', data })

  it('counts images, and takes their bytes for no text', () => {
    const load = withBlocks(
      { type: 'image', source: base64('iVBORw0KGgo=') },
      { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
      {
        type: 'tool_result',
        tool_use_id: 't',
        content: [{ type: 'image', source: base64('AA\\/A'.replace('\\', '')) }],
      },
    )
    expect(load).toMatchObject({ images: 3, elsewhere: undefined })
    expect(load.inline.map(({ from, to }) => to - from)).toEqual([12, 4])
  })

  it.each<readonly [string, object]>([
    ['an image by its id', { type: 'image', source: { type: 'file', file_id: 'f' } }],
    ['an image from somewhere', { type: 'image', source: { type: 'url', url: 's3://x' } }],
    ['an image without a source', { type: 'image' }],
    ['a document of pages', { type: 'document', source: { type: 'base64', data: 'JVBERi0=' } }],
    [
      'a document by its address',
      { type: 'document', source: { type: 'url', url: 'https://x/y.pdf' } },
    ],
    ['a document by its id', { type: 'document', source: { type: 'file', file_id: 'f' } }],
    [
      'a document in a result',
      { type: 'tool_result', content: [{ type: 'document', source: { type: 'file' } }] },
    ],
    ['a file of a container', { type: 'container_upload', file_id: 'f' }],
    ['a kind that nobody knows', { type: 'hologram' }],
    ['an odd kind with odd bytes', { source: base64('not base64!'), type: 'hologram' }],
    ['an odd kind with an odd address', { type: 'hologram', source: { type: 'url', url: 5 } }],
    ['a text with a source', { type: 'text', text: '', source: base64('AAAA') }],
  ])('says that %s is elsewhere', (_, block) => {
    expect(withBlocks(block).elsewhere).toStartWith('messages[0].content[0]')
  })

  it.each<readonly [string, object]>([
    ['text', { type: 'text', text: 'x' }],
    [
      'a document of text',
      { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'not base64!' } },
    ],
    [
      'a document of blocks',
      { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'x' }] } },
    ],
    ['what was thought', { type: 'thinking', thinking: '', signature: 'x' }],
    ['what was thought in secret', { type: 'redacted_thinking', data: 'x' }],
    [
      'a call of a tool',
      { type: 'tool_use', id: 'x', name: 'y', input: { source: { type: 'file' } } },
    ],
    ['a result without content', { type: 'tool_result', tool_use_id: 'x', is_error: true }],
    [
      'a result of a search',
      {
        type: 'search_result',
        source: 'https://x',
        title: 't',
        content: [{ type: 'text', text: 'x' }],
      },
    ],
    [
      'what a search of the supplier has found',
      {
        type: 'web_search_tool_result',
        tool_use_id: 'x',
        content: [{ type: 'web_search_result', url: 'https://x', encrypted_content: 'y' }],
      },
    ],
    [
      'a tool that was described',
      { type: 'tool_addition', tool: { type: 'tool_reference', name: 'x' } },
    ],
  ])('says that %s stands in the body', (_, block) => {
    expect(withBlocks(block)).toMatchObject({
      elsewhere: undefined,
      unbounded: undefined,
      images: 0,
    })
  })

  it.each<readonly [string, object, string]>([
    ['bytes that are none', base64('not base64!'), 'data'],
    ['no bytes', { type: 'base64' }, 'data'],
    ['a file of the gateway', { type: 'url', url: ' FILE:///etc/passwd' }, 'url'],
    ['no address', { type: 'url', url: 5 }, 'url'],
  ])('refuses an image with %s', (_, source, field) => {
    const { code, param } = problemOf(() => withBlocks({ type: 'image', source }))
    expect([code, param]).toEqual(['validation_error', `messages[0].content[0].source.${field}`])
  })

  it('refuses a file of the gateway in any kind', () => {
    const source = { type: 'url', url: 'file:///etc/passwd' }
    const { code } = problemOf(() => withBlocks({ type: 'hologram', source }))
    expect(code).toBe('validation_error')
  })

  it('knows how much goes to thinking at the least', () => {
    const thinking = { type: 'enabled', budget_tokens: 8000 }
    expect(facts({ thinking }).load.thinkingTokens).toBe(1024)
    for (const other of [{ type: 'adaptive' }, { type: 'disabled', budget_tokens: null }])
      expect(facts({ thinking: other }).load.thinkingTokens).toBe(0)
  })

  const OWN = { name: 'x', input_schema: { type: 'object' } }

  it('knows the tools that the caller runs', () => {
    const typed = ['bash_20250124', 'text_editor_20250728', 'computer_20251124', 'memory_20250818']
    const tools = [
      OWN,
      { ...OWN, type: 'custom', defer_loading: true },
      ...typed.map((type) => ({ type, name: 'y' })),
    ]
    expect(facts({ tools })).toMatchObject({ usesTools: true, load: { unbounded: undefined } })
  })

  it.each<readonly [object, string]>([
    [{ tools: [OWN, { type: 'web_search_20250305', name: 'web_search' }] }, 'tools[1]'],
    [{ tools: [{ ...OWN, type: 'code_execution_20250825' }] }, 'tools[0]'],
    [{ tools: [{ type: 'mcp_toolset', mcp_server_name: 'x' }] }, 'tools[0]'],
    [{ mcp_servers: [{ type: 'url', url: 'https://x' }] }, 'mcp_servers'],
    [{ container: 'c' }, 'container'],
    [{ compaction: { type: 'summarize' } }, 'compaction'],
    [{ web_search_options: {} }, 'web_search_options'],
    [{ search_parameters: { mode: 'on' } }, 'search_parameters'],
    [{ enable_search: true }, 'enable_search'],
    [{ plugins: [{ id: 'web' }] }, 'plugins'],
    [{ data_sources: [{}] }, 'data_sources'],
    [{ preset: 'x' }, 'preset'],
    [{ safety_model: 'x' }, 'safety_model'],
    [{ deferred: true }, 'deferred'],
    [{ extra_body: { speed: 'fast' } }, 'extra_body'],
    [{ context_management: { edits: [{ type: 'compact_20260112' }] } }, 'context_management'],
    [
      {
        messages: [
          USER,
          {
            role: 'system',
            content: [{ type: 'tool_addition', tool: { type: 'web_search_20250305' } }],
          },
        ],
      },
      'messages[1].content[0].tool',
    ],
  ])('says that nothing bounds %j', (changes, field) => {
    expect(facts(changes).load.unbounded).toBe(field)
  })

  it('lets what only clears things away be bounded, as agents send it', () => {
    const edits = [
      { type: 'clear_thinking_20251015', keep: 'all' },
      { type: 'clear_tool_uses_20250919' },
    ]
    const off = { mcp_servers: [], enable_search: false, extra_body: {} }
    expect(facts({ context_management: { edits }, ...off }).load.unbounded).toBeUndefined()
  })
})

describe('the cache of an hour', () => {
  const HOUR = { type: 'ephemeral', ttl: '1h' }
  const TEXT = { type: 'text', text: 's' }

  it.each<readonly [string, object]>([
    ['the request', { cache_control: HOUR }],
    ['the system', { system: [{ ...TEXT, cache_control: HOUR }] }],
    ['a tool', { tools: [{ name: 't', input_schema: {}, cache_control: HOUR }] }],
    ['a message', { messages: [{ role: 'user', content: [{ ...TEXT, cache_control: HOUR }] }] }],
    [
      'the result of a tool',
      {
        messages: [
          USER,
          {
            role: 'user',
            content: [{ type: 'tool_result', content: [{ ...TEXT, cache_control: HOUR }] }],
          },
        ],
      },
    ],
    ['what nobody knows', { odd: [{ cache_control: HOUR }] }],
  ])('is seen to be asked for on %s', (_, changes) => {
    expect(facts(changes).load.writesLong).toBe(true)
  })

  it.each(['"\\u0031h"', '"1\\u0068"', '"\\u0031\\u0068"'])(
    'is seen in the spelling %s',
    (text) => {
      const body = JSON.stringify({ ...BASE, cache_control: HOUR }).replace('"1h"', text)
      expect(JSON.parse(body)).toMatchObject({ cache_control: HOUR })
      expect(peek(encoder.encode(body)).load.writesLong).toBe(true)
    },
  )

  it('is not asked for by other marks, nor by talk of it', () => {
    const marks = { cache_control: { type: 'ephemeral', ttl: '5m' } }
    expect(facts(marks).load.writesLong).toBe(false)
    expect(facts({ cache_control: { type: 'ephemeral' } }).load.writesLong).toBe(false)
    expect(facts({ system: 'Set "ttl" to "1h", é' }).load.writesLong).toBe(false)
  })

  it('is found in a part of a larger buffer, and only there', () => {
    const asks = encoder.encode(JSON.stringify({ ...BASE, cache_control: HOUR }))
    const not = encoder.encode(JSON.stringify(BASE))
    const both = new Uint8Array([...asks, ...not])
    expect(peek(both.subarray(0, asks.length)).load.writesLong).toBe(true)
    expect(peek(both.subarray(asks.length)).load.writesLong).toBe(false)
  })
})

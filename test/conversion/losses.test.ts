// What callers are told that a conversion has lost, in their own words and to the letter. Each row is a request beside
// a plain one, and all that is lost of it on the way to a supplier of another language.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../src/core/problem.ts'
import type { Target } from '../../src/dialects/codec.ts'
import { mergeLosses } from '../../src/pipeline/losses.ts'
import { placesOf } from '../../src/pipeline/request.ts'
import { ALL_TRAITS, requestsOf } from '../fakes/conversations.ts'
import { exists } from './pointer.ts'
import { hear, languages, pairs, TARGET, titleOf, toBytes, type Language } from './roster.ts'
import { sideOf, type Json } from './sides.ts'

type Row = readonly [
  what: string,
  fields: Json,
  lost: readonly string[],
  /** Whom it is said to, where that is nobody in particular. */
  target?: Partial<Target>,
]

const HI = { role: 'user', content: 'Hi' }
const PART = '/messages/*/content/*'

/** A request of one user's turn. */
function said(...content: readonly Json[]): Json {
  return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }, ...content] }] }
}

/** A request in which an assistant has said something before. */
function before(message: Json): Json {
  return { messages: [HI, { role: 'assistant', content: 'Yes', ...message }, HI] }
}

const HOUR = { type: 'ephemeral', ttl: '1h' }
const PDF_URL = 'data:application/pdf;base64,JVBERg=='

/** A model that cannot be told to think. */
const DEAF: Partial<Target> = { reasoning: 'none' }

/** A supplier that refuses a field. */
function without(...drop: readonly string[]): Partial<Target> {
  return { quirks: { usage: 'ask', drop } }
}

const NOW = { type: 'function', function: { name: 'now', parameters: { type: 'object' } } }

const CHAT: readonly Row[] = [
  ['nothing', {}, []],
  ['fields that are null', { logit_bias: null, seed: null, unknown: null }, []],
  ['fields that are as they would be', { n: 1, store: false, logprobs: false }, []],
  ['a stream with its usage', { stream: true, stream_options: { include_usage: true } }, []],
  ['what is for the gateway', { region: 'eu', metadata: { session_id: 's', sticky_key: 'k' } }, []],
  ['biases', { logit_bias: { 50256: -100 } }, ['/logit_bias']],
  ['probabilities', { logprobs: true, top_logprobs: 3 }, ['/logprobs', '/top_logprobs']],
  ['a seed', { seed: 7 }, ['/seed']],
  ['a penalty', { presence_penalty: 1 }, ['/presence_penalty']],
  ['the other', { presence_penalty: 0, frequency_penalty: 1 }, ['/frequency_penalty']],
  ['a field that nobody knows', { 'a/b~c': 1 }, ['/a~1b~0c']],
  ['JSON of any shape', { response_format: { type: 'json_object' } }, ['/response_format']],
  ['too high a temperature', { temperature: 1.5 }, ['/temperature']],
  ['two measures of chance', { temperature: 0.5, top_p: 0.5 }, ['/top_p']],
  ['stops of white space', { stop: ['\n'] }, ['/stop']],
  ['a kept answer', { store: true }, ['/store']],
  ['a guess at the answer', { prediction: { type: 'content', content: 'x' } }, ['/prediction']],
  ['a search of the web', { web_search_options: {} }, ['/web_search_options']],
  ['the name of who speaks', { messages: [{ ...HI, name: 'Ann' }] }, ['/messages/*/name']],
  [
    'sound',
    said({ type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } }),
    [`${PART}/input_audio`],
  ],
  [
    'a file by its id',
    said({ type: 'file', file: { file_id: 'file-1' } }),
    [`${PART}/file/file_id`],
  ],
  [
    'a file of a type that is not taken',
    said({
      type: 'file',
      file: { filename: 'a.zip', file_data: 'data:application/zip;base64,AA==' },
    }),
    [`${PART}/file/file_data`],
  ],
  [
    'how closely an image is looked at',
    said({ type: 'image_url', image_url: { url: 'https://a.test/b.png', detail: 'high' } }),
    [`${PART}/image_url/detail`],
  ],
  ['a part that nobody knows', said({ type: 'hologram', hologram: {} }), [`${PART}/hologram`]],
  [
    'a tool of another kind',
    { tools: [NOW, { type: 'custom', custom: { name: 'free' } }] },
    ['/tools/*/custom'],
  ],
  ['a thought', before({ reasoning_content: 'Hm' }), ['/messages/*/reasoning_content']],
  [
    'a thought with the seal of nobody known',
    before({ reasoning_details: [{ type: 'reasoning.text', text: 'Hm', signature: 'c2ln' }] }),
    ['/messages/*/reasoning_details'],
  ],
  ['a thought by another name', before({ reasoning: 'Hm' }), ['/messages/*/reasoning']],
  [
    'thoughts among the parts of the content',
    before({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }], signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'b3BhcXVl' },
        { type: 'text', text: 'Yes' },
      ],
    }),
    [`${PART}/redacted_thinking`, `${PART}/signature`, `${PART}/thinking`],
  ],
  [
    'how closely an image is looked at, beside it',
    said({ type: 'input_image', image_url: 'https://a.test/b.png', detail: 'high' }),
    [`${PART}/detail`],
  ],
  [
    'a file by its id, on one level',
    said({ type: 'input_file', file_id: 'file-1' }),
    [`${PART}/file_id`],
  ],
  [
    'a file by its id, beside its data',
    said({ type: 'file', file: { file_data: PDF_URL, file_id: 'file-1' } }),
    [`${PART}/file/file_id`],
  ],
  [
    'data of a type that is not taken, as an address',
    said({ type: 'file', file: { file_url: 'data:application/zip;base64,AA==' } }),
    [`${PART}/file/file_url`],
  ],
  ['a user with a long name', { user: 'u'.repeat(257) }, ['/user']],
  ['one by the newer name', { safety_identifier: 'u'.repeat(257) }, ['/safety_identifier']],
  ['an effort', { reasoning_effort: 'high' }, ['/reasoning_effort'], DEAF],
  ['an effort in an object', { reasoning: { effort: 'high' } }, ['/reasoning'], DEAF],
  [
    'a budget beside an effort',
    { reasoning: { max_tokens: 2048 }, reasoning_effort: 'low' },
    ['/reasoning', '/reasoning_effort'],
    DEAF,
  ],
  ['tools', { tools: [NOW] }, ['/tools'], without('tools')],
  ['functions', { functions: [NOW.function] }, ['/functions'], without('tools')],
  ['a choice', { tools: [NOW], tool_choice: 'none' }, ['/tool_choice'], without('tool_choice')],
  [
    'a choice among functions',
    { functions: [NOW.function], function_call: 'none' },
    ['/function_call'],
    without('tool_choice'),
  ],
  [
    'a limit',
    { max_tokens: 9, max_completion_tokens: null },
    ['/max_tokens'],
    without('max_tokens'),
  ],
  [
    'a limit by the newer name',
    { max_tokens: null, max_completion_tokens: 9 },
    ['/max_completion_tokens'],
    without('max_tokens'),
  ],
  [
    'a mark that is for an hour, on a part',
    said({ type: 'text', text: 'a', cache_control: HOUR }),
    [`${PART}/cache_control/ttl`],
  ],
  [
    'one on a message, and one on a tool',
    { messages: [{ ...HI, cache_control: HOUR }], tools: [{ ...NOW, cache_control: HOUR }] },
    ['/messages/*/cache_control/ttl', '/tools/*/cache_control/ttl'],
  ],
  [
    'a mark that is none',
    { messages: [{ ...HI, cache_control: true }] },
    ['/messages/*/cache_control'],
  ],
  [
    'the input of a former call that is no object',
    {
      messages: [
        HI,
        { role: 'assistant', content: null, function_call: { name: 'now', arguments: '[' } },
        { role: 'function', name: 'now', content: 'No' },
      ],
    },
    ['/messages/*/function_call/arguments'],
  ],
  [
    'the input of a call that is no object',
    {
      messages: [
        HI,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'now', arguments: '{"cut":' } },
          ],
        },
        { role: 'tool', tool_call_id: 'c', content: 'No' },
      ],
    },
    ['/messages/*/tool_calls/*/function/arguments'],
  ],
]

const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' }
const MARKED = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }
const FORM = { type: 'json_schema', schema: { type: 'object' } }
const NO_FORM = without('response_format')
const LOOK = { name: 'look', input_schema: { type: 'object' } }

const MESSAGES: readonly Row[] = [
  ['nothing', {}, []],
  ['fields that are null', { top_k: null, unknown: null, thinking: null }, []],
  ['fields that are as they would be', { service_tier: 'auto', tools: [] }, []],
  ['what is for the gateway', { region: 'eu', metadata: { session_id: 's', sticky_key: 'k' } }, []],
  [
    'an edit that clears nothing away',
    { context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] } },
    [],
  ],
  [
    'an edit of the conversation',
    { context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] } },
    ['/context_management'],
  ],
  ['how many tokens to choose from', { top_k: 5 }, ['/top_k']],
  ['a field that nobody knows', { 'a/b~c': 1 }, ['/a~1b~0c']],
  ['a tier', { service_tier: 'standard_only' }, ['/service_tier']],
  ['servers of tools', { mcp_servers: [{ type: 'url', url: 'https://a.test' }] }, ['/mcp_servers']],
  ['a container', { container: 'c1' }, ['/container']],
  ['a mark for a cache at the top', { cache_control: { type: 'ephemeral' } }, ['/cache_control']],
  ['a user with a long name', { metadata: { user_id: 'u'.repeat(65) } }, ['/metadata/user_id']],
  [
    'a tool that the supplier runs',
    { tools: [LOOK, { type: 'web_search_20250305', name: 'web_search' }] },
    ['/tools/*/web_search_20250305'],
  ],
  [
    'what a tool is told beside its schema',
    { tools: [{ ...LOOK, defer_loading: true, input_examples: [{}] }] },
    ['/tools/*/defer_loading', '/tools/*/input_examples'],
  ],
  [
    'a document by its address',
    said({ type: 'document', source: { type: 'url', url: 'https://a.test/b.pdf' } }),
    [`${PART}/source/url`],
  ],
  [
    'a document by its id',
    said({ type: 'document', source: { type: 'file', file_id: 'file_1' } }),
    [`${PART}/source/file_id`],
  ],
  [
    'an image by its id',
    said({ type: 'image', source: { type: 'file', file_id: 'file_1' } }),
    [`${PART}/source/file_id`],
  ],
  [
    'what a document is for',
    said({ type: 'document', source: PDF, context: 'Ours', citations: { enabled: true } }),
    [`${PART}/citations`, `${PART}/context`],
  ],
  ['a block that nobody knows', said({ type: 'hologram', a: 1 }), [`${PART}/hologram`]],
  [
    'a thought of nobody known',
    before({
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        { type: 'text', text: 'Yes' },
      ],
    }),
    [`${PART}/signature`, `${PART}/thinking`],
  ],
  [
    'a thought that is not shown',
    before({
      content: [
        { type: 'redacted_thinking', data: 'b3BhcXVl' },
        { type: 'text', text: 'Yes' },
      ],
    }),
    [`${PART}/redacted_thinking`],
  ],
  ['thinking', { thinking: { type: 'adaptive' } }, ['/thinking'], DEAF],
  ['an effort', { output_config: { effort: 'low' } }, ['/output_config/effort'], DEAF],
  [
    'an effort on the way',
    { messages: [{ ...HI, output_config: { effort: 'low' } }] },
    ['/messages/*/output_config/effort'],
    DEAF,
  ],
  [
    'an effort on the way, beside no thinking',
    {
      messages: [{ ...HI, output_config: { effort: 'low' } }],
      thinking: { type: 'disabled' },
    },
    ['/messages/*/output_config/effort'],
  ],
  ['marks in the system', { system: [MARKED] }, ['/system/*/cache_control']],
  ['marks in a turn', said(MARKED), [`${PART}/cache_control`]],
  ['marks on a tool', { tools: [{ ...LOOK, cache_control: HOUR }] }, ['/tools/*/cache_control']],
  [
    'marks inside of a result',
    {
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [{ type: 'tool_result', tool_use_id: 'c', content: [MARKED] }],
        },
      ],
    },
    [`${PART}/content/*/cache_control`],
  ],
  ['a form', { output_config: { format: FORM } }, ['/output_config/format'], NO_FORM],
  ['a form in its former place', { output_format: FORM }, ['/output_format'], NO_FORM],
  [
    'a tool that is described on the way',
    said({ type: 'tool_addition', tool: { ...LOOK, defer_loading: true, cache_control: HOUR } }),
    [`${PART}/tool/cache_control`, `${PART}/tool/defer_loading`, `${PART}/tool_addition`],
  ],
  [
    'such a tool for who takes none',
    said({ type: 'tool_addition', tool: LOOK }),
    [`${PART}/tool`, `${PART}/tool_addition`],
    without('tools'),
  ],
  [
    'an image of a result by its id',
    {
      messages: [
        HI,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'look', input: {} }] },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c',
              content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
            },
          ],
        },
      ],
    },
    [`${PART}/content/*/source/file_id`],
  ],
  [
    'a thought without a seal',
    before({
      content: [
        { type: 'thinking', thinking: 'Hm', signature: '' },
        { type: 'text', text: 'Yes' },
      ],
    }),
    [`${PART}/thinking`],
  ],
  [
    'what the supplier has done by itself',
    before({
      content: [
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        { type: 'text', text: 'Yes' },
      ],
    }),
    [`${PART}/server_tool_use`, `${PART}/web_search_tool_result`],
  ],
]

const ROWS: Readonly<Record<string, readonly Row[]>> = {
  'openai-chat': CHAT,
  'anthropic-messages': MESSAGES,
}

/** As the pipeline tells it. */
function tellLosses(
  caller: Language,
  supplier: Language,
  fields: Json,
  target: Partial<Target> = {},
): readonly string[] {
  const asked = { ...sideOf(caller.id).request, messages: [HI], ...fields }
  const body = toBytes(asked)
  caller.peek(body)
  const decoded = caller.codec.request.decode(body)
  const { lost } = supplier.codec.request.encode(decoded.request, { ...TARGET, ...target })
  const unsaid = placesOf(lost, decoded, caller.codec)
  for (const place of [...decoded.lost, ...unsaid])
    if (!exists(asked, place)) throw new Error(`there is no ${place}`)
  return mergeLosses(decoded.lost, unsaid)
}

/** Several requests as one. */
function blend(all: readonly Json[]): Json {
  const lists = ['messages', 'tools', 'functions'].flatMap((name) => {
    const items = all.flatMap((fields) => (fields[name] as readonly Json[] | undefined) ?? [])
    return items.length === 0 ? [] : [[name, items]]
  })
  return { ...(Object.assign({}, ...all) as Json), ...(Object.fromEntries(lists) as Json) }
}

const REFUSED_FIELDS = [
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'stop',
  'stop_sequences',
  'temperature',
  'top_p',
  'thinking',
  'output_config',
  'response_format',
  'reasoning_effort',
  'metadata',
  'user',
]

/** Whom hardly anything can be said to. */
const refusing: fc.Arbitrary<Partial<Target>> = fc.record({
  supplier: fc.constantFrom(TARGET.supplier, ''),
  reasoning: fc.constantFrom('effort', 'budget', 'none', undefined),
  samples: fc.boolean(),
  quirks: fc.subarray(REFUSED_FIELDS).map((drop) => ({ usage: 'ask', drop }) as const),
})

for (const pair of pairs) {
  const { caller, supplier } = pair
  if (caller.id === supplier.id) continue

  describe(`what is lost, ${titleOf(pair)}`, () => {
    for (const [what, fields, lost, target] of ROWS[caller.id] ?? [])
      it(`of ${what}`, () => {
        expect(tellLosses(caller, supplier, fields, target).toSorted()).toEqual(lost.toSorted())
      })

    it('is in places that the request has, whatever it says', () => {
      fc.assert(
        fc.property(
          fc.subarray([...(ROWS[caller.id] ?? [])], { minLength: 1 }),
          refusing,
          (rows, target) => {
            try {
              tellLosses(caller, supplier, blend(rows.map(([, fields]) => fields)), target)
            } catch (error) {
              // What makes no sense together is refused.
              fc.pre(!(error instanceof GatewayError))
              throw error
            }
          },
        ),
        { numRuns: 600 },
      )
    })

    it('is in places that the request has, whatever it means', () => {
      fc.assert(
        fc.property(requestsOf(ALL_TRAITS), refusing, (request, target) => {
          tellLosses(caller, supplier, hear(caller, request).sent as Json, target)
        }),
        { numRuns: 300 },
      )
    })

    it('always has a name in the words of who said it', () => {
      fc.assert(
        fc.property(requestsOf(ALL_TRAITS), (request) => {
          const { heard } = hear(caller, request)
          for (const trait of supplier.codec.request.encode(heard, TARGET).lost)
            expect(caller.codec.traits[trait].pointers, trait).not.toEqual([])
        }),
        { numRuns: 300 },
      )
    })
  })
}

describe('what a supplier is known to refuse', () => {
  it.each(languages)('is told to be lost like anything else: $id', (supplier) => {
    const messages = [HI]
    const asked = { messages, temperature: 0.5, stop: ['END'], user: 'u' }
    const [chat] = languages.filter(({ id }) => id === 'openai-chat')
    if (chat === undefined) throw new Error('nobody asks')
    const { request } = chat.codec.request.decode(toBytes({ model: 'm', ...asked }))
    const quirks = { usage: 'always', drop: ['temperature', 'stop', 'stop_sequences'] } as const
    const { body, lost } = supplier.codec.request.encode(request, { ...TARGET, quirks })
    expect(lost.toSorted()).toEqual(['stop', 'temperature'])
    expect(Buffer.from(body).toString()).not.toContain('END')
  })
})

describe('what makes no sense once something of it is lost', () => {
  const REFUSED: readonly (readonly [string, string, Json, string])[] = [
    [
      'a choice of a tool that is gone',
      'anthropic-messages',
      {
        tools: [LOOK, { type: 'web_search_20250305', name: 'web_search' }],
        tool_choice: { type: 'tool', name: 'web_search' },
      },
      'tool_choice',
    ],
    [
      'a turn of which nothing is left',
      'openai-chat',
      { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'f' } }] }] },
      'messages',
    ],
    [
      'a turn of which nothing is left',
      'anthropic-messages',
      {
        messages: [
          {
            role: 'user',
            content: [{ type: 'image', source: { type: 'file', file_id: 'file_1' } }],
          },
        ],
      },
      'messages',
    ],
  ]

  it.each(REFUSED)('is refused: %s (%s)', (_, id, fields, param) => {
    for (const caller of languages.filter((language) => language.id === id))
      for (const supplier of languages.filter((language) => language.id !== id)) {
        let refused: unknown
        try {
          tellLosses(caller, supplier, fields)
        } catch (error) {
          refused = error
        }
        expect(refused).toBeInstanceOf(GatewayError)
        expect(refused).toMatchObject({ code: 'unsupported_parameter', status: 400 })
        expect((refused as GatewayError).param).toStartWith(param)
      }
  })
})

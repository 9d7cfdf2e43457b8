// What is lost of messages.
import { before, DEAF, HI, HOUR, PART, said, without, type Row } from './row.ts'

const PDF = { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' }
const MARKED = { type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }
const FORM = { type: 'json_schema', schema: { type: 'object' } }
const NO_FORM = without('response_format', 'text')
export const LOOK = { name: 'look', input_schema: { type: 'object' } }

export const MESSAGES: readonly Row[] = [
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
    { 'openai-chat': [`${PART}/source/url`] },
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

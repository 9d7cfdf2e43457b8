// What is lost of responses.
import { DEAF, HI, without, type Row } from './row.ts'
import type { Json } from './sides.ts'

const ITEM = '/input/*'
const ITEM_PART = `${ITEM}/content/*`

/** Input of one user's message. */
function shown(...content: readonly Json[]): Json {
  const text = { type: 'input_text', text: 'Hi' }
  return { input: [{ role: 'user', content: [text, ...content] }] }
}

/** Input in which more has happened before a user goes on. */
function after(...items: readonly Json[]): Json {
  return { input: [HI, ...items, HI] }
}

export const NAMED = {
  type: 'function',
  name: 'now',
  parameters: { type: 'object' },
  strict: false,
}

const CLOSED = { type: 'object', properties: {}, required: [], additionalProperties: false }
const FORM = { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: false }

export const RESPONSES: readonly Row[] = [
  ['nothing', {}, []],
  ['fields that are null', { max_tool_calls: null, unknown: null, conversation: null }, []],
  [
    'fields that are as they would be',
    {
      store: true,
      background: false,
      truncation: 'disabled',
      service_tier: 'default',
      metadata: {},
      include: ['reasoning.encrypted_content'],
      text: { format: { type: 'text' } },
      prompt_cache_key: 'k',
    },
    [],
  ],
  ['what is for the gateway', { region: 'eu', metadata: { session_id: 's', sticky_key: 'k' } }, []],
  ['a summary as its supplier sees fit', { reasoning: { effort: 'low', summary: 'auto' } }, []],
  ['a long summary', { reasoning: { summary: 'detailed' } }, ['/reasoning/summary']],
  ['how many words', { text: { verbosity: 'low' } }, ['/text/verbosity']],
  ['what is kept beside an answer', { metadata: { order: '7' } }, ['/metadata/order']],
  ['what else is to be told', { include: ['message.output_text.logprobs'] }, ['/include']],
  ['a conversation that is cut by itself', { truncation: 'auto' }, ['/truncation']],
  ['how many calls of its own', { max_tool_calls: 3 }, ['/max_tool_calls']],
  ['probabilities', { top_logprobs: 2 }, ['/top_logprobs']],
  ['a field that nobody knows', { 'a/b~c': 1 }, ['/a~1b~0c']],
  [
    'JSON of any shape',
    { text: { format: { type: 'json_object' } } },
    { 'anthropic-messages': ['/text/format'] },
  ],
  ['too high a temperature', { temperature: 1.5 }, { 'anthropic-messages': ['/temperature'] }],
  [
    'two measures of chance',
    { temperature: 0.5, top_p: 0.5 },
    { 'anthropic-messages': ['/top_p'] },
  ],
  ['a user with a long name', { user: 'u'.repeat(257) }, ['/user']],
  ['one by the newer name', { safety_identifier: 'u'.repeat(257) }, ['/safety_identifier']],
  ['an effort', { reasoning: { effort: 'high' } }, ['/reasoning/effort'], DEAF],
  [
    'an effort on the way',
    after({ type: 'configuration_update', reasoning: { effort: 'high' } }),
    ['/input/*/reasoning/effort'],
    DEAF,
  ],
  ['tools', { tools: [NAMED] }, ['/tools'], without('tools')],
  ['a choice', { tools: [NAMED], tool_choice: 'none' }, ['/tool_choice'], without('tool_choice')],
  ['a limit', { max_output_tokens: 9 }, ['/max_output_tokens'], without('max_tokens')],
  [
    'a form',
    { text: { format: FORM } },
    ['/text/format'],
    without('response_format', 'output_config'),
  ],
  [
    'strictness that no schema allows',
    {
      tools: [
        { ...NAMED, strict: true, parameters: { type: 'object', additionalProperties: true } },
      ],
    },
    ['/tools/*/strict'],
  ],
  [
    'strictness without a word',
    { tools: [{ type: 'function', name: 'a', parameters: CLOSED }] },
    [],
  ],
  [
    'tools that the supplier runs',
    { tools: [NAMED, { type: 'web_search' }, { type: 'mcp', server_label: 'a' }] },
    ['/tools/*/web_search', '/tools/*/mcp'],
  ],
  [
    'tools in a space of names',
    { tools: [NAMED, { type: 'namespace', name: 'a', tools: [] }] },
    ['/tools/*/namespace'],
  ],
  [
    'a tool that takes any text',
    { tools: [NAMED, { type: 'custom', name: 'free' }] },
    ['/tools/*/custom'],
  ],
  [
    'what a tool is told beside its schema',
    { tools: [{ ...NAMED, defer_loading: true }] },
    ['/tools/*/defer_loading'],
  ],
  [
    'which of the tools may be called',
    {
      tools: [NAMED],
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [{ type: 'function', name: 'now' }],
      },
    },
    ['/tool_choice/allowed_tools'],
  ],
  ['a file by its id', shown({ type: 'input_file', file_id: 'file-1' }), [`${ITEM_PART}/file_id`]],
  [
    'an image by its id',
    shown({ type: 'input_image', file_id: 'file-1', detail: 'auto' }),
    [`${ITEM_PART}/file_id`],
  ],
  [
    'a file by its address',
    shown({ type: 'input_file', file_url: 'https://a.test/b.pdf' }),
    { 'openai-chat': [`${ITEM_PART}/file_url`] },
  ],
  [
    'how closely an image is looked at',
    shown({ type: 'input_image', image_url: 'https://a.test/b.png', detail: 'high' }),
    { 'anthropic-messages': [`${ITEM_PART}/detail`] },
  ],
  [
    'a file by its id, beside its data',
    shown({
      type: 'input_file',
      file_data: 'data:application/pdf;base64,JVBERg==',
      file_id: 'file-1',
    }),
    [`${ITEM_PART}/file_id`],
  ],
  [
    'a file of a type that is not taken',
    shown({ type: 'input_file', filename: 'a.zip', file_data: 'data:application/zip;base64,AA==' }),
    { 'anthropic-messages': [`${ITEM_PART}/file_data`] },
  ],
  [
    'what a result shows by its id, and how closely it is looked at',
    after(
      { type: 'function_call', call_id: 'c', name: 'now', arguments: '{}' },
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [
          { type: 'input_image', file_id: 'file-1' },
          { type: 'input_image', image_url: 'https://a.test/b.png', detail: 'high' },
        ],
      },
    ),
    {
      'openai-chat': [`${ITEM}/output/*/file_id`],
      'anthropic-messages': [`${ITEM}/output/*/file_id`, `${ITEM}/output/*/detail`],
    },
  ],
  [
    'marks for a cache',
    shown({ type: 'input_text', text: 'a', prompt_cache_breakpoint: { ttl: '12h' } }),
    {
      'openai-chat': [`${ITEM_PART}/prompt_cache_breakpoint`],
      'anthropic-messages': [`${ITEM_PART}/prompt_cache_breakpoint/ttl`],
    },
  ],
  ['a part that nobody knows', shown({ type: 'hologram', a: 1 }), [`${ITEM_PART}/hologram`]],
  [
    'what the supplier has done by itself',
    after(
      { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search' } },
      { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' },
      { type: 'mcp_list_tools', id: 'mcpl_1', server_label: 'a', tools: [] },
      { role: 'assistant', content: 'Yes' },
    ),
    [`${ITEM}/web_search_call`, `${ITEM}/image_generation_call`, `${ITEM}/mcp_list_tools`],
  ],
  [
    'calls of other kinds, and what came of them',
    after(
      { type: 'custom_tool_call', call_id: 'c', name: 'free', input: 'x' },
      { type: 'custom_tool_call_output', call_id: 'c', output: 'y' },
      { type: 'local_shell_call', id: 'l', call_id: 'd', action: {}, status: 'completed' },
    ),
    [`${ITEM}/custom_tool_call`, `${ITEM}/custom_tool_call_output`, `${ITEM}/local_shell_call`],
  ],
  [
    'the sources of a text',
    after({
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Yes', annotations: [{ type: 'url_citation' }] }],
    }),
    [`${ITEM_PART}/annotations`],
  ],
  [
    'a thought of nobody known',
    after(
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [{ type: 'summary_text', text: 'Hm' }],
        encrypted_content: 'c2ln',
      },
      { role: 'assistant', content: 'Yes' },
    ),
    [`${ITEM}/summary`, `${ITEM}/encrypted_content`],
  ],
  [
    'a thought that is not shown',
    after(
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'c2ln' },
      { role: 'assistant', content: 'Yes' },
    ),
    [`${ITEM}/encrypted_content`],
  ],
  [
    'a thought as it was',
    after(
      {
        type: 'reasoning',
        id: 'rs_1',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'Hm' }],
      },
      { role: 'assistant', content: 'Yes' },
    ),
    [`${ITEM}/content`],
  ],
  [
    'a thought without a seal',
    after(
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Hm' }] },
      { role: 'assistant', content: 'Yes' },
    ),
    [`${ITEM}/summary`],
  ],
  [
    'the input of a call that is no object',
    after(
      { type: 'function_call', call_id: 'c', name: 'now', arguments: '{"cut":' },
      { type: 'function_call_output', call_id: 'c', output: 'No' },
    ),
    { 'anthropic-messages': [`${ITEM}/arguments`] },
  ],
]

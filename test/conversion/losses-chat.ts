// What is lost of chats.
import { before, DEAF, HI, HOUR, PART, said, without, type Row } from './row.ts'

const PDF_URL = 'data:application/pdf;base64,JVBERg=='
const NOW = { type: 'function', function: { name: 'now', parameters: { type: 'object' } } }

export const CHAT: readonly Row[] = [
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
  [
    'JSON of any shape',
    { response_format: { type: 'json_object' } },
    { 'anthropic-messages': ['/response_format'] },
  ],
  ['too high a temperature', { temperature: 1.5 }, { 'anthropic-messages': ['/temperature'] }],
  [
    'two measures of chance',
    { temperature: 0.5, top_p: 0.5 },
    { 'anthropic-messages': ['/top_p'] },
  ],
  ['stops of white space', { stop: ['\n'] }, ['/stop']],
  ['stops', { stop: ['END'] }, { 'openai-responses': ['/stop'] }],
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
    { 'anthropic-messages': [`${PART}/file/file_data`] },
  ],
  [
    'how closely an image is looked at',
    said({ type: 'image_url', image_url: { url: 'https://a.test/b.png', detail: 'high' } }),
    { 'anthropic-messages': [`${PART}/image_url/detail`] },
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
    { 'anthropic-messages': [`${PART}/detail`] },
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
    { 'anthropic-messages': [`${PART}/file/file_url`] },
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
    without('max_tokens', 'max_output_tokens'),
  ],
  [
    'a limit by the newer name',
    { max_tokens: null, max_completion_tokens: 9 },
    ['/max_completion_tokens'],
    without('max_tokens', 'max_output_tokens'),
  ],
  [
    'a mark that is for an hour, on a part',
    said({ type: 'text', text: 'a', cache_control: HOUR }),
    {
      'anthropic-messages': [`${PART}/cache_control/ttl`],
      'openai-responses': [`${PART}/cache_control`],
    },
  ],
  [
    'one on a message, and one on a tool',
    { messages: [{ ...HI, cache_control: HOUR }], tools: [{ ...NOW, cache_control: HOUR }] },
    {
      'anthropic-messages': ['/messages/*/cache_control/ttl', '/tools/*/cache_control/ttl'],
      'openai-responses': ['/messages/*/cache_control', '/tools/*/cache_control'],
    },
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
    { 'anthropic-messages': ['/messages/*/function_call/arguments'] },
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
    { 'anthropic-messages': ['/messages/*/tool_calls/*/function/arguments'] },
  ],
]

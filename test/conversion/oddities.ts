// What suppliers send that is not quite their language, and what is meant by it: a row for each, by the language.
import { RESPONSES } from './oddities-responses.ts'
import { call, MADE_UP, text, type Oddity } from './oddity.ts'
import { HEAD } from './roster.ts'
import type { Json } from './sides.ts'

function delta(fields: Json, finish_reason: string | null = null): Json {
  return { choices: [{ index: 0, delta: fields, finish_reason }] }
}

function pieces(...tool_calls: readonly Json[]): Json {
  return delta({ tool_calls })
}

const CHAT: readonly Oddity[] = [
  {
    what: 'content as a list of parts',
    answer: {
      message: { content: [{ type: 'text', text: 'Hi' }] },
      finish_reason: 'stop',
    },
    frames: [delta({ content: [{ type: 'text', text: 'H' }] }), delta({ content: 'i' }, 'stop')],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'thoughts among the parts of the content',
    answer: {
      message: {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] },
          { type: 'text', text: 'Hi' },
        ],
      },
      finish_reason: 'stop',
    },
    frames: [
      delta({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] }),
      delta({ content: 'Hi' }),
      delta({ content: '' }, 'stop'),
    ],
    parts: [{ kind: 'thinking', text: 'Hm' }, text('Hi')],
    reason: 'end',
  },
  {
    what: 'one thought under two names',
    answer: {
      message: { content: 'Hi', reasoning: 'Hm', reasoning_content: 'Hm' },
      finish_reason: 'stop',
    },
    frames: [
      delta({ role: 'assistant', reasoning: 'H', reasoning_content: 'H' }),
      delta({ reasoning: 'm', reasoning_content: 'm', content: '' }),
      delta({ content: 'Hi', reasoning: null, reasoning_content: null }),
      delta({}, 'stop'),
    ],
    parts: [{ kind: 'thinking', text: 'Hm' }, text('Hi')],
    reason: 'end',
  },
  {
    what: 'calls that end with stop',
    answer: {
      message: {
        content: null,
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'now', arguments: '{}' } }],
      },
      finish_reason: 'stop',
    },
    frames: [
      pieces({ index: 0, id: 'c', type: 'function', function: { name: 'now', arguments: '{}' } }),
      delta({}, 'stop'),
    ],
    parts: [call('c', 'now', '{}')],
    reason: 'tools',
  },
  {
    what: 'calls without an index or a type, each whole in one piece',
    answer: {
      message: {
        content: '',
        tool_calls: [
          { id: 'a', function: { name: 'now', arguments: '{"x":1}' } },
          { id: 'b', function: { name: 'now', arguments: '{"x":2}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
    frames: [
      pieces({ id: 'a', function: { name: 'now', arguments: '{"x":1}' } }),
      pieces({ id: 'b', function: { name: 'now', arguments: '{"x":2}' } }),
      delta({}, 'tool_calls'),
    ],
    parts: [call('a', 'now', '{"x":1}'), call('b', 'now', '{"x":2}')],
    reason: 'tools',
  },
  {
    what: 'calls without an index that come in pieces',
    frames: [
      pieces({ id: 'a', type: 'function', function: { name: 'now', arguments: '{"x"' } }),
      pieces({ function: { arguments: ':1}' } }),
      pieces({ id: 'b', type: 'function', function: { name: 'now', arguments: '{"x":2}' } }),
      delta({}, 'tool_calls'),
    ],
    parts: [call('a', 'now', '{"x":1}'), call('b', 'now', '{"x":2}')],
    reason: 'tools',
  },
  {
    what: 'a call that repeats its id and its name in every piece',
    frames: [
      pieces({ index: 0, id: 'a', type: 'function', function: { name: 'now', arguments: '{"x"' } }),
      pieces({ index: 0, id: 'a', type: 'function', function: { name: 'now', arguments: ':1}' } }),
      delta({}, 'tool_calls'),
    ],
    parts: [call('a', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'calls without ids',
    answer: {
      message: {
        tool_calls: [
          { type: 'function', function: { name: 'now', arguments: '{}' } },
          { type: 'function', function: { name: 'look', arguments: '{}' } },
        ],
      },
      finish_reason: 'tool_calls',
    },
    frames: [
      pieces({ index: 0, type: 'function', function: { name: 'now', arguments: '{}' } }),
      pieces({ index: 1, type: 'function', function: { name: 'look', arguments: '{}' } }),
      delta({}, 'tool_calls'),
    ],
    parts: [call(MADE_UP, 'now', '{}'), call(MADE_UP, 'look', '{}')],
    reason: 'tools',
  },
  {
    what: 'the input of a call as an object',
    answer: {
      message: {
        tool_calls: [{ id: 'c', type: 'function', function: { name: 'now', arguments: { x: 1 } } }],
      },
      finish_reason: 'tool_calls',
    },
    frames: [
      pieces({
        index: 0,
        id: 'c',
        type: 'function',
        function: { name: 'now', arguments: { x: 1 } },
      }),
      delta({}, 'tool_calls'),
    ],
    parts: [call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'a call of the old style',
    answer: {
      message: { content: null, function_call: { name: 'now', arguments: '{"x":1}' } },
      finish_reason: 'function_call',
    },
    frames: [
      delta({ function_call: { name: 'now', arguments: '' } }),
      delta({ function_call: { arguments: '{"x":1}' } }),
      delta({}, 'function_call'),
    ],
    parts: [call(MADE_UP, 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'a finish and the last text in one frame, and a frame without choices',
    frames: [
      { choices: [], prompt_filter_results: [] },
      delta({ content: 'H' }),
      delta({ content: 'i' }, 'stop'),
    ],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'a choice that goes on after its finish with nothing',
    frames: [delta({ content: 'Hi' }), delta({}, 'stop'), delta({ content: '' }, 'stop')],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'more than one choice, of which the first is the answer',
    answer: { message: { content: 'Hi' }, finish_reason: 'stop' },
    frames: [
      delta({ content: 'Hi' }),
      { choices: [{ index: 1, delta: { content: 'Ho' }, finish_reason: 'stop' }] },
      delta({}, 'stop'),
    ],
    parts: [text('Hi')],
    reason: 'end',
    lost: ['/choices/*'],
  },
  {
    what: 'a limit that was reached in the midst of a call',
    frames: [
      pieces({ index: 0, id: 'c', type: 'function', function: { name: 'now', arguments: '{"x' } }),
      delta({}, 'length'),
    ],
    parts: [call('c', 'now', '{"x')],
    reason: 'length',
  },
  {
    what: 'calls without an index or an id, each whole in one piece',
    frames: [
      pieces({ function: { name: 'now', arguments: '{"x":1}' } }),
      pieces({ function: { name: 'now', arguments: '{"x":2}' } }),
      delta({}, 'tool_calls'),
    ],
    parts: [call(MADE_UP, 'now', '{"x":1}'), call(MADE_UP, 'now', '{"x":2}')],
    reason: 'tools',
  },
  {
    what: 'what stands beside a text and has no other place',
    answer: {
      message: {
        content: 'Hi',
        annotations: [{ type: 'url_citation' }],
        audio: null,
        mood: 'good',
      },
      finish_reason: 'stop',
    },
    frames: [
      delta({ content: 'Hi', annotations: [{ type: 'url_citation' }], mood: 'good' }, 'stop'),
    ],
    parts: [text('Hi')],
    reason: 'end',
    lost: ['/choices/*/message/annotations', '/choices/*/message/mood'],
    lostOnStream: ['/choices/*/delta/annotations', '/choices/*/delta/mood'],
  },
  {
    what: 'text in the midst of a call',
    frames: [
      delta({ content: 'A' }),
      pieces({ index: 0, id: 'c', type: 'function', function: { name: 'now', arguments: '{"x"' } }),
      delta({ content: 'B' }),
      pieces({ index: 0, function: { arguments: ':1}' } }),
      delta({ content: 'C' }),
      delta({}, 'tool_calls'),
    ],
    parts: [text('A'), call('c', 'now', '{"x":1}'), text('BC')],
    reason: 'tools',
  },
  {
    what: 'thoughts between texts',
    frames: [
      delta({ reasoning_content: 'Hm' }),
      delta({ content: 'A' }),
      delta({ reasoning_content: 'So' }),
      delta({ content: 'B' }),
      delta({}, 'stop'),
    ],
    parts: [
      { kind: 'thinking', text: 'Hm' },
      text('A'),
      { kind: 'thinking', text: 'So' },
      text('B'),
    ],
    reason: 'end',
  },
  {
    what: 'a reason that nobody knows',
    answer: { message: { content: 'Hi' }, finish_reason: 'eos' },
    frames: [delta({ content: 'Hi' }), delta({}, 'eos')],
    parts: [text('Hi')],
    reason: 'end',
  },
]

function begin(index: number, content_block: Json): Json {
  return { type: 'content_block_start', index, content_block }
}

function add(index: number, fields: Json): Json {
  return { type: 'content_block_delta', index, delta: fields }
}

function stop(index: number): Json {
  return { type: 'content_block_stop', index }
}

function reason(stop_reason: string): Json {
  return { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 5 } }
}

const START = {
  type: 'message_start',
  message: { id: `msg_${HEAD.id}`, content: [], usage: { input_tokens: 10, output_tokens: 1 } },
}

const MESSAGES: readonly Oddity[] = [
  {
    what: 'text that stands in the beginning of its block',
    frames: [
      START,
      begin(0, { type: 'text', text: 'H' }),
      add(0, { type: 'text_delta', text: 'i' }),
      stop(0),
      reason('end_turn'),
    ],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'the whole input in the beginning of a call',
    frames: [
      START,
      begin(0, { type: 'tool_use', id: 'c', name: 'now', input: { x: 1 } }),
      stop(0),
      reason('tool_use'),
    ],
    parts: [call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'a call without any input',
    answer: {
      content: [{ type: 'tool_use', id: 'c', name: 'now', input: {} }],
      stop_reason: 'tool_use',
    },
    frames: [
      START,
      begin(0, { type: 'tool_use', id: 'c', name: 'now', input: {} }),
      add(0, { type: 'input_json_delta', partial_json: '' }),
      stop(0),
      reason('tool_use'),
    ],
    parts: [call('c', 'now', '{}')],
    reason: 'tools',
  },
  {
    what: 'pings, events that nobody knows and an empty text',
    frames: [
      START,
      { type: 'ping' },
      begin(0, { type: 'text', text: '' }),
      add(0, { type: 'text_delta', text: '' }),
      { type: 'mood', mood: 'good' },
      add(0, { type: 'text_delta', text: 'Hi' }),
      stop(0),
      reason('end_turn'),
    ],
    parts: [text('Hi')],
    reason: 'end',
    lost: ['/mood'],
  },
  {
    what: 'calls without ids',
    answer: {
      content: [
        { type: 'tool_use', name: 'now', input: {} },
        { type: 'tool_use', id: null, name: 'look', input: {} },
      ],
      stop_reason: 'tool_use',
    },
    frames: [
      START,
      begin(0, { type: 'tool_use', name: 'now', input: {} }),
      stop(0),
      begin(1, { type: 'tool_use', id: null, name: 'look', input: {} }),
      stop(1),
      reason('tool_use'),
    ],
    parts: [call(MADE_UP, 'now', '{}'), call(MADE_UP, 'look', '{}')],
    reason: 'tools',
  },
  {
    what: 'numbers that are longer than numbers can be',
    frames: [
      START,
      begin(0, { type: 'tool_use', id: 'c', name: 'now', input: {} }),
      add(0, { type: 'input_json_delta', partial_json: '{"x":12345678901234567890}' }),
      stop(0),
      reason('tool_use'),
    ],
    parts: [call('c', 'now', '{"x":12345678901234567890}')],
    reason: 'tools',
  },
  {
    what: 'blocks without an end',
    frames: [
      START,
      begin(0, { type: 'text', text: '' }),
      add(0, { type: 'text_delta', text: 'Hi' }),
      begin(1, { type: 'tool_use', id: 'c', name: 'now', input: {} }),
      add(1, { type: 'input_json_delta', partial_json: '{"x":1}' }),
      reason('tool_use'),
    ],
    parts: [text('Hi'), call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'what its supplier did by itself, between two texts',
    answer: {
      content: [
        { type: 'text', text: 'A' },
        { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'q' } },
        { type: 'web_search_tool_result', tool_use_id: 's', content: [] },
        { type: 'text', text: 'B' },
      ],
      stop_reason: 'end_turn',
    },
    frames: [
      START,
      begin(0, { type: 'text', text: 'A' }),
      stop(0),
      begin(1, { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }),
      add(1, { type: 'input_json_delta', partial_json: '{"query":"q"}' }),
      stop(1),
      begin(2, { type: 'web_search_tool_result', tool_use_id: 's', content: [] }),
      stop(2),
      begin(3, { type: 'text', text: 'B' }),
      stop(3),
      reason('end_turn'),
    ],
    parts: [text('A'), text('B')],
    reason: 'end',
    lost: ['/content/*/server_tool_use', '/content/*/web_search_tool_result'],
  },
  {
    what: 'who has called, which says nothing',
    answer: {
      content: [{ type: 'tool_use', id: 'c', name: 'now', input: {}, caller: { type: 'direct' } }],
      stop_reason: 'tool_use',
    },
    parts: [call('c', 'now', '{}')],
    reason: 'tools',
  },
  {
    what: 'more text after its end',
    frames: [
      START,
      begin(0, { type: 'text', text: 'Hi' }),
      stop(0),
      reason('end_turn'),
      begin(1, { type: 'text', text: 'Ho' }),
      stop(1),
    ],
    parts: [text('Hi')],
    reason: 'end',
    lost: ['/content/*/text'],
  },
  {
    what: 'citations of a text',
    answer: {
      content: [{ type: 'text', text: 'A', citations: [{ type: 'char_location' }] }],
      stop_reason: 'end_turn',
    },
    frames: [
      START,
      begin(0, { type: 'text', text: 'A', citations: [] }),
      add(0, { type: 'citations_delta', citation: { type: 'char_location' } }),
      stop(0),
      reason('end_turn'),
    ],
    parts: [text('A')],
    reason: 'end',
    lost: ['/content/*/citations'],
  },
  {
    what: 'a reason that nobody knows',
    answer: { content: [{ type: 'text', text: 'Hi' }], stop_reason: 'moonrise' },
    frames: [START, begin(0, { type: 'text', text: 'Hi' }), stop(0), reason('moonrise')],
    parts: [text('Hi')],
    reason: 'end',
  },
]

export const ODDITIES: Readonly<Record<string, readonly Oddity[]>> = {
  'openai-chat': CHAT,
  'anthropic-messages': MESSAGES,
  'openai-responses': RESPONSES,
}

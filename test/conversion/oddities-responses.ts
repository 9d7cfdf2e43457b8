// What suppliers of responses send that is not quite the language of its maker: servers of open models that leave
// events out, and items that only their supplier has a use for.
import { call, MADE_UP, text, type Oddity } from './oddity.ts'
import type { Json } from './sides.ts'

function added(output_index: number, item: Json): Json {
  return { type: 'response.output_item.added', output_index, item }
}

function done(output_index: number, item: Json): Json {
  return { type: 'response.output_item.done', output_index, item }
}

function piece(output_index: number, delta: string): Json {
  const at = { item_id: `item_${output_index}`, output_index, content_index: 0 }
  return { type: 'response.output_text.delta', ...at, delta }
}

function input(output_index: number, delta: string): Json {
  const at = { item_id: `item_${output_index}`, output_index }
  return { type: 'response.function_call_arguments.delta', ...at, delta }
}

function said(words: string, beside: Json = {}): Json {
  const content = [{ type: 'output_text', text: words, annotations: [], ...beside }]
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
}

function called(call_id: string, name: string, input: unknown): Json {
  return { type: 'function_call', id: `fc_${call_id}`, call_id, name, arguments: input }
}

const BEGUN = {
  type: 'message',
  id: 'msg_1',
  role: 'assistant',
  status: 'in_progress',
  content: [],
}

export const RESPONSES: readonly Oddity[] = [
  {
    what: 'a text whose part was never begun',
    frames: [added(0, BEGUN), piece(0, 'H'), piece(0, 'i'), done(0, said('Hi'))],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'whole items, without any piece of them',
    frames: [done(0, said('Hi')), done(1, called('c', 'now', '{"x":1}'))],
    parts: [text('Hi'), call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'items that begin with all they have',
    frames: [
      added(0, said('Hi')),
      done(0, said('Hi')),
      added(1, called('c', 'now', '{"x":1}')),
      done(1, called('c', 'now', '{"x":1}')),
    ],
    parts: [text('Hi'), call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'the input of a call at its end alone',
    frames: [
      added(0, called('c', 'now', '')),
      {
        type: 'response.function_call_arguments.done',
        item_id: 'fc_c',
        output_index: 0,
        arguments: '{"x":1}',
      },
      done(0, called('c', 'now', '{"x":1}')),
    ],
    parts: [call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'the input of a call as an object',
    answer: { output: [called('c', 'now', { x: 1 })] },
    parts: [call('c', 'now', '{"x":1}')],
    reason: 'tools',
  },
  {
    what: 'calls without ids',
    answer: {
      output: [
        { type: 'function_call', name: 'now', arguments: '{}' },
        { type: 'function_call', call_id: null, name: 'look', arguments: '{}' },
      ],
    },
    frames: [
      added(0, { type: 'function_call', name: 'now', arguments: '' }),
      input(0, '{}'),
      done(0, { type: 'function_call', name: 'now', arguments: '{}' }),
      added(1, { type: 'function_call', call_id: null, name: 'look', arguments: '' }),
      input(1, '{}'),
      done(1, { type: 'function_call', call_id: null, name: 'look', arguments: '{}' }),
    ],
    parts: [call(MADE_UP, 'now', '{}'), call(MADE_UP, 'look', '{}')],
    reason: 'tools',
  },
  {
    what: 'events that nobody knows and remarks of the line',
    frames: [
      { type: 'keepalive' },
      added(0, BEGUN),
      { type: 'response.output_text.mood', output_index: 0, mood: 'good' },
      piece(0, 'Hi'),
      done(0, said('Hi')),
    ],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'several messages, of which each is a text of its own',
    answer: { output: [said('A'), said('B')] },
    frames: [
      added(0, BEGUN),
      piece(0, 'A'),
      done(0, said('A')),
      added(1, BEGUN),
      piece(1, 'B'),
      done(1, said('B')),
    ],
    parts: [text('A'), text('B')],
    reason: 'end',
  },
  {
    what: 'a thought in several parts',
    answer: {
      output: [
        {
          type: 'reasoning',
          summary: [
            { type: 'summary_text', text: 'Hm' },
            { type: 'summary_text', text: 'So' },
          ],
        },
        said('Hi'),
      ],
    },
    frames: [
      added(0, { type: 'reasoning', id: 'rs_1', summary: [] }),
      thought(0, 0, 'Hm'),
      thought(0, 1, 'So'),
      done(0, {
        type: 'reasoning',
        id: 'rs_1',
        summary: [
          { type: 'summary_text', text: 'Hm' },
          { type: 'summary_text', text: 'So' },
        ],
      }),
      added(1, BEGUN),
      piece(1, 'Hi'),
      done(1, said('Hi')),
    ],
    parts: [{ kind: 'thinking', text: 'Hm\n\nSo' }, text('Hi')],
    reason: 'end',
  },
  {
    what: 'a limit that was reached in the midst of a call',
    frames: [
      added(0, called('c', 'now', '')),
      input(0, '{"x'),
      done(0, { ...called('c', 'now', '{"x'), status: 'incomplete' }),
      ended('response.incomplete', {
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [{ ...called('c', 'now', '{"x'), status: 'incomplete' }],
      }),
    ],
    parts: [call('c', 'now', '{"x')],
    reason: 'length',
  },
  {
    what: 'an end that says nothing of how it is',
    answer: { output: [said('Hi')], status: undefined },
    frames: [
      added(0, BEGUN),
      piece(0, 'Hi'),
      done(0, said('Hi')),
      ended('response.completed', { output: [said('Hi')] }),
    ],
    parts: [text('Hi')],
    reason: 'end',
  },
  {
    what: 'what its supplier did by itself, between two texts',
    answer: { output: [said('A'), { type: 'web_search_call', id: 'ws_1' }, said('B')] },
    frames: [
      added(0, BEGUN),
      piece(0, 'A'),
      done(0, said('A')),
      added(1, { type: 'web_search_call', id: 'ws_1', status: 'in_progress' }),
      { type: 'response.web_search_call.searching', output_index: 1, item_id: 'ws_1' },
      { type: 'response.web_search_call.completed', output_index: 1, item_id: 'ws_1' },
      done(1, { type: 'web_search_call', id: 'ws_1', status: 'completed' }),
      added(2, BEGUN),
      piece(2, 'B'),
      done(2, said('B')),
    ],
    parts: [text('A'), text('B')],
    reason: 'end',
    lost: ['/output/*/web_search_call'],
  },
  {
    what: 'the sources of a text',
    answer: { output: [said('A', { annotations: [{ type: 'url_citation' }] })] },
    frames: [
      added(0, BEGUN),
      piece(0, 'A'),
      {
        type: 'response.output_text.annotation.added',
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: { type: 'url_citation' },
      },
      done(0, said('A', { annotations: [{ type: 'url_citation' }] })),
    ],
    parts: [text('A')],
    reason: 'end',
    lost: ['/output/*/content/*/annotations'],
  },
]

function thought(output_index: number, summary_index: number, delta: string): Json {
  const at = { item_id: 'rs_1', output_index, summary_index }
  return { type: 'response.reasoning_summary_text.delta', ...at, delta }
}

function ended(type: string, response: Json): Json {
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  return { type, response: { id: 'resp_a1', object: 'response', usage, ...response } }
}

// A conversation that goes on: what a supplier has sealed goes through a caller of any language and comes back to it as
// it was, and to nobody else. Callers echo what they were told, whole or streamed.
import { describe, expect, it } from 'bun:test'
import { SEAL_PREFIX } from '../../src/dialects/seal.ts'
import {
  fromBytes,
  HEAD,
  listen,
  pairs,
  TARGET,
  tell,
  titleOf,
  toBytes,
  type Pair,
} from './roster.ts'
import { sideOf, type Json } from './sides.ts'

const CALL = { id: 'call_1', type: 'function', function: { name: 'now', arguments: '{"x":1}' } }
const USE = { type: 'tool_use', id: 'call_1', name: 'now', input: { x: 1 } }
const YES = { type: 'message', content: [{ type: 'output_text', text: 'Yes' }] }
const FUNCTION = { type: 'function_call', call_id: 'call_1', name: 'now', arguments: '{"x":1}' }

/** Answers with seals as suppliers of each language send them, and want them back. */
const SEALED: Readonly<Record<string, Readonly<Record<string, Json>>>> = {
  'openai-chat': {
    'a thought in details': {
      message: {
        content: 'Yes',
        reasoning_content: 'Hm',
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm', signature: 'c2ln', format: 'a-v1', index: 0 },
        ],
      },
      finish_reason: 'stop',
    },
    'a thought in details, before a call': {
      message: {
        reasoning_content: 'Hm',
        reasoning_details: [
          { type: 'reasoning.encrypted', data: 'b3BhcXVl', id: 'rs_1', format: 'b-v1', index: 0 },
        ],
        tool_calls: [CALL],
      },
      finish_reason: 'tool_calls',
    },
    'a call with a seal of its own': {
      message: {
        tool_calls: [
          { ...CALL, extra_content: { google: { thought_signature: 'c2ln' } } },
          { ...CALL, id: 'call_2' },
        ],
      },
      finish_reason: 'tool_calls',
    },
  },
  'anthropic-messages': {
    'a thought': {
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        { type: 'text', text: 'Yes' },
      ],
      stop_reason: 'end_turn',
    },
    'a thought and one that is not shown, before a call': {
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'c2ln' },
        { type: 'redacted_thinking', data: 'b3BhcXVl' },
        { type: 'text', text: 'I look' },
        USE,
      ],
      stop_reason: 'tool_use',
    },
    'a seal without a thought': {
      content: [{ type: 'thinking', thinking: '', signature: 'c2ln' }, USE],
      stop_reason: 'tool_use',
    },
  },
  'openai-responses': {
    'a thought': { output: [thought('c2ln', 'Hm'), YES] },
    'a thought that is not shown, before a call': { output: [thought('b3BhcXVl'), FUNCTION] },
    'a thought, before calls': {
      output: [thought('c2ln', 'Hm'), FUNCTION, { ...FUNCTION, call_id: 'call_2' }],
    },
    'two thoughts, of which one is shown': {
      output: [thought('c2ln', 'Hm'), thought('b3BhcXVl'), YES],
    },
  },
}

function thought(encrypted_content: string, text?: string): Json {
  const summary = text === undefined ? [] : [{ type: 'summary_text', text }]
  return { type: 'reasoning', summary, encrypted_content }
}

/** The answer as the caller's client has it in its hands. */
function answerTo({ caller, supplier }: Pair, brief: Json, isStreamed: boolean): Json {
  const theirs = sideOf(supplier.id)
  const ours = sideOf(caller.id)
  if (isStreamed) {
    const { events, usage } = listen(supplier, theirs.stream(brief))
    return ours.collect(tell(caller, events, usage))
  }
  const body = toBytes(theirs.answer(brief))
  const { usage } = supplier.relay.read(body)
  if (usage === undefined) throw new Error('no usage')
  const response = supplier.codec.response.decode(body)
  const answer = caller.codec.response.encode({ ...response, usage }, HEAD)
  return ours.brief(fromBytes(answer) as Json)
}

/** What a supplier is sent next, and what it is not. */
function goOn({ caller, supplier }: Pair, answer: Json, to: string) {
  const { request, goOn } = sideOf(caller.id)
  const body = toBytes({ ...request, ...goOn(answer) })
  caller.peek(body)
  const heard = caller.codec.request.decode(body)
  const { body: sent, lost } = supplier.codec.request.encode(heard.request, {
    ...TARGET,
    supplier: to,
  })
  return { sent: fromBytes(sent) as Json, lost, unheard: heard.lost }
}

// Who speaks the language of its supplier is relayed, and has the supplier's own seals in its hands.
for (const pair of pairs.filter(({ caller, supplier }) => caller.id !== supplier.id))
  describe(`seals, ${titleOf(pair)}`, () => {
    const theirs = sideOf(pair.supplier.id)
    for (const [what, brief] of Object.entries(SEALED[pair.supplier.id] ?? {}))
      for (const isStreamed of [false, true]) {
        const title = `${what}, ${isStreamed ? 'streamed' : 'whole'}`

        it(`come back as they were: ${title}`, () => {
          const { sent, lost, unheard } = goOn(
            pair,
            answerTo(pair, brief, isStreamed),
            TARGET.supplier,
          )
          const echoed = theirs.echoed(theirs.plain(sent))
          const said = Object.keys(echoed).map((name) => [name, brief[name]])
          expect(echoed).toEqual(Object.fromEntries(said))
          expect(lost).toEqual([])
          expect(unheard).toEqual([])
          expect(JSON.stringify(sent)).not.toContain(SEAL_PREFIX)
        })

        it(`go to nobody else: ${title}`, () => {
          const { sent, lost } = goOn(pair, answerTo(pair, brief, isStreamed), 'somebody-else')
          const text = JSON.stringify(sent)
          for (const secret of ['c2ln', 'b3BhcXVl', SEAL_PREFIX, 'Hm'])
            expect(text).not.toContain(secret)
          expect(lost).toContain('seal')
        })
      }
  })

// What callers are told that a conversion has lost, in their own words and to the letter; and what is refused because
// it makes no sense without what would be lost.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { GatewayError } from '../../src/core/problem.ts'
import type { Target } from '../../src/dialects/codec.ts'
import { mergeLosses } from '../../src/pipeline/losses.ts'
import { placesOf } from '../../src/pipeline/request.ts'
import { ALL_TRAITS, requestsOf } from '../fakes/conversations.ts'
import { GREETINGS, lostAt, ROWS } from './losses.ts'
import { LOOK } from './losses-messages.ts'
import { NAMED } from './losses-responses.ts'
import { exists } from './pointer.ts'
import { hear, languages, pairs, TARGET, titleOf, toBytes, type Language } from './roster.ts'
import { HI } from './row.ts'
import { sideOf, type Json } from './sides.ts'

/** As the pipeline tells it. */
function tellLosses(
  caller: Language,
  supplier: Language,
  fields: Json,
  target: Partial<Target> = {},
): readonly string[] {
  const asked = { ...sideOf(caller.id).request, ...GREETINGS[caller.id], ...fields }
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
  const lists = ['messages', 'input', 'tools', 'functions'].flatMap((name) => {
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
  'text',
  'reasoning_effort',
  'reasoning',
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
        const told = tellLosses(caller, supplier, fields, target)
        expect(told.toSorted()).toEqual(lostAt(supplier.id, lost).toSorted())
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
    [
      'a choice of a tool that is gone',
      'openai-responses',
      { tools: [NAMED, { type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'tool_choice',
    ],
    [
      'a turn of which nothing is left',
      'openai-responses',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
      'input',
    ],
    [
      'an answer that only its supplier remembers',
      'openai-responses',
      { previous_response_id: 'resp_1' },
      'previous_response_id',
    ],
    [
      'a conversation that only its supplier remembers',
      'openai-responses',
      { conversation: { id: 'conv_1' } },
      'conversation',
    ],
    [
      'a prompt that only its supplier knows',
      'openai-responses',
      { prompt: { id: 'pmpt_1' } },
      'prompt',
    ],
    [
      'an item that only its supplier remembers',
      'openai-responses',
      { input: [HI, { type: 'item_reference', id: 'msg_1' }, HI] },
      'input',
    ],
  ]

  it.each(REFUSED)('is refused: %s (%s)', (_, id, fields, param) => {
    const callers = languages.filter((language) => language.id === id)
    expect(callers).toHaveLength(1)
    for (const caller of callers)
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

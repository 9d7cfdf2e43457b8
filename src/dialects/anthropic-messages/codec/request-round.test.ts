// Whatever this language can say comes back as it was said; and whatever a caller sends is understood, or refused with
// the field that is wrong.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type {
  AssistantTurn,
  ChatRequest,
  TextPart,
  Tool,
  Turn,
  UserTurn,
} from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import type { Target } from '../../codec.ts'
import { peek } from '../peek.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

const TARGET: Target = {
  model: 'their-model',
  supplier: 'maker',
  maxTokens: undefined,
  maxTokensDefault: 4096,
  reasoning: 'effort',
  samples: undefined,
  quirks: { usage: 'always' },
}

const texts = fc.string({ unit: 'binary', maxLength: 9 }).map((text) => `${text}.`)
const names = fc.stringMatching(/^[\w-]{1,9}$/)
const base64 = fc.base64String({ minLength: 4, maxLength: 8 })
const urls = names.map((name) => `https://a.test/${name}`)

/** With each of the optional fields or without it. */
function some<Value>(value: object, optional: Record<string, fc.Arbitrary<unknown>>) {
  return fc
    .record(optional, { requiredKeys: [], noNullPrototype: true })
    .map((more) => ({ ...value, ...more }) as Value)
}

const cache = { cache: fc.constant('short' as const) }
const text = texts.chain((text) => some<TextPart>({ kind: 'text', text }, cache))
const source = fc.oneof(
  base64.map((data) => ({ kind: 'data', mediaType: 'application/pdf', data })),
  urls.map((url) => ({ kind: 'url', url })),
)
const image = source.chain((source) =>
  some<UserTurn['parts'][number]>({ kind: 'image', source }, cache),
)
const file = fc
  .oneof(
    source,
    texts.map((text) => ({ kind: 'text', text })),
  )
  .chain((source) =>
    some<UserTurn['parts'][number]>({ kind: 'file', source }, { name: texts, ...cache }),
  )
const shown = fc.oneof(text, image, file)
const result = fc
  .record({ id: names, parts: fc.array(shown, { maxLength: 3 }), isError: fc.boolean() })
  .chain((fields) => some<UserTurn['parts'][number]>({ kind: 'result', ...fields }, cache))

const objects = fc.dictionary(texts, fc.jsonValue(), { maxKeys: 3, noNullPrototype: true })
const call = fc
  .record({ id: names, name: names, input: objects.map((value) => JSON.stringify(value)) })
  .chain((fields) => some<AssistantTurn['parts'][number]>({ kind: 'call', ...fields }, cache))
const seal = names.map((data) => ({ data, supplier: 'maker' }))
const thought = fc.oneof(
  fc.record({
    kind: fc.constant('thinking' as const),
    text: fc.oneof(texts, fc.constant('')),
    seal,
  }),
  seal.map((seal) => ({ kind: 'thinking', text: '', seal, isHidden: true }) as const),
)

const said = fc.oneof(text, call, thought)
const assistant = fc
  .array(said, { minLength: 1, maxLength: 4 })
  .map((parts): AssistantTurn => ({ role: 'assistant', parts }))
const user = fc
  .tuple(fc.array(result, { maxLength: 2 }), fc.array(shown, { maxLength: 3 }))
  .filter(([results, rest]) => results.length + rest.length > 0)
  .map(([results, rest]): UserTurn => ({ role: 'user', parts: [...results, ...rest] }))
const turns = fc
  .tuple(user, fc.array(fc.tuple(assistant, user), { maxLength: 3 }))
  .map(([first, rest]): readonly Turn[] => [first, ...rest.flat()])

/** Whatever else it says, it leaves nothing open. */
const schema = objects.map((value) => ({ ...value, type: 'object', additionalProperties: false }))
const tool = fc
  .record({ name: names, schema })
  .chain((fields) => some<Tool>(fields, { description: texts, isStrict: fc.boolean(), ...cache }))

const choice = fc.oneof(
  fc.constant({}),
  fc
    .tuple(
      fc.oneof(
        fc.constantFrom({ mode: 'auto' }, { mode: 'any' }),
        names.map((name) => ({ mode: 'named', name })),
      ),
      fc.option(fc.boolean(), { nil: undefined }),
    )
    .map(([toolChoice, parallelTools]) =>
      parallelTools === undefined ? { toolChoice } : { toolChoice, parallelTools },
    ),
  fc.constant({ toolChoice: { mode: 'none' } }),
)
/** How much to think, or how to choose words: this language takes hardly both. */
const manner = fc.oneof(
  fc.constant({}),
  fc.constant({ reasoning: { effort: 'none' } }),
  fc.constant({ reasoning: { isAdaptive: true } }),
  fc
    .constantFrom('low', 'medium', 'high', 'xhigh', 'max')
    .map((effort) => ({ reasoning: { effort, isAdaptive: true } })),
  fc
    .double({ min: 0, max: 1, noNaN: true })
    .map((temperature) => ({ temperature: temperature + 0 })),
  fc.record({
    topP: fc.double({ min: 0, max: 1, noNaN: true }).map((value) => value + 0),
    topK: fc.nat(),
  }),
)

const requests = fc
  .tuple(
    fc.record({
      system: fc.array(text, { maxLength: 3 }),
      turns,
      stream: fc.boolean(),
      stop: fc.array(texts, { maxLength: 3 }),
      maxTokens: fc.nat(100_000),
    }),
    fc.oneof(
      fc.constant({ tools: [] }),
      fc
        .tuple(
          fc.uniqueArray(tool, { minLength: 1, maxLength: 3, selector: ({ name }) => name }),
          choice,
        )
        .map(([tools, choice]) => ({ tools, ...choice })),
    ),
    manner,
    some<object>({}, { user: texts, format: schema.map((schema) => ({ kind: 'schema', schema })) }),
  )
  .map(([base, tools, manner, more]) => ({ ...base, ...tools, ...manner, ...more }) as ChatRequest)
  .filter(
    ({ reasoning, toolChoice }) =>
      reasoning === undefined || !['any', 'named'].includes(toolChoice?.mode ?? ''),
  )
  .filter(callsOnce)
  .map(withFewMarks)

/** An id that comes again is told as another. */
function callsOnce({ turns }: ChatRequest): boolean {
  const parts = turns.flatMap(({ parts }): readonly Turn['parts'][number][] => parts)
  const ids = parts.flatMap((part) => (part.kind === 'call' ? [part.id] : []))
  return new Set(ids).size === ids.length
}

/** No more than this language takes, which are four. */
function withFewMarks(request: ChatRequest): ChatRequest {
  let left = 4
  const text = JSON.stringify(request).replaceAll(',"cache":"short"', (mark) =>
    left-- > 0 ? mark : '',
  )
  return JSON.parse(text) as ChatRequest
}

/** On the wire a supplier's own seal does not tell whose it is. */
function withoutMakers(request: ChatRequest): ChatRequest {
  return JSON.parse(JSON.stringify(request).replaceAll(',"supplier":"maker"', '')) as ChatRequest
}

describe('a request that this language can say', () => {
  it('is understood as it was meant, and loses nothing', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const { body, lost } = encodeRequest(request, TARGET)
        peek(body)
        const decoded = decodeRequest(body)
        expect(lost).toEqual([])
        expect(decoded.lost).toEqual([])
        expect(withoutMakers(decoded.request)).toEqual(withoutMakers(request))
      }),
      { numRuns: 300 },
    )
  })
})

const NAMES = [
  'type',
  'text',
  'content',
  'source',
  'data',
  'url',
  'file_id',
  'media_type',
  'title',
  'tool_use_id',
  'is_error',
  'id',
  'name',
  'input',
  'thinking',
  'signature',
  'cache_control',
  'ttl',
  'tool',
  'input_schema',
  'effort',
  'format',
  'schema',
  'output_config',
  'role',
  'tool_name',
  'citations',
  'user_id',
  'edits',
  '__proto__',
]
const WORDS = [
  'text',
  'image',
  'document',
  'tool_use',
  'tool_result',
  'thinking',
  'redacted_thinking',
  'search_result',
  'tool_reference',
  'tool_addition',
  'base64',
  'url',
  'file',
  'content',
  'ephemeral',
  '1h',
  'json_schema',
  'user',
  'assistant',
  'system',
  'enabled',
  'disabled',
  'auto',
  'tool',
  'gw1.',
  'https://a.test',
  'low',
  '\ud800',
]
const { junk } = fc.letrec<{ junk: unknown }>((tie) => ({
  junk: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom<unknown>(
      null,
      true,
      false,
      0,
      -1,
      1e300,
      12345678901234567890n.toString(),
      '',
      ...WORDS,
    ),
    fc.array(tie('junk'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('junk'), { maxKeys: 5, noNullPrototype: true }),
  ),
}))
const blocks = fc
  .tuple(
    fc.constantFrom(...WORDS.slice(0, 10)),
    fc.dictionary(fc.constantFrom(...NAMES.slice(1)), junk),
  )
  .map(([type, fields]) => ({ type, ...fields }))
const FIELDS = [
  'system',
  'tools',
  'tool_choice',
  'metadata',
  'thinking',
  'output_config',
  'output_format',
  'stop_sequences',
  'top_k',
  'context_management',
  'mcp_servers',
  'odd',
] as const

describe('a request with anything in it', () => {
  it('is understood, or refused with the field that is wrong', () => {
    const seen = { understood: 0, refused: 0 }
    const message = fc.record({
      role: fc.constantFrom('user', 'assistant', 'system'),
      content: fc.oneof(fc.array(fc.oneof(blocks, junk), { maxLength: 3 }), junk),
      output_config: junk,
    })
    const body = fc.tuple(
      fc.array(message, { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...FIELDS), fc.oneof(junk, fc.array(junk)), { maxKeys: 3 }),
    )
    fc.assert(
      fc.property(body, ([messages, fields]) => {
        const all = [{ role: 'user', content: 'Hi' }, ...messages]
        const bytes = new TextEncoder().encode(
          JSON.stringify({ model: 'm', max_tokens: 9, ...fields, messages: all }),
        )
        try {
          const { request, lost } = decodeRequest(bytes)
          expect(lost.length).toBeLessThanOrEqual(64)
          encodeRequest(request, TARGET)
          seen.understood++
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(GatewayError)
          expect((thrown as GatewayError).param).toBeString()
          seen.refused++
        }
      }),
      { numRuns: 1500 },
    )
    expect(seen.understood).toBeGreaterThan(100)
    expect(seen.refused).toBeGreaterThan(100)
  })
})

// Every request that this language can say survives being said and read, and whatever a caller makes up is read or
// refused.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type {
  AssistantPart,
  AssistantTurn,
  ChatRequest,
  FilePart,
  Format,
  ImagePart,
  ResultPart,
  Tool,
  ToolChoice,
  Turn,
} from '../../../core/chat.ts'
import { GatewayError } from '../../../core/problem.ts'
import type { Target } from '../../codec.ts'
import { peek } from '../peek.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

const encoder = new TextEncoder()

const TARGET: Target = {
  model: 'm',
  supplier: 'acme',
  maxTokens: undefined,
  maxTokensDefault: 4096,
  reasoning: 'effort',
  samples: undefined,
  quirks: { usage: 'always' },
}

const PNG = 'data:image/png;base64,iVBO'

const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
const anyText = fc.oneof(text, fc.constantFrom('\ud800', '__proto__', '"', '\0'))
const json = fc
  .dictionary(fc.oneof(text, fc.constant('__proto__')), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 3,
  })
  .map((value) => JSON.parse(JSON.stringify(value)) as object)
const textPart = anyText.map((text) => ({ kind: 'text', text }) as const)
const base64 = fc.base64String({ minLength: 4, maxLength: 16 })
const address = fc.record({ kind: fc.constant('url' as const), url: fc.webUrl() })

function dataOf(mediaType: string) {
  return fc.record({
    kind: fc.constant('data' as const),
    mediaType: fc.constantFrom(mediaType, ''),
    data: base64,
  })
}

const imagePart: fc.Arbitrary<ImagePart> = fc.record(
  {
    kind: fc.constant('image'),
    source: fc.oneof(dataOf('image/png'), address),
    detail: fc.constantFrom('low', 'high', 'original'),
  },
  { requiredKeys: ['kind', 'source'] },
)
const filePart: fc.Arbitrary<FilePart> = fc.oneof(
  fc.record(
    { kind: fc.constant('file'), source: dataOf('application/pdf'), name: text },
    { requiredKeys: ['kind', 'source'] },
  ),
  // An address has no name beside it.
  address.map((source) => ({ kind: 'file', source }) as const),
)
const shown = fc.oneof(textPart, imagePart, filePart)

function resultOf(id: string): fc.Arbitrary<ResultPart> {
  return fc
    .array(shown, { maxLength: 3 })
    .map((parts) => ({ kind: 'result', id, parts, isError: false }))
}

const seal = text.map((data) => ({ data: `s${data}`, supplier: 'acme' }))
const said: fc.Arbitrary<AssistantPart> = fc.oneof(
  textPart,
  anyText.map((text) => ({ kind: 'refusal', text }) as const),
  fc.record({
    kind: fc.constant('thinking' as const),
    text: fc.oneof(anyText, fc.constantFrom('', 'a\n\nb', '\n\n', 'a\n\n\n\n\nb')),
    seal,
  }),
)
const calls = fc.uniqueArray(
  fc.record({ kind: fc.constant('call' as const), id: anyText, name: text, input: anyText }),
  { maxLength: 3, selector: ({ id }) => id },
)
const assistantTurn: fc.Arbitrary<AssistantTurn> = fc
  .tuple(fc.array(said, { minLength: 1, maxLength: 3 }), calls, fc.array(said, { maxLength: 2 }))
  .map((parts) => ({ role: 'assistant', parts: parts.flat() }))
const systemTurn: fc.Arbitrary<Turn> = fc
  .array(textPart, { minLength: 1, maxLength: 2 })
  .map((parts) => ({ role: 'system', parts }))
const userTurn: fc.Arbitrary<Turn> = fc
  .array(shown, { minLength: 1, maxLength: 3 })
  .map((parts) => ({ role: 'user', parts }))

/** What the assistant did, what came of its calls right behind it, and what the user says to that. */
const round: fc.Arbitrary<readonly Turn[]> = assistantTurn.chain((turn) => {
  const results = turn.parts.flatMap((part) => (part.kind === 'call' ? [resultOf(part.id)] : []))
  return fc
    .tuple(fc.tuple(...results), fc.array(shown, { maxLength: 2 }))
    .filter(([results, rest]) => results.length + rest.length > 0)
    .map(([results, rest]) => [turn, { role: 'user', parts: [...results, ...rest] } as const])
})
/** System turns at the very beginning would be what stands before all turns. */
const turns = fc
  .tuple(
    userTurn,
    fc.array(fc.oneof(round, fc.tuple(systemTurn), fc.tuple(userTurn)), { maxLength: 4 }),
  )
  .map(([first, rest]) => [first, ...rest.flat()])
  // A user who goes on behind results says one thing with them.
  .filter((turns) =>
    turns.every((turn, at) => !isOnlyResults(turn) || turns[at + 1]?.role !== 'user'),
  )

function isOnlyResults({ parts }: Turn): boolean {
  return parts.length > 0 && parts.every(({ kind }) => kind === 'result')
}

const CLOSED = { type: 'object', properties: {}, additionalProperties: false }
/** To be strict is said, of a schema that leaves nothing open, or it is not so. */
const tool: fc.Arbitrary<Tool> = fc.oneof(
  fc.record(
    { name: text, description: anyText, schema: json },
    { requiredKeys: ['name', 'schema'] },
  ),
  text.map((name) => ({ name, schema: CLOSED, isStrict: true }) as const),
)
const format: fc.Arbitrary<Format> = fc.oneof(
  fc.constant({ kind: 'json' } as const),
  fc.record(
    {
      kind: fc.constant('schema' as const),
      schema: json,
      name: text,
      description: anyText,
      isStrict: fc.boolean(),
    },
    { requiredKeys: ['kind', 'schema', 'name', 'isStrict'] },
  ),
)

/** There is nothing to choose among where there is no tool. */
const toolboxes: fc.Arbitrary<Partial<ChatRequest> & { tools: readonly Tool[] }> = fc
  .uniqueArray(tool, { maxLength: 3, selector: ({ name }) => name })
  .chain((tools) =>
    fc.record(
      {
        tools: fc.constant(tools),
        toolChoice: fc.constantFrom<ToolChoice>(
          { mode: 'auto' },
          { mode: 'any' },
          { mode: 'none' },
          ...tools.map(({ name }) => ({ mode: 'named', name }) as const),
        ),
        parallelTools: fc.boolean(),
      },
      { requiredKeys: ['tools'] },
    ),
  )
  .map(({ tools, ...choice }) => (tools.length === 0 ? { tools } : { tools, ...choice }))

const requests: fc.Arbitrary<ChatRequest> = fc
  .tuple(
    toolboxes,
    fc.record(
      {
        system: fc.array(textPart, { maxLength: 3 }),
        turns,
        maxTokens: fc.integer({ min: 1, max: 99_999 }),
        stream: fc.boolean(),
        stop: fc.constant([]),
        temperature: fc.double({ min: 0, max: 2, noNaN: true }),
        topP: fc.double({ min: 0, max: 1, noNaN: true }),
        format,
        reasoning: fc
          .constantFrom('minimal', 'low', 'medium', 'high')
          .map((effort) => ({ effort }) as const),
        user: fc.string({ maxLength: 64 }),
      },
      { requiredKeys: ['system', 'turns', 'stream', 'stop'] },
    ),
  )
  .map(([toolbox, rest]) => ({ ...rest, ...toolbox }))

/** On the wire a supplier's own seal does not tell whose it is. */
function withoutMakers(request: ChatRequest): ChatRequest {
  return JSON.parse(JSON.stringify(request).replaceAll(',"supplier":"acme"', '')) as ChatRequest
}

describe('any request that this language can say', () => {
  it('is the same after it was said and read, and nothing is lost', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const { body, lost } = encodeRequest(request, TARGET)
        expect(lost).toEqual([])
        peek(body)
        const decoded = decodeRequest(body)
        expect(decoded.lost).toEqual([])
        expect(withoutMakers(decoded.request)).toEqual(withoutMakers(request))
      }),
      { numRuns: 500 },
    )
  })
})

describe('whatever stands below the first level', () => {
  const NAMES = [
    'type',
    'role',
    'content',
    'text',
    'image_url',
    'file_id',
    'file_data',
    'file_url',
    'filename',
    'detail',
    'call_id',
    'id',
    'name',
    'arguments',
    'input',
    'output',
    'summary',
    'encrypted_content',
    'reasoning',
    'effort',
    'refusal',
    'annotations',
    'prompt_cache_breakpoint',
    'ttl',
    'format',
    'schema',
    'strict',
    'parameters',
    'mode',
    'tools',
    '__proto__',
  ]
  const ITEMS = [
    'message',
    'reasoning',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'custom_tool_call_output',
    'configuration_update',
    'web_search_call',
  ]
  const WORDS = [
    ...ITEMS,
    'input_text',
    'output_text',
    'input_image',
    'input_file',
    'summary_text',
    'user',
    'assistant',
    'system',
    'function',
    'allowed_tools',
    'json_schema',
    'auto',
    'gw1.',
    PNG,
    'data:',
    '\ud800',
    '',
  ]
  const { junk } = fc.letrec((tie) => ({
    junk: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom<unknown>(null, true, 0, -1e300, ...WORDS),
      fc.array(tie('junk'), { maxLength: 3 }),
      fc
        .array(fc.tuple(fc.constantFrom(...NAMES), tie('junk')), { maxLength: 5 })
        .map((entries) => {
          const members = entries.map(
            ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
          )
          return JSON.parse(`{${members.join(',')}}`) as unknown
        }),
    ),
  }))
  const FIELDS = [
    'instructions',
    'tools',
    'tool_choice',
    'parallel_tool_calls',
    'max_output_tokens',
    'temperature',
    'text',
    'reasoning',
    'include',
    'metadata',
    'user',
    'truncation',
    'prompt',
    'background',
  ]
  const item = fc
    .tuple(
      fc.constantFrom(...ITEMS),
      fc.constantFrom('user', 'assistant', 'system', 'developer'),
      fc.dictionary(fc.constantFrom(...NAMES.slice(2)), junk, { maxKeys: 4 }),
    )
    .map(([type, role, fields]) => ({ call_id: 'c', name: 'look', ...fields, type, role }))

  it('is read, or refused by name', () => {
    const seen = { reads: 0, refusals: 0 }
    fc.assert(
      fc.property(
        fc.oneof(fc.array(fc.oneof({ weight: 4, arbitrary: item }, junk), { maxLength: 3 }), junk),
        fc.dictionary(fc.constantFrom(...FIELDS), junk, { maxKeys: 2 }),
        (input, fields) => {
          try {
            const { request, lost } = decodeRequest(
              encoder.encode(JSON.stringify({ model: 'm', input, ...fields })),
            )
            expect(lost.length).toBeLessThanOrEqual(64)
            encodeRequest(request, TARGET)
            seen.reads++
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(GatewayError)
            expect((thrown as GatewayError).param).toBeString()
            seen.refusals++
          }
        },
      ),
      { numRuns: 3000 },
    )
    expect(seen.reads).toBeGreaterThan(100)
    expect(seen.refusals).toBeGreaterThan(100)
  })

  it('may be long, and may be a great many', () => {
    const url = `${PNG}${'x'.repeat(3_000_000)}`
    const image = { role: 'user', content: [{ type: 'input_image', image_url: url }] }
    const ids = Array.from({ length: 130_000 }, (_, at) => `${at}`)
    const made = ids.map((id) => ({ type: 'function_call', call_id: id, name: 'a', arguments: '' }))
    const results = ids.map((id) => ({ type: 'function_call_output', call_id: id, output: 'x' }))
    const many = ids.map((text) => ({ type: 'output_text', text }))
    const spoken = { role: 'assistant', content: many }
    const { request } = decodeRequest(
      encoder.encode(
        JSON.stringify({ model: 'm', input: [image, spoken, ...made, ...results, image] }),
      ),
    )
    expect(request.turns.map(({ parts }) => parts.length)).toEqual([1, 260_000, 130_001])
    expect(encodeRequest(request, TARGET).lost).toEqual([])
  })
})

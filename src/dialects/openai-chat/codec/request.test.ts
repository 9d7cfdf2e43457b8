// Every request that chat can say survives being said and read, and whatever a caller makes up is read or refused.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import type {
  AudioPart,
  CallPart,
  ChatRequest,
  FilePart,
  Format,
  ImagePart,
  Reasoning,
  RefusalPart,
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
  quirks: { usage: 'ask' },
}

const PNG = 'data:image/png;base64,iVBO'

const text = fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
const anyText = fc.oneof(text, fc.constantFrom('\ud800', '__proto__', '"', '\0'))
const number = fc.double({ min: -2, max: 2, noNaN: true }).map((value) => (value === 0 ? 0 : value))

/** Longer ones are shortened, and so are long ids. */
const name = text.filter(({ length }) => length <= 64)

const json = fc
  .dictionary(fc.oneof(text, fc.constant('__proto__')), fc.jsonValue({ maxDepth: 2 }), {
    maxKeys: 3,
  })
  .map((value) => JSON.parse(JSON.stringify(value)) as object)
const textPart = anyText.map((text) => ({ kind: 'text', text }) as const)
const base64 = fc.base64String({ minLength: 4, maxLength: 16 })
const imagePart: fc.Arbitrary<ImagePart> = fc.record(
  {
    kind: fc.constant('image'),
    source: fc.oneof(
      fc.record({
        kind: fc.constant('data'),
        mediaType: fc.constantFrom('image/png', ''),
        data: base64,
      }),
      fc.record({ kind: fc.constant('url'), url: fc.webUrl() }),
    ),
    detail: fc.constantFrom('low', 'high', 'auto'),
  },
  { requiredKeys: ['kind', 'source'] },
)
const filePart: fc.Arbitrary<FilePart> = fc.record(
  {
    kind: fc.constant('file'),
    source: fc.record({
      kind: fc.constant('data'),
      mediaType: fc.constantFrom('application/pdf', ''),
      data: base64,
    }),
    name: text,
  },
  { requiredKeys: ['kind', 'source'] },
)
const audioPart: fc.Arbitrary<AudioPart> = fc.record({
  kind: fc.constant('audio'),
  data: base64,
  format: fc.constantFrom('wav', 'mp3'),
})
const resultPart: fc.Arbitrary<ResultPart> = fc.record({
  kind: fc.constant('result'),
  id: fc.constantFrom('call_1', 'call_2', '__proto__', ''),
  parts: fc.array(textPart, { maxLength: 3 }),
  isError: fc.constant(false),
})
const callPart: fc.Arbitrary<CallPart> = fc.record({
  kind: fc.constant('call'),
  id: fc.constantFrom('call_1', 'call_2', '__proto__', ''),
  name,
  input: anyText,
})
const refusalPart: fc.Arbitrary<RefusalPart> = fc.record({
  kind: fc.constant('refusal'),
  text: anyText,
})

const saidParts = fc.array(fc.oneof(textPart, imagePart, filePart, audioPart), {
  minLength: 1,
  maxLength: 3,
})
const userTurn: fc.Arbitrary<Turn> = fc
  .tuple(fc.array(resultPart, { maxLength: 2 }), saidParts)
  .map(([results, said]) => ({ role: 'user', parts: [...results, ...said] }))
const assistantTurn: fc.Arbitrary<Turn> = fc
  .tuple(
    fc.array(textPart, { maxLength: 2 }),
    fc.array(refusalPart, { maxLength: 1 }),
    fc.array(callPart, { maxLength: 2 }),
  )
  .map((parts) => ({ role: 'assistant', parts: parts.flat() }))
const systemTurn: fc.Arbitrary<Turn> = fc
  .array(textPart, { minLength: 1, maxLength: 2 })
  .map((parts) => ({ role: 'system', parts }))
/** System turns at the very beginning would be what stands before all turns. */
const turns = fc
  .tuple(
    fc.oneof(userTurn, assistantTurn),
    fc.array(fc.oneof(userTurn, assistantTurn, systemTurn), { maxLength: 5 }),
  )
  .map(([first, rest]) => [first, ...rest])

const tool: fc.Arbitrary<Tool> = fc.record(
  { name, description: anyText, schema: json, isStrict: fc.constant(false) },
  { requiredKeys: ['name', 'schema'] },
)
const strictTool: fc.Arbitrary<Tool> = fc
  .tuple(name, fc.uniqueArray(name, { maxLength: 3 }))
  .map(([own, required]) => {
    const properties = Object.fromEntries(required.map((each) => [each, { type: 'string' }]))
    const schema = { type: 'object', properties, required, additionalProperties: false }
    return { name: own, schema, isStrict: true }
  })
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
const reasoning: fc.Arbitrary<Reasoning> = fc
  .constantFrom('minimal', 'low', 'medium', 'high')
  .map((effort) => ({ effort }))

/** There is nothing to choose among where there is no tool. */
const toolboxes: fc.Arbitrary<Partial<ChatRequest> & { tools: readonly Tool[] }> = fc
  .uniqueArray(fc.oneof(tool, strictTool), { maxLength: 3, selector: ({ name }) => name })
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
        stop: fc.array(text, { maxLength: 3 }),
        temperature: fc.double({ min: 0, max: 2, noNaN: true }),
        topP: fc.double({ min: 0, max: 1, noNaN: true }),
        seed: fc.integer(),
        presencePenalty: number,
        frequencyPenalty: number,
        format,
        reasoning,
        user: fc.string({ maxLength: 64 }),
      },
      { requiredKeys: ['system', 'turns', 'stream', 'stop'] },
    ),
  )
  .map(([toolbox, rest]) => ({ ...rest, ...toolbox }))

describe('any request that chat can say', () => {
  it('is the same after it was said and read, and nothing is lost', () => {
    fc.assert(
      fc.property(requests, (request) => {
        const { body, lost } = encodeRequest(request, TARGET)
        expect(lost).toEqual([])
        peek(body)
        const decoded = decodeRequest(body)
        expect(decoded.lost).toEqual([])
        expect(decoded.request).toEqual(request)
      }),
      { numRuns: 500 },
    )
  })
})

describe('whatever stands below the first level', () => {
  const NAMES = [
    'role',
    'content',
    'type',
    'text',
    'image_url',
    'url',
    'file',
    'file_data',
    'input_audio',
    'data',
    'tool_calls',
    'function',
    'name',
    'arguments',
    'id',
    'reasoning_details',
    'signature',
    'refusal',
    'json_schema',
    'schema',
    'strict',
    'cache_control',
    'ttl',
    'effort',
    'enabled',
    '__proto__',
    'custom',
  ]
  const WORDS = [
    'user',
    'assistant',
    'tool',
    'system',
    'text',
    'image_url',
    'file',
    'function',
    'custom',
    'json_schema',
    'thinking',
    'reasoning.text',
    PNG,
    'data:',
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
    'tools',
    'tool_choice',
    'functions',
    'function_call',
    'stop',
    'response_format',
    'reasoning',
    'reasoning_effort',
    'metadata',
    'seed',
    'user',
    'logit_bias',
    'max_tokens',
    'parallel_tool_calls',
  ]
  const message = fc
    .tuple(
      fc.constantFrom('user', 'assistant', 'tool', 'system', 'function'),
      fc.dictionary(fc.constantFrom(...NAMES.slice(1)), junk),
    )
    .map(([role, fields]) => ({ tool_call_id: 'c', ...fields, role }))

  it('is read, or refused by name', () => {
    let reads = 0
    fc.assert(
      fc.property(
        fc.array(fc.oneof(message, junk), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom(...FIELDS), junk, { maxKeys: 3 }),
        (messages, fields) => {
          try {
            const { request } = decodeRequest(
              encoder.encode(JSON.stringify({ model: 'm', messages, ...fields })),
            )
            encodeRequest(request, TARGET)
            reads++
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(GatewayError)
            expect((thrown as GatewayError).param).toBeString()
          }
        },
      ),
      { numRuns: 3000 },
    )
    expect(reads).toBeGreaterThan(100)
  })

  it('may be long, and may be a great many', () => {
    const url = `${PNG}${'x'.repeat(3_000_000)}`
    const results = Array.from({ length: 130_000 }, (_, at) => ({
      role: 'tool',
      tool_call_id: `${at}`,
      content: 'x',
    }))
    const image = { role: 'user', content: [{ type: 'image_url', image_url: { url } }] }
    const { request } = decodeRequest(
      encoder.encode(JSON.stringify({ model: 'm', messages: [image, ...results, image] })),
    )
    expect(request.turns.map(({ parts }) => parts.length)).toEqual([1, 130_001])
    expect(encodeRequest(request, TARGET).lost).toEqual([])
  })
})

// Schemas that a model is held to: closed wherever that changes nothing of what was meant, and else not sent as such.
import { describe, expect, it } from 'bun:test'
import type { ChatRequest, Tool, Trait } from '../../../core/chat.ts'
import type { Fields } from '../../json.ts'
import { encodeRequest } from './request-encode.ts'
import { closeSchema } from './schema-encode.ts'

const decoder = new TextDecoder()

const TEXT: Fields = { type: 'string' }
const CLOSED: Fields = { type: 'object', properties: { a: TEXT }, additionalProperties: false }
const OPEN: Fields = { type: 'object', properties: { a: TEXT } }

describe('a schema', () => {
  it.each<Fields>([
    CLOSED,
    {},
    TEXT,
    { type: ['string', 'null'], enum: ['a', null, 1], format: 'date', pattern: '^[a-z]+$' },
    { type: 'array', items: CLOSED, minItems: 1 },
    { anyOf: [CLOSED, { type: 'null' }], $schema: 's', title: 't', default: null, 'x-own': [1] },
    {
      ...CLOSED,
      properties: { b: { $ref: '#/$defs/b' }, c: { $ref: '#/$defs/b' } },
      $defs: { b: { ...CLOSED, properties: { d: { $ref: '#/$defs/e~1f' } } }, 'e/f': TEXT },
    },
  ])('that leaves nothing open stays as it is: %j', (schema) => {
    expect(closeSchema(schema)).toEqual(schema)
    expect(JSON.stringify(closeSchema(schema))).toBe(JSON.stringify(schema))
  })

  it('is closed at every object', () => {
    const schema = {
      properties: { list: { type: 'array', items: OPEN }, either: { anyOf: [OPEN, TEXT] } },
      $defs: { one: OPEN },
      definitions: { two: { ...OPEN, type: ['object', 'null'] } },
    }
    expect(closeSchema(schema)).toEqual({
      properties: { list: { type: 'array', items: CLOSED }, either: { anyOf: [CLOSED, TEXT] } },
      $defs: { one: CLOSED },
      definitions: { two: { ...CLOSED, type: ['object', 'null'] } },
      additionalProperties: false,
    })
  })

  it.each<readonly [Fields, object]>([
    [
      { type: 'integer', minimum: 3, maximum: 5, description: 'Stars.' },
      { type: 'integer', description: 'Stars. (minimum 3, maximum 5)' },
    ],
    [
      { type: 'number', multipleOf: 0.5 },
      { type: 'number', description: '(multipleOf 0.5)' },
    ],
    [
      { ...TEXT, minLength: 2, maxLength: 9 },
      { ...TEXT, description: '(minLength 2, maxLength 9)' },
    ],
    [
      { type: 'array', items: TEXT, minItems: 2, maxItems: 3 },
      { type: 'array', items: TEXT, description: '(minItems 2, maxItems 3)' },
    ],
    [
      { ...TEXT, pattern: '^(?!a)b' },
      { ...TEXT, description: '(pattern ^(?!a)b)' },
    ],
    [
      { ...TEXT, pattern: String.raw`(a)\1` },
      { ...TEXT, description: String.raw`(pattern (a)\1)` },
    ],
    [
      { ...TEXT, format: 'phone' },
      { ...TEXT, description: '(format phone)' },
    ],
    [
      { type: 'array', items: [TEXT] },
      { type: 'array', description: '(items [{"type":"string"}])' },
    ],
    [{ not: TEXT }, { description: '(not {"type":"string"})' }],
    [{ enum: [{ a: 1 }] }, { description: '(enum [{"a":1}])' }],
    [{ oneOf: [TEXT, OPEN] }, { anyOf: [TEXT, CLOSED] }],
  ])('says in words what is not checked: %j', (schema, expected) => {
    const inside = closeSchema({ ...CLOSED, properties: { a: schema } })
    expect(inside).toEqual({ ...CLOSED, properties: { a: expected } })
    expect(closeSchema(inside ?? {})).toEqual(inside)
  })

  it('keeps each digit of a limit that it puts into words', () => {
    const maximum: unknown = JSON.rawJSON('12345678901234567890')
    expect(closeSchema({ type: 'integer', maximum })).toEqual({
      type: 'integer',
      description: '(maximum 12345678901234567890)',
    })
  })

  it('takes any name of a property for one', () => {
    const text =
      '{"type":"object","properties":{"__proto__":{"type":"string","minimum":1},"$ref":{"type":"string"}}}'
    expect(JSON.stringify(closeSchema(JSON.parse(text)))).toBe(
      '{"type":"object","properties":{"__proto__":{"type":"string","description":"(minimum 1)"},"$ref":{"type":"string"}},"additionalProperties":false}',
    )
  })

  it.each<Fields>([
    { ...OPEN, additionalProperties: true },
    { ...OPEN, additionalProperties: TEXT },
    { additionalProperties: true },
    { type: 'object' },
    { ...CLOSED, patternProperties: { '^x': TEXT } },
    { ...CLOSED, anyOf: [{ properties: { b: TEXT } }] },
    { allOf: [OPEN, { properties: { b: TEXT } }] },
    { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: TEXT } },
    { anyOf: [TEXT], oneOf: [TEXT] },
    { $ref: 'https://a.test/schema.json' },
    { $ref: '#/$defs/missing' },
    { ...OPEN, properties: { a: { $ref: '#' } } },
    {
      $ref: '#/$defs/a',
      $defs: {
        a: { ...OPEN, properties: { b: { $ref: '#/$defs/b' } } },
        b: { type: 'array', items: { $ref: '#/$defs/a' } },
      },
    },
  ])('that cannot be closed, or has no end, is none: %j', (schema) => {
    expect(closeSchema({ ...CLOSED, properties: { a: schema } })).toBeUndefined()
    expect(closeSchema(schema)).toBeUndefined()
  })

  it('of any number of references is read at once', () => {
    const count = 20_000
    const $defs: Record<string, object> = {}
    for (let each = 0; each < count; each++) $defs[each] = { $ref: `#/$defs/${each + 1}` }
    $defs[count] = TEXT
    expect(closeSchema({ $defs })).toBeUndefined()
    // Whoever follows each of them again and again never ends.
    const forks: Record<string, object> = { 40: TEXT }
    for (let each = 0; each < 40; each++) {
      const next = { $ref: `#/$defs/${each + 1}` }
      forks[each] = { anyOf: [next, next] }
    }
    expect(closeSchema({ $ref: '#/$defs/0', $defs: forks })).toBeDefined()
  })
})

describe('what holds a model to a schema', () => {
  function sent(
    changes: Partial<ChatRequest>,
  ): readonly [Record<string, unknown>, readonly Trait[]] {
    const { body, lost } = encodeRequest(
      {
        system: [],
        turns: [{ role: 'user', parts: [{ kind: 'text', text: 'Hi' }] }],
        tools: [],
        stream: false,
        stop: [],
        ...changes,
      },
      {
        model: 'm',
        supplier: 'maker',
        maxTokens: undefined,
        maxTokensDefault: 9,
        reasoning: undefined,
        samples: undefined,
        quirks: { usage: 'always' },
      },
    )
    return [JSON.parse(decoder.decode(body)), lost]
  }

  const LIMITED = { ...OPEN, properties: { a: { ...TEXT, maxLength: 3 } } }
  const WORDED = {
    ...CLOSED,
    properties: { a: { ...TEXT, description: '(maxLength 3)' } },
  }
  const FREE = { type: 'object', additionalProperties: true }

  it('is the format of an answer, or is left out', () => {
    const format = (schema: unknown): Partial<ChatRequest> => ({
      format: { kind: 'schema', schema },
    })
    const [body, lost] = sent(format(LIMITED))
    expect(body['output_config']).toEqual({ format: { type: 'json_schema', schema: WORDED } })
    expect(lost).toEqual([])
    for (const schema of [FREE, undefined, true]) {
      const [without, told] = sent(format(schema))
      expect(without['output_config']).toBeUndefined()
      expect(told).toEqual(['schema'])
    }
  })

  it.each<readonly [Partial<Tool>, object, readonly Trait[]]>([
    [{ isStrict: true, schema: LIMITED }, { input_schema: WORDED, strict: true }, []],
    [{ isStrict: true, schema: FREE }, { input_schema: FREE }, ['tool_strict']],
    [{ isStrict: false, schema: LIMITED }, { input_schema: LIMITED, strict: false }, []],
    [{ schema: LIMITED }, { input_schema: LIMITED }, []],
    [
      { isStrict: true, schema: undefined },
      {
        input_schema: { type: 'object', properties: {}, additionalProperties: false },
        strict: true,
      },
      [],
    ],
  ])('is a tool that is strict, and no other: %j', (tool, expected, lost) => {
    const [body, told] = sent({ tools: [{ name: 'n', schema: {}, ...tool }] })
    expect(body['tools']).toEqual([{ name: 'n', ...expected }])
    expect(told).toEqual(lost)
  })
})

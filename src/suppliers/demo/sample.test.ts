// Hand-checked samples, one for each kind of schema, and the schemas that would never end.
import { expect, test } from 'bun:test'
import { sample } from './sample.ts'

test('satisfies every kind of schema it knows', () => {
  const cases: readonly (readonly [object, unknown])[] = [
    [{ type: 'string' }, 'demo'],
    [{ type: 'string', minLength: 6 }, 'demode'],
    [{ type: 'string', maxLength: 2 }, 'de'],
    [{ type: 'string', format: 'email' }, 'demo@example.com'],
    [{ type: 'string', format: 'date' }, '2026-01-01'],
    [{ type: 'string', format: 'date-time' }, '2026-01-01T00:00:00Z'],
    [{ type: 'string', format: 'uuid' }, '00000000-0000-4000-8000-000000000000'],
    [{ type: ['null', 'boolean'] }, true],
    [{ type: 'null' }, null],
    [{ type: 'integer', minimum: 18 }, 18],
    [{ type: 'integer', minimum: 2.5 }, 3],
    [{ type: 'integer', exclusiveMaximum: -4 }, -5],
    [{ type: 'number', exclusiveMinimum: 1, maximum: 1.5 }, 1.5],
    [{ type: 'number', exclusiveMinimum: 0.5, exclusiveMaximum: 0.75 }, 0.625],
    [{ type: 'integer', minimum: 10, multipleOf: 7 }, 14],
    [{ type: 'integer', minimum: Number.MIN_SAFE_INTEGER }, 1],
    [{ enum: ['b', 'a'] }, 'b'],
    [{ const: { x: 1 } }, { x: 1 }],
    [{ type: 'array', items: { type: 'integer' } }, [1]],
    [{ type: 'array', items: { const: 'x' }, minItems: 3 }, ['x', 'x', 'x']],
    [{ type: 'array', items: { const: 'x' }, maxItems: 0 }, []],
    [{ type: 'array', prefixItems: [{ const: 1 }, { const: 2 }] }, [1, 2]],
    [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, 1],
    [{ oneOf: [{ anyOf: [{ const: 1 }] }, { const: 2 }] }, 1],
    [{ properties: { a: { const: 1 }, b: {} }, required: ['a'] }, { a: 1 }],
    [{ type: 'object', properties: { a: { const: 1 } } }, { a: 1 }],
    [{ allOf: [{ $ref: '#/$defs/a~1b' }], $defs: { 'a/b': { type: 'integer' } } }, 1],
  ]
  for (const [schema, expected] of cases) {
    expect([schema, sample(schema)]).toEqual([schema, expected])
  }
})

test('ends a recursive schema', () => {
  const node = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      next: { anyOf: [{ $ref: '#' }, { type: 'null' }] },
      children: { type: 'array', items: { $ref: '#' } },
    },
    required: ['name', 'next', 'children'],
  }
  let current = sample(node)
  for (let depth = 0; current !== null; depth += 1) {
    expect(depth).toBeLessThan(40)
    expect(current).toMatchObject({ name: 'demo', children: expect.any(Array) })
    current = (current as { next: unknown }).next
  }
})

test('survives schemas that have no end', () => {
  const properties = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`p${index}`, { $ref: '#' }]),
  )
  const required = Object.keys(properties)
  expect(sample({ type: 'object', properties, required })).toBeObject()
  expect(sample({ $ref: '#' })).toBe('demo')
  expect(sample({ anyOf: [{ $ref: '#' }] })).toBe('demo')
  expect(sample({ allOf: [{ $ref: '#' }, { $ref: '#' }] })).toBe('demo')
  expect(sample({ $ref: '#/nowhere' })).toBe('demo')
  expect(sample({ type: 'array', items: {}, minItems: 1_000_000_000 })).toHaveLength(100)
})

test('refuses a schema of unreasonable size', () => {
  const description = 'x'.repeat(200_000)
  expect(() => sample({ type: 'string', description })).toThrow('too large')
  const depth = 100_000
  const deep: unknown = JSON.parse('{"items":'.repeat(depth) + '{}' + '}'.repeat(depth))
  expect(() => sample(deep)).toThrow('too large')
})

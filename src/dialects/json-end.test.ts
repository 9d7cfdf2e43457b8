// Where the object of a call's input ends, in whatever pieces it comes.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { JsonEnd, objectIn } from './json-end.ts'

describe('the end of an object', () => {
  it('is found at its last bracket and not before, in pieces of any length', () => {
    const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
    fc.assert(
      fc.property(
        object,
        fc.constantFrom(undefined, 2),
        fc.integer({ min: 1, max: 9 }),
        (value, space, size) => {
          const text = JSON.stringify(value, null, space)
          const end = new JsonEnd()
          let taken = ''
          for (let at = 0; at < text.length; at += size) {
            expect(end.isComplete).toBe(false)
            taken += end.take(text.slice(at, at + size))
          }
          expect([taken, end.isComplete, end.take('{}')]).toEqual([text, true, ''])
        },
      ),
    )
  })

  it.each([
    [' {"a":1} {"b":2}', '{"a":1}'],
    ['{"a":"}\\"}"}x', '{"a":"}\\"}"}'],
    ['{"a":12345678901234567890}', '{"a":12345678901234567890}'],
    ['', '{}'],
    ['null', '{}'],
    ['[{}]', '{}'],
    ['"{}"', '{}'],
    ['{"a":', '{}'],
    ['{"a":tru}', '{}'],
    ['{a:1}', '{}'],
  ])('of %j leaves %j', (text, object) => {
    expect(objectIn(text)).toBe(object)
  })
})

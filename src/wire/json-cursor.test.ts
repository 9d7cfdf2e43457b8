// The cursor must agree with a real parser on every document, and be stricter only where parsers differ.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { END, JsonCursor, JsonFault } from './json-cursor.ts'
import { KeySet } from './key-set.ts'

const encoder = new TextEncoder()
const NOTHING = new KeySet([])
const LETTERS = Array.from('{}[]",:\\0-.eEtnu \n\u0001')

function verdict(text: string | Uint8Array): 'fine' | JsonFault {
  const cursor = new JsonCursor()
  try {
    cursor.open(typeof text === 'string' ? encoder.encode(text) : text)
    cursor.skip()
    cursor.close()
    return 'fine'
  } catch (thrown) {
    if (thrown instanceof JsonFault) return thrown
    throw thrown
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // The verdict is the answer here.
    return false
  }
}

function keysOf(text: string, keys: KeySet): number[] {
  const cursor = new JsonCursor()
  const found: number[] = []
  cursor.open(encoder.encode(text))
  cursor.enterObject()
  for (let key = cursor.nextKey(keys); key !== END; key = cursor.nextKey(keys)) {
    found.push(key)
    cursor.skip()
  }
  cursor.close()
  return found
}

describe('json cursor', () => {
  it('accepts every document that a serialiser writes, compact or indented', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), fc.constantFrom(0, 1, 2, 4), (text, indent) => {
        const value: unknown = JSON.parse(text)
        expect(verdict(JSON.stringify(value, null, indent))).toBe('fine')
      }),
    )
  })

  it('agrees with the native parser on mutilated documents', () => {
    const mutilated = fc
      .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.nat(3), fc.constantFrom(...LETTERS))
      .map(([text, place, cut, letter]) => {
        const at = place % (text.length + 1)
        return text.slice(0, at) + letter + text.slice(at + cut)
      })
    fc.assert(
      fc.property(mutilated, (text) => {
        expect(verdict(text) === 'fine').toBe(parses(text))
      }),
      { numRuns: 3000 },
    )
  })

  it('finds a control character or an escape anywhere in a long string', () => {
    for (let length = 30; length < 120; length++)
      for (const at of [0, 1, 2, 31, 32, 33, length >> 1, length - 2, length - 1]) {
        const plain = Array.from('x'.repeat(length))
        plain[at] = '\u001f'
        expect(verdict(`["${plain.join('')}"]`)).not.toBe('fine')
        plain[at] = '\\n'
        expect(verdict(` ["${plain.join('')}"]`)).toBe('fine')
        plain[at] = '\\x'
        expect(verdict(`  ["${plain.join('')}"]`)).not.toBe('fine')
        plain[at] = 'é'
        expect(verdict(`   ["${plain.join('')}"]`)).toBe('fine')
      }
  })

  it('reads inside a larger buffer at any alignment', () => {
    for (let shift = 0; shift < 8; shift++) {
      const text = JSON.stringify({ a: 'long '.repeat(40), b: [1, 2] })
      const buffer = encoder.encode(' '.repeat(shift) + text + '}}}')
      const cursor = new JsonCursor()
      cursor.open(buffer.subarray(shift), 0, text.length)
      cursor.skip()
      cursor.close()
      cursor.open(buffer, shift, shift + text.length)
      cursor.skip()
      cursor.close()
    }
  })

  it('reads text and numbers as the native parser does', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true }), (text, number) => {
        if (!Number.isFinite(number)) return
        const cursor = new JsonCursor()
        cursor.open(encoder.encode(JSON.stringify([text, number])))
        cursor.enterArray()
        cursor.nextItem()
        expect(cursor.text()).toBe(text)
        cursor.nextItem()
        expect(cursor.number()).toBe(Number(JSON.stringify(number)))
        expect(cursor.nextItem()).toBe(false)
        cursor.close()
      }),
    )
  })

  it('finds a word of a list however it is spelled, and no other', () => {
    const words = new KeySet(['user', 'tool'])
    const read = (text: string): number => {
      const cursor = new JsonCursor()
      cursor.open(encoder.encode(text))
      const index = cursor.word(words)
      cursor.close()
      return index
    }
    expect(['"user"', '"tool"', '"to\\u006fl"'].map(read)).toEqual([0, 1, 1])
    expect(['"users"', '"User"', '""', '"to\\u0070l"'].map(read)).toEqual([-2, -2, -2, -2])
  })

  it('stops at 64 levels and at 10,000 members', () => {
    expect(verdict('['.repeat(64) + ']'.repeat(64))).toBe('fine')
    expect(verdict('['.repeat(65) + ']'.repeat(65))).toMatchObject({ kind: 'limit' })
    const members = (count: number) =>
      `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join()}}`
    expect(verdict(members(10_000))).toBe('fine')
    expect(verdict(members(10_001))).toMatchObject({ kind: 'limit' })
  })

  it('searches no stretch of a document twice, however its escapes lie', () => {
    for (const gap of [1000, 1100, 5000]) {
      const bytes = encoder.encode(`"${`${'x'.repeat(gap)}\\n`.repeat(200)}"`)
      let searched = 0
      bytes.indexOf = function (byte: number, from = 0): number {
        const at = Uint8Array.prototype.indexOf.call(this, byte, from)
        searched += (at < 0 ? this.length : at) - from
        return at
      }
      const cursor = new JsonCursor()
      cursor.open(bytes)
      cursor.skip()
      cursor.close()
      expect(searched).toBeLessThanOrEqual(2 * bytes.length)
    }
  })

  it('stops at a quarter of a million members, and at names that are hard to read', () => {
    const objects = (count: number, name: (index: number) => string): string => {
      const object = (from: number): string =>
        `{${Array.from({ length: 5000 }, (_, index) => `"${name(from + index)}":0`).join()}}`
      return `[${Array.from({ length: count }, (_, index) => object(index * 5000)).join()}]`
    }
    expect(verdict(objects(50, String))).toBe('fine')
    expect(verdict(objects(51, String))).toMatchObject({ kind: 'limit' })
    const keys = new KeySet(['model'], { once: true, fold: true })
    const escaped = (count: number): string =>
      `{${Array.from({ length: count }, (_, index) => `"\\n${index}":0`).join()}}`
    expect(keysOf(escaped(9000), keys)).toHaveLength(9000)
    const cursor = new JsonCursor({ members: 1e6, items: 1e6 })
    cursor.open(encoder.encode(escaped(20_001)))
    cursor.enterObject()
    expect(() => {
      while (cursor.nextKey(keys) !== END) cursor.skip()
    }).toThrow(JsonFault)
  })

  it('reads no text that is longer than its reader wants, and no number of that many digits', () => {
    const cursor = new JsonCursor()
    const open = (text: string): JsonCursor => {
      cursor.open(encoder.encode(text))
      return cursor
    }
    expect(open('"abc"').shortText(3)).toBe('abc')
    expect(open('"abcd"').shortText(3)).toBeUndefined()
    expect(open('"\\u0061"').shortText(6)).toBe('a')
    expect(open('1'.repeat(64)).number()).toBe(Number('1'.repeat(64)))
    expect(open('1'.repeat(65)).number()).toBeNaN()
  })

  it('refuses every second spelling of a listed name', () => {
    const keys = new KeySet(['model', 'max_tokens'], { once: true, fold: true })
    expect(keysOf('{"x":1,"model":2}', keys)).toEqual([-2, 0])
    for (const text of [
      '{"model":1,"model":2}',
      '{"model":1,"mod\\u0065l":2}',
      '{"mod\\u0065l":2}',
      '{"Model":1}',
      '{"MODEL":1,"model":2}',
      '{"max_to\u212aens":1}',
      '{"max_token\u017f":1}',
    ])
      expect(() => keysOf(text, keys)).toThrow(JsonFault)
  })

  it('lets free-form names repeat and vary when nobody asked for them', () => {
    expect(keysOf('{"a":1,"a":2,"A":3,"\\u0061":4}', NOTHING)).toHaveLength(4)
    const once = new KeySet(['session_id'], { once: true })
    expect(keysOf('{"Session_Id":1,"x":2,"x":3}', once)).toHaveLength(3)
  })
})

describe('a string of more than a mebibyte', () => {
  const MEBIBYTE = 1_048_576
  const read = (text: string): unknown => {
    const cursor = new JsonCursor()
    try {
      cursor.open(new TextEncoder().encode(text))
      cursor.skip()
      cursor.close()
      return 'whole'
    } catch (thrown) {
      return thrown instanceof JsonFault ? thrown.offset : thrown
    }
  }

  it('is read to its end, wherever an escape stands', () => {
    // What is scanned at once begins some way into the string, so every distance around a mebibyte is tried.
    for (let length = MEBIBYTE - 48; length < MEBIBYTE + 64; length++) {
      const run = 'a'.repeat(length)
      expect(read(`["${run}\\u00e9${run}","b"]`)).toBe('whole')
      expect(read(`["${run}\\"b"]`)).toBe('whole')
      expect(read(`["${run}\\u00g9${run}"]`)).toBe(length + 6)
      expect(read(`["${run}\n${run}"]`)).toBe(length + 2)
      expect(read(`["${run}`)).toBe(1)
    }
  })
})

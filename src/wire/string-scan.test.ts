// The scan against what the language's own parser says of the same text.
import { describe, expect, it } from 'bun:test'
import { array, assert, constantFrom, property, string } from 'fast-check'
import { endOfString, takeStretch } from './string-scan.ts'

const encoder = new TextEncoder()

/** Where the string that begins a text ends, and whether it holds an escape; undefined for none. */
function plainly(text: string): { readonly end: number; readonly hasEscape: boolean } | undefined {
  for (let at = 1; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '"') {
      const quoted = text.slice(0, at + 1)
      try {
        JSON.parse(quoted)
      } catch {
        return undefined
      }
      return { end: encoder.encode(quoted).length, hasEscape: quoted.includes('\\') }
    }
  }
  return undefined
}

function scan(text: string): ReturnType<typeof plainly> {
  // At an offset, as a string stands in a document, and with what an earlier document left behind it.
  takeStretch(encoder.encode('"'.repeat(4096)), 0, 4096)
  const bytes = encoder.encode(`xyz${text}`)
  takeStretch(bytes, 3, bytes.length)
  const end = endOfString(1)
  return end < 0 ? undefined : { end: end >> 1, hasEscape: (end & 1) === 1 }
}

const pieces = constantFrom(
  'a',
  'é',
  '漢',
  '😀',
  'a run of plain text that is longer than a block',
  '\\n',
  '\\"',
  '\\\\',
  '\\u00e9',
  '\\u12g4',
  '\\u12',
  '\\x',
  '\\',
  '\n',
  '\u0000',
  '\u001f',
  '\u007f',
)

describe('the end of a string', () => {
  it('is where a plain reading finds it', () => {
    assert(
      property(array(pieces, { maxLength: 24 }), string(), (parts, after) => {
        const text = `"${parts.join('')}"${after}`
        expect(scan(text)).toEqual(plainly(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('is not found in a document that ends before it', () => {
    for (let length = 0; length < 70; length++) {
      expect(scan(`"${'a'.repeat(length)}`)).toBeUndefined()
      expect(scan(`"${'a'.repeat(length)}\\`)).toBeUndefined()
      expect(scan(`"${'a'.repeat(length)}\\u00e`)).toBeUndefined()
    }
  })

  it('is found at every distance', () => {
    for (let length = 0; length < 70; length++)
      expect(scan(`"${'a'.repeat(length)}"`)).toEqual({ end: length + 2, hasEscape: false })
  })
})

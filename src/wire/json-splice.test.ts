// Splices must leave a valid document with exactly the chosen members gone and every other byte in place.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { END, JsonCursor } from './json-cursor.ts'
import { KeySet } from './key-set.ts'
import { applySplices, dropMembers, type Member } from './json-splice.ts'

const KEYS = new KeySet(['drop'])

function membersOf(bytes: Uint8Array): Member[] {
  const cursor = new JsonCursor()
  const members: Member[] = []
  cursor.open(bytes)
  cursor.enterObject()
  for (let key = cursor.nextKey(KEYS); key !== END; key = cursor.nextKey(KEYS)) {
    const from = cursor.keyAt
    const value = cursor.at
    cursor.skip()
    members.push({ key, from, value, to: cursor.at })
  }
  return members
}

describe('json splice', () => {
  it('drops any set of members and keeps the text of the others', () => {
    const member = fc.record({ isDropped: fc.boolean(), value: fc.json({ maxDepth: 2 }) })
    const gap = fc.constantFrom('', ' ', '\n  ')
    fc.assert(
      fc.property(fc.array(member, { maxLength: 8 }), gap, (members, space) => {
        const texts = members.map((each, index) =>
          each.isDropped ? `"drop"${space}:${each.value}` : `"k${index}":${space}${each.value}`,
        )
        const text = `{${space}${texts.join(`${space},${space}`)}${space}}`
        const bytes = new TextEncoder().encode(text)
        const splices = dropMembers(membersOf(bytes), ({ key }) => key === 0)
        const result = new TextDecoder().decode(applySplices(bytes, splices))
        const kept = members.flatMap((each, index) => (each.isDropped ? [] : [`k${index}`]))
        expect(Object.keys(JSON.parse(result))).toEqual(kept)
        for (const [index, each] of members.entries())
          if (!each.isDropped) expect(result).toContain(texts[index]!)
      }),
      { numRuns: 2000 },
    )
  })

  it('returns the very same bytes when nothing changes', () => {
    const bytes = new TextEncoder().encode('{}')
    expect(applySplices(bytes, [])).toBe(bytes)
  })

  it('replaces and inserts at the named places', () => {
    const bytes = new TextEncoder().encode('{"model":"é","x":1}')
    const result = applySplices(bytes, [
      { from: 9, to: 13, text: '"ü-2"' },
      { from: 19, to: 19, text: ',"y":2' },
    ])
    expect(new TextDecoder().decode(result)).toBe('{"model":"ü-2","x":1,"y":2}')
  })
})

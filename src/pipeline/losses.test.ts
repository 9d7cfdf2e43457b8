// What is told of losses, in the header and in the books: short, in order, and nothing in it that a caller could have
// made up to break either.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { mergeLosses, printLosses } from './losses.ts'

const PLACE_LENGTH_MAX = 128
const HEADER_LENGTH_MAX = 2048

function many(count: number, prefix = '/a'): readonly string[] {
  return Array.from({ length: count }, (_, at) => `${prefix}${at}`)
}

describe('losses of a call', () => {
  it('are told in the order in which they were found, each once', () => {
    expect(mergeLosses(['/b', '/a'], ['/c', '/a', '/d', '/c'])).toEqual(['/b', '/a', '/c', '/d'])
    expect(mergeLosses(['/a', '/a'], [])).toEqual(['/a'])
    expect(mergeLosses([], ['/a', '/a'])).toEqual(['/a'])
    expect(mergeLosses([], [])).toEqual([])
  })

  it('are each told once, whatever their names were made of', () => {
    expect(mergeLosses(['/ä,'], ['/ä,', '/%C3%A4%2C'])).toEqual(['/%C3%A4%2C'])
  })

  it('are no more than anybody reads, and it is told that there are more', () => {
    const all = many(32)
    expect(mergeLosses(all, [])).toEqual([...all])
    expect(mergeLosses(all.slice(0, 20), all.slice(10))).toEqual([...all])
    expect(mergeLosses(many(33), [])).toEqual([...all, '...'])
    expect(mergeLosses(many(20), many(13, '/b'))).toEqual([...many(20), ...many(12, '/b'), '...'])
    expect(mergeLosses(many(64), many(64, '/b'))).toHaveLength(33)
  })

  it('are told to be more also once other losses have come', () => {
    const cut = mergeLosses(many(64), [])
    expect(mergeLosses(cut, ['answer:/x'])).toEqual([...cut])
    expect(mergeLosses([], cut)).toEqual([...cut])
    expect(mergeLosses(['/x'], cut)).toEqual(['/x', ...many(31), '...'])
  })

  it.each([
    ['the end of a line', '/a\r\nset-cookie: x', '/a%0D%0Aset-cookie:%20x'],
    ['a comma', '/a, /b', '/a%2C%20/b'],
    ['what is no letter', '/\0\t\x7f', '/%00%09%7F'],
    ['letters of others', '/größe/名', '/gr%C3%B6%C3%9Fe/%E5%90%8D'],
    ['a picture', '/😀', '/%F0%9F%98%80'],
    ['half a picture', '/\ud83d', '/%EF%BF%BD'],
    ['the other half', '/\ude00x', '/%EF%BF%BDx'],
    ['a name in quotes', '/"a"', '/"a"'],
  ])('have names that pass as one item of a header: %s', (_, place, told) => {
    expect(mergeLosses([place], [])).toEqual([told])
    expect(mergeLosses([], [place])).toEqual([told])
  })

  it('have names of a length that can be read', () => {
    const longest = `/${'a'.repeat(PLACE_LENGTH_MAX - 1)}`
    expect(mergeLosses([longest], [])).toEqual([longest])
    expect(mergeLosses([`${longest}a`], [])).toEqual([`/${'a'.repeat(124)}...`])
    const [place = ''] = mergeLosses([`/${'a'.repeat(10_000)}`], [])
    expect(place).toHaveLength(PLACE_LENGTH_MAX)
    const [wide = ''] = mergeLosses([`/${'ä'.repeat(10_000)}`], [])
    expect(wide).toBe(`/${'%C3%A4'.repeat(20)}...`)
  })

  it('can be told again and again without a change, and pass as a header', () => {
    const units = ['grapheme', 'binary', 'binary-ascii'] as const
    const names = fc.oneof(
      ...units.map((unit) => fc.string({ unit, maxLength: 200 })),
      fc.array(fc.nat(0xffff)).map((units) => String.fromCharCode(...units)),
    )
    const lists = fc.array(
      names.map((name) => `/${name}`),
      { maxLength: 50 },
    )
    fc.assert(
      fc.property(lists, lists, (before, added) => {
        const losses = mergeLosses(before, added)
        expect(losses.length).toBeLessThanOrEqual(33)
        expect(new Set(losses).size).toBe(losses.length)
        expect(mergeLosses(losses, [])).toEqual([...losses])
        expect(mergeLosses([], losses)).toEqual([...losses])
        expect(mergeLosses(losses, losses)).toEqual([...losses])
        for (const place of losses) {
          expect(place.length).toBeLessThanOrEqual(PLACE_LENGTH_MAX)
          expect(place).toMatch(/^[!-+\--~]*$/)
        }
        const line = printLosses(losses)
        expect(line.length).toBeLessThanOrEqual(HEADER_LENGTH_MAX)
        expect(new Headers({ 'x-svc-losses': line }).get('x-svc-losses')).toBe(line)
      }),
      { numRuns: 500 },
    )
  })
})

describe('the header', () => {
  it('has all of them where they fit', () => {
    expect(printLosses(['/a', '/b/*'])).toBe('/a, /b/*')
    expect(printLosses([])).toBe('')
  })

  it('has whole names up to its length, and tells that there are more', () => {
    for (let length = 64; length <= 128; length++) {
      const losses = many(32, '/').map((place) => place.padEnd(length, 'a'))
      const line = printLosses(losses)
      const items = line.split(', ')
      expect(items.pop()).toBe('...')
      expect(items).toEqual(losses.slice(0, items.length))
      expect(line.length).toBeLessThanOrEqual(HEADER_LENGTH_MAX)
      expect(line.length + length + 2).toBeGreaterThan(HEADER_LENGTH_MAX)
    }
  })
})

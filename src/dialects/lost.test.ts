// What is told of what got lost: never much, and never anything that could do harm where it is shown.
import { describe, expect, it } from 'bun:test'
import { Lost } from './lost.ts'

function placesOf(work: (lost: Lost) => void): readonly string[] {
  const lost = new Lost()
  work(lost)
  return lost.places
}

describe('what is told to be lost', () => {
  it('is each place once, and no more than can be read', () => {
    const places = placesOf((lost) => {
      for (let round = 0; round < 2; round++)
        for (let at = 0; at < 100; at++) lost.addNamed('/a', String(at))
    })
    expect(places).toHaveLength(64)
    expect(places[63]).toBe('/a/63')
  })

  it('has names as pointers have them, cut short and of whole characters', () => {
    const places = placesOf((lost) => {
      lost.addNamed('', 'a/b~c')
      lost.addNamed('/x', `${'y'.repeat(63)}😀`)
      lost.addNamed('/x', 7)
    })
    expect(places).toEqual(['/a~1b~0c', `/x/${'y'.repeat(63)}\ufffd`, '/x/unknown'])
  })

  it('is nothing that is known, and nothing that says nothing', () => {
    const fields = JSON.parse('{"a":1,"b":null,"c":false,"__proto__":2}') as Record<string, unknown>
    const known = new Set(['a'])
    expect(placesOf((lost) => lost.addOthers('', fields, known))).toEqual(['/c', '/__proto__'])
    expect(
      placesOf((lost) => lost.addOthers('/d/*', fields, known, (value) => value !== 2)),
    ).toEqual(['/d/*/__proto__'])
  })
})

describe('what is told of where something was said', () => {
  it('is each place once, in the order in which they were seen, and is no loss', () => {
    const lost = new Lost()
    for (let round = 0; round < 2; round++)
      for (const place of ['/b', '/a']) lost.note('cache', place)
    lost.note('seal', '/c')
    expect([...lost.said]).toEqual([
      ['cache', ['/b', '/a']],
      ['seal', ['/c']],
    ])
    expect(lost.places).toEqual([])
  })
})

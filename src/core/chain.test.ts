// A list under any order of joining, leaving and walking, beside a plain array.
import { describe, expect, it } from 'bun:test'
import { array, assert, integer, property } from 'fast-check'
import { Chain, type Place } from './chain.ts'

describe('a chain', () => {
  it('holds who joined and has not left, in the order of joining', () => {
    assert(
      property(array(integer({ min: -5, max: 5 })), (steps) => {
        const chain = new Chain<number>()
        const places: { readonly item: number; readonly place: Place }[] = []
        const model: number[] = []
        for (const [item, step] of steps.entries()) {
          const leaver = step < 0 ? places[-step - 1] : undefined
          if (step < 0) {
            leaver?.place.leave()
            const index = leaver === undefined ? -1 : model.indexOf(leaver.item)
            if (index >= 0) model.splice(index, 1)
          } else {
            places.push({ item, place: chain.join(item) })
            model.push(item)
          }
          expect([...chain]).toEqual(model)
          expect(chain.size).toBe(model.length)
        }
      }),
    )
  })

  it('gives everyone a turn whoever leaves or joins meanwhile', () => {
    const chain = new Chain<string>()
    const places = ['a', 'b', 'c', 'd', 'e'].map((name) => chain.join(name))
    const seen: string[] = []
    for (const name of chain) {
      seen.push(name)
      // The one at hand, the next two, and a new one at the end.
      if (name === 'b') for (const index of [1, 2, 3]) places[index]!.leave()
      if (name === 'b') chain.join('f')
    }
    expect(seen).toEqual(['a', 'b', 'e', 'f'])
    expect([...chain]).toEqual(['a', 'e', 'f'])
  })
})

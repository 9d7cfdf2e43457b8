import { describe, expect, it } from 'bun:test'
import { Retries } from './retries.ts'

/** How many places there are while so many calls run, for this key or for keys that have none yet. */
function placesOf(retries: Retries, calls: number, key?: string): number {
  let places = 0
  while (retries.take(calls, key ?? `key ${places}`)) places += 1
  return places
}

describe('third attempts', () => {
  it.each([
    [0, 3],
    [1, 3],
    [15, 3],
    [20, 4],
    [100, 20],
    [101, 21],
  ])('while %i calls run, %i may be under way', (calls, places) => {
    expect(placesOf(new Retries(), calls)).toBe(places)
  })

  it.each([
    [0, 2],
    [20, 2],
    [100, 10],
  ])('while %i calls run, one key has %i at most, and another finds room', (calls, places) => {
    const retries = new Retries()
    expect(placesOf(retries, calls, 'one')).toBe(places)
    expect(retries.take(calls, 'other')).toBe(true)
  })

  it('make room for the next when they are over', () => {
    const retries = new Retries()
    placesOf(retries, 0)
    retries.giveBack('key 0')
    expect([retries.take(0, 'next'), retries.take(0, 'another')]).toEqual([true, false])
  })

  it('are given back to the key that had them', () => {
    const retries = new Retries()
    placesOf(retries, 100, 'one')
    retries.giveBack('one')
    expect(placesOf(retries, 100, 'one')).toBe(1)
    for (let index = 0; index < 10; index++) retries.giveBack('one')
    expect(placesOf(retries, 100, 'one')).toBe(10)
  })

  it('that are too many because fewer calls run now must first become fewer', () => {
    const retries = new Retries()
    placesOf(retries, 100)
    expect(retries.take(10, 'next')).toBe(false)
    for (let index = 0; index < 18; index++) retries.giveBack(`key ${index}`)
    expect(retries.take(10, 'next')).toBe(true)
  })
})

// Whom a wrong key is counted for, and that nobody's memory of it grows without end.
import { describe, expect, it } from 'bun:test'
import { Guesses, placeOf } from './guesses.ts'

describe('the place of an address', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:DB8:1:2:ffff::1', '2001:db8:1:2'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:0db8:0001:0002::', '2001:db8:1:2'],
    ['::1', '0:0:0:0'],
    ['', ''],
  ])('of %s is %s', (address, place) => {
    expect(placeOf(address)).toBe(place)
  })
})

describe('guesses', () => {
  const guess = (guesses: Guesses, address: string, times: number): void => {
    for (let count = 0; count < times; count++) guesses.wrong(address, 0)
  }

  it('are counted for each place alone', () => {
    const guesses = new Guesses()
    guess(guesses, '2001:db8::1', 25)
    guess(guesses, '2001:db8::2', 25)
    guess(guesses, '203.0.113.7', 50)
    expect(() => guess(guesses, '2001:db8::3', 1)).toThrow('Too many wrong keys')
    expect(() => guess(guesses, '203.0.113.8', 50)).not.toThrow()
  })

  it('are forgotten for the one that came first once there are too many places', () => {
    const guesses = new Guesses()
    guess(guesses, '203.0.113.7', 50)
    for (let index = 0; index < 10_000; index++)
      guess(guesses, `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`, 1)
    expect(() => guess(guesses, '203.0.113.7', 50)).not.toThrow()
  })
})

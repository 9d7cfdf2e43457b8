import { describe, expect, it } from 'bun:test'
import { Silence } from './silence.ts'

function crowd(silence: Silence, count: number): readonly number[] {
  return Array.from({ length: count }, () => silence.begin())
}

describe('silence', () => {
  it('lasts while five calls wait together', () => {
    const silence = new Silence()
    crowd(silence, 5)
    expect([10, 11, 15].map((now) => silence.lasting(now))).toEqual([0, 1, 5])
  })

  it('is none while fewer wait', () => {
    const silence = new Silence()
    crowd(silence, 4)
    expect([10, 1000].map((now) => silence.lasting(now))).toEqual([0, 0])
  })

  it('ends with the first word of anybody, also of those who have been waiting', () => {
    const silence = new Silence()
    crowd(silence, 9)
    silence.lasting(0)
    silence.heard()
    expect([5, 10].map((now) => silence.lasting(now))).toEqual([0, 0])
    crowd(silence, 5)
    expect([20, 30].map((now) => silence.lasting(now))).toEqual([0, 10])
  })

  it('begins anew when one of the five leaves, whoever has come meanwhile', () => {
    const silence = new Silence()
    const [first] = crowd(silence, 5)
    silence.lasting(0)
    crowd(silence, 3)
    silence.end(first!)
    expect([4, 6].map((now) => silence.lasting(now))).toEqual([0, 2])
  })

  it('goes on when somebody leaves who came later', () => {
    const silence = new Silence()
    crowd(silence, 5)
    silence.lasting(0)
    const [late] = crowd(silence, 1)
    silence.end(late!)
    expect(silence.lasting(4)).toBe(4)
  })

  it('does not miscount those who leave after a word was heard', () => {
    const silence = new Silence()
    const early = crowd(silence, 5)
    silence.heard()
    crowd(silence, 5)
    for (const number of early) silence.end(number)
    silence.lasting(0)
    expect(silence.lasting(3)).toBe(3)
  })
})

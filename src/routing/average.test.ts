import { describe, expect, it } from 'bun:test'
import { Average } from './average.ts'

function averageOf(times: readonly number[], now = 0): Average {
  const average = new Average()
  for (const ms of times) average.add(ms, now)
  return average
}

describe('a moving average', () => {
  it('is the first figure, then a fifth of each that comes', () => {
    expect(averageOf([100]).ms).toBe(100)
    expect(averageOf([100, 200]).ms).toBe(120)
  })

  it('is nothing where nothing was measured, so that it is tried', () => {
    expect(new Average().expected(0)).toBe(0)
  })

  it('is half as long for every half minute without a figure, so that it is tried again', () => {
    const average = averageOf([800])
    expect([0, 29_999, 30_000, 90_000].map((now) => average.expected(now))).toEqual([
      800, 800, 400, 100,
    ])
  })

  it('tells something from the tenth figure on, for five minutes', () => {
    expect(averageOf(Array<number>(9).fill(1)).isTelling(0)).toBe(false)
    const average = averageOf(Array<number>(10).fill(1))
    expect([299_999, 300_000].map((now) => average.isTelling(now))).toEqual([true, false])
  })

  it('begins anew once it is forgotten', () => {
    const average = averageOf(Array<number>(10).fill(9000))
    average.forget()
    expect([average.isTelling(0), average.expected(0)]).toEqual([false, 0])
    average.add(100, 0)
    expect(average.ms).toBe(100)
  })
})

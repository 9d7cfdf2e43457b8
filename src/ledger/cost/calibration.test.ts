// What is learned of a model's way to count: it gets closer, is not led astray by one oddity, and forgets nobody who
// is still asked for while there is room.
import { describe, expect, it } from 'bun:test'
import { Calibration } from './calibration.ts'

function taught(ratios: readonly number[]): Calibration {
  const calibration = new Calibration()
  for (const ratio of ratios) calibration.learn('m', 1000, 1000 * ratio, 0)
  return calibration
}

describe('the factor of a model', () => {
  it('is 1 where its vocabulary is known, and a bit more where it is not', () => {
    const calibration = new Calibration()
    expect(calibration.factor('m', true)).toBe(1)
    expect(calibration.factor('m', false)).toBe(1.2)
  })

  it('is what the first call told, and then the mean of what calls tell', () => {
    expect(taught([1.5]).factor('m', false)).toBe(1.5)
    expect(taught([1.5, 1.1, 1.3]).factor('m', false)).toBeCloseTo(1.3, 9)
  })

  it('follows a change, for the newest always count for something', () => {
    const factor = taught([
      ...Array.from({ length: 500 }, () => 1),
      ...Array.from({ length: 100 }, () => 2),
    ]).factor('m', false)
    expect(factor).toBeGreaterThan(1.95)
    expect(factor).toBeLessThanOrEqual(2)
  })

  it('stays between a quarter and four, whatever a supplier tells', () => {
    expect(taught([1e9]).factor('m', false)).toBe(4)
    expect(taught([1e-9]).factor('m', false)).toBe(0.25)
  })

  it.each([
    ['too short', 199, 400],
    ['told as nothing', 1000, 0],
    ['told as no number', 1000, Number.NaN],
    ['told as less than nothing', 1000, -5],
  ])('learns nothing from a call that is %s', (_title, counted, told) => {
    const calibration = new Calibration()
    calibration.learn('m', counted, told, 0)
    expect(calibration.factor('m', false)).toBe(1.2)
  })

  it("is none of another model's", () => {
    expect(taught([2]).factor('n', true)).toBe(1)
  })
})

describe('the deviation', () => {
  it('is told once five were compared with what had been learned', () => {
    expect(taught([1, 1, 1, 1, 1]).deviation('m')).toBeUndefined()
    expect(taught([1, 1, 1, 1, 1, 1]).deviation('m')).toBe(0)
  })

  it('is the mean share by which estimates were off', () => {
    // Foretold by what the ones before had taught: 1, 1.5, 4/3, 1.5, 1.4.
    const off = [1 / 2, 0.5, 2 / 3 / 2, 0.5, 0.6 / 2]
    const mean = off.reduce((sum, each) => sum + each, 0) / off.length
    expect(taught([1, 2, 1, 2, 1, 2]).deviation('m')).toBeCloseTo(mean, 9)
  })
})

describe('what calls are learned from', () => {
  it('are the first twenty, then one of 64, and only while somebody wants counts', () => {
    const calibration = new Calibration()
    const due = (calls: number, now: number): number =>
      Array.from({ length: calls }, () => calibration.isDue('m', now)).filter(Boolean).length
    expect(due(100, 0)).toBe(0)
    calibration.want(20_000)
    expect(due(20, 20_000)).toBe(20)
    expect(due(640, 20_000)).toBe(10)
    expect(due(640, 20_000 + 3_600_000)).toBe(0)
  })

  it('are not more than one in ten seconds once there were twenty', () => {
    const calibration = new Calibration()
    calibration.want(0)
    for (let call = 0; call < 63; call++) calibration.isDue('m', 0)
    calibration.learn('m', 1000, 1000, 5_000)
    expect(calibration.isDue('m', 14_999)).toBe(false)
    for (let call = 0; call < 63; call++) calibration.isDue('m', 15_000)
    expect(calibration.isDue('m', 15_000)).toBe(true)
  })
})

it('two thousand models are known at most, and the oldest makes room', () => {
  const calibration = new Calibration()
  for (let model = 0; model <= 2000; model++) calibration.learn(`m${model}`, 1000, 2000, 0)
  expect(calibration.factor('m0', true)).toBe(1)
  expect(calibration.factor('m1', true)).toBe(2)
  expect(calibration.factor('m2000', true)).toBe(2)
})

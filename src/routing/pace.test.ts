// When a session counts as slow where it is, and when that would be rash.
import { describe, expect, it } from 'bun:test'
import { Pace } from './pace.ts'

function slowness(...times: readonly number[]): number | undefined {
  const pace = new Pace()
  for (const ms of times) pace.add(ms)
  return pace.slowness()
}

describe('pace', () => {
  it.each([
    ['nothing was read', []],
    ['only three were read, however long they took', [500, 9_000, 9_000]],
    ['one was late', [500, 500, 500, 9_000]],
    ['one of the last three was late', [500, 500, 500, 9_000, 500, 500]],
    ['two were late some time apart', [500, 500, 500, 9_000, 500, 500, 9_000]],
    ['it is not three times as long', [500, 500, 500, 1_500, 1_500, 1_500]],
    ['it is many times as long and not a second more', [100, 100, 100, 900, 900, 900]],
    ['it was slow and is well again', [500, 500, 500, 9_000, 9_000, 9_000, 500, 500]],
  ])('is not slow where %s', (_, times) => {
    expect(slowness(...times)).toBeUndefined()
  })

  it.each([
    ['two in a row are late', [500, 500, 500, 4_000, 3_000], 3_000],
    ['two of three are late', [500, 500, 500, 4_000, 500, 3_000], 3_000],
    ['all three are late', [500, 500, 500, 4_000, 2_000, 3_000], 3_000],
    ['what is usual is measured over three', [300, 600, 600, 1_600, 1_600], 1_600],
  ])('is slow where %s', (_, times, ms) => {
    expect(slowness(...times)).toBe(ms)
  })

  it('takes a conversation that begins later as it grows for no slower one', () => {
    const pace = new Pace()
    for (let turn = 0; turn < 60; turn++) {
      pace.add(400 * 1.05 ** turn)
      expect(pace.slowness()).toBeUndefined()
    }
  })
})

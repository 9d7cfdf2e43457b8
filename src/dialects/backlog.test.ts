// How much one stream can make the gateway keep.
import { describe, expect, it } from 'bun:test'
import { Backlog, sizeOf } from './backlog.ts'

describe('what is kept', () => {
  it('is bounded by what is kept at a time, and not by all that ever was', () => {
    const backlog = new Backlog(10)
    for (let time = 0; time < 5; time++) {
      backlog.add(10)
      backlog.release(10)
    }
    backlog.add(10)
    expect(() => backlog.add(1)).toThrow(
      expect.objectContaining({ code: 'provider_response_too_large' }),
    )
  })
})

describe('the size of a value', () => {
  it('grows with its texts, its names and its parts', () => {
    expect(sizeOf('x'.repeat(1000))).toBeGreaterThanOrEqual(1000)
    expect(sizeOf({ ['x'.repeat(1000)]: 1 })).toBeGreaterThanOrEqual(1000)
    expect(sizeOf(Array.from({ length: 1000 }, () => 1))).toBeGreaterThanOrEqual(1000)
    expect(sizeOf({ a: [{ b: 'x'.repeat(1000) }] })).toBeGreaterThanOrEqual(1000)
  })

  it('is large where it is nested without end, and nobody goes to its end', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    expect(sizeOf(deep)).toBeGreaterThan(1_000_000)
  })
})

import { describe, expect, it } from 'bun:test'
import { Recall } from './recall.ts'

const row = (...numbers: readonly number[]): Uint16Array => Uint16Array.from(numbers)

describe('what was made before', () => {
  it('is found again by the same row, and is the same object', () => {
    const recall = new Recall<object>()
    const made = {}
    recall.keep(row(1, 2, 3), 3, made)
    expect(recall.find(row(1, 2, 3), 3)).toBe(made)
  })

  it('is not found by a row that differs, is shorter or is longer', () => {
    const recall = new Recall<string>()
    recall.keep(row(1, 2, 3), 3, 'made')
    for (const other of [row(1, 2, 4), row(1, 2), row(1, 2, 3, 0)])
      expect(recall.find(other, other.length)).toBeUndefined()
  })

  it('is told apart from another of the same digest', () => {
    const recall = new Recall<string>()
    // Thirty-one more in one place is one less in the place before.
    recall.keep(row(1, 31), 2, 'one')
    recall.keep(row(2, 0), 2, 'other')
    expect([recall.find(row(1, 31), 2), recall.find(row(2, 0), 2)]).toEqual(['one', 'other'])
  })

  it('does not change with the row that it was kept by, of which only the beginning counts', () => {
    const recall = new Recall<string>()
    const notes = row(1, 2, 3, 99)
    recall.keep(notes, 3, 'made')
    notes.fill(0)
    expect(recall.find(row(1, 2, 3, 7), 3)).toBe('made')
  })

  it('is bounded, and what is still in use is soon there again', () => {
    const recall = new Recall<number>()
    for (let index = 0; index < 513; index++) recall.keep(row(index), 1, index)
    const kept = Array.from({ length: 513 }, (_, index) => recall.find(row(index), 1))
    expect(kept.filter((value) => value !== undefined)).toEqual([512])
  })
})

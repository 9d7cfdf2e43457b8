// Turns are few and fair, and none is ever lost.
import { describe, expect, it } from 'bun:test'
import { createTurns } from './turns.ts'

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('turns', () => {
  it('go round among those who want one again and again', async () => {
    const turns = createTurns(1)
    const order: string[] = []
    const takeThree = async (name: string): Promise<void> => {
      for (let count = 0; count < 3; count += 1)
        // oxlint-disable-next-line no-await-in-loop -- one after another is what is tested
        await turns.take(async () => {
          order.push(name)
          await nextTurn()
        })
    }
    await Promise.all(['a', 'b', 'c'].map(takeThree))
    expect(order.join('')).toBe('abcabcabc')
  })

  it('are never more at once than there are, and all of those are used', async () => {
    const turns = createTurns(3)
    let taken = 0
    let takenMost = 0
    await Promise.all(
      Array.from({ length: 20 }, () =>
        turns.take(async () => {
          taken += 1
          takenMost = Math.max(takenMost, taken)
          await nextTurn()
          taken -= 1
        }),
      ),
    )
    expect(takenMost).toBe(3)
  })

  it('end with their work, whether it succeeds or throws', async () => {
    const turns = createTurns(1)
    const fail = (): never => {
      throw new Error('no disk')
    }
    const outcomes = await Promise.allSettled([
      turns.take(fail),
      turns.take(() => Promise.reject(new Error('no disk'))),
      turns.take(() => 'done'),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
    expect(await turns.take(() => 'free again')).toBe('free again')
  })
})

// Whether a database answers, for a question that anyone may ask at any rate: who asks while it is being
// found out shares the answer, and it counts for a while. So a flood of questions is one a second.
import type { Clock } from '../core/clock.ts'

const COUNTS_MS = 1000

export function createPing(ask: () => void | Promise<void>, clock: Clock): () => Promise<void> {
  let answer: Promise<void> | undefined
  /** Undefined while it is being found out. */
  let answeredAt: number | undefined

  const isGood = (): boolean => answeredAt === undefined || clock.elapsed() - answeredAt < COUNTS_MS

  const find = async (): Promise<void> => {
    try {
      await ask()
    } finally {
      answeredAt = clock.elapsed()
    }
  }

  return () => {
    if (answer !== undefined && isGood()) return answer
    answeredAt = undefined
    answer = find()
    return answer
  }
}

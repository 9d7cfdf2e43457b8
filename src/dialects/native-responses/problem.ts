// Problems as native agents know them: those of their language, and a plan whose share is used up.
import type { ProblemCodec } from '../dialect.ts'
import { problem as responsesProblem } from '../openai-responses/problem.ts'

/**
 * How a plan says that nothing is left of it, or that this was never a part of it: by the type where it refuses with a
 * status, by the code in a stream (openai/codex, seen 2026-11).
 */
const SPENT = new Set(['usage_limit_reached', 'usage_not_included'])

export const problem: ProblemCodec = {
  ...responsesProblem,

  isSpent: (error) =>
    responsesProblem.isSpent(error) ||
    SPENT.has(error.origin?.code ?? '') ||
    SPENT.has(error.origin?.type ?? ''),
}

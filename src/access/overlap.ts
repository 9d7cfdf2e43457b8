// How long the secret of now goes on beside a new one, read from the body of a rotation.
import { invalid } from '../core/problem.ts'
import { checkNames, type Body } from './fields.ts'

const OVERLAP_SECONDS_MAX = 30 * 86_400
const FIELDS = new Set(['overlap_seconds'])

/** In milliseconds; `standard` is in seconds, as the body says it, for a body that does not. */
export function readOverlap(body: Body, standard: number): number {
  checkNames(body, FIELDS)
  const seconds = body['overlap_seconds'] ?? standard
  const isWhole = typeof seconds === 'number' && Number.isInteger(seconds)
  if (isWhole && seconds >= 0 && seconds <= OVERLAP_SECONDS_MAX) return seconds * 1000
  throw invalid(
    'overlap_seconds',
    `Send \`overlap_seconds\` as a whole number from 0 to ${OVERLAP_SECONDS_MAX}: how long the old secret still works.`,
  )
}

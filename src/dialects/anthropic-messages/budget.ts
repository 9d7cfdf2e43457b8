// The budget for thinking inside of a limit that was lowered. It is part of the limit, and has a floor of its own.
import type { Splice } from '../../wire/json-splice.ts'
import type { BodyLayout } from '../dialect.ts'

/** The maker refuses less (its reference of the interface, seen 2026-11). */
export const LEAST_BUDGET = 1024
/** What is left for the answer, where the limit has room for it beside the least budget. */
const LEAST_ANSWER = 1024

const decoder = new TextDecoder()

/**
 * Suppliers refuse a budget that does not leave room for an answer within the limit. Within the least budget there is
 * no right one: then the supplier judges what the caller has sent.
 */
export function lowerBudget(
  body: Uint8Array,
  { thinking = [] }: BodyLayout,
  limit: number,
): readonly Splice[] {
  if (limit <= LEAST_BUDGET) return []
  const text = String(Math.max(LEAST_BUDGET, limit - LEAST_ANSWER))
  return thinking
    .filter(({ key, value, to }) => key >= 0 && readBudget(body, value, to) >= limit)
    .map(({ value, to }) => ({ from: value, to, text }))
}

function readBudget(body: Uint8Array, from: number, to: number): number {
  return Number(decoder.decode(body.subarray(from, to)))
}

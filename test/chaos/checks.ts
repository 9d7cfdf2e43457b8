// Holds the books against what the suppliers have billed and what callers were given. Each check names every
// call that breaks it, so that an empty list is the proof.
import { parseUsd } from '../../src/core/money.ts'
import type { EndLine, HoldLine, Records } from '../fakes/records.ts'
import type { Delivery } from './load.ts'
import type { Bill } from './supplier.ts'

export interface Evidence {
  readonly records: Records
  readonly bills: readonly Bill[]
  readonly deliveries: readonly Delivery[]
}

export interface Verdict {
  /** Billed by a supplier, and no operation knows of it. */
  readonly lost: readonly number[]
  /** Held or ended more than once. */
  readonly double: readonly number[]
  /** Told to be settled, and the books do not have it so, or at another cost. */
  readonly unbooked: readonly number[]
  /** Billed above what was settled, is in suspense, overran or is still held. */
  readonly uncovered: readonly number[]
}

export function judge({ records, bills, deliveries }: Evidence): Verdict {
  const holds = Map.groupBy(records.holds, ({ max_tokens }) => max_tokens)
  const ends = Map.groupBy(
    records.ends.filter(({ hold }) => hold !== null),
    ({ hold }) => hold,
  )
  const endsOf = (marker: number): readonly EndLine[] =>
    (holds.get(marker) ?? []).flatMap(({ number }) => ends.get(number) ?? [])
  const billed = Map.groupBy(bills, ({ marker }) => marker)
  const isBooked = ({ marker, costUsd }: Delivery): boolean => {
    const [end] = endsOf(marker)
    return end?.state === 'settled' && end.cost === parseUsd(costUsd)
  }
  return {
    lost: [...billed.keys()].filter((marker) => !holds.has(marker)),
    double: [...holds.keys()].filter(
      (marker) => holds.get(marker)!.length > 1 || endsOf(marker).length > 1,
    ),
    unbooked: deliveries
      .filter((delivery) => delivery.settlement !== 'pending' && !isBooked(delivery))
      .map(({ marker }) => marker),
    uncovered: [...billed].flatMap(([marker, list]) => {
      const [hold] = holds.get(marker) ?? []
      const cost = list.reduce((sum, bill) => sum + bill.cost, 0)
      return hold !== undefined && cost > coverOf(hold, endsOf(marker)) ? [marker] : []
    }),
  }
}

function coverOf({ amount }: HoldLine, ends: readonly EndLine[]): number {
  const [end] = ends
  return end === undefined ? amount : end.cost + end.overrun + suspenseOf(end)
}

function suspenseOf({ details }: EndLine): number {
  if (details === null) return 0
  const { tries = [] } = JSON.parse(details) as { tries?: readonly { suspense?: number }[] }
  return tries.reduce((sum, { suspense = 0 }) => sum + suspense, 0)
}

/**
 * Of those that a dead process left open, every one is in review before the next process grants anything.
 * `last` is the last place of the chain when the process died.
 */
export function findUnreviewed({ holds, ends, notes }: Records, last: number): readonly number[] {
  const ended = new Set(ends.filter(({ number }) => number <= last).map(({ hold }) => hold))
  const next = holds.find(({ number }) => number > last)?.number
  // Nobody has granted anything since; it may have died while it started.
  if (next === undefined) return []
  const reviewed = new Set(
    notes
      .filter(({ kind, number }) => kind === 'review' && number < next)
      .map(({ request_id }) => request_id),
  )
  return holds
    .filter(
      ({ number, request_id }) => number <= last && !ended.has(number) && !reviewed.has(request_id),
    )
    .map(({ number }) => number)
}

export function lastOf({ holds, ends, notes }: Records): number {
  return Math.max(0, ...[holds, ends, notes].map((lines) => lines.at(-1)?.number ?? 0))
}

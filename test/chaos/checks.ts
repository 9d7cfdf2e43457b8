// Holds the books against what the suppliers have billed and what callers were given. Each check names every
// call that breaks it, so that an empty list is the proof.
import { parseUsd } from '../../src/core/money.ts'
import type { EndLine, HoldLine, Records } from '../fakes/records.ts'
import type { Books, PaidEnd } from './books.ts'
import type { Payment } from './clerk.ts'
import type { Crowd } from './load.ts'
import type { Bill } from './supplier.ts'

export interface Evidence {
  readonly books: Books
  readonly bills: readonly Bill[]
  readonly crowd: Pick<Crowd, 'deliveries' | 'unpaid' | 'carriedOut' | 'once'>
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
  /** Under an Idempotency-Key, and a supplier has taken it twice. */
  readonly repeated: readonly number[]
  /** Refused for want of money, and held all the same. */
  readonly phantom: readonly number[]
  /** Told to be carried out, and not in the books. */
  readonly missing: readonly number[]
  /** Delivered and paid for, and the same request under its key was told that there is no answer. */
  readonly forgotten: readonly number[]
}

export function judge({ books, bills, crowd }: Evidence): Verdict {
  const holds = Map.groupBy(books.holds, ({ max_tokens }) => max_tokens)
  const ends = Map.groupBy(
    books.ends.filter(({ hold }) => hold !== null),
    ({ hold }) => hold,
  )
  const endsOf = (marker: number): readonly EndLine[] =>
    (holds.get(marker) ?? []).flatMap(({ number }) => ends.get(number) ?? [])
  const billed = Map.groupBy(bills, ({ marker }) => marker)
  const unanswered = new Set(crowd.carriedOut)
  const settled = crowd.deliveries.filter(({ settlement }) => settlement !== 'pending')
  const isBooked = ({ marker, costUsd }: Crowd['deliveries'][number]): boolean => {
    const [end] = endsOf(marker)
    return end?.state === 'settled' && end.cost === parseUsd(costUsd)
  }
  return {
    lost: [...billed.keys()].filter((marker) => !holds.has(marker)),
    double: [...holds.keys()].filter(
      (marker) => holds.get(marker)!.length > 1 || endsOf(marker).length > 1,
    ),
    unbooked: settled.filter((delivery) => !isBooked(delivery)).map(({ marker }) => marker),
    uncovered: [...billed].flatMap(([marker, list]) => {
      const [hold] = holds.get(marker) ?? []
      const cost = list.reduce((sum, bill) => sum + bill.cost, 0)
      return hold !== undefined && cost > coverOf(hold, endsOf(marker)) ? [marker] : []
    }),
    repeated: [...billed].flatMap(([marker, list]) => {
      const isRepeated = new Set(list.map(({ supplier }) => supplier)).size < list.length
      return crowd.once.has(marker) && isRepeated ? [marker] : []
    }),
    phantom: crowd.unpaid.filter((marker) => holds.has(marker)),
    missing: crowd.carriedOut.filter((marker) => endsOf(marker).length === 0),
    forgotten: settled.map(({ marker }) => marker).filter((marker) => unanswered.has(marker)),
  }
}

function coverOf({ amount }: HoldLine, ends: readonly EndLine[]): number {
  const [end] = ends
  return end === undefined ? amount : end.cost + end.overrun + suspenseOf(end)
}

function suspenseOf({ details }: EndLine): number {
  return triesOf(details).reduce((sum, { suspense = 0 }) => sum + suspense, 0)
}

interface Try {
  readonly supplier: string
  readonly suspense?: number
}

function triesOf(details: string | null): readonly Try[] {
  if (details === null) return []
  const { tries = [] } = JSON.parse(details) as { readonly tries?: readonly Try[] }
  return tries
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

/** Ends that do not fit the hold they belong to, and claims that are not there while their calls count. */
export function findMisfits({ holds, ends, claims }: Books): readonly string[] {
  const byHold = new Map(ends.map((end) => [end.hold, end]))
  const byNumber = new Map(holds.map((hold) => [hold.number, hold]))
  const fits = (end: PaidEnd): boolean => {
    const hold = byNumber.get(end.hold ?? 0)
    const isItsOwn = hold?.request_id === end.request_id && hold.key_id === end.key_id
    const isPaidSo = hold?.payer === end.payer && hold?.hour === end.hour
    return isItsOwn && isPaidSo && hold.amount === end.held && end.cost <= hold.amount
  }
  const misfits = ends.filter((end) => end.hold !== null && !fits(end))
  const unclaimed = holds.filter(({ number, request_id, claim }) => {
    if (claim === null || byHold.get(number)?.state === 'voided') return false
    return claims.get(claim.split(' ')[0]!) !== request_id
  })
  return [
    ...misfits.map(({ request_id }) => `${request_id} does not end its hold`),
    ...unclaimed.map(({ request_id }) => `${request_id} has no claim`),
  ]
}

/** Everything that was added up on the way, against the records themselves. */
export function findWrongSums({ ends, credits, statements, balances, sums }: Books): object {
  const done = ends.filter(({ hold }) => hold !== null)
  const found = new Map<string, number>()
  const add = (name: string, amount: number): void =>
    void found.set(name, (found.get(name) ?? 0) + amount)
  for (const { key_id, payer, cost, supplier, overrun, details } of done) {
    add(`key/${key_id}`, cost)
    add(`payer/${payer?.wallet}`, cost)
    add('payments', cost)
    add(`supplier/${supplier ?? ''}`, cost + overrun)
    add('overrun', overrun)
    for (const each of triesOf(details)) {
      add(`suspense/${each.supplier}`, each.suspense ?? 0)
      add(`supplier/${each.supplier}`, each.suspense ?? 0)
    }
  }
  const wrong = [...new Set([...found.keys(), ...sums.keys()])].filter(
    (name) => (found.get(name) ?? 0) !== (sums.get(name) ?? 0),
  )
  const ofWallet = (wallet: string): number =>
    credits.reduce((sum, each) => sum + (each.wallet === wallet ? each.amount : 0), 0)
  return {
    sums: wrong,
    total: totalOf(sums),
    charged: balances
      .filter(({ wallet, charged }) => charged !== (found.get(`payer/${wallet}`) ?? 0))
      .map(({ wallet }) => wallet),
    credited: balances
      .filter(({ wallet, credited }) => credited !== ofWallet(wallet))
      .map(({ wallet }) => wallet),
    statements: Bun.deepEquals(
      credits.map(({ wallet, amount, reason }) => ({ wallet, amount, reason })),
      statements.map((each) => ({ ...each })),
    ),
  }
}

export const RIGHT_SUMS = { sums: [], total: 0, charged: [], credited: [], statements: true }

/** What was paid less who got it: by keys to suppliers, and by payers. */
function totalOf(sums: ReadonlyMap<string, number>): number {
  const isCredit = (name: string): boolean => name.startsWith('supplier/') || name === 'payments'
  return [...sums].reduce((total, [name, amount]) => total + (isCredit(name) ? -amount : amount), 0)
}

/** What was told to be booked is there once, what was refused is not, and nothing is there twice. */
export function findWrongPayments(
  { credits }: Books,
  payments: readonly Payment[],
): readonly string[] {
  const booked = Map.groupBy(credits, ({ reason }) => reason)
  return payments.flatMap(({ reason, wallet, amount, state }) => {
    const lines = booked.get(reason) ?? []
    const isOther = lines.some((line) => line.wallet !== wallet || line.amount !== amount)
    const isWrong =
      isOther ||
      lines.length > 1 ||
      (state === 'booked' && lines.length === 0) ||
      (state === 'refused' && lines.length > 0)
    return isWrong ? [`${reason} of ${amount} is ${state} and booked ${lines.length} times`] : []
  })
}

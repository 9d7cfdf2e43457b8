// Walks the books from their first record and asks of every hold whether there was enough for it: in the budget of
// its key, in the wallet of its payer with the credit line, and in what that may spend.
import type { Books, PaidEnd, PaidHold } from './books.ts'

/** A hold that should have been refused, and by how much. */
export interface Excess {
  readonly request: string
  readonly of: 'budget' | 'funds' | 'limit'
  readonly by: number
}

class Sums {
  readonly #sums = new Map<string, number>()

  of(name: string): number {
    return this.#sums.get(name) ?? 0
  }

  add(name: string, amount: number): void {
    this.#sums.set(name, this.of(name) + amount)
  }
}

type Step = (walk: Walk) => void

interface Walk {
  /** By key and month, by wallet and month: spent and held. */
  readonly taken: Sums
  /** By wallet: in it, less what is held. */
  readonly free: Sums
  readonly found: Excess[]
}

/** All budgets and limits of these tests are of calendar months. */
export function findExcess({ holds, ends, credits }: Books): readonly Excess[] {
  const held = new Map(holds.map((hold) => [hold.number, hold]))
  const steps: (readonly [number, Step])[] = [
    ...holds.map((hold) => [hold.number, (walk: Walk) => grant(walk, hold)] as const),
    ...ends
      .filter((end) => end.hold !== null)
      .map((end) => [end.number, (walk: Walk) => finish(walk, held.get(end.hold!), end)] as const),
    ...credits.map(
      ({ number, wallet, amount }) =>
        [number, (walk: Walk) => walk.free.add(wallet, amount)] as const,
    ),
  ]
  steps.sort(([one], [other]) => one - other)
  const walk = { taken: new Sums(), free: new Sums(), found: [] }
  for (const [, step] of steps) step(walk)
  return walk.found
}

function grant({ taken, free, found }: Walk, hold: PaidHold): void {
  const { amount, request_id: request, budget_limit: budget, payer } = hold
  const { wallet, line, limit } = payer
  const [keyMonth, walletMonth] = monthsOf(hold)
  const check = (of: Excess['of'], by: number): void => {
    if (by > 0) found.push({ request, of, by })
  }
  if (budget !== null) check('budget', taken.of(keyMonth) + amount - budget)
  if (line !== null) check('funds', amount - free.of(wallet) - line)
  if (limit !== null) check('limit', taken.of(walletMonth) + amount - limit)
  taken.add(keyMonth, amount)
  taken.add(walletMonth, amount)
  free.add(wallet, 0 - amount)
}

function finish({ taken, free }: Walk, hold: PaidHold | undefined, { cost }: PaidEnd): void {
  if (hold === undefined) return
  const [keyMonth, walletMonth] = monthsOf(hold)
  taken.add(keyMonth, cost - hold.amount)
  taken.add(walletMonth, cost - hold.amount)
  free.add(hold.payer.wallet, hold.amount - cost)
}

function monthsOf({ key_id: key, payer, hour }: PaidHold): readonly [string, string] {
  const month = new Date(hour * 3_600_000).toISOString().slice(0, 7)
  return [`${key} ${month}`, `${payer.wallet} ${month}`]
}

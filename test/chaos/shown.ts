// What the management interface shows, held against the books: what is in each wallet, what each key has spent, and
// what usage adds up to. The gateway has built it all anew from the records, or kept it in step with them.
import { expect } from 'bun:test'
import { toNano } from '../fakes/prices.ts'
import { openHolds } from '../fakes/records.ts'
import { tenantAt, type Json } from '../fakes/tenants.ts'
import { readBooks, type Books } from './books.ts'
import type { Town } from './town.ts'

/** In nano-dollars, by id. */
type Amounts = Readonly<Record<string, number>>

export interface Shown {
  readonly balances: Amounts
  readonly heldOfWallets: Amounts
  readonly spent: Amounts
  readonly heldOfKeys: Amounts
  readonly usage: Amounts
  readonly costOfKeys: Amounts
  readonly costOfPayers: Amounts
}

const ids = (list: readonly Json[]): readonly string[] => list.map(({ id }) => String(id))

/** By a name each; those of nothing are left out, as a sum does not tell them from none. */
function amounts(names: readonly string[], values: readonly number[]): Amounts {
  const pairs = names.map((name, index) => [name, values[index]!] as const)
  const sums = new Map<string, number>()
  for (const [name, value] of pairs) sums.set(name, (sums.get(name) ?? 0) + value)
  return Object.fromEntries([...sums].filter(([, value]) => value !== 0))
}

async function readShown(url: string, { callers }: Town): Promise<Shown> {
  const root = tenantAt(url)
  const list = async (path: string): Promise<readonly Json[]> =>
    (await root.get(path))['data'] as readonly Json[]
  const [wallets, keys, usage, byKey, byPayer] = await Promise.all([
    list('/wallets?limit=100'),
    Promise.all(callers.map(({ kind, id }) => root.get(`/${kind}/${id}`))),
    root.get('/usage?per=total'),
    list('/usage?per=total&by=key'),
    list('/usage?per=total&by=payer'),
  ])
  const money = (rows: readonly Json[], field: string): readonly number[] =>
    rows.map((row) => toNano(row[field]))
  const texts = (rows: readonly Json[], field: string): readonly string[] =>
    rows.map((row) => String(row[field]))
  const totals = usage['totals'] as Json
  const figures = ['calls', 'refused', 'input_tokens', 'output_tokens'] as const
  return {
    balances: amounts(ids(wallets), money(wallets, 'balance_usd')),
    heldOfWallets: amounts(ids(wallets), money(wallets, 'held_usd')),
    spent: amounts(ids(keys), money(keys, 'budget_used')),
    heldOfKeys: amounts(ids(keys), money(keys, 'budget_held')),
    usage: amounts(
      [...figures, 'cost'],
      [...figures.map((name) => Number(totals[name])), toNano(totals['cost_usd'])],
    ),
    costOfKeys: amounts(texts(byKey, 'key_id'), money(byKey, 'cost_usd')),
    costOfPayers: amounts(texts(byPayer, 'payer'), money(byPayer, 'cost_usd')),
  }
}

/** The same by the records alone. */
export function expectedOf(books: Books): Shown {
  const { ends, credits } = books
  const done = ends.filter(({ hold }) => hold !== null)
  const refused = ends.filter(({ hold }) => hold === null)
  const open = openHolds(books).map(({ number }) => number)
  const held = books.holds.filter(({ number }) => open.includes(number))
  const costs = done.map(({ cost }) => cost)
  const payers = done.map(({ payer }) => payer?.wallet ?? '')
  const spent = amounts(
    done.map(({ key_id }) => key_id),
    costs,
  )
  const sum = (values: readonly (number | null)[]): number =>
    values.reduce<number>((total, value) => total + (value ?? 0), 0)
  return {
    balances: amounts(
      [...credits.map(({ wallet }) => wallet), ...payers],
      [...credits.map(({ amount }) => amount), ...costs.map((cost) => 0 - cost)],
    ),
    heldOfWallets: amounts(
      held.map(({ payer }) => payer.wallet),
      held.map(({ amount }) => amount),
    ),
    spent,
    heldOfKeys: amounts(
      held.map(({ key_id }) => key_id),
      held.map(({ amount }) => amount),
    ),
    usage: amounts(
      ['calls', 'refused', 'input_tokens', 'output_tokens', 'cost'],
      [
        done.length,
        sum(refused.map(({ count }) => count)),
        sum(done.map(({ input_tokens }) => input_tokens)),
        sum(done.map(({ output_tokens }) => output_tokens)),
        sum(costs),
      ],
    ),
    costOfKeys: spent,
    costOfPayers: amounts(payers, costs),
  }
}

/** A review may be decided while it is read: what counts is what was shown while the books stood still. */
export async function expectShown(url: string, data: string, town: Town): Promise<Shown> {
  let before = expectedOf(readBooks(data))
  for (;;) {
    const shown = await readShown(url, town)
    const after = expectedOf(readBooks(data))
    const isStill = Bun.deepEquals(before, after)
    before = after
    if (!isStill) continue
    expect(shown).toEqual(after)
    return shown
  }
}

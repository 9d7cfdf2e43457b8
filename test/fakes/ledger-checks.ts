// What must hold of money after every step: what the ledger shows is what the model says, every account agrees, and
// the records alone would make the same ledger again.
import type { LedgerRecord } from '../../src/core/record.ts'
import { Book } from '../../src/ledger/book.ts'
import type { Accounts } from '../../src/ledger/entries.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import type { Model } from './ledger-model.ts'
import { stateOf } from './memory-store.ts'

export interface State {
  readonly model: Model
  readonly ledger: Ledger
  /** The books' own time. */
  readonly now: number
}

/** Plainer than an expectation, and there are millions of them. */
export function same(what: string, found: unknown, expected: unknown): void {
  if (!Object.is(found, expected))
    throw new Error(`${what} is ${String(found)}, not ${String(expected)}`)
}

/** I1, I8: what is shown is what the model says. */
export function checkBudgets({ model, ledger, now }: State, accounts: Accounts): void {
  let posted = 0n
  for (const [keyId, { budgetLimit, budgetPeriod = 'monthly' }] of model.budgets) {
    const { used, held, limit, period } = ledger.budgetOf(keyId)
    same(`used of ${keyId}`, used, model.used(keyId, now))
    same(`held of ${keyId}`, held, model.held(keyId, now))
    same(`limit of ${keyId}`, limit, budgetLimit)
    same(`period of ${keyId}`, period, budgetPeriod)
    posted += accounts.get(`key/${keyId}`) ?? 0n
  }
  const spent = model.spent.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  same('what is posted', posted, spent)
  same('what is open', ledger.openCount, model.open.size + model.asked.size)
}

/** The same of wallets; and all that keys have spent, wallets have paid. */
export function checkWallets({ model, ledger, now }: State, accounts: Accounts): void {
  let charged = 0n
  for (const [id, { creditLine = Infinity, spendingLimit = Infinity, endedAt }] of model.wallets) {
    const { balance, held, available, spent, spentHeld } = ledger.walletState(id)
    const holds = model.holds().filter(({ walletId }) => walletId === id)
    same(`balance of ${id}`, Number(balance), model.balance(id))
    same(
      `held of ${id}`,
      held,
      holds.reduce((sum, { amount }) => sum + amount, 0),
    )
    same(`spent of ${id}`, spent, model.within(id, now, model.spent))
    same(`held in the period of ${id}`, spentHeld, model.within(id, now, holds))
    const isEndless = creditLine === Infinity && spendingLimit === Infinity
    const rest = endedAt === undefined ? model.walletRest(id, now) : 0
    const shown = isEndless && endedAt === undefined ? undefined : rest
    same(`available of ${id}`, available === undefined ? undefined : Number(available), shown)
    charged += accounts.get(`payer/${id}`) ?? 0n
    same(
      `entries of ${id}`,
      -(accounts.get(`wallet/${id}`) ?? 0n),
      BigInt(model.credits.get(id) ?? 0),
    )
  }
  same('what wallets paid', charged, -(accounts.get('payments') ?? 0n))
  const spent = model.spent.reduce((sum, { amount }) => sum + BigInt(amount), 0n)
  same('what keys have spent and wallets paid', charged, spent)
}

/** I9: a process that started now on the records would find the same, but for what is not durable. */
export function checkRebuilt(state: State, records: readonly LedgerRecord[]): void {
  const { model, ledger, now } = state
  const book = new Book()
  const { spent, open, balances } = stateOf(records)
  for (const each of spent) book.adoptSpent(each)
  for (const each of balances) book.adoptBalance(each)
  for (const each of open) book.adopt(each)
  same('what is open on disk', book.openCount, model.open.size)
  for (const id of model.open.keys()) same(`${id} on disk`, book.find(id) !== undefined, true)
  for (const [keyId, { budgetLimit, budgetPeriod = 'monthly' }] of model.budgets) {
    const purse = book.purse(keyId)
    purse.limit = budgetLimit
    purse.period = budgetPeriod
    const { used, held, resetsAt } = ledger.budgetOf(keyId)
    const pending = model.held(keyId, now, model.asked.values())
    same(`used of ${keyId} on disk`, purse.used(now), used)
    same(`held of ${keyId} on disk`, purse.held(now) + pending, held)
    same(`reset of ${keyId} on disk`, purse.resetsAt(now), resetsAt)
  }
  checkRebuiltWallets(state, book)
}

function checkRebuiltWallets({ model, ledger, now }: State, book: Book): void {
  for (const [id, record] of model.wallets) {
    const wallet = book.wallet(id)
    wallet.put(record)
    const { balance, held, spent, spentHeld } = wallet.state(now)
    const live = ledger.walletState(id)
    const asked = [...model.asked.values()].filter(({ walletId }) => walletId === id)
    const pending = asked.reduce((sum, { amount }) => sum + amount, 0)
    same(`balance of ${id} on disk`, balance, live.balance)
    same(`held of ${id} on disk`, held + pending, live.held)
    same(`spent of ${id} on disk`, spent, live.spent)
    same(
      `held in the period of ${id} on disk`,
      spentHeld + model.within(id, now, asked),
      live.spentHeld,
    )
  }
}

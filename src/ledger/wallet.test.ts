// What a wallet may pay, to the nano-dollar: its balance with its line, less what is held, and its spending limit,
// whichever is less.
import { describe, expect, it } from 'bun:test'
import { askOf, endOf, holdOf, keyOf, nano, openRoom, walletOf } from '../../test/fakes/ledger.ts'
import { toNanoUsd } from '../core/money.ts'
import type { PayerChain, PayerTerms } from '../core/payer.ts'
import type { WalletRecord } from '../core/tenancy.ts'
import { SUM_MAX } from '../store/store.ts'
import { Book } from './book.ts'
import { LedgerFault } from './fault.ts'
import { Wallet } from './wallet.ts'

const NOON = Date.UTC(2026, 0, 15, 12)
const HOUR = Math.floor(NOON / 3_600_000)
const DAY_MS = 86_400_000
const MOST = Number.MAX_SAFE_INTEGER

function made(change: Partial<WalletRecord>, credits = 0): Wallet {
  const wallet = new Wallet('wal_1')
  wallet.put(walletOf(change))
  if (credits !== 0) wallet.credit(toNanoUsd(credits))
  return wallet
}

function prepaid(credits: number, line = 0): Wallet {
  return made({ creditLine: nano(line)! }, credits)
}

describe('a wallet', () => {
  it('that nobody has told about pays nothing', () => {
    const wallet = new Wallet('wal_1')
    expect(wallet.canFund(toNanoUsd(0), NOON)).toBe(false)
    expect(wallet.state(NOON).available).toBe(0n)
  })

  it('with an open line pays anything and goes below zero past every number', () => {
    const wallet = made({})
    for (let index = 0; index < 3; index++) wallet.charge(HOUR, toNanoUsd(MOST))
    expect(wallet.rest(NOON)).toBeUndefined()
    expect(wallet.canFund(toNanoUsd(MOST), NOON)).toBe(true)
    expect(wallet.state(NOON)).toMatchObject({
      balance: -3n * BigInt(MOST),
      available: undefined,
      spent: MOST,
    })
  })

  it('stands still where its books do, so that a start comes to the same', () => {
    const wallet = made({}, 7)
    for (let index = 0; index < 600; index++) wallet.charge(HOUR, toNanoUsd(MOST))
    expect(wallet.balance).toBe(7n - SUM_MAX)
    const started = made({})
    started.adopt({ credited: 7n, charged: SUM_MAX, before: 0n })
    started.charge(HOUR, toNanoUsd(5))
    expect(started.balance).toBe(wallet.balance)
    for (const each of [wallet, started]) each.credit(toNanoUsd(MOST))
    expect(started.balance).toBe(wallet.balance)
    expect(started.balance).toBe(7n + BigInt(MOST) - SUM_MAX)
  })

  it('pays what is in it and its line, less what is held', () => {
    const wallet = prepaid(100, 50)
    wallet.keep(holdOf({ amount: toNanoUsd(30) }))
    expect(wallet.rest(NOON)).toBe(120)
    expect(wallet.canFund(toNanoUsd(120), NOON)).toBe(true)
    expect(wallet.canFund(toNanoUsd(121), NOON)).toBe(false)
    wallet.charge(HOUR, toNanoUsd(20))
    expect(wallet.rest(NOON)).toBe(100)
    expect(wallet.state(NOON)).toMatchObject({ balance: 80n, held: 30, available: 100n })
  })

  it('is exact where balance and line together are past the exact range', () => {
    const wallet = prepaid(MOST, MOST)
    wallet.charge(HOUR, toNanoUsd(MOST - 3))
    wallet.keep(holdOf({ amount: toNanoUsd(MOST) }))
    expect(wallet.rest(NOON)).toBe(3)
    expect(wallet.canFund(toNanoUsd(4), NOON)).toBe(false)
  })

  it('pays no more in a period than its limit, and again in the next', () => {
    const wallet = made({ spendingLimit: nano(50)!, spendingPeriod: 'daily' }, 1000)
    wallet.charge(HOUR, toNanoUsd(40))
    expect(wallet.rest(NOON)).toBe(10)
    expect(wallet.state(NOON)).toMatchObject({ available: 10n, spent: 40, balance: 960n })
    expect(wallet.rest(NOON + DAY_MS)).toBe(50)
  })

  it('holds what calls of another day hold, and counts them in the limit of theirs alone', () => {
    const limits = { spendingLimit: nano(50)!, spendingPeriod: 'daily' } as const
    const wallet = made({ creditLine: nano(0)!, ...limits }, 60)
    wallet.keep(holdOf({ at: NOON, amount: toNanoUsd(40) }))
    expect(wallet.rest(NOON)).toBe(10)
    expect(wallet.rest(NOON + DAY_MS)).toBe(20)
    expect(wallet.state(NOON + DAY_MS)).toMatchObject({ held: 40, spentHeld: 0 })
  })

  it('that is closed pays nothing, not even what is free', () => {
    const wallet = made({ endedAt: 1 }, 100)
    expect(wallet.canFund(toNanoUsd(0), NOON)).toBe(false)
    expect(wallet.state(NOON)).toMatchObject({ balance: 100n, available: 0n })
  })

  it('that is empty pays for what is free, and no more once it owes more than it may', () => {
    const wallet = prepaid(0, 100)
    wallet.charge(HOUR, toNanoUsd(80))
    wallet.put(walletOf({ creditLine: nano(80)! }))
    expect(wallet.rest(NOON)).toBe(0)
    expect(wallet.canFund(toNanoUsd(1), NOON)).toBe(false)
    expect(wallet.canFund(toNanoUsd(0), NOON)).toBe(true)
    wallet.put(walletOf({ creditLine: nano(10)! }))
    expect(wallet.rest(NOON)).toBe(-70)
    expect(wallet.canFund(toNanoUsd(0), NOON)).toBe(false)
  })
})

describe('the terms of a payer', () => {
  const CHAIN: PayerChain = [
    { link: 'project', walletId: undefined },
    { link: 'organisation', walletId: 'wal_2' },
    { link: 'caller', walletId: 'wal_1' },
  ]
  const read = (text: string): PayerTerms => JSON.parse(text) as PayerTerms

  async function heldBy(change: Partial<WalletRecord>): Promise<string[]> {
    const key = keyOf(undefined)
    const wallets = [walletOf({ id: 'wal_2', creditLine: nano(0)! }), walletOf(change)]
    const { ledger } = await openRoom({ keys: [key], wallets })
    const texts: string[] = []
    for (let index = 0; index < 2; index++) {
      const { operation } = await ledger.hold(askOf(key, 10, { payers: () => CHAIN }))
      texts.push(operation.hold.payer!)
    }
    ledger.putWallet(walletOf({ creditLine: nano(500)! }))
    const { operation } = await ledger.hold(askOf(key, 10, { payers: () => CHAIN }))
    return [...texts, operation.hold.payer!]
  }

  it('say who was passed over and why, are one text for many calls, and change with the wallet', async () => {
    const [one, two, three] = await heldBy({ spendingLimit: nano(100)!, spendingPeriod: 'daily' })
    expect(read(one!)).toEqual({
      wallet: 'wal_1',
      link: 'caller',
      line: null,
      limit: nano(100)!,
      period: 'daily',
      passed: [
        { link: 'project', wallet: null, why: 'none' },
        { link: 'organisation', wallet: 'wal_2', why: 'funds' },
      ],
    })
    expect(two).toBe(one)
    expect(read(three!)).toMatchObject({ line: 500, limit: null, period: null })
  })
})

describe('a book', () => {
  it('grants no more than its payer has, and then changes nothing', () => {
    const book = new Book()
    const wallet = book.wallet('wal_1')
    wallet.put(walletOf({ creditLine: nano(100)! }))
    expect(() => book.grant(holdOf({ amount: toNanoUsd(101) }), wallet)).toThrow(LedgerFault)
    expect([book.openCount, wallet.purse.heldAlways, book.purse('key_1').heldAlways]).toEqual([
      0,
      toNanoUsd(0),
      toNanoUsd(0),
    ])
  })

  it('grants nothing that its payer could not count', () => {
    const book = new Book()
    const wallet = book.wallet('wal_1')
    wallet.put(walletOf())
    book.grant(holdOf({ keyId: 'key_2', amount: toNanoUsd(MOST) }), wallet)
    expect(() => book.grant(holdOf({ amount: toNanoUsd(1) }), wallet)).toThrow(LedgerFault)
    expect(book.purse('key_1').heldAlways).toBe(toNanoUsd(0))
  })

  it('charges the payer of the hold and nobody else', () => {
    const book = new Book()
    const wallet = book.wallet('wal_1')
    wallet.put(walletOf({ creditLine: nano(100)! }))
    const payer = wallet.terms([{ link: 'caller', walletId: 'wal_1' }], 0, 0)
    const operation = book.grant(holdOf({ amount: toNanoUsd(60), payer }), wallet)
    const other = payer.replace('wal_1', 'wal_2')
    expect(() => book.beginEnd(operation, endOf(operation, 5, { payer: other }))).toThrow(
      LedgerFault,
    )
    const row = endOf(operation, 25)
    book.beginEnd(operation, row)
    book.end(operation, row)
    expect(wallet.state(NOON)).toMatchObject({ balance: -25n, held: 0, spent: 25, available: 75n })
  })

  it('takes over holds from before there were payers, and those of a wallet', () => {
    const book = new Book()
    const payer = new Wallet('wal_1').terms([{ link: 'caller', walletId: 'wal_1' }], 0, 0)
    const rest = { reviewAt: NOON, asked: [], outputTokens: 0 }
    expect(book.adopt({ hold: holdOf(), ...rest }).wallet).toBeUndefined()
    book.adopt({ hold: holdOf({ payer, amount: toNanoUsd(7) }), ...rest })
    book.adoptBalance({ walletId: 'wal_1', credited: 1n, charged: 4n, before: -2n })
    book.adoptSpent({ ownerId: 'wal_1', hour: HOUR, amount: toNanoUsd(5) })
    const { balance, held, inReview, spent } = book.wallet('wal_1').state(NOON)
    expect([balance, Number(held), Number(inReview), Number(spent)]).toEqual([-5n, 7, 7, 5])
    expect(() => book.adopt({ hold: holdOf({ payer: '{}' }), ...rest })).toThrow(LedgerFault)
  })
})

describe('a credit', () => {
  it('counts when it is written, and wakes who waits for it', async () => {
    const key = keyOf(undefined)
    const { ledger } = await openRoom({ keys: [key] })
    ledger.putWallet(walletOf({ creditLine: nano(10)! }))
    const { operation } = await ledger.hold(askOf(key, 10))
    let isHeld = false
    const waiting = ledger.hold(askOf(key, 5)).then(() => (isHeld = true))
    const written = Promise.withResolvers<void>()
    const crediting = ledger.credit('wal_1', toNanoUsd(5), () => written.promise)
    expect(ledger.walletState('wal_1').balance).toBe(0n)
    written.resolve()
    await crediting
    await waiting
    expect(isHeld).toBe(true)
    expect(ledger.walletState('wal_1')).toMatchObject({ balance: 5n, held: 15, available: 0n })
    await ledger.end(operation, endOf(operation, 1))
  })

  it('that is taken back is out of reach at once, and back when it cannot be written', async () => {
    const { ledger } = await openRoom()
    ledger.putWallet(walletOf({ creditLine: nano(0)! }))
    await ledger.credit('wal_1', toNanoUsd(10), async () => {})
    const written = Promise.withResolvers<void>()
    const taking = ledger.credit('wal_1', toNanoUsd(-10), () => written.promise)
    expect(ledger.walletState('wal_1').available).toBe(0n)
    written.reject(new Error('the disk is full'))
    expect(await taking.catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    expect(ledger.walletState('wal_1')).toMatchObject({ balance: 10n, available: 10n })
  })

  it('is not taken back where it is spent or held', async () => {
    const key = keyOf(undefined)
    const { ledger } = await openRoom({ keys: [key] })
    ledger.putWallet(walletOf({ creditLine: nano(0)! }))
    await ledger.credit('wal_1', toNanoUsd(10), async () => {})
    await ledger.hold(askOf(key, 4))
    let isWritten = false
    const write = async (): Promise<void> => void (isWritten = true)
    const refused = await ledger.credit('wal_1', toNanoUsd(-7), write).catch((thrown) => thrown)
    expect(refused).toMatchObject({ code: 'conflict', status: 409 })
    expect(isWritten).toBe(false)
    await ledger.credit('wal_1', toNanoUsd(-6), write)
    expect(ledger.walletState('wal_1')).toMatchObject({ balance: 4n, available: 0n })
  })
})

describe('a chain that is explained', () => {
  it('tells of every place whether it would pay so much, or why not', async () => {
    const key = keyOf(undefined)
    const limits = { spendingLimit: nano(5)!, spendingPeriod: 'daily' } as const
    const wallets = [
      walletOf({ id: 'wal_2', creditLine: nano(5)! }),
      walletOf({ id: 'wal_3', ...limits }),
      walletOf({ id: 'wal_4', creditLine: nano(20)! }),
      walletOf({ id: 'wal_5', endedAt: 1 }),
    ]
    const { ledger } = await openRoom({ keys: [key], wallets })
    const busy: PayerChain = [{ link: 'caller', walletId: 'wal_4' }]
    await ledger.hold(askOf(key, 15, { payers: () => busy }))
    const ids = [undefined, 'wal_5', 'wal_2', 'wal_3', 'wal_4', 'wal_1']
    const chain = ids.map((walletId) => ({ link: 'caller', walletId }) as const)
    const states = ledger.explainPayers(chain, toNanoUsd(10)).map(({ state }) => state)
    expect(states).toEqual(['none', 'closed', 'funds', 'limit', 'busy', 'pays'])
    expect(ledger.explainPayers(chain, toNanoUsd(0)).map(({ state }) => state)).toEqual([
      'none',
      'closed',
      'pays',
      'pays',
      'pays',
      'pays',
    ])
  })
})

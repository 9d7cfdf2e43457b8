// Credits at the edge of what a wallet may hold, where no number of calls in a test would bring it.
import { expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import type { WalletRecord } from '../core/tenancy.ts'
import { Directory } from './directory.ts'
import { Keyring } from './keyring.ts'
import { creditWallet, type WalletDesk } from './wallets.ts'

const NANO = 1_000_000_000n

const ROOT: KeyRecord = {
  ...NO_LIMITS,
  ...NO_TIES,
  id: 'key_root',
  accountId: 'acc_1',
  kind: 'root',
  name: 'root',
  hash: 'hash',
  createdAt: 0,
}

const WALLET: WalletRecord = {
  id: 'wal_1',
  accountId: 'acc_1',
  owner: 'account',
  ownerId: 'acc_1',
  name: 'wallet',
  creditLine: undefined,
  spendingLimit: undefined,
  spendingPeriod: undefined,
  createdAt: 0,
  endedAt: undefined,
}

/** Whether a wallet with so many dollars in it takes a credit. */
async function takes(dollars: bigint, amount: number): Promise<boolean> {
  const clock = createFakeClock()
  const directory = new Directory()
  directory.put({ type: 'wallet', record: WALLET })
  let isWritten = false
  const desk: WalletDesk = {
    tenancy: { put: () => Promise.resolve(), open: () => Promise.resolve() },
    directory,
    keyring: new Keyring([ROOT], clock, directory),
    clock,
    ledger: {
      putWallet() {},
      walletState: () => ({ balance: dollars * NANO }),
      credit: (_id, _amount, write) => write(),
    },
    wallets: {
      checkReference: () => Promise.resolve(),
      credit: () => Promise.resolve(void (isWritten = true)),
      entries: () => Promise.resolve({ items: [], next: undefined }),
    },
  }
  const act = { caller: ROOT, requestId: 'req_1', at: 1, claim: undefined }
  const body = { amount_usd: amount, reason: 'test' }
  try {
    await creditWallet(desk, act, { id: WALLET.id, body })
  } catch (thrown) {
    expect(thrown).toMatchObject({ code: 'validation_error', param: 'amount_usd' })
  }
  return isWritten
}

it.each([
  ['to the edge', 8_000_000n, 1_000_000, true],
  ['beyond it', 8_000_000n, 1_000_000.01, false],
  ['back towards it from what calls owe', -20_000_000n, 1, true],
  ['further away from it', -20_000_000n, -1, false],
  ['back towards it from too much', 20_000_000n, -1, true],
])('a credit %s is taken as that deserves', async (_, dollars, amount, isTaken) => {
  expect(await takes(dollars, amount)).toBe(isTaken)
})

// Wallets over their life: opened, changed, credited, closed. What is in one is never written by hand: it follows
// from its credits, each of which says who and why, and from the calls that it paid for.
import { createId } from '../core/ids.ts'
import { printUsd, toJsonUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'
import { GatewayError, invalid } from '../core/problem.ts'
import type { CreditNote } from '../core/record.ts'
import type { WalletOwner, WalletRecord } from '../core/tenancy.ts'
import type { Page, PageRequest, WalletEntry, WalletRepository } from '../store/store.ts'
import { deedOf, type Act } from './act.ts'
import { checkCount, RECORDS_MAX } from './bounds.ts'
import type { Directory } from './directory.ts'
import {
  checkNames,
  missing,
  readAmount,
  readChange,
  readCreation,
  readId,
  readName,
  readPeriod,
  readSignedAmount,
  readText,
  type Body,
  type FieldReader,
} from './fields.ts'
import { checkLive } from './kinds.ts'
import { unlessNull } from './settings.ts'
import { write, type TenancyDesk, type WalletKeeper } from './tenancy.ts'
import { inTurn } from './turn.ts'

export interface WalletDesk extends TenancyDesk {
  readonly wallets: WalletRepository
  readonly ledger: CreditKeeper
}

export interface CreditKeeper extends WalletKeeper {
  /** Money that is put in counts once it is written; money that is taken back is gone before. */
  credit(walletId: string, amount: NanoUsd, write: () => Promise<void>): Promise<void>
}

const REASON_LENGTH_MAX = 500
const REFERENCE_LENGTH_MAX = 200
/** Nine million dollars: the books count exactly far beyond, and nobody means to put in more. */
const BALANCE_MAX = 9_000_000_000_000_000n

type Settings = Pick<WalletRecord, 'name' | 'creditLine' | 'spendingLimit' | 'spendingPeriod'>

const SETTINGS: readonly (readonly [string, FieldReader<Settings>])[] = [
  ['name', (value) => ({ name: readName(value) })],
  [
    'credit_line',
    (value) => ({ creditLine: unlessNull(value, (given) => readAmount('credit_line', given)) }),
  ],
  [
    'spending_limit',
    (value) => ({
      spendingLimit: unlessNull(value, (given) => readAmount('spending_limit', given)),
    }),
  ],
  [
    'spending_period',
    (value) => ({
      spendingPeriod: unlessNull(value, (given) => readPeriod('spending_period', given)),
    }),
  ],
]

const CHANGES = new Map<string, FieldReader<Settings>>(SETTINGS)

interface Draft extends Settings {
  readonly projectId: string
  readonly userId: string
  readonly isAccount: boolean
}

const CREATION = new Map<string, FieldReader<Draft>>([
  ['project_id', (value) => ({ projectId: readId('project_id', value) })],
  ['user_id', (value) => ({ userId: readId('user_id', value) })],
  ['account', (value) => ({ isAccount: readSwitch(value) })],
  ...SETTINGS,
])

export function createWallet(desk: WalletDesk, act: Act, body: Body): Promise<WalletRecord> {
  const fields = readCreation(body, CREATION)
  const { accountId } = act.caller
  const { projectId, userId, isAccount, ...settings } = fields
  return inTurn(desk.keyring, act.caller, async () => {
    const owner = findOwner(desk.directory, accountId, { projectId, userId, isAccount })
    const other = desk.directory.walletOf(owner.ownerId)
    if (other !== undefined) throw hasOne(other)
    checkCount(desk.directory.countOf('wallet', accountId), RECORDS_MAX, 'wallets')
    const wallet = withPeriod(
      {
        id: createId('wal'),
        accountId,
        ...owner,
        // A prepaid wallet is what most want; the account's own is there so that nothing is refused.
        creditLine: owner.owner === 'account' ? undefined : ZERO_USD,
        spendingLimit: undefined,
        spendingPeriod: undefined,
        createdAt: act.at,
        endedAt: undefined,
        ...settings,
      },
      fields,
    )
    const change = { target: wallet.id, before: null, after: describeWallet(wallet) }
    await write(
      desk,
      [{ type: 'wallet', record: wallet }],
      deedOf(act, { action: 'wallet.create', ...change }),
    )
    return wallet
  })
}

/** Throws the same `not_found` for no wallet and for another account's. */
export function getWallet(
  { directory }: Pick<WalletDesk, 'directory'>,
  accountId: string,
  id: string,
): WalletRecord {
  const wallet = directory.find('wallet', accountId, id)
  if (wallet !== undefined) return wallet
  throw new GatewayError(
    'not_found',
    'No wallet with this id belongs to this account. GET /v1/manage/wallets lists those that do.',
  )
}

/** Newest first. */
export function listWallets(
  { directory }: Pick<WalletDesk, 'directory'>,
  accountId: string,
): readonly WalletRecord[] {
  return [...directory.list('wallet', accountId)].toReversed()
}

export function patchWallet(
  desk: WalletDesk,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<WalletRecord> {
  const fields = readChange(body, CHANGES)
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getOpen(desk, act, id)
    const wallet = withPeriod({ ...current, ...fields }, fields)
    const deed = deedOf(act, {
      action: 'wallet.update',
      target: id,
      before: describeWallet(current),
      after: describeWallet(wallet),
    })
    await write(desk, [{ type: 'wallet', record: wallet }], deed)
    return wallet
  })
}

/** Who closes a wallet twice gets the same answer twice. Money is never closed away; what is owed may be. */
export function closeWallet(desk: WalletDesk, act: Act, id: string): Promise<WalletRecord> {
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getWallet(desk, act.caller.accountId, id)
    if (current.endedAt !== undefined) return current
    const { balance } = desk.ledger.walletState(id)
    if (balance > 0n) throw notEmpty(balance)
    const wallet = { ...current, endedAt: act.at }
    const deed = deedOf(act, {
      action: 'wallet.close',
      target: id,
      before: describeWallet(current),
      after: null,
    })
    await write(desk, [{ type: 'wallet', record: wallet }], deed)
    return wallet
  })
}

/** Puts money in, or takes it back: the only way that anybody changes what is in a wallet. */
export function creditWallet(
  desk: WalletDesk,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<WalletEntry> {
  const { amount, reason, reference } = readCredit(body)
  const { accountId } = act.caller
  return inTurn(desk.keyring, act.caller, async () => {
    const wallet = getOpen(desk, act, id)
    // First of all: whoever sends one again is told that it was booked, and not that its money is gone.
    if (reference !== undefined) await desk.wallets.checkReference(id, reference)
    checkBalance(desk.ledger.walletState(id).balance, amount)
    const credit: CreditNote = {
      account: accountId,
      wallet: wallet.id,
      amount,
      by: act.caller.id,
      reason,
      reference: reference ?? null,
    }
    const { at, requestId, claim } = act
    const note = { at, kind: 'credit', requestId, body: JSON.stringify(credit) } as const
    await desk.ledger.credit(id, amount, () => desk.wallets.credit({ note, claim }))
    return { at, requestId, amount, by: act.caller.id, reason, reference }
  })
}

export function listCredits(
  desk: WalletDesk,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  page: PageRequest,
): Promise<Page<WalletEntry>> {
  return desk.wallets.entries(accountId, getWallet(desk, accountId, id).id, page)
}

/** Whatever may be written, as it is shown. */
export function describeWallet(wallet: WalletRecord): object {
  const { name, owner, ownerId, creditLine, spendingLimit, spendingPeriod } = wallet
  return {
    name,
    owner,
    owner_id: ownerId,
    credit_line: creditLine === undefined ? null : toJsonUsd(creditLine),
    spending_limit: spendingLimit === undefined ? null : toJsonUsd(spendingLimit),
    spending_period: spendingPeriod ?? null,
  }
}

/** A wallet is named after its owner where nothing else is said. */
type Owner = Pick<WalletRecord, 'owner' | 'ownerId' | 'name'>

function findOwner(
  directory: Directory,
  accountId: string,
  {
    projectId,
    userId,
    isAccount,
  }: Partial<Record<'projectId' | 'userId', string | undefined>> & {
    readonly isAccount: boolean | undefined
  },
): Owner {
  const named: readonly (readonly [WalletOwner, string | undefined])[] = [
    ['project', projectId],
    ['user', userId],
    ['account', isAccount === true ? accountId : undefined],
  ]
  const [first, second] = named.filter(([, id]) => id !== undefined)
  const [owner, ownerId] = first ?? []
  if (owner === undefined || ownerId === undefined)
    throw missing(
      'project_id',
      'Say whose wallet it is: send `project_id`, `user_id`, or `account` as true.',
    )
  if (second !== undefined)
    throw invalid(
      `${second[0]}${second[0] === 'account' ? '' : '_id'}`,
      'A wallet has one owner. Send only one of `project_id`, `user_id` and `account`.',
    )
  return { owner, ownerId, name: nameOfOwner(directory, owner, { accountId, id: ownerId }) }
}

function nameOfOwner(
  directory: Directory,
  owner: WalletOwner,
  { accountId, id }: { readonly accountId: string; readonly id: string },
): string {
  if (owner === 'account') return directory.account(id)?.name ?? ''
  checkLive(directory, owner, { accountId, id, param: `${owner}_id` })
  return directory.find(owner, accountId, id)?.name ?? ''
}

function getOpen(desk: WalletDesk, act: Act, id: string): WalletRecord {
  const wallet = getWallet(desk, act.caller.accountId, id)
  if (wallet.endedAt === undefined) return wallet
  throw new GatewayError('conflict', 'This wallet is closed and stays so. Open a new one.', {
    retryable: false,
  })
}

/** A limit always has a period, and no period lacks a limit. */
function withPeriod(wallet: WalletRecord, change: Partial<Settings>): WalletRecord {
  if (wallet.spendingLimit !== undefined)
    return { ...wallet, spendingPeriod: wallet.spendingPeriod ?? 'monthly' }
  if (change.spendingPeriod !== undefined)
    throw missing(
      'spending_limit',
      'A `spending_period` needs a limit. Send `spending_limit` with it, or leave the period out.',
    )
  return { ...wallet, spendingPeriod: undefined }
}

interface Credit {
  readonly amount: NanoUsd
  readonly reason: string
  readonly reference: string | undefined
}

const CREDIT_FIELDS = new Set(['amount_usd', 'reason', 'reference'])

function readCredit(body: Body): Credit {
  checkNames(body, CREDIT_FIELDS)
  const { amount_usd: amount, reason, reference } = body
  if (amount === undefined || amount === null)
    throw missing('amount_usd', 'Send `amount_usd`: how much is put in, or taken back.')
  if (reason === undefined || reason === null)
    throw missing('reason', 'Send `reason`: why, for whoever reads the statement.')
  return {
    amount: readSignedAmount('amount_usd', amount),
    reason: readText('reason', reason, REASON_LENGTH_MAX),
    reference: unlessNull(reference ?? null, (given) =>
      readText('reference', given, REFERENCE_LENGTH_MAX),
    ),
  }
}

/** A way back into the range is open to whoever has left it. */
function checkBalance(balance: bigint, amount: NanoUsd): void {
  const after = balance + BigInt(amount)
  const isInRange = sizeOf(after) <= BALANCE_MAX || sizeOf(after) < sizeOf(balance)
  if (!isInRange)
    throw new GatewayError(
      'validation_error',
      `The balance would be ${printUsd(after)} dollars. Send an \`amount_usd\` that leaves it within 9000000 of zero.`,
      { param: 'amount_usd', details: { balance_usd: toJsonUsd(balance) } },
    )
}

function sizeOf(amount: bigint): bigint {
  return amount < 0n ? -amount : amount
}

function readSwitch(value: unknown): boolean {
  if (value === true) return true
  throw invalid('account', "Send `account` as true for the account's own wallet, or leave it out.")
}

function hasOne({ id, owner }: WalletRecord): GatewayError {
  return new GatewayError(
    'conflict',
    `This ${owner} has the open wallet ${id}. Change that one, or close it first.`,
    { retryable: false, details: { wallet_id: id } },
  )
}

function notEmpty(balance: bigint): GatewayError {
  return new GatewayError(
    'conflict',
    `There are ${printUsd(balance)} dollars in this wallet. Take them back with a credit below zero first.`,
    { retryable: false, details: { balance_usd: toJsonUsd(balance) } },
  )
}

// Accounts over their life: opened by the operator with a wallet and a root key, renamed, given another root key,
// closed. The root key's secret is shown once and kept nowhere.
import { createId, createSecret, hashSecret, ROOT_PREFIX } from '../core/ids.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { AccountRecord, TenancyRecord, WalletRecord } from '../core/tenancy.ts'
import type { KeyRepository } from '../store/store.ts'
import { deedOf, type Act } from './act.ts'
import { ACCOUNTS_MAX, checkCount } from './bounds.ts'
import { readChange, readNamed, readName, type Body, type FieldReader } from './fields.ts'
import { readOverlap } from './overlap.ts'
import { write, type TenancyDesk, type WalletKeeper } from './tenancy.ts'
import { inTurn } from './turn.ts'

export interface AccountDesk extends TenancyDesk {
  readonly keys: KeyRepository
  readonly ledger: AccountKeeper
}

/** Who holds calls to budgets and to what is in wallets. */
export interface AccountKeeper extends WalletKeeper {
  put(key: KeyRecord): void
}

export interface OpenedAccount {
  readonly account: AccountRecord
  /** Of the root key: kept nowhere, this is the only time that it is known. */
  readonly secret: string
}

export interface RotatedRoot extends OpenedAccount {
  readonly root: KeyRecord
}

const FIELDS = new Map<string, FieldReader<AccountRecord>>([
  ['name', (value) => ({ name: readName(value) })],
])

export function openAccount(desk: AccountDesk, act: Act, body: Body): Promise<OpenedAccount> {
  const fields = readNamed(body, FIELDS)
  const secret = createSecret(ROOT_PREFIX)
  return inTurn(desk.keyring, act.caller, async () => {
    checkCount(desk.directory.accountCount, ACCOUNTS_MAX, 'accounts')
    const { at: createdAt } = act
    const endedAt = undefined
    const account = { id: createId('acc'), name: '', createdAt, endedAt, ...fields }
    const wallet = firstWallet(account)
    const root: KeyRecord = {
      ...NO_LIMITS,
      ...NO_TIES,
      id: createId('key'),
      accountId: account.id,
      kind: 'root',
      name: 'root',
      hash: hashSecret(secret),
      createdAt,
      createdBy: act.caller.id,
    }
    const after = { ...describeAccount(account), wallet_id: wallet.id, root_key_id: root.id }
    const change = { action: 'account.create', target: account.id, before: null, after }
    const records: readonly TenancyRecord[] = [
      { type: 'account', record: account },
      { type: 'wallet', record: wallet },
    ]
    await desk.tenancy.open(records, root, deedOf(act, change, account.id))
    for (const entry of records) desk.directory.put(entry)
    desk.ledger.putWallet(wallet)
    keep(desk, root)
    return { account, secret }
  })
}

export function getAccount(
  { directory }: Pick<AccountDesk, 'directory'>,
  id: string,
): AccountRecord {
  const account = directory.account(id)
  if (account !== undefined) return account
  throw new GatewayError(
    'not_found',
    'There is no account with this id. GET /v1/manage/accounts lists those that there are.',
  )
}

/** Newest first. */
export function listAccounts({
  directory,
}: Pick<AccountDesk, 'directory'>): readonly AccountRecord[] {
  return [...directory.list('account')].toReversed()
}

export function renameAccount(
  desk: AccountDesk,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<AccountRecord> {
  const fields = readChange(body, FIELDS)
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getOpen(desk, id)
    const account = { ...current, ...fields }
    const deed = deedOf(
      act,
      {
        action: 'account.update',
        target: id,
        before: describeAccount(current),
        after: describeAccount(account),
      },
      id,
    )
    await write(desk, [{ type: 'account', record: account }], deed)
    return account
  })
}

/** Gives the account another root key. The old one ends at once unless it is asked to stay for a while. */
export function rotateRoot(
  desk: AccountDesk,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<RotatedRoot> {
  const overlapMs = readOverlap(body, 0)
  const secret = createSecret(ROOT_PREFIX)
  return inTurn(desk.keyring, act.caller, async () => {
    const account = getOpen(desk, id)
    const current = rootOf(desk, id)
    const until = desk.clock.now() + overlapMs
    const previous = overlapMs === 0 ? undefined : { hash: current.hash, until }
    const after = { previous_secret_until: overlapMs === 0 ? null : new Date(until).toISOString() }
    const change = { action: 'account.rotate', target: id, before: null, after }
    const secrets = { hash: hashSecret(secret), previous }
    const root = await desk.keys.rotate(id, current.id, secrets, deedOf(act, change, id))
    if (root === undefined) throw new GatewayError('conflict')
    keep(desk, root)
    return { account, secret, root }
  })
}

/** Its credentials are refused from now on. Who closes it twice gets the same answer twice. */
export function closeAccount(desk: AccountDesk, act: Act, id: string): Promise<AccountRecord> {
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getAccount(desk, id)
    if (id === desk.directory.operatorId) throw isOperators()
    if (current.endedAt !== undefined) return current
    const account = { ...current, endedAt: act.at }
    const before = describeAccount(current)
    const deed = deedOf(act, { action: 'account.close', target: id, before, after: null }, id)
    await write(desk, [{ type: 'account', record: account }], deed)
    return account
  })
}

function describeAccount({ name }: AccountRecord): object {
  return { name }
}

/** The root key of an account: every account has one. */
function rootOf({ keyring }: Pick<AccountDesk, 'keyring'>, accountId: string): KeyRecord {
  for (const key of keyring.keys())
    if (key.kind === 'root' && key.accountId === accountId) return key
  throw new GatewayError('internal_error', 'An account has no root key.')
}

/** With an open end: nothing is refused until somebody wants it so. */
function firstWallet({ id, name, createdAt }: AccountRecord): WalletRecord {
  return {
    id: createId('wal'),
    accountId: id,
    name,
    owner: 'account',
    ownerId: id,
    creditLine: undefined,
    spendingLimit: undefined,
    spendingPeriod: undefined,
    createdAt,
    endedAt: undefined,
  }
}

function keep({ keyring, ledger }: AccountDesk, root: KeyRecord): void {
  keyring.put(root)
  ledger.put(root)
}

function getOpen(desk: AccountDesk, id: string): AccountRecord {
  const account = getAccount(desk, id)
  if (account.endedAt === undefined) return account
  throw new GatewayError('conflict', 'This account is closed and stays so. Open a new one.', {
    retryable: false,
  })
}

function isOperators(): GatewayError {
  return new GatewayError(
    'conflict',
    'This account runs the gateway and cannot be closed. Stop the gateway instead.',
    { retryable: false },
  )
}

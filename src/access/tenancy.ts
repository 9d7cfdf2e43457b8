// Organisations, users, projects and teams over their life: made, read, changed, ended. A change is durable
// first and then in memory, before whoever asked for it is answered, so that the next call already obeys.
import type { Clock } from '../core/clock.ts'
import { createId } from '../core/ids.ts'
import type { KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { TenancyRecord, WalletRecord } from '../core/tenancy.ts'
import type { TenancyRepository } from '../store/store.ts'
import { deedOf, type Act } from './act.ts'
import { checkCount, RECORDS_MAX } from './bounds.ts'
import type { Directory, RecordOf, Scope } from './directory.ts'
import { readChange, readNamed, type Body } from './fields.ts'
import type { Keyring } from './keyring.ts'
import { unknown, type Kind, type KindName, type Obstacle } from './kinds.ts'
import { inTurn } from './turn.ts'

export interface TenancyDesk {
  readonly tenancy: TenancyRepository
  readonly directory: Directory
  readonly keyring: Keyring
  readonly ledger: WalletKeeper
  /** Whether a secret still works is a matter of the clock on the wall, and not of the books. */
  readonly clock: Pick<Clock, 'now'>
}

/** Who holds calls to what is in wallets. */
export interface WalletKeeper {
  putWallet(wallet: WalletRecord): void
  walletState(walletId: string): { readonly balance: bigint }
}

export function createRecord<Name extends KindName>(
  desk: TenancyDesk,
  kind: Kind<Name>,
  act: Act,
  body: Body,
): Promise<RecordOf<Name>> {
  const fields = readNamed(body, kind.fields)
  return inTurn(desk.keyring, act.caller, async ({ accountId }) => {
    checkCount(desk.directory.countOf(kind.type, accountId), RECORDS_MAX, `${kind.type}s`)
    const owned = {
      id: createId(kind.prefix),
      accountId,
      name: '',
      createdAt: act.at,
      endedAt: undefined,
    }
    const record = kind.change(kind.make(owned), fields)
    kind.check(record, desk.directory)
    const change = { target: record.id, before: null, after: kind.describe(record) }
    const deed = deedOf(act, { action: `${kind.type}.create`, ...change })
    await write(desk, [kind.entryOf(record)], deed)
    return record
  })
}

/** Throws the same `not_found` for what there is not, another account's, and what is out of scope. */
export function getRecord<Name extends KindName>(
  { directory }: Pick<TenancyDesk, 'directory'>,
  kind: Kind<Name>,
  scope: Scope,
  id: string,
): RecordOf<Name> {
  const found = directory.find(kind.type, scope.accountId, id)
  if (found === undefined || !isWithin(scope, kind.type, id)) throw unknown(kind.type)
  return found
}

/** Newest first. */
export function listRecords<Name extends KindName>(
  { directory }: Pick<TenancyDesk, 'directory'>,
  kind: Kind<Name>,
  scope: Scope,
): readonly RecordOf<Name>[] {
  return [...directory.list(kind.type, scope.accountId)]
    .filter(({ id }) => isWithin(scope, kind.type, id))
    .toReversed()
}

export function patchRecord<Name extends KindName>(
  desk: TenancyDesk,
  kind: Kind<Name>,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<RecordOf<Name>> {
  const fields = readChange(body, kind.fields)
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getRecord(desk, kind, desk.directory.scopeOf(act.caller), id)
    if (current.endedAt !== undefined) throw ended(kind.type)
    const record = kind.change(current, fields)
    kind.check(record, desk.directory)
    const deed = deedOf(act, {
      action: `${kind.type}.update`,
      target: id,
      before: kind.describe(current),
      after: kind.describe(record),
    })
    await write(desk, [kind.entryOf(record)], deed)
    return record
  })
}

/** Who ends something twice gets the same answer twice. What is still needed is not ended. */
export function endRecord<Name extends KindName>(
  desk: TenancyDesk,
  kind: Kind<Name>,
  act: Act,
  id: string,
): Promise<RecordOf<Name>> {
  return inTurn(desk.keyring, act.caller, async () => {
    const current = getRecord(desk, kind, desk.directory.scopeOf(act.caller), id)
    if (current.endedAt !== undefined) return current
    checkUnneeded(desk, kind, current, desk.clock.now())
    const record = kind.end(current, act.at)
    // Nobody can pay from the wallet of a project that is ended, and nothing is in it any more.
    const wallets = walletsOf(desk.directory, id).map((wallet): TenancyRecord => ({
      type: 'wallet',
      record: { ...wallet, endedAt: act.at },
    }))
    const deed = deedOf(act, {
      action: `${kind.type}.end`,
      target: id,
      before: kind.describe(current),
      after: null,
    })
    await write(desk, [kind.entryOf(record), ...wallets], deed)
    return record
  })
}

function walletsOf(directory: Directory, ownerId: string): readonly WalletRecord[] {
  const wallet = directory.walletOf(ownerId)
  return wallet === undefined ? [] : [wallet]
}

/** Durable first, then in memory. */
export async function write(
  { tenancy, directory, ledger }: TenancyDesk,
  records: readonly TenancyRecord[],
  deed: Parameters<TenancyRepository['put']>[1],
): Promise<void> {
  await tenancy.put(records, deed)
  for (const entry of records) {
    directory.put(entry)
    if (entry.type === 'wallet') ledger.putWallet(entry.record)
  }
}

function isWithin({ projectIds, teamIds }: Scope, type: KindName, id: string): boolean {
  if (projectIds === undefined) return true
  if (type === 'project') return projectIds.includes(id)
  return type === 'team' && teamIds.includes(id)
}

/** Named in a refusal: a few tell what to look for. */
const OBSTACLES_SHOWN = 10

function checkUnneeded<Name extends KindName>(
  { directory, keyring, ledger }: TenancyDesk,
  kind: Kind<Name>,
  record: RecordOf<Name>,
  now: number,
): void {
  const found = kind.obstacles(record, {
    directory,
    keys: [...keyring.keys()].filter((key) => isUsable(key, now)),
    hasMoney: ({ id }) => ledger.walletState(id).balance > 0n,
  })
  const obstacles = [...new Map([...found].map((each) => [each.id, each])).values()]
  if (obstacles.length > 0) throw inTheWay(kind.type, obstacles)
}

function isUsable({ revokedAt, expiresAt }: KeyRecord, now: number): boolean {
  return revokedAt === undefined && (expiresAt === undefined || expiresAt > now)
}

const ADVICE: Readonly<Record<Obstacle['type'], string>> = {
  credential: 'revoke the credentials',
  wallet: 'take back what is in the wallet, then close it',
  team: 'take it out of the team',
  project: 'end the projects, or have them name another',
  organisation: 'have the organisation name another billing user',
  user: 'end the user',
}

function inTheWay(type: KindName, obstacles: readonly Obstacle[]): GatewayError {
  const shown = obstacles.slice(0, OBSTACLES_SHOWN)
  const names = shown.map((each) => `${each.type} ${each.id}`).join(', ')
  const more = obstacles.length > shown.length ? ` and ${obstacles.length - shown.length} more` : ''
  const advice = [...new Set(obstacles.map((each) => ADVICE[each.type]))].join('; ')
  return new GatewayError(
    'conflict',
    `This ${type} is still needed by ${names}${more}. First ${advice}.`,
    { retryable: false, details: { in_the_way: shown } },
  )
}

function ended(type: KindName): GatewayError {
  return new GatewayError('conflict', `This ${type} is ended and stays so. Create a new one.`, {
    retryable: false,
  })
}

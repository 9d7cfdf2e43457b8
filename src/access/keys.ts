// Managed keys and tokens over their life: made, read, changed, given another secret, revoked. A change is
// durable first and then in the ring and in the books, before whoever asked for it is answered, so that the
// next call already obeys.
import type { Clock } from '../core/clock.ts'
import { createId, createSecret, hashSecret, MANAGED_PREFIX, ROOT_PREFIX } from '../core/ids.ts'
import { NO_TIES, type KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import type { KeyQuery, KeyRepository, Page } from '../store/store.ts'
import { deedOf, type Act } from './act.ts'
import { checkCount, CREDENTIALS_MAX } from './bounds.ts'
import type { Directory, Scope } from './directory.ts'
import { describeChange, describeNew, printTime } from './key-note.ts'
import type { Keyring } from './keyring.ts'
import { checkWhole, checkWithin, limitsOf, startFrom } from './limits.ts'
import { applyChange, readChange, readNew, type SettingsBody } from './settings.ts'
import { checkTies, isInScope, readTies, resolveTies, TIE_FIELDS, type MadeKind } from './ties.ts'
import { inTurn } from './turn.ts'

export interface KeyDesk {
  readonly keys: KeyRepository
  readonly keyring: Keyring
  readonly directory: Directory
  readonly ledger: BudgetKeeper
  readonly clock: Clock
}

/** Who holds calls to the budgets of keys. */
export interface BudgetKeeper {
  put(key: KeyRecord): void
}

/** A key or token as somebody names it. */
export interface KeyAddress {
  readonly kind: MadeKind
  readonly id: string
}

export interface NewSecret {
  readonly key: KeyRecord
  /** Kept nowhere: this is the only time it is known. */
  readonly secret: string
}

interface KindWords {
  readonly noun: string
  readonly action: string
  readonly list: string
}

const WORDS: Readonly<Record<MadeKind, KindWords>> = {
  managed: { noun: 'key', action: 'key', list: '/v1/manage/keys' },
  token: { noun: 'token', action: 'token', list: '/v1/manage/tokens' },
}

export async function createKey(
  desk: KeyDesk,
  act: Act,
  kind: MadeKind,
  body: SettingsBody,
): Promise<NewSecret> {
  const change = readNew(body, desk.clock.now(), TIE_FIELDS[kind])
  const named = readTies(body)
  return inTurn(desk.keyring, act.caller, async (maker) => {
    checkCount(desk.keyring.countOf(maker.accountId), CREDENTIALS_MAX, 'keys and tokens')
    const limits = limitsOf(maker)
    const settings = applyChange(startFrom(limits), change)
    checkWithin(settings, limits)
    const secret = secretOf(kind)
    const key: KeyRecord = {
      ...NO_TIES,
      ...settings,
      ...resolveTies(kind, named, maker, desk.directory),
      id: createId(kind === 'token' ? 'tok' : 'key'),
      accountId: maker.accountId,
      kind,
      hash: hashSecret(secret),
      createdAt: desk.clock.now(),
      createdBy: maker.id,
    }
    const action = `${WORDS[kind].action}.create`
    await desk.keys.insert(key, deedOf(act, { action, target: key.id, ...describeNew(key) }))
    return { key: keep(desk, key), secret }
  })
}

/** Throws the same `not_found` for none, another account's, one out of the caller's scope and the root key. */
export async function getKey(
  { keys, directory }: Pick<KeyDesk, 'keys' | 'directory'>,
  caller: KeyRecord,
  { kind, id }: KeyAddress,
): Promise<KeyRecord> {
  const key = await keys.find(caller.accountId, id)
  if (key === undefined || key.kind !== kind || !isInScope(key, directory.scopeOf(caller)))
    throw notFound(kind)
  return key
}

/** Of what is asked for, what is in the caller's scope. */
export function listKeys(
  { keys, directory, clock }: KeyDesk,
  caller: KeyRecord,
  query: Omit<KeyQuery, 'within' | 'now'>,
): Promise<Page<KeyRecord>> {
  const scope = directory.scopeOf(caller)
  const { accountId, projectIds, teamIds } = scope
  const within = projectIds === undefined ? {} : { within: { projectIds, teamIds } }
  const asked = query.kind === 'managed' ? ofTeam(query, scope, directory) : query
  return keys.list(accountId, { ...query, ...within, ...asked, now: clock.now() })
}

type TeamQuery = Pick<KeyQuery, 'teamId' | 'within'>

/** Keys belong to projects: those of a team are those of its projects, as far as they are in the scope. */
function ofTeam({ teamId }: TeamQuery, scope: Scope, directory: Directory): TeamQuery {
  if (teamId === undefined) return {}
  const { accountId, projectIds, teamIds } = scope
  const isKnown = projectIds === undefined || teamIds.includes(teamId)
  const team = isKnown ? directory.find('team', accountId, teamId) : undefined
  return { teamId: undefined, within: { projectIds: team?.projectIds ?? [], teamIds: [] } }
}

export async function patchKey(
  desk: KeyDesk,
  act: Act,
  address: KeyAddress,
  body: SettingsBody,
): Promise<KeyRecord> {
  const change = readChange(body, desk.clock.now())
  return inTurn(desk.keyring, act.caller, async (actor) => {
    const current = await getKey(desk, actor, address)
    checkLive(current, address)
    checkTies(current, desk.directory)
    const settings = applyChange(current, change)
    checkWithin(settings, limitsOf(actor), change)
    const deed = deedOf(act, {
      action: `${WORDS[address.kind].action}.update`,
      target: current.id,
      ...describeChange(current, settings),
    })
    return keep(desk, await desk.keys.update(current.accountId, current.id, settings, deed))
  })
}

/** Who revokes one twice gets the same answer twice; that the second changed nothing is not recorded. */
export function revokeKey(desk: KeyDesk, act: Act, address: KeyAddress): Promise<KeyRecord> {
  return inTurn(desk.keyring, act.caller, async (actor) => {
    const current = await getKey(desk, actor, address)
    if (current.revokedAt !== undefined) return current
    const { accountId, id } = current
    const at = desk.clock.now()
    const deed = deedOf(act, {
      action: `${WORDS[address.kind].action}.revoke`,
      target: id,
      before: { name: current.name, revoked_at: null },
      after: { name: current.name, revoked_at: printTime(at) },
    })
    return keep(desk, await desk.keys.revoke(accountId, id, at, deed))
  })
}

/** The secret of now goes on for as long as it is said; the one before it ends at once. */
export function rotateKey(
  desk: KeyDesk,
  act: Act,
  address: KeyAddress,
  overlapMs: number,
): Promise<NewSecret> {
  return inTurn(desk.keyring, act.caller, async (actor) => {
    const current = await getKey(desk, actor, address)
    checkLive(current, address)
    checkWhole(current, actor)
    const secret = secretOf(address.kind)
    const until = desk.clock.now() + overlapMs
    const previous = overlapMs > 0 ? { hash: current.hash, until } : undefined
    const deed = deedOf(act, {
      action: `${WORDS[address.kind].action}.rotate`,
      target: current.id,
      before: { previous_secret_until: printTime(current.previous?.until) },
      after: { previous_secret_until: printTime(previous?.until) },
    })
    const secrets = { hash: hashSecret(secret), previous }
    const rotated = await desk.keys.rotate(current.accountId, current.id, secrets, deed)
    return { key: keep(desk, rotated), secret }
  })
}

function secretOf(kind: MadeKind): string {
  return createSecret(kind === 'token' ? ROOT_PREFIX : MANAGED_PREFIX)
}

function keep(desk: KeyDesk, changed: KeyRecord | undefined): KeyRecord {
  if (changed === undefined)
    throw new GatewayError('internal_error', undefined, {
      cause: new Error('a key that was found is gone from the store'),
    })
  desk.keyring.put(changed)
  desk.ledger.put(changed)
  return changed
}

function checkLive({ revokedAt }: KeyRecord, { kind }: KeyAddress): void {
  if (revokedAt === undefined) return
  const { noun } = WORDS[kind]
  throw new GatewayError('conflict', `This ${noun} is revoked and stays so. Create a new one.`, {
    retryable: false,
  })
}

function notFound(kind: MadeKind): GatewayError {
  const { noun, list } = WORDS[kind]
  return new GatewayError(
    'not_found',
    `No ${noun} with this id belongs to this account. GET ${list} lists those that do.`,
  )
}

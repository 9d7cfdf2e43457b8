// Sign-ins at native suppliers over their life: brought in, changed, renewed by hand, removed. A change is durable first
// and then in memory; what is written down of it holds no token.
import type { Clock } from '../core/clock.ts'
import type { IdentityRecord, IdentitySecrets } from '../core/identity.ts'
import { createId } from '../core/ids.ts'
import { GatewayError, invalid, quoteName } from '../core/problem.ts'
import type { IdentityRepository } from '../store/store.ts'
import { deedOf, type Act } from './act.ts'
import { checkCount, IDENTITIES_MAX } from './bounds.ts'
import type { Directory } from './directory.ts'
import { missing, readChange, readNamed, type Body } from './fields.ts'
import type { Identities, Identity, NewTokens } from './identities.ts'
import {
  CHANGES,
  CREATION,
  isSignIn,
  settingsOf,
  tokensOf,
  type Brought,
  type SignInPlace,
  type TokenClaims,
} from './identity-fields.ts'
import { printTime } from './key-note.ts'
import type { Keyring } from './keyring.ts'
import { checkLive } from './kinds.ts'
import { inTurn } from './turn.ts'

export interface IdentityDesk {
  readonly repository: IdentityRepository
  readonly identities: Identities
  readonly directory: Directory
  readonly keyring: Keyring
  /** When a token ends is a matter of the clock on the wall, and not of the books. */
  readonly clock: Pick<Clock, 'now'>
  /** Where one can sign in. */
  readonly places: readonly SignInPlace[]
  /** Of an access token; empty where it says nothing of itself. */
  readonly readClaims: (token: string) => TokenClaims
}

/** An identity as it will be, with the tokens that it will have. */
type Drawn = Pick<IdentityRecord, 'id' | 'accountId' | 'supplierId' | 'subject'> & {
  readonly secrets: IdentitySecrets | undefined
}

export function createIdentity(desk: IdentityDesk, act: Act, body: Body): Promise<Identity> {
  const fields = readNamed(body, CREATION)
  const { supplierId } = fields
  if (supplierId === undefined)
    throw missing('supplier', `Send \`supplier\`: where it is signed in. ${listPlaces(desk)}`)
  const place = findPlace(desk, supplierId)
  if (place === undefined) throw unknownPlace(desk, supplierId)
  return inTurn(desk.keyring, act.caller, async ({ accountId }) => {
    const { identities, repository, directory } = desk
    checkCount(identities.countOf(accountId), IDENTITIES_MAX, 'native identities')
    const { tokens, claims } = bring(desk, place, fields, undefined)
    const drawn = {
      ...NEW,
      subject: claims.accountId,
      ...settingsOf(fields),
      id: createId('nid'),
      accountId,
      supplierId,
      createdAt: act.at,
      createdBy: act.caller.id,
    }
    checkScope(drawn, directory)
    checkAlone(desk, { ...drawn, secrets: tokens.secrets })
    const record = { ...drawn, tokens: identities.seal(drawn.id, tokens) }
    const change = { target: record.id, before: null, after: describeSettings(record) }
    await repository.insert(record, deedOf(act, { action: 'identity.create', ...change }))
    return identities.put(record)
  })
}

/** Throws the same `not_found` for what there is not and for another account's. */
export function getIdentity(
  { identities }: Pick<IdentityDesk, 'identities'>,
  accountId: string,
  id: string,
): Identity {
  const identity = identities.find(accountId, id)
  if (identity !== undefined) return identity
  throw new GatewayError(
    'not_found',
    'No native identity with this id belongs to this account. GET /v1/manage/native/identities lists those that do.',
  )
}

/** Newest first. */
export function listIdentities(
  { identities }: Pick<IdentityDesk, 'identities'>,
  accountId: string,
): readonly Identity[] {
  return [...identities.list(accountId)].toReversed()
}

/** Its settings, and its tokens where somebody signs in again. */
export function patchIdentity(
  desk: IdentityDesk,
  act: Act,
  { id, body }: { readonly id: string; readonly body: Body },
): Promise<Identity> {
  const { isDisabled, ...fields } = readChange(body, CHANGES)
  return inTurn(desk.keyring, act.caller, async ({ accountId }) => {
    const identity = getLive(desk, accountId, id)
    const { record } = identity
    const signIn = isSignIn(fields) ? signInAgain(desk, identity, fields) : undefined
    const settings = { ...subjectOf(signIn, record), ...settingsOf(fields) }
    const changed = {
      ...record,
      ...settings,
      disabledAt: disabledAt(record, isDisabled, act.at),
    }
    checkChange(desk, identity, changed, signIn)
    const hasChange = isDisabled !== undefined || Object.keys(settings).length > 0
    // What is done under an Idempotency-Key is done once the last of it is.
    if (signIn !== undefined)
      await keepTokens(desk, hasChange ? { ...act, claim: undefined } : act, identity, signIn)
    if (hasChange) await update(desk, act, actionOf(record, changed), changed)
    return identity
  })
}

/** What a token says of whom it stands for, where that is news. */
function subjectOf(
  signIn: SignIn | undefined,
  { subject }: IdentityRecord,
): Partial<Pick<IdentityRecord, 'subject'>> {
  const told = signIn?.claims.accountId
  return told === undefined || told === subject ? {} : { subject: told }
}

function checkChange(
  desk: IdentityDesk,
  { record, tokens }: Identity,
  changed: IdentityRecord,
  signIn: SignIn | undefined,
): void {
  // Of what was ended meanwhile an identity may keep the name; a new scope names what there is.
  if (changed.organisationId !== record.organisationId || changed.projectIds !== record.projectIds)
    checkScope(changed, desk.directory)
  if (signIn !== undefined || changed.subject !== record.subject)
    checkAlone(desk, { ...changed, secrets: signIn?.tokens.secrets ?? tokens })
}

/** Who removes one twice gets the same answer twice. Its tokens are gone with it. */
export function removeIdentity(desk: IdentityDesk, act: Act, id: string): Promise<Identity> {
  return inTurn(desk.keyring, act.caller, async ({ accountId }) => {
    const identity = getIdentity(desk, accountId, id)
    if (identity.record.endedAt === undefined)
      await update(desk, act, 'identity.remove', { ...identity.record, endedAt: act.at })
    return identity
  })
}

/** Whatever may be written but what it is signed in with, as it is shown. */
export function describeIdentity(record: Omit<IdentityRecord, 'tokens'>): object {
  return {
    name: record.name,
    supplier: record.supplierId,
    account_id: record.subject ?? null,
    organisation_id: record.organisationId ?? null,
    project_ids: record.projectIds ?? null,
    parallel_max: record.parallelMax ?? null,
    requests_per_minute: record.requestsPerMinute ?? null,
  }
}

const NEW = {
  name: '',
  subject: undefined,
  organisationId: undefined,
  projectIds: undefined,
  parallelMax: undefined,
  requestsPerMinute: undefined,
  disabledAt: undefined,
  endedAt: undefined,
} as const

function describeSettings(record: Omit<IdentityRecord, 'tokens'>): object {
  return { ...describeIdentity(record), disabled: record.disabledAt !== undefined }
}

function disabledAt(
  { disabledAt: since }: IdentityRecord,
  isDisabled: boolean | undefined,
  at: number,
): number | undefined {
  if (isDisabled === undefined) return since
  return isDisabled ? (since ?? at) : undefined
}

function actionOf(before: IdentityRecord, after: IdentityRecord): string {
  const [was, is] = [before, after].map((record) => record.disabledAt !== undefined)
  if (was === is) return 'identity.update'
  return is === true ? 'identity.disable' : 'identity.enable'
}

interface SignIn {
  readonly tokens: NewTokens
  readonly claims: TokenClaims
}

function bring(
  { clock, readClaims }: IdentityDesk,
  place: SignInPlace,
  brought: Partial<Brought>,
  before: IdentitySecrets | undefined,
): SignIn {
  const { accessToken } = brought
  const claims = accessToken === undefined ? {} : readClaims(accessToken)
  return { tokens: tokensOf(brought, { place, now: clock.now(), claims, before }), claims }
}

function signInAgain(desk: IdentityDesk, identity: Identity, brought: Partial<Brought>): SignIn {
  const { supplierId } = identity.record
  const place = findPlace(desk, supplierId)
  if (place !== undefined) return bring(desk, place, brought, identity.tokens)
  throw new GatewayError(
    'conflict',
    `There is no native supplier ${supplierId} in the configuration any more, so that nobody can sign in there. Put it back, or remove this identity.`,
    { retryable: false },
  )
}

async function keepTokens(
  { identities }: IdentityDesk,
  act: Act,
  identity: Identity,
  { tokens }: SignIn,
): Promise<void> {
  const { expiresAt, refusedAt } = identity.record.tokens
  const deed = deedOf(act, {
    action: 'identity.sign_in',
    target: identity.id,
    before: { expires_at: printTime(expiresAt), refused_at: printTime(refusedAt) },
    after: { expires_at: printTime(tokens.expiresAt), refused_at: null },
  })
  await identities.keep(identity, tokens, deed)
}

/** All but tokens, which somebody may be renewing meanwhile; those of one that is removed are wiped. */
async function update(
  { repository, identities }: IdentityDesk,
  act: Act,
  action: string,
  record: IdentityRecord,
): Promise<void> {
  const { accountId, id, endedAt } = record
  const { record: before } = getIdentity({ identities }, accountId, id)
  const deed = deedOf(act, {
    action,
    target: id,
    before: describeSettings(before),
    after: endedAt === undefined ? describeSettings(record) : null,
  })
  await repository.update(record, deed)
  const { tokens } = getIdentity({ identities }, accountId, id).record
  const wiped = { ...tokens, sealed: undefined, expiresAt: undefined }
  identities.put({ ...record, tokens: endedAt === undefined ? tokens : wiped })
}

function getLive(desk: IdentityDesk, accountId: string, id: string): Identity {
  const identity = getIdentity(desk, accountId, id)
  if (identity.record.endedAt === undefined) return identity
  throw new GatewayError(
    'conflict',
    'This native identity is removed and stays so. Create a new one.',
    { retryable: false },
  )
}

type Scoped = Pick<IdentityRecord, 'accountId' | 'organisationId' | 'projectIds'>

function checkScope(
  { accountId, organisationId, projectIds = [] }: Scoped,
  directory: Directory,
): void {
  const organisation = { accountId, id: organisationId, param: 'organisation_id' }
  checkLive(directory, 'organisation', organisation)
  for (const id of projectIds) {
    checkLive(directory, 'project', { accountId, id, param: 'project_ids' })
    if (organisationId === undefined) continue
    if (directory.find('project', accountId, id)?.organisationId !== organisationId)
      throw invalid(
        'project_ids',
        `The project ${id} is none of the organisation ${organisationId}, so that no call could ever be both. Send projects of this organisation, or leave one of the two out.`,
      )
  }
}

/** Two of the same sign-in would take each other's tokens away: many issuers honour a refresh token once. */
function checkAlone(desk: IdentityDesk, drawn: Drawn): void {
  for (const { id, name, record, tokens } of desk.identities.list(drawn.accountId)) {
    if (id === drawn.id || record.endedAt !== undefined) continue
    if (record.supplierId !== drawn.supplierId) continue
    const isSame =
      isSameToken(tokens, drawn.secrets) ||
      isSamePerson({ ...record, secrets: tokens }, drawn, desk)
    if (isSame)
      throw new GatewayError(
        'conflict',
        `The native identity ${id} (${name}) is this sign-in. To sign in again, send the new tokens to it: PATCH /v1/manage/native/identities/${id}.`,
        { retryable: false, details: { identity_id: id } },
      )
  }
}

function isSameToken(one: IdentitySecrets | undefined, other: Drawn['secrets']): boolean {
  return other?.refreshToken !== undefined && one?.refreshToken === other.refreshToken
}

/** Several people may share an account at a supplier; where their tokens tell them apart, each may sign in. */
function isSamePerson(one: Drawn, other: Drawn, { readClaims }: IdentityDesk): boolean {
  if (one.subject === undefined || one.subject !== other.subject) return false
  const people = [one, other].map(({ secrets }) =>
    secrets?.accessToken === undefined ? undefined : readClaims(secrets.accessToken).person,
  )
  return people.includes(undefined) || people[0] === people[1]
}

function findPlace({ places }: IdentityDesk, id: string): SignInPlace | undefined {
  return places.find((place) => place.id === id)
}

function unknownPlace(desk: IdentityDesk, id: string): GatewayError {
  return invalid(
    'supplier',
    `There is no native supplier ${quoteName(id)} in the configuration. ${listPlaces(desk)}`,
  )
}

function listPlaces({ places }: IdentityDesk): string {
  return places.length === 0
    ? 'There is none yet: whoever runs the gateway adds one to the configuration.'
    : `There are: ${places.map(({ id }) => id).join(', ')}.`
}

// What may be written of a sign-in at a native supplier, and what somebody must bring who signs in. A token is never
// repeated: a refusal names the field and says what belongs there.
import type { IdentityRecord, IdentitySecrets } from '../core/identity.ts'
import { invalid, type GatewayError } from '../core/problem.ts'
import { missing, readId, readIds, readName, type FieldReader } from './fields.ts'
import type { NewTokens } from './identities.ts'
import { unlessNull } from './settings.ts'

/** Where one can sign in, as far as it decides what must be brought. */
export interface SignInPlace {
  readonly id: string
  readonly grant: 'refresh_token' | 'client_credentials'
  /** Of the program that people sign in with; undefined where each identity has its own. */
  readonly clientId: string | undefined
  /** Whom tokens are for that are brought here. */
  readonly hosts: string
}

/** What an access token says of itself, which nobody has verified. */
export interface TokenClaims {
  /** Milliseconds since 1970. */
  readonly expiresAt?: number
  /** The account at the supplier that calls are made for; several people may share one. */
  readonly accountId?: string
  /** The one who has signed in. */
  readonly person?: string
}

export type Settings = Pick<
  IdentityRecord,
  'name' | 'subject' | 'organisationId' | 'projectIds' | 'parallelMax' | 'requestsPerMinute'
>

/** What somebody brings who signs in. */
export interface Brought extends Required<Omit<IdentitySecrets, 'hosts'>> {
  readonly expiresAt: number | undefined
  readonly lifetimeMs: number | undefined
}

interface Creation extends Settings, Brought {
  readonly supplierId: string
}

interface Change extends Settings, Brought {
  readonly isDisabled: boolean
}

const TOKEN_LENGTH_MAX = 16_384
/** It goes into a header as it is. */
const TOKEN = /^[\x21-\x7e]+$/
const CLIENT_LENGTH_MAX = 4096
/** What RFC 6749 allows in either, appendix A. */
const CLIENT = /^[\x20-\x7e]+$/
const SUBJECT_LENGTH_MAX = 256
const PROJECTS_MAX = 1000
const PARALLEL_MAX = 10_000
const RPM_MAX = 1_000_000
/** Ten years. */
const LIFETIME_SECONDS_MAX = 315_360_000
const MOMENT = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|\+00:00)$/

const SETTINGS: readonly (readonly [string, FieldReader<Settings>])[] = [
  ['name', (value) => ({ name: readName(value) })],
  ['account_id', (value) => ({ subject: unlessNull(value, readSubject) })],
  [
    'organisation_id',
    (value) => ({ organisationId: unlessNull(value, (id) => readId('organisation_id', id)) }),
  ],
  ['project_ids', (value) => ({ projectIds: unlessNull(value, readProjects) })],
  [
    'parallel_max',
    (value) => ({
      parallelMax: unlessNull(value, (given) => readWhole('parallel_max', given, PARALLEL_MAX)),
    }),
  ],
  [
    'requests_per_minute',
    (value) => ({
      requestsPerMinute: unlessNull(value, (given) =>
        readWhole('requests_per_minute', given, RPM_MAX),
      ),
    }),
  ],
]

const BROUGHT: readonly (readonly [string, FieldReader<Brought>])[] = [
  [
    'access_token',
    (value) => ({ accessToken: unlessNull(value, (text) => readToken('access_token', text)) }),
  ],
  [
    'refresh_token',
    (value) => ({ refreshToken: unlessNull(value, (text) => readToken('refresh_token', text)) }),
  ],
  [
    'client_id',
    (value) => ({ clientId: unlessNull(value, (text) => readClient('client_id', text)) }),
  ],
  [
    'client_secret',
    (value) => ({ clientSecret: unlessNull(value, (text) => readClient('client_secret', text)) }),
  ],
  ['expires_at', (value) => ({ expiresAt: unlessNull(value, readMoment) })],
  ['expires_in', (value) => ({ lifetimeMs: unlessNull(value, readLifetime) })],
]

export const CREATION = new Map<string, FieldReader<Creation>>([
  ['supplier', (value) => ({ supplierId: readId('supplier', value) })],
  ...SETTINGS,
  ...BROUGHT,
])

export const CHANGES = new Map<string, FieldReader<Change>>([
  ...SETTINGS,
  ['disabled', (value) => ({ isDisabled: readSwitch(value) })],
  ...BROUGHT,
])

const SIGN_IN = [
  'accessToken',
  'refreshToken',
  'clientId',
  'clientSecret',
  'expiresAt',
  'lifetimeMs',
] as const

/** Whether a body brings anything that a sign-in consists of. */
export function isSignIn(fields: Partial<Brought>): boolean {
  return SIGN_IN.some((name) => name in fields)
}

/** What a body says of settings alone, so that no secret goes where they go. */
export function settingsOf(fields: Partial<Settings & Brought>): Partial<Settings> {
  const {
    accessToken: _access,
    refreshToken: _refresh,
    clientId: _client,
    clientSecret: _secret,
    expiresAt: _end,
    lifetimeMs: _lifetime,
    ...settings
  } = fields
  return settings
}

export interface SignInParts {
  readonly place: SignInPlace
  readonly now: number
  /** What the access token says of itself. */
  readonly claims: TokenClaims
  /** Of whoever signs in again. */
  readonly before: IdentitySecrets | undefined
}

/**
 * Both tokens are of one sign-in, so that neither of an earlier one is kept beside a new one. The program that signs
 * in stays the same unless another is named.
 */
export function tokensOf(brought: Partial<Brought>, parts: SignInParts): NewTokens {
  const { accessToken, refreshToken } = brought
  const { hosts } = parts.place
  const before = parts.before?.hosts === hosts ? parts.before : undefined
  const { clientId, clientSecret } = { ...before, ...brought }
  const secrets = { accessToken, refreshToken, clientId, clientSecret, hosts }
  checkBrought(secrets, parts.place)
  checkTimes(brought)
  const { expiresAt = endOf(brought, parts) } = brought
  const canRenew = refreshToken !== undefined || parts.place.grant === 'client_credentials'
  if (expiresAt !== undefined && expiresAt <= parts.now && !canRenew) throw hasEnded()
  return { secrets, expiresAt, renewedAt: undefined }
}

function endOf({ lifetimeMs }: Partial<Brought>, { now, claims }: SignInParts): number | undefined {
  return lifetimeMs === undefined ? claims.expiresAt : now + lifetimeMs
}

function checkBrought(secrets: IdentitySecrets, { grant, clientId }: SignInPlace): void {
  if (grant === 'client_credentials') {
    checkClient(secrets, clientId)
    return
  }
  if (secrets.accessToken === undefined && secrets.refreshToken === undefined)
    throw missing(
      'refresh_token',
      'Send what signing in has brought: `refresh_token`, `access_token`, or both.',
    )
}

function checkClient(secrets: IdentitySecrets, known: string | undefined): void {
  if (secrets.refreshToken !== undefined)
    throw invalid(
      'refresh_token',
      'At this supplier a program signs itself in. Send `client_secret`, and leave `refresh_token` out.',
    )
  if (secrets.clientSecret === undefined)
    throw missing(
      'client_secret',
      'At this supplier a program signs itself in. Send its `client_secret`.',
    )
  if (secrets.clientId === undefined && known === undefined)
    throw missing(
      'client_id',
      'At this supplier a program signs itself in. Send its `client_id` with the `client_secret`.',
    )
}

function checkTimes({ accessToken, expiresAt, lifetimeMs }: Partial<Brought>): void {
  if (expiresAt === undefined && lifetimeMs === undefined) return
  if (expiresAt !== undefined && lifetimeMs !== undefined)
    throw invalid('expires_in', 'Send `expires_at` or `expires_in`, not both.')
  if (accessToken === undefined)
    throw missing('access_token', 'Send the `access_token` that ends then, or leave the time out.')
}

function hasEnded(): GatewayError {
  return invalid(
    'access_token',
    'This access token has ended, and there is no `refresh_token` to renew it with. Sign in at the supplier once more, and send what that brings.',
  )
}

function readToken(param: string, value: unknown): string {
  if (isOf(TOKEN, value, TOKEN_LENGTH_MAX)) return value
  throw invalid(
    param,
    `Send \`${param}\` as the token alone: 1 to ${TOKEN_LENGTH_MAX} characters of printable ASCII without a space.`,
  )
}

function readClient(param: string, value: unknown): string {
  if (isOf(CLIENT, value, CLIENT_LENGTH_MAX)) return value
  throw invalid(
    param,
    `Send \`${param}\` as 1 to ${CLIENT_LENGTH_MAX} characters of printable ASCII.`,
  )
}

function readSubject(value: unknown): string {
  if (isOf(TOKEN, value, SUBJECT_LENGTH_MAX)) return value
  throw invalid(
    'account_id',
    `Send \`account_id\` as the supplier calls the account: 1 to ${SUBJECT_LENGTH_MAX} characters of printable ASCII without a space.`,
  )
}

function isOf(pattern: RegExp, value: unknown, lengthMax: number): value is string {
  return typeof value === 'string' && value.length <= lengthMax && pattern.test(value)
}

/** None at all would be an identity for nothing. */
function readProjects(value: unknown): readonly string[] {
  const ids = readIds('project_ids', value, PROJECTS_MAX)
  if (ids.length > 0) return ids
  throw invalid('project_ids', 'Send `project_ids` with at least one id, or as null for any.')
}

function readWhole(param: string, value: unknown, most: number): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most)
    return value
  throw invalid(
    param,
    `Send \`${param}\` as a whole number from 1 to ${most}, or null for no limit.`,
  )
}

/** One that has passed is fine: there may be a way to renew. */
function readMoment(value: unknown): number {
  const seconds = typeof value === 'string' ? MOMENT.exec(value)?.[1] : undefined
  const moment = seconds === undefined ? Number.NaN : Date.parse(String(value))
  // A parser may take the 30th of February for the 2nd of March.
  if (moment > 0 && new Date(moment).toISOString().startsWith(String(seconds))) return moment
  throw invalid('expires_at', 'Send `expires_at` as a time in UTC, such as 2030-01-31T12:00:00Z.')
}

function readLifetime(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value <= LIFETIME_SECONDS_MAX)
    return Math.floor(value * 1000)
  throw invalid(
    'expires_in',
    `Send \`expires_in\` as a number of seconds from 0 to ${LIFETIME_SECONDS_MAX}.`,
  )
}

function readSwitch(value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalid('disabled', 'Send `disabled` as true or false.')
}

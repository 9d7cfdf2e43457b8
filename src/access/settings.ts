// What an owner may write into a key, read from the body of a creation or of a change. Whatever is not
// listed here is refused by name, so that nobody can set what is the gateway's to set.
import { BUDGET_PERIODS, NO_LIMITS, type BudgetPeriod, type KeySettings } from '../core/key.ts'
import { readUsd, type NanoUsd } from '../core/money.ts'
import { GatewayError, invalid, quoteName } from '../core/problem.ts'
import { foldRegion, isNoPlace } from '../core/region.ts'

export type SettingsBody = Readonly<Record<string, unknown>>

/** Only what a body names; undefined takes a limit away. */
export type SettingsChange = Partial<KeySettings>

type Reader = (value: unknown, now: number) => SettingsChange

const NAME_LENGTH_MAX = 200
const MODELS_MAX = 1000
const MODEL_LENGTH_MAX = 256
const REGIONS_MAX = 32
const REGION = /^[A-Za-z0-9_-]{1,64}$/
const RPM_MAX = 1_000_000
const LABELS_MAX = 64
const LABEL_NAME_LENGTH_MAX = 64
const LABEL_LENGTH_MAX = 512
const DEFAULT_PERIOD: BudgetPeriod = 'monthly'
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d{1,9})?(?:Z|\+00:00)$/

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ['name', (value) => ({ name: readName(value) })],
  ['allowed_models', (value) => ({ allowedModels: unlessNull(value, readModels) })],
  ['allowed_regions', (value) => ({ allowedRegions: unlessNull(value, readRegions) })],
  ['budget_limit', (value) => ({ budgetLimit: unlessNull(value, readLimit) })],
  ['budget_period', (value) => ({ budgetPeriod: unlessNull(value, readPeriod) })],
  ['fit', (value) => ({ fitsBudget: unlessNull(value, readFit) ?? NO_LIMITS.fitsBudget })],
  ['rate_limit_rpm', (value) => ({ rateLimitRpm: unlessNull(value, readRate) })],
  ['metadata', (value) => ({ metadata: unlessNull(value, readMetadata) ?? {} })],
  [
    'expires_at',
    (value, now) => ({ expiresAt: unlessNull(value, (given) => readExpiry(given, now)) }),
  ],
])

const SECRET_FIELDS: ReadonlySet<string> = new Set(['key', 'secret', 'token', 'hash', 'api_key'])

/** Reads the body of a creation, in which `null` is absence. `ties` are fields that somebody else reads. */
export function readNew(
  body: SettingsBody,
  now: number,
  ties: readonly string[] = [],
): SettingsChange {
  checkNames(body, ties)
  if (body['name'] === undefined) throw missingName()
  const given = Object.entries(body).filter(([name, value]) => name === 'name' || value !== null)
  return readFields(Object.fromEntries(given), now)
}

/** Reads the body of a change. `null` takes a limit away. */
export function readChange(body: SettingsBody, now: number): SettingsChange {
  checkNames(body, [])
  if (Object.keys(body).length === 0)
    throw new GatewayError(
      'missing_fields',
      'Send at least one field to change, such as `budget_limit`.',
    )
  return readFields(body, now)
}

/** The settings that result from a change: a limit always has a period, and no period lacks a limit. */
export function applyChange(current: KeySettings, change: SettingsChange): KeySettings {
  const changed = { ...current, ...change }
  if (changed.budgetLimit !== undefined)
    return { ...changed, budgetPeriod: changed.budgetPeriod ?? DEFAULT_PERIOD }
  if (change.budgetPeriod !== undefined)
    throw new GatewayError(
      'missing_fields',
      'A `budget_period` needs a limit. Send `budget_limit` with it, or leave the period out.',
      { param: 'budget_limit' },
    )
  return { ...changed, budgetPeriod: undefined }
}

function readFields(body: SettingsBody, now: number): SettingsChange {
  const parts = Object.entries(body).map(([name, value]) => READERS.get(name)?.(value, now))
  return Object.assign({}, ...parts)
}

function checkNames(body: SettingsBody, ties: readonly string[]): void {
  const names = Object.keys(body)
  const secret = names.find((name) => SECRET_FIELDS.has(name))
  if (secret !== undefined)
    throw new GatewayError(
      'raw_secret_field_rejected',
      'Secrets are made by the gateway and never taken from a body. Leave this field out.',
      { param: secret },
    )
  const unknown = names.find((name) => !READERS.has(name) && !ties.includes(name))
  if (unknown !== undefined)
    throw new GatewayError(
      'unsupported_parameter',
      `This field cannot be set. Send only ${[...READERS.keys(), ...ties].join(', ')}.`,
      { param: quoteName(unknown) },
    )
}

function readName(value: unknown): string {
  if (value === null) throw missingName()
  if (isText(value, 1, NAME_LENGTH_MAX)) return value
  throw invalid('name', `Send \`name\` as a text of 1 to ${NAME_LENGTH_MAX} characters.`)
}

function readModels(value: unknown): readonly string[] {
  if (Array.isArray(value) && isCountWithin(value, MODELS_MAX) && value.every(isModelId))
    return [...new Set(value)]
  throw invalid(
    'allowed_models',
    `Send \`allowed_models\` as a list of 1 to ${MODELS_MAX} model ids, each spelled out without ` +
      'wildcards, or null for every model.',
  )
}

/** A wildcard would let in models that did not exist when the key was made. */
function isModelId(value: unknown): value is string {
  return isText(value, 1, MODEL_LENGTH_MAX) && !value.includes('*')
}

function readRegions(value: unknown): readonly string[] {
  const regions: unknown = typeof value === 'string' ? [value] : value
  if (Array.isArray(regions) && isCountWithin(regions, REGIONS_MAX) && regions.every(isRegion)) {
    if (regions.some(isNoPlace)) throw noPlace()
    return [...new Set(regions.map(foldRegion))]
  }
  throw invalid(
    'allowed_regions',
    `Send \`allowed_regions\` as a region such as "EU" or a list of 1 to ${REGIONS_MAX} of them, ` +
      'made of letters, digits, `-` and `_`.',
  )
}

/** Somebody who writes this wants no lock, and would get one that nothing opens. */
function noPlace(): GatewayError {
  return invalid(
    'allowed_regions',
    'Send `allowed_regions` as null for every region, or as regions such as "EU": `global` is what suppliers ' +
      'are that promise no place, and nobody is inside of it.',
  )
}

function isRegion(value: unknown): value is string {
  return typeof value === 'string' && REGION.test(value)
}

function readLimit(value: unknown): NanoUsd {
  const limit = typeof value === 'number' ? readUsd(value) : undefined
  if (limit !== undefined) return limit
  throw invalid(
    'budget_limit',
    'Send `budget_limit` as a number of US dollars from 0 to 9000000 with at most nine decimals.',
  )
}

function readPeriod(value: unknown): BudgetPeriod {
  const period = BUDGET_PERIODS.find((each) => each === value)
  if (period !== undefined) return period
  throw invalid('budget_period', `Send \`budget_period\` as one of ${BUDGET_PERIODS.join(', ')}.`)
}

/** Said as it is shown, or as a switch. */
function readFit(value: unknown): boolean {
  if (value === 'on' || value === true) return true
  if (value === 'off' || value === false) return false
  throw invalid('fit', 'Send `fit` as "on" or "off".')
}

function readRate(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= RPM_MAX)
    return value
  throw invalid('rate_limit_rpm', `Send \`rate_limit_rpm\` as a whole number from 1 to ${RPM_MAX}.`)
}

export function readMetadata(value: unknown): Readonly<Record<string, string>> {
  if (isLabels(value)) return value
  throw invalid(
    'metadata',
    `Send \`metadata\` as an object of at most ${LABELS_MAX} texts, with names of 1 to ` +
      `${LABEL_NAME_LENGTH_MAX} characters and values of at most ${LABEL_LENGTH_MAX}.`,
  )
}

function isLabels(value: unknown): value is Readonly<Record<string, string>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const labels = Object.entries(value)
  if (labels.length > LABELS_MAX) return false
  return labels.every(
    ([name, text]) => isText(name, 1, LABEL_NAME_LENGTH_MAX) && isText(text, 0, LABEL_LENGTH_MAX),
  )
}

function readExpiry(value: unknown, now: number): number {
  const seconds = typeof value === 'string' ? TIMESTAMP.exec(value)?.[1] : undefined
  const moment = seconds === undefined ? Number.NaN : Date.parse(String(value))
  // A parser may take the 30th of February for the 2nd of March.
  if (moment > now && new Date(moment).toISOString().startsWith(String(seconds))) return moment
  throw invalid(
    'expires_at',
    'Send `expires_at` as a moment in the future in UTC, such as 2030-01-31T12:00:00Z, or null for never.',
  )
}

/** Counts characters as people do; half a surrogate pair would not come back from the store as it went. */
export function isText(value: unknown, lengthMin: number, lengthMax: number): value is string {
  if (typeof value !== 'string' || !value.isWellFormed()) return false
  const length = value.length > 2 * lengthMax ? value.length : Array.from(value).length
  return length >= lengthMin && length <= lengthMax
}

function isCountWithin(items: readonly unknown[], countMax: number): boolean {
  return items.length >= 1 && items.length <= countMax
}

export function unlessNull<Value>(
  value: unknown,
  read: (given: unknown) => Value,
): Value | undefined {
  return value === null ? undefined : read(value)
}

function missingName(): GatewayError {
  return new GatewayError('missing_fields', 'A credential needs a `name`. Send one.', {
    param: 'name',
  })
}

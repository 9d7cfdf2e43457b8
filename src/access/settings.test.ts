// Settings are read strictly: whatever is refused names its field and says what to send, and repeats
// nothing of what was sent.
import { describe, expect, it } from 'bun:test'
import { NO_LIMITS, type KeySettings } from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import { startFrom } from './limits.ts'
import { applyChange, readChange, readNew, type SettingsBody } from './settings.ts'

const NOW = Date.UTC(2026, 0, 15, 12)

const PLAIN: KeySettings = {
  name: 'plain',
  allowedModels: undefined,
  allowedRegions: undefined,
  budgetLimit: undefined,
  budgetPeriod: undefined,
  fitsBudget: true,
  rateLimitRpm: undefined,
  metadata: {},
  expiresAt: undefined,
}

const LIMITED: KeySettings = {
  ...PLAIN,
  allowedModels: ['a'],
  allowedRegions: ['EU'],
  budgetLimit: toNanoUsd(5_000_000_000),
  budgetPeriod: 'daily',
  fitsBudget: false,
  rateLimitRpm: 60,
  metadata: { team: 'search' },
  expiresAt: NOW + 1000,
}

/** As the root key makes one. */
function readSettings(body: SettingsBody, now: number): KeySettings {
  return applyChange(startFrom(NO_LIMITS), readNew(body, now))
}

function create(body: SettingsBody): KeySettings {
  return readSettings({ name: 'plain', ...body }, NOW)
}

function patch(body: SettingsBody, current = PLAIN): KeySettings {
  return applyChange(current, readChange(body, NOW))
}

function refusalOf(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was refused')
}

function labels(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`label${index}`, '']))
}

/** Short enough for the name of a test. */
function show(value: unknown): string {
  return Bun.inspect(value, { compact: true }).slice(0, 60)
}

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `m${index}`)

const REFUSED: readonly (readonly [string, unknown])[] = [
  ['name', ''],
  ['name', 'n'.repeat(201)],
  ['name', 'n'.repeat(10_000)],
  ['name', 7],
  ['name', ['x']],
  ['name', 'half \ud800 a pair'],
  ['allowed_models', 'gpt'],
  ['allowed_models', []],
  ['allowed_models', ['']],
  ['allowed_models', ['*']],
  ['allowed_models', ['gpt-*']],
  ['allowed_models', ['a', 5]],
  ['allowed_models', [null]],
  ['allowed_models', ['m'.repeat(257)]],
  ['allowed_models', many(1001)],
  ['allowed_models', { 0: 'a' }],
  ['allowed_regions', 5],
  ['allowed_regions', ''],
  ['allowed_regions', []],
  ['allowed_regions', ['EU', '']],
  ['allowed_regions', 'E U'],
  ['allowed_regions', 'EU,US'],
  ['allowed_regions', 'ÉU'],
  ['allowed_regions', 'EU\n'],
  ['allowed_regions', 'global'],
  ['allowed_regions', ['EU', 'GLOBAL']],
  ['allowed_regions', 'r'.repeat(65)],
  ['allowed_regions', many(33)],
  ['budget_limit', -1],
  ['budget_limit', -0],
  ['budget_limit', Number.POSITIVE_INFINITY],
  ['budget_limit', 1e300],
  ['budget_limit', 9_007_200],
  ['budget_limit', Number('9000000.000000001')],
  // The next JSON number above it is two nano-dollars away: nobody can tell which was meant.
  ['budget_limit', Number('8999999.000000001')],
  ['budget_limit', 0.000_000_000_1],
  ['budget_limit', 1.000_000_000_1],
  ['budget_limit', '5'],
  ['budget_limit', true],
  ['budget_limit', {}],
  ['budget_period', 5],
  ['budget_period', 'weekly'],
  ['budget_period', 'Daily'],
  ['budget_period', 'constructor'],
  ['fit', 'yes'],
  ['fit', 'ON'],
  ['fit', ''],
  ['fit', 1],
  ['fit', {}],
  ['rate_limit_rpm', 0],
  ['rate_limit_rpm', -1],
  ['rate_limit_rpm', 1.5],
  ['rate_limit_rpm', 1_000_001],
  ['rate_limit_rpm', '5'],
  ['rate_limit_rpm', Number.POSITIVE_INFINITY],
  ['metadata', 'x'],
  ['metadata', ['x']],
  ['metadata', { a: 1 }],
  ['metadata', { a: null }],
  ['metadata', { a: { b: 'c' } }],
  ['metadata', { '': 'x' }],
  ['metadata', { ['k'.repeat(65)]: 'x' }],
  ['metadata', { a: 'v'.repeat(513) }],
  ['metadata', labels(65)],
  ['metadata', labels(1000)],
  ['expires_at', NOW + 1000],
  ['expires_at', 'tomorrow'],
  ['expires_at', '2030-01-31'],
  ['expires_at', '2030-01-31T12:00:00'],
  ['expires_at', '2030-01-31T12:00:00+02:00'],
  ['expires_at', '2030-02-30T12:00:00Z'],
  ['expires_at', '2030-01-31T24:00:00Z'],
  ['expires_at', '2030-13-31T12:00:00Z'],
  ['expires_at', '2026-01-15T12:00:00Z'],
  ['expires_at', '1999-01-01T00:00:00Z'],
]

const ACCEPTED: readonly (readonly [string, unknown, Partial<KeySettings>])[] = [
  ['name', '=cmd|x', { name: '=cmd|x' }],
  ['name', '😀'.repeat(200), { name: '😀'.repeat(200) }],
  ['allowed_models', ['b', 'a', 'b'], { allowedModels: ['b', 'a'] }],
  ['allowed_models', many(1000), { allowedModels: many(1000) }],
  ['allowed_regions', 'eu', { allowedRegions: ['EU'] }],
  ['allowed_regions', ['eu', 'EU', 'us-East_1'], { allowedRegions: ['EU', 'US-EAST_1'] }],
  ['budget_limit', 0, { budgetLimit: toNanoUsd(0), budgetPeriod: 'monthly' }],
  ['budget_limit', 1e-9, { budgetLimit: toNanoUsd(1), budgetPeriod: 'monthly' }],
  ['budget_limit', 0.1, { budgetLimit: toNanoUsd(100_000_000), budgetPeriod: 'monthly' }],
  [
    'budget_limit',
    9_000_000,
    { budgetLimit: toNanoUsd(9_000_000_000_000_000), budgetPeriod: 'monthly' },
  ],
  ['fit', 'on', { fitsBudget: true }],
  ['fit', true, { fitsBudget: true }],
  ['fit', 'off', { fitsBudget: false }],
  ['fit', false, { fitsBudget: false }],
  ['rate_limit_rpm', 1, { rateLimitRpm: 1 }],
  ['rate_limit_rpm', 1_000_000, { rateLimitRpm: 1_000_000 }],
  ['metadata', {}, { metadata: {} }],
  ['metadata', { team: 'search', empty: '' }, { metadata: { team: 'search', empty: '' } }],
  ['expires_at', '2030-01-31T12:00:00Z', { expiresAt: Date.UTC(2030, 0, 31, 12) }],
  ['expires_at', '2030-01-31T12:00:00.25Z', { expiresAt: Date.UTC(2030, 0, 31, 12, 0, 0, 250) }],
  [
    'expires_at',
    '2030-01-31T12:00:00.123456+00:00',
    { expiresAt: Date.UTC(2030, 0, 31, 12, 0, 0, 123) },
  ],
  ['expires_at', '2028-02-29T00:00:00Z', { expiresAt: Date.UTC(2028, 1, 29) }],
]

const REFUSED_TITLED = REFUSED.map(([field, value]) => [field, show(value), value] as const)
const ACCEPTED_TITLED = ACCEPTED.map(
  ([field, value, settings]) => [field, show(value), value, settings] as const,
)

/** Read by somebody else where one is made, and by nobody where it is changed. */
const TIES = ['project_id', 'team_id', 'user_id', 'manage', 'kind', 'account_id', 'created_by']

const OURS = ['id', 'role', 'scopes', 'budget_used', 'budget_remaining', 'status', 'created']

describe('settings of a new key', () => {
  it('are no limits at all when only a name is given', () => {
    expect(readSettings({ name: 'plain' }, NOW)).toEqual(PLAIN)
  })

  it.each(ACCEPTED_TITLED)('take %s %s', (field, _, value, settings) => {
    expect(create({ [field]: value })).toEqual({ ...PLAIN, ...settings })
  })

  it('take null on an optional field for absence', () => {
    const body = {
      allowed_models: null,
      allowed_regions: null,
      budget_limit: null,
      budget_period: null,
      fit: null,
      rate_limit_rpm: null,
      metadata: null,
      expires_at: null,
    }
    expect(create(body)).toEqual(PLAIN)
  })

  it.each(['daily', 'monthly', 'rolling'] as const)('take the period %s with a limit', (period) => {
    expect(create({ budget_limit: 1, budget_period: period }).budgetPeriod).toBe(period)
  })

  it.each([{}, { name: null }, { budget_limit: 1 }])('need a name, which %j lacks', (body) => {
    const error = refusalOf(() => readSettings(body, NOW))
    expect([error.code, error.status, error.param]).toEqual(['missing_fields', 400, 'name'])
  })

  it.each([{}, { budget_limit: null }])('have no period without a limit: %j', (body) => {
    const error = refusalOf(() => create({ ...body, budget_period: 'daily' }))
    expect([error.code, error.status, error.param]).toEqual(['missing_fields', 400, 'budget_limit'])
  })
})

describe('a change of settings', () => {
  it.each(ACCEPTED_TITLED)('takes %s %s', (field, _, value, settings) => {
    expect(patch({ [field]: value })).toEqual({ ...PLAIN, ...settings })
  })

  it('leaves alone what it does not name', () => {
    expect(patch({ rate_limit_rpm: 5 }, LIMITED)).toEqual({ ...LIMITED, rateLimitRpm: 5 })
    expect(patch({ budget_limit: 7 }, LIMITED)).toEqual({
      ...LIMITED,
      budgetLimit: toNanoUsd(7_000_000_000),
    })
  })

  it.each<readonly [string, Partial<KeySettings>]>([
    ['allowed_models', { allowedModels: undefined }],
    ['allowed_regions', { allowedRegions: undefined }],
    ['budget_limit', { budgetLimit: undefined, budgetPeriod: undefined }],
    ['budget_period', { budgetPeriod: 'monthly' }],
    ['fit', { fitsBudget: true }],
    ['rate_limit_rpm', { rateLimitRpm: undefined }],
    ['metadata', { metadata: {} }],
    ['expires_at', { expiresAt: undefined }],
  ])('takes %s away with null', (field, result) => {
    expect(patch({ [field]: null }, LIMITED)).toEqual({ ...LIMITED, ...result })
  })

  it('cannot take the name away', () => {
    const error = refusalOf(() => patch({ name: null }, LIMITED))
    expect([error.code, error.param]).toEqual(['missing_fields', 'name'])
  })

  it('must name something', () => {
    const error = refusalOf(() => patch({}, LIMITED))
    expect([error.code, error.status]).toEqual(['missing_fields', 400])
  })

  it('sets a period only where a limit is or comes', () => {
    expect(patch({ budget_period: 'rolling' }, LIMITED).budgetPeriod).toBe('rolling')
    expect(patch({ budget_period: 'rolling', budget_limit: 1 }).budgetPeriod).toBe('rolling')
    for (const work of [
      () => patch({ budget_period: 'daily' }),
      () => patch({ budget_period: 'daily', budget_limit: null }, LIMITED),
    ])
      expect(refusalOf(work).param).toBe('budget_limit')
  })
})

describe('settings', () => {
  it.each(REFUSED_TITLED)('refuse %s %s at creation and in a change', (field, _, value) => {
    for (const work of [
      () => create({ [field]: value }),
      () => patch({ [field]: value }, LIMITED),
    ]) {
      const error = refusalOf(work)
      expect([error.code, error.status, error.param]).toEqual(['validation_error', 400, field])
      expect(error.message).toStartWith('Send `')
      expect(error.retryable).toBe(false)
    }
  })

  it.each([...OURS, ...TIES, 'budget_held', 'revoked_at', 'NAME', 'constructor', '__proto__'])(
    'refuse the field %s, which is not theirs',
    (field) => {
      const body: SettingsBody = JSON.parse(`{"${field}": "mine"}`)
      for (const work of [() => readSettings(body, NOW), () => patch(body)]) {
        const error = refusalOf(work)
        expect([error.code, error.status, error.param]).toEqual([
          'unsupported_parameter',
          400,
          field,
        ])
      }
    },
  )

  it.each(['key', 'secret', 'token', 'hash', 'api_key'])('refuse the secret field %s', (field) => {
    for (const work of [() => create({ zzz: 1, [field]: 'x' }), () => patch({ [field]: 'x' })]) {
      const error = refusalOf(work)
      expect([error.code, error.status, error.param]).toEqual([
        'raw_secret_field_rejected',
        400,
        field,
      ])
    }
  })

  it('repeat nothing of a value in a refusal, and not all of a long name', () => {
    const value = 'tell-tale*'
    for (const field of ['allowed_models', 'allowed_regions', 'budget_limit', 'expires_at', 'key'])
      expect(refusalOf(() => create({ [field]: value })).message).not.toContain('tell-tale')
    expect(refusalOf(() => create({ ['n'.repeat(5000)]: 1 })).param).toHaveLength(64)
  })

  it('keep a label that is called like an inherited property', () => {
    const body: SettingsBody = JSON.parse('{"metadata": {"__proto__": "x", "constructor": "y"}}')
    expect(JSON.stringify(create(body).metadata)).toBe('{"__proto__":"x","constructor":"y"}')
  })
})

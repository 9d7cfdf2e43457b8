// What a credential may hand out: a table of cases, and a proof by trying that nobody who was let in can do
// what whoever made them could not.
import { describe, expect, it } from 'bun:test'
import {
  array,
  assert,
  constantFrom,
  integer,
  option,
  property,
  record,
  subarray,
} from 'fast-check'
import {
  NO_LIMITS,
  NO_TIES,
  type BudgetPeriod,
  type KeyRecord,
  type KeySettings,
} from '../core/key.ts'
import { toNanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import { checkWhole, checkWithin, limitsOf, startFrom, type Limits } from './limits.ts'
import { applyChange, type SettingsChange } from './settings.ts'

const DAY = 86_400_000
const NOW = Date.UTC(2026, 0, 15)
const [FIVE, TEN] = [toNanoUsd(5_000_000_000), toNanoUsd(10_000_000_000)]

function keyOf(changes: Partial<KeyRecord>): KeyRecord {
  const identity = { id: 'tok_1', accountId: 'acc_1', kind: 'token', hash: 'h', name: 'k' } as const
  return { ...NO_LIMITS, ...NO_TIES, ...identity, createdAt: NOW, manages: true, ...changes }
}

/** The settings of a new credential, or the parameter that it is refused for. */
function create(own: Partial<KeyRecord>, change: SettingsChange): KeySettings | string {
  const limits = limitsOf(keyOf(own))
  return orParam(() => {
    const settings = applyChange(startFrom(limits), { name: 'new', ...change })
    checkWithin(settings, limits)
    return settings
  })
}

function orParam<Result>(work: () => Result): Result | string {
  try {
    return work()
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'permission_denied')
      return String(thrown.param)
    throw thrown
  }
}

const LIMITED = {
  allowedModels: ['a', 'b'],
  allowedRegions: ['EU'],
  budgetLimit: TEN,
  budgetPeriod: 'monthly',
  rateLimitRpm: 60,
  expiresAt: NOW + DAY,
} as const

const budget = (limit: number, period: BudgetPeriod): SettingsChange => ({
  budgetLimit: toNanoUsd(limit),
  budgetPeriod: period,
})

describe('a new credential', () => {
  it('has the limits of its maker where it names none, and no name or label of it', () => {
    const own = { ...LIMITED, fitsBudget: false, metadata: { team: 'x' } }
    expect(create(own, {})).toEqual({ ...NO_LIMITS, ...LIMITED, name: 'new' })
  })

  it.each<readonly [string, SettingsChange, string | undefined]>([
    ['fewer models', { allowedModels: ['b'] }, undefined],
    ['another model', { allowedModels: ['a', 'c'] }, 'allowed_models'],
    ['every model', { allowedModels: undefined }, 'allowed_models'],
    ['another region', { allowedRegions: ['EU', 'US'] }, 'allowed_regions'],
    ['every region', { allowedRegions: undefined }, 'allowed_regions'],
    ['a smaller budget', { budgetLimit: FIVE }, undefined],
    ['a larger budget', { budgetLimit: toNanoUsd(TEN + 1) }, 'budget_limit'],
    ['no budget', { budgetLimit: undefined, budgetPeriod: undefined }, 'budget_limit'],
    ['the same for each day', { budgetPeriod: 'daily' }, 'budget_limit'],
    ['the same in any thirty days', { budgetPeriod: 'rolling' }, 'budget_limit'],
    ['a lower rate', { rateLimitRpm: 60 }, undefined],
    ['a higher rate', { rateLimitRpm: 61 }, 'rate_limit_rpm'],
    ['no rate', { rateLimitRpm: undefined }, 'rate_limit_rpm'],
    ['an earlier end', { expiresAt: NOW + DAY }, undefined],
    ['a later end', { expiresAt: NOW + DAY + 1 }, 'expires_at'],
    ['no end', { expiresAt: undefined }, 'expires_at'],
    ['another fit', { fitsBudget: false }, undefined],
  ])('with %s than its maker is let in or refused by name', (_, change, param) => {
    const made = create(LIMITED, change)
    if (param === undefined) expect(made).toMatchObject(change)
    else expect(made).toBe(param)
  })

  it.each<readonly [BudgetPeriod, BudgetPeriod, boolean]>([
    ['daily', 'daily', true],
    ['daily', 'monthly', true],
    ['daily', 'rolling', true],
    ['monthly', 'daily', false],
    ['monthly', 'monthly', true],
    ['monthly', 'rolling', false],
    ['rolling', 'daily', false],
    ['rolling', 'monthly', false],
    ['rolling', 'rolling', true],
  ])('of a maker with a %s budget may have a %s one: %p', (own, given, isAllowed) => {
    const made = create(budget(TEN, own), budget(TEN, given))
    expect(typeof made === 'object').toBe(isAllowed)
  })

  it('may have anything where its maker has no limits, as the root key has none', () => {
    expect(create({}, LIMITED)).toMatchObject(LIMITED)
    expect(create({ kind: 'root', ...LIMITED }, { budgetLimit: undefined })).toEqual({
      ...NO_LIMITS,
      name: 'new',
    })
  })

  it('is told the limit that it went beyond', () => {
    const told = (change: SettingsChange): string => {
      try {
        checkWithin({ ...LIMITED, ...change }, LIMITED)
      } catch (thrown) {
        return thrown instanceof GatewayError ? thrown.message : ''
      }
      return ''
    }
    expect(told({ allowedModels: ['c'] })).toContain('a, b')
    expect(told({ budgetLimit: undefined })).toContain('10 USD with the period monthly')
    expect(told({ rateLimitRpm: 99 })).toContain('60 requests a minute')
    expect(told({ expiresAt: undefined })).toContain('2026-01-16T00:00:00.000Z')
  })
})

describe('a change', () => {
  it('is held against the limits only in what it names', () => {
    const wide = { ...NO_LIMITS, name: 'k' }
    const check = (change: SettingsChange): unknown =>
      orParam(() => checkWithin({ ...wide, ...change }, LIMITED, change))
    expect(check({ rateLimitRpm: 1 })).toBeUndefined()
    expect(check({ rateLimitRpm: 61 })).toBe('rate_limit_rpm')
    expect(check({ rateLimitRpm: undefined })).toBe('rate_limit_rpm')
    expect(check({ budgetPeriod: 'monthly' })).toBe('budget_limit')
    expect(check({ budgetLimit: FIVE, budgetPeriod: 'monthly' })).toBeUndefined()
  })
})

describe('a secret is shown to another credential', () => {
  it.each<readonly [string, Partial<KeyRecord>, Partial<KeyRecord>, string | undefined]>([
    ['to itself', LIMITED, LIMITED, undefined],
    ['where all of it is within', { ...LIMITED, rateLimitRpm: 1 }, LIMITED, undefined],
    [
      'not where anything is beyond',
      { ...LIMITED, rateLimitRpm: undefined },
      LIMITED,
      'rate_limit_rpm',
    ],
    ['not where it calls for another user', { userId: 'usr_1' }, {}, 'user_id'],
    ['not where it calls for no user', {}, { userId: 'usr_1' }, 'user_id'],
    ['always to the root key', { userId: 'usr_1' }, { kind: 'root' }, undefined],
    ['not where it manages and the other does not', {}, { manages: false }, 'manage'],
  ])('%s', (_, key, giver, param) => {
    expect(orParam(() => checkWhole(keyOf(key), keyOf(giver)))).toBe(param as undefined)
  })
})

const MODELS = ['a', 'b', 'c']
const REGIONS = ['EU', 'US', 'UK']
const PERIODS: readonly BudgetPeriod[] = ['daily', 'monthly', 'rolling']

const some = (from: readonly string[]) =>
  option(subarray([...from], { minLength: 1 }), { nil: undefined })
const limits = record({
  allowedModels: some(MODELS),
  allowedRegions: some(REGIONS),
  budgetLimit: option(
    integer({ min: 0, max: 12 }).map((amount) => toNanoUsd(amount)),
    { nil: undefined },
  ),
  budgetPeriod: constantFrom(...PERIODS),
  rateLimitRpm: option(integer({ min: 1, max: 9 }), { nil: undefined }),
  expiresAt: option(integer({ min: 1, max: 9 }), { nil: undefined }),
}).map((each): Limits => ({
  ...each,
  budgetPeriod: each.budgetLimit === undefined ? undefined : each.budgetPeriod,
}))

/** The first and the last day that count together with a day, for a period of each kind. */
function windowsOf(period: BudgetPeriod, day: number): readonly (readonly [number, number])[] {
  if (period === 'daily') return [[day, day]]
  if (period === 'rolling') return Array.from({ length: 30 }, (_, at) => [day - at, day - at + 29])
  const date = new Date(NOW + day * DAY)
  const first = Math.round((Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) - NOW) / DAY)
  const next = Math.round((Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) - NOW) / DAY)
  return [[first, next - 1]]
}

/** What may still be spent on a day beside what was spent on others. */
function roomOn(day: number, spent: ReadonlyMap<number, number>, own: Limits): number {
  const { budgetLimit, budgetPeriod } = own
  if (budgetLimit === undefined || budgetPeriod === undefined) return 1000
  const sums = windowsOf(budgetPeriod, day).map(([from, to]) =>
    [...spent].reduce((sum, [at, amount]) => (at >= from && at <= to ? sum + amount : sum), 0),
  )
  return budgetLimit - Math.max(...sums)
}

/** Spends all that it may on each of the days, and says whether its maker could have. */
function couldSpend(child: Limits, maker: Limits, days: readonly number[]): boolean {
  const spent = new Map<number, number>()
  for (const day of days) {
    const amount = roomOn(day, spent, child)
    if (amount > roomOn(day, spent, maker)) return false
    spent.set(day, (spent.get(day) ?? 0) + Math.max(0, amount))
  }
  return true
}

const allows = (list: readonly string[] | undefined, each: string): boolean =>
  list === undefined || list.includes(each)

describe('whoever is let in', () => {
  it('can do nothing that its maker could not', () => {
    const days = array(integer({ min: 0, max: 70 }), { maxLength: 6 })
    let created = 0
    assert(
      property(limits, limits, days, (maker, asked, plan) => {
        const named = Object.fromEntries(
          Object.entries(asked).filter(([, value]) => value !== undefined),
        )
        const change: SettingsChange = asked.rateLimitRpm === 5 ? asked : named
        const child = create(maker, change)
        if (typeof child === 'string') return
        created += 1
        for (const model of MODELS)
          if (allows(child.allowedModels, model))
            expect(allows(maker.allowedModels, model)).toBe(true)
        for (const region of REGIONS)
          if (allows(child.allowedRegions, region))
            expect(allows(maker.allowedRegions, region)).toBe(true)
        expect(child.rateLimitRpm ?? 1000).toBeLessThanOrEqual(maker.rateLimitRpm ?? 1000)
        expect(child.expiresAt ?? 1000).toBeLessThanOrEqual(maker.expiresAt ?? 1000)
        expect(couldSpend(child, maker, plan)).toBe(true)
      }),
      { numRuns: 3000 },
    )
    expect(created).toBeGreaterThan(100)
  })
})

// Who may answer a call, and in which order: by region, by language and by number, decided once.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { toPicoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { PriceList } from '../core/usage.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { buildRoutes, Uses } from '../suppliers/routes.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import { createUpstream } from '../upstream/client.ts'
import { DEFAULT_LIMITS, type Admitted, type Plant } from './call.ts'
import { plan } from './plan.ts'

const PRICES: PriceList = [{ from: 0, price: { input: toPicoUsd(1), output: toPicoUsd(1) } }]
const OTHER_LANGUAGE = { ...openaiChat, id: 'other' } satisfies Dialect

function supplier(id: string, region: string, changes: Partial<Supplier> = {}): Supplier {
  return supplierAt('http://127.0.0.1:1', { id, region, ...changes })
}

const SUPPLIERS = [
  supplier('first', 'EU'),
  supplier('second', 'US'),
  supplier('third', 'global'),
  supplier('fourth', 'EU'),
  supplier('foreign', 'EU', {
    services: [{ dialect: OTHER_LANGUAGE, path: '/' }],
    models: models('theirs'),
  }),
  supplier('local', 'global', {
    models: new Map(),
    anyModel: PRICES,
  }),
]

function models(id: string): Supplier['models'] {
  return new Map([[id, { as: id, prices: PRICES, ownedBy: 'maker' }]])
}

function planFor(model: string, regions?: readonly string[], attemptsMax = 9): readonly string[] {
  const plant: Pick<Plant, 'routes' | 'limits' | 'clock'> = {
    clock: createFakeClock(),
    routes: buildRoutes({
      suppliers: SUPPLIERS,
      upstreamOf: ({ origin }) => createUpstream({ origin, headers: {} }),
      timeouts: DEFAULT_LIMITS,
      uses: new Uses(),
    }),
    limits: { ...DEFAULT_LIMITS, attemptsMax },
  }
  const candidates = plant.routes.find(model) ?? []
  const call = { dialect: openaiChat, regions, candidates, facts: { model } }
  const { attempts } = plan(call as Admitted, plant as Plant)
  return attempts.map(({ supplier }) => supplier.id)
}

function refusalOf(model: string, regions?: readonly string[]): GatewayError {
  try {
    planFor(model, regions)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
  }
  throw new Error('it was not refused')
}

describe('a plan', () => {
  it.each([
    ['test-model', undefined, ['first', 'second', 'third', 'fourth']],
    ['test-model', ['EU'], ['first', 'fourth']],
    ['test-model', ['US'], ['second']],
    ['test-model', ['US', 'EU'], ['first', 'second', 'fourth']],
    ['second/test-model', undefined, ['second']],
    ['second/test-model', ['US'], ['second']],
    ['local/any/model:7b', undefined, ['local']],
  ] as const)('for %s in %p asks %p', (model, regions, expected) => {
    expect(planFor(model, regions)).toEqual([...expected])
  })

  it('keeps the order and stops at the most that may be tried', () => {
    expect(planFor('test-model', undefined, 3)).toEqual(['first', 'second', 'third'])
    expect(planFor('test-model', ['EU'], 1)).toEqual(['first'])
  })

  it.each([
    ['test-model', ['MARS']],
    ['test-model', ['EUROPE']],
    ['second/test-model', ['EU']],
    ['local/any', ['EU']],
    ['third/test-model', ['EU', 'US']],
  ])('for %s leaves no way into %p and says so', (model, regions) => {
    expect(refusalOf(model, regions)).toMatchObject({
      code: 'sovereign_route_unavailable',
      status: 403,
      retryable: false,
      param: 'region',
      details: { regions },
    })
  })

  it('refuses a model that nobody serves in the language of the call', () => {
    expect(refusalOf('theirs')).toMatchObject({ code: 'capability_unsupported', param: 'model' })
  })
})

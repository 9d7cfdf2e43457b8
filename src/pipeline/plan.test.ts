// Who may answer a call, decided once, and what a caller is told where nobody may.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { routesOf, type Stall } from '../../test/fakes/stalls.ts'
import { FREE } from '../catalog/price.ts'
import { GatewayError } from '../core/problem.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { WAITING } from '../routing/reason.ts'
import type { RouteParts, Routes } from '../routing/routes.ts'
import { Sessions, type SessionPolicy } from '../routing/sessions.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { DEFAULT_LIMITS, type Admitted, type Plant } from './call.ts'
import { plan } from './plan.ts'

const STALLS: readonly Stall[] = [
  { id: 'first', region: 'EU' },
  { id: 'second', region: 'US' },
  { id: 'third' },
  { id: 'fourth', region: 'EU' },
  { id: 'foreign', region: 'EU', otherLanguage: true, models: { theirs: {} } },
]

const LOCAL = supplierAt('http://127.0.0.1:1', {
  id: 'local',
  region: 'global',
  models: new Map(),
  anyModel: FREE,
})

interface Asked {
  readonly model: string
  readonly regions?: readonly string[] | undefined
  readonly attemptsMax?: number
  readonly body?: object
  readonly allowedModels?: readonly string[]
}

const clock = createFakeClock()
const SESSION_POLICY: SessionPolicy = { idleMs: 3_600_000, max: 50_000, infers: true }

function planFor(asked: Asked, routes: Routes = ROUTES): readonly string[] {
  const { model, regions, attemptsMax = 9, allowedModels } = asked
  const plant: Pick<Plant, 'routes' | 'limits' | 'clock' | 'sessions' | 'draw'> = {
    draw: () => 0,
    sessions: new Sessions(SESSION_POLICY),
    clock,
    routes,
    limits: { ...DEFAULT_LIMITS, attemptsMax },
  }
  const messages = [{ role: 'user', content: 'Hello' }]
  const body = new TextEncoder().encode(JSON.stringify({ model, messages, ...asked.body }))
  const facts = openaiChat.peek(body)
  const route = routes.find(model)
  const common = { headers: new Headers(), key: { allowedModels }, asked: {}, at: 7 }
  const call = { dialect: openaiChat, regions, route, facts, body, ...common }
  const { attempts } = plan(call as unknown as Admitted, plant as Plant)
  return attempts.map(({ supplier }) => supplier.id)
}

const ROUTES = createRoutes(STALLS)

function createRoutes(stalls: readonly Stall[], changes: Partial<RouteParts> = {}): Routes {
  return routesOf(stalls, changes, [LOCAL])
}

function refusalOf(asked: Asked, routes?: Routes): GatewayError {
  try {
    planFor(asked, routes)
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}

describe('a plan', () => {
  it.each([
    ['model', undefined, ['first', 'second', 'third', 'fourth']],
    ['model', ['EU'], ['first', 'fourth']],
    ['model', ['US'], ['second']],
    ['model', ['US', 'EU'], ['first', 'second', 'fourth']],
    ['second/model', undefined, ['second']],
    ['second/model', ['US'], ['second']],
    ['local/any/model:7b', undefined, ['local']],
  ] as const)('for %s in %p asks %p', (model, regions, expected) => {
    expect(planFor({ model, regions })).toEqual([...expected])
  })

  it('keeps the order and stops at the most that may be tried', () => {
    expect(planFor({ model: 'model', attemptsMax: 3 })).toEqual(['first', 'second', 'third'])
    expect(planFor({ model: 'model', regions: ['EU'], attemptsMax: 1 })).toEqual(['first'])
  })

  it('notes when a name and who is on its list were last of use', () => {
    const routes = createRoutes(STALLS, { aliases: { quick: 'model' } })
    planFor({ model: 'quick', attemptsMax: 1 }, routes)
    const uses = routes.find('model')!.candidates.map(({ attempts }) => attempts[0]!.use.at)
    expect([routes.find('quick')!.aliasUse!.at, ...uses]).toEqual([7, 7, 0, 0, 0])
  })
})

describe('a plan without anybody', () => {
  it.each([
    ['model', ['MARS']],
    ['model', ['EUROPE']],
    ['second/model', ['EU']],
    ['local/any', ['EU']],
    ['third/model', ['EU', 'US']],
  ])('for %s leaves no way into %p and says so', (model, regions) => {
    expect(refusalOf({ model, regions })).toMatchObject({
      code: 'sovereign_route_unavailable',
      status: 403,
      retryable: false,
      param: 'region',
      details: { regions },
    })
  })

  it('refuses a model that nobody serves in the language of the call', () => {
    expect(refusalOf({ model: 'theirs' })).toMatchObject({
      code: 'capability_unsupported',
      param: 'model',
    })
  })

  const TOOLS = { tools: [{ type: 'function', function: { name: 'look' } }] }
  const IMAGE = {
    messages: [
      {
        role: 'user',
        content: [{ type: 'image_url', image_url: { url: 'https://example.com/a.png' } }],
      },
    ],
  }
  const AUDIO = {
    messages: [
      {
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }],
      },
    ],
  }
  const plain: Stall = { id: 'plain', models: { model: { capabilities: ['json'] } } }

  it.each([
    [TOOLS, 'model_does_not_support_tools', 'tools'],
    [IMAGE, 'capability_unsupported', 'images'],
    [AUDIO, 'capability_unsupported', 'audio'],
    [{ modalities: ['text', 'audio'] }, 'capability_unsupported', 'audio'],
  ])('refuses what its model is known to do without: %j', (body, code, what) => {
    const refusal = refusalOf({ model: 'model', body }, createRoutes([plain]))
    expect(refusal).toMatchObject({ code, status: 400, param: 'model', retryable: false })
    expect(refusal.message).toContain(`without ${what}; beside text it has json.`)
  })

  it('asks a model that stands in where only that can do it', () => {
    const routes = createRoutes([plain, { id: 'able', models: { spare: {} } }], {
      wishes: { model: { fallbacks: ['spare'] } },
    })
    expect(planFor({ model: 'model', body: TOOLS }, routes)).toEqual(['able'])
  })

  it('tells of the model that was asked for, and not of what could have stood in', () => {
    const routes = createRoutes(
      [
        { id: 'abroad', region: 'US' },
        { id: 'plain', region: 'EU', models: { spare: { capabilities: [] } } },
      ],
      { wishes: { model: { fallbacks: ['spare'] } } },
    )
    const refusal = refusalOf({ model: 'model', regions: ['EU'], body: TOOLS }, routes)
    expect(refusal).toMatchObject({ code: 'sovereign_route_unavailable', status: 403 })
    expect(refusal.message).toContain('It is served in US: ask for')
  })

  it('tells of who came closest: what is in its way is all that is in the way', () => {
    const routes = createRoutes([
      { id: 'abroad', region: 'US' },
      { ...plain, region: 'EU' },
    ])
    const refusal = refusalOf({ model: 'model', regions: ['EU'], body: TOOLS }, routes)
    expect(refusal.code).toBe('model_does_not_support_tools')
  })

  it.each([
    [undefined, 'all_providers_exhausted', 429],
    [['EU'], 'sovereign_route_unavailable', 503],
  ])('says when to come back where all have asked for a pause: %p', (regions, code, status) => {
    const routes = createRoutes([
      { id: 'one', region: 'EU' },
      { id: 'two', region: 'EU' },
    ])
    for (const [index, { lane }] of routes.find('model')!.candidates.entries()) {
      lane.standing = () => WAITING
      lane.remaining = () => 20_000 + 5000 * index
    }
    const refusal = refusalOf({ model: 'model', regions }, routes)
    expect(refusal).toMatchObject({ code, status, retryAfter: 20, retryable: true })
  })
})

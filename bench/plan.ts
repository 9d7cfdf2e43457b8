// What it costs to decide who is asked: the decision alone, in this process, with more suppliers and models than most
// have. Prints nanoseconds a call; a missed goal is a result and no failure.
import { RegionTree } from '../src/catalog/regions.ts'
import type { Policy } from '../src/config/routing.ts'
import { NO_LOAD } from '../src/core/load.ts'
import { toPicoUsd } from '../src/core/money.ts'
import { Secret } from '../src/core/secret.ts'
import { openaiChat } from '../src/dialects/openai-chat/index.ts'
import { DEFAULT_LIMITS } from '../src/pipeline/call.ts'
import { choose, type RouteAsk } from '../src/routing/choose.ts'
import { Lanes } from '../src/routing/lane.ts'
import { RESTING } from '../src/routing/reason.ts'
import { buildRoutes, Uses, type Route } from '../src/routing/routes.ts'
import type { ModelRoute, Supplier } from '../src/suppliers/supplier.ts'
import { createUpstream } from '../src/upstream/client.ts'

const SUPPLIERS = 10
const MODELS = 200
const CALLS = 200_000
const ROUNDS = 10
const GOAL_NS = 3000

interface Case {
  readonly name: string
  readonly policy?: Policy
  readonly ask?: Partial<RouteAsk>
  readonly credentials?: number
  readonly prepare?: (route: Route) => Partial<RouteAsk>
}

const CASES: readonly Case[] = [
  { name: 'nothing in the way' },
  { name: 'locked to a region', ask: { regions: ['EU'] } },
  { name: 'in a session', prepare: ({ candidates }) => ({ pin: candidates[7]!.lane.id }) },
  {
    name: 'one supplier rests',
    prepare({ candidates }) {
      for (const { lane } of candidates.slice(0, 1)) lane.standing = () => RESTING
      return {}
    },
  },
  { name: 'two credentials each', credentials: 2 },
  { name: 'by weight', policy: 'weight' },
  { name: 'the cheapest', policy: 'cheapest' },
  {
    name: 'the fastest',
    policy: 'fastest',
    prepare({ candidates }) {
      for (const [index, { lane }] of candidates.entries()) lane.whole.add(900 - index * 50, 0)
      return {}
    },
  },
]

function createSuppliers(credentials: number): readonly Supplier[] {
  return Array.from({ length: SUPPLIERS }, (_, at) => {
    const price = { input: toPicoUsd(1_000_000 - at), output: toPicoUsd(4_000_000 - at) }
    const route: ModelRoute = {
      as: 'theirs',
      prices: [{ from: 0, price }],
      ownedBy: 'maker',
      limits: { contextWindow: 128_000 },
      capabilities: ['tools', 'images'],
    }
    const models = new Map(Array.from({ length: MODELS }, (_, id) => [`model-${id}`, route]))
    return Array.from({ length: credentials }, (_, index) => ({
      id: `supplier-${at}`,
      origin: 'http://127.0.0.1:1',
      region: at % 2 === 0 ? 'EU' : 'US',
      credential: new Secret(`${at}-${index}`),
      signature: 'bearer' as const,
      services: [{ dialect: openaiChat, path: '/v1/chat/completions' }],
      quirks: { usage: 'ask' as const },
      timeouts: {},
      models,
      anyModel: undefined,
      allowPrivate: true,
    }))
  }).flat()
}

function measure({ policy = 'priority', ask, prepare, credentials = 1 }: Case): number {
  const routes = buildRoutes({
    suppliers: createSuppliers(credentials),
    upstreamOf: ({ origin }) => createUpstream({ origin, headers: {} }),
    timeouts: DEFAULT_LIMITS,
    uses: new Uses(),
    lanes: new Lanes(),
    regions: new RegionTree(),
    policy,
    wishes: {},
    aliases: {},
  })
  const asks = Array.from({ length: MODELS }, (_, id): RouteAsk => {
    const route = routes.find(`model-${id}`)!
    return {
      route,
      dialect: openaiChat,
      converts: true,
      regions: undefined,
      allowedModels: undefined,
      load: { ...NO_LOAD, bytes: 1000, messages: 2 },
      usesTools: true,
      stream: false,
      attemptsMax: 3,
      pin: undefined,
      isPinSlow: false,
      ...ask,
      ...prepare?.(route),
    }
  })
  const run = (calls: number): number => {
    let listed = 0
    for (let index = 0; index < calls; index++) {
      const moment = { at: index, now: 0, draw: (index % 1000) / 1000 }
      listed += choose(asks[index % MODELS]!, moment).attempts.length
    }
    return listed
  }
  run(CALLS)
  // The best of a few: what else the machine does can only make it slower.
  let best = Infinity
  for (let round = 0; round < ROUNDS; round++) {
    const start = Bun.nanoseconds()
    if (run(CALLS) === 0) throw new Error('nobody was listed')
    best = Math.min(best, (Bun.nanoseconds() - start) / CALLS)
  }
  return best
}

process.stdout.write(`Who is asked: ${SUPPLIERS} suppliers of ${MODELS} models, ns a call\n\n`)
for (const each of CASES) {
  const ns = Math.round(measure(each))
  const verdict = ns <= GOAL_NS ? '' : `  (goal: ${GOAL_NS})`
  process.stdout.write(`${each.name.padEnd(24)}${String(ns).padStart(6)}${verdict}\n`)
}

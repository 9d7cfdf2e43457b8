// Suppliers and models for questions about who is asked: a few words each, and a route made of them.
import { RegionTree } from '../../src/catalog/regions.ts'
import { NO_LOAD, type Load } from '../../src/core/load.ts'
import { toPicoUsd } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import type { Dialect } from '../../src/dialects/dialect.ts'
import { openaiChat } from '../../src/dialects/openai-chat/index.ts'
import { DEFAULT_LIMITS } from '../../src/pipeline/call.ts'
import type { Moment, RouteAsk } from '../../src/routing/choose.ts'
import { Lanes } from '../../src/routing/lane.ts'
import {
  buildRoutes,
  Uses,
  type Candidate,
  type Route,
  type RouteParts,
  type Routes,
} from '../../src/routing/routes.ts'
import type { ModelRoute, Supplier } from '../../src/suppliers/supplier.ts'
import { createUpstream } from '../../src/upstream/client.ts'
import { supplierAt } from './gateway.ts'

export const CHAT: Dialect = openaiChat
/** One that nothing can be converted into. */
export const OTHER_LANGUAGE: Dialect = withoutCodec(openaiChat)

function withoutCodec({ codec: _none, ...rest }: Dialect): Dialect {
  return { ...rest, id: 'other' }
}

/** `a`, `a#2` where it has several credentials, `a/model` where that stands in. */
export function label({ supplier, credential, rank, modelId }: Candidate): string {
  const which = credential === undefined ? supplier.id : `${supplier.id}#${credential}`
  return rank === 0 ? which : `${which}/${modelId}`
}

export interface Stall {
  readonly id: string
  readonly region?: string
  readonly credentials?: number
  readonly weight?: number
  /** Instead of the usual one, or beside it. */
  readonly otherLanguage?: true | 'too'
  /** Dollars a million tokens. */
  readonly input?: number
  readonly output?: number
  /** By the id of a model; `model` alone where absent. */
  readonly models?: Readonly<Record<string, Partial<ModelRoute>>>
}

function languagesOf({ otherLanguage }: Stall): readonly Dialect[] {
  if (otherLanguage === undefined) return [openaiChat]
  return otherLanguage === 'too' ? [openaiChat, OTHER_LANGUAGE] : [OTHER_LANGUAGE]
}

function toSuppliers(stall: Stall): readonly Supplier[] {
  const price = {
    input: toPicoUsd((stall.input ?? 1) * 1_000_000),
    output: toPicoUsd((stall.output ?? 1) * 1_000_000),
  }
  const route: ModelRoute = { as: 'theirs', prices: [{ from: 0, price }], ownedBy: 'maker' }
  const models = Object.entries(stall.models ?? { model: {} }).map(
    ([id, changes]) => [id, { ...route, ...changes }] as const,
  )
  return Array.from({ length: stall.credentials ?? 1 }, (_, index) =>
    supplierAt('http://127.0.0.1:1', {
      id: stall.id,
      region: stall.region ?? 'global',
      credential: new Secret(`${stall.id}-${index}`),
      services: languagesOf(stall).map((dialect) => ({ dialect, path: '/' })),
      models: new Map(models),
      ...(stall.weight !== undefined && { weight: stall.weight }),
    }),
  )
}

/** The route of `model`. */
export function routeOf(stalls: readonly Stall[], changes: Partial<RouteParts> = {}): Route {
  return routesOf(stalls, changes).find('model')!
}

export function routesOf(
  stalls: readonly Stall[],
  changes: Partial<RouteParts> = {},
  others: readonly Supplier[] = [],
): Routes {
  return buildRoutes({
    suppliers: [...stalls.flatMap(toSuppliers), ...others],
    upstreamOf: ({ origin }) => createUpstream({ origin, headers: {} }),
    timeouts: DEFAULT_LIMITS,
    uses: new Uses(),
    lanes: new Lanes(),
    regions: new RegionTree(),
    policy: 'priority',
    wishes: {},
    aliases: {},
    ...changes,
  })
}

/** Undefined where nobody has the label. */
export function findCandidate({ candidates }: Route, name: string): Candidate | undefined {
  return candidates.find((candidate) => label(candidate) === name)
}

export function candidateOf(route: Route, name: string): Candidate {
  return findCandidate(route, name)!
}

/** A call that asks for nothing in particular. */
export const NO_WISH: Omit<RouteAsk, 'route'> = {
  dialect: CHAT,
  converts: true,
  regions: undefined,
  allowedModels: undefined,
  load: NO_LOAD,
  usesTools: false,
  stream: false,
  attemptsMax: 3,
  pin: undefined,
  isPinSlow: false,
}
export const MOMENT: Moment = { at: 0, now: 0, draw: 0 }

export const load = (changes: Partial<Load>): { readonly load: Load } => ({
  load: { ...NO_LOAD, ...changes },
})

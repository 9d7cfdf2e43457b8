// The model `auto`: of the models that a key may use, one that can do what the call needs and that the operator's
// policy prefers. It only looks; where a session was answered before is told to it, and the session stays there.
import type { Capability } from '../catalog/model.ts'
import { toTokenPrice } from '../catalog/price.ts'
import type { AutoConfig } from '../config/auto.ts'
import { GatewayError } from '../core/problem.ts'
import type { Price, Usage } from '../core/usage.ts'
import { costOf, priceAt, ratesFor } from '../ledger/cost/price.ts'
import { findAttempt, findBar, likelyUsage, type Moment, type Need } from './choose.ts'
import {
  LISTED,
  NO_AUDIO,
  NO_IMAGES,
  NO_TOOLS,
  OTHER_ENDPOINT,
  OUTSIDE,
  TOO_LONG,
} from './reason.ts'
import { lacks, type Candidate, type Route, type Routes } from './routes.ts'

export const AUTO = 'auto'

/** What a call needs of the model that is chosen for it. */
export interface AutoAsk extends Need {
  /** Of the endpoint that it is asked at. */
  readonly path: string
  readonly asksReasoning: boolean
  /** What another language cannot say would be refused, so who speaks the caller's goes first. */
  readonly refusesLosses: boolean
  /** The lane that answered the session before. */
  readonly pin: string | undefined
}

type AutoMoment = Pick<Moment, 'at' | 'now'>

/** What is in the way of a model, by how close it comes to being chosen. */
const BARS = ['region', 'language', 'images', 'audio', 'tools', 'length', 'price'] as const
type Bar = (typeof BARS)[number]

const BAR_OF: Readonly<Record<number, Bar>> = {
  [OUTSIDE]: 'region',
  [OTHER_ENDPOINT]: 'language',
  [NO_IMAGES]: 'images',
  [NO_AUDIO]: 'audio',
  [NO_TOOLS]: 'tools',
  [TOO_LONG]: 'length',
}

/** A model that could be chosen. */
interface Option {
  readonly route: Route
  /** The lower, the better; nothing else counts between two grades. */
  readonly grade: number
  /** What the call is likely to cost there. */
  readonly cost: number
  /** It is spoken to in the caller's own language. */
  readonly isNative: boolean
}

const DOUBTFUL = 1
/** Whoever serves it rests or has asked for a pause: worse than any doubt. */
const ILL = 2

const PATHS: Readonly<Record<AutoConfig['endpoints'][number], string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
}
/** A list of models is read by callers of either. */
const LISTED_AT = ['messages', 'chat'] as const

/** What may be chosen from. */
interface Pool {
  readonly routes: readonly Route[]
  /** By whoever serves the model itself: where a session was answered before. */
  readonly byLane: ReadonlyMap<string, Route>
}

function toPool(routes: readonly Route[]): Pool {
  const byLane = new Map<string, Route>()
  for (const route of routes)
    for (const { rank, lane } of route.candidates)
      if (rank === 0 && !byLane.has(lane.id)) byLane.set(lane.id, route)
  return { routes, byLane }
}

export class Auto {
  readonly #routes: Routes
  readonly #config: AutoConfig
  readonly #priceMax: Ceiling
  readonly #pool: Pool
  // A key's list is the same object from call to call, and these routes outlive no configuration.
  readonly #pools = new WeakMap<readonly string[], Pool>()

  constructor(routes: Routes, config: AutoConfig) {
    this.#routes = routes
    this.#config = config
    this.#priceMax = toCeiling(config.price_max)
    this.#pool = toPool(findRoutes(routes, config).map(toAuto))
  }

  /** Whoever finds it in a list of models may ask for it in a chat as well as in messages. */
  get isListed(): boolean {
    return LISTED_AT.every((name) => this.#config.endpoints.includes(name))
  }

  /** The route of the model that is chosen. Throws where none fits, or where nobody is to ask for it. */
  pick(ask: AutoAsk, moment: AutoMoment): Route {
    this.#checkPlace(ask.path)
    const { routes, byLane } = this.#poolOf(ask.allowedModels)
    const usage = likelyUsage(ask.load)
    const question = { ask, moment, usage, priceMax: this.#priceMax, needs: needsOf(ask) }
    const judge = (route: Route): Option | Bar => judgeRoute(route, question)
    const last = ask.pin === undefined ? undefined : byLane.get(ask.pin)
    const kept = last && judge(last)
    if (isOption(kept) && kept.grade === 0) return kept.route
    const judged = routes.map(judge)
    const best = this.#best(judged.filter(isOption))
    if (best === undefined) throw noCandidate(routes, judged, ask)
    return isOption(kept) && kept.grade === best.grade ? kept.route : best.route
  }

  #checkPlace(path: string): void {
    const { endpoints } = this.#config
    if (endpoints.some((name) => `${path}/`.startsWith(`${PATHS[name]}/`))) return
    const places = endpoints.map((name) => `POST ${PATHS[name]}`).join(' or ')
    const where = places === '' ? '' : `Ask for it at ${places}, or `
    const what = places === '' ? 'is switched off' : 'is not offered at this endpoint'
    const then = `${where}${where === '' ? 'Name' : 'name'} a model: GET /v1/models lists what this key may use.`
    throw new GatewayError('unsupported_auto_mode', `The model \`${AUTO}\` ${what}. ${then}`, {
      param: 'model',
    })
  }

  #poolOf(allowed: readonly string[] | undefined): Pool {
    if (allowed === undefined) return this.#pool
    const known = this.#pools.get(allowed)
    if (known !== undefined) return known
    const own = this.#pool.routes.flatMap((route) => narrow(route, allowed, this.#routes))
    const pool = toPool(own)
    this.#pools.set(allowed, pool)
    return pool
  }

  /** Of equals the first. */
  #best(options: readonly Option[]): Option | undefined {
    const { policy, models } = this.#config
    const isRanked = policy === 'best' && models !== undefined
    const sign = policy === 'best' ? -1 : 1
    let best: Option | undefined
    for (const option of options) {
      const difference =
        best === undefined
          ? -1
          : option.grade - best.grade ||
            (isRanked ? 0 : sign * (option.cost - best.cost) || preferNative(option, best))
      if (difference < 0) best = option
    }
    return best
  }
}

function preferNative(one: Option, other: Option): number {
  return Number(other.isNative) - Number(one.isNative)
}

function isOption(judged: Option | Bar | undefined): judged is Option {
  return typeof judged === 'object'
}

/** In the operator's order, else in that of the suppliers. */
function findRoutes(routes: Routes, { models }: AutoConfig): readonly Route[] {
  if (models !== undefined) return models.flatMap((name) => routes.find(name) ?? [])
  return routes.models.flatMap(({ id, aliasOf }) => {
    const route = aliasOf === undefined ? routes.find(id) : undefined
    if (route === undefined) return []
    const isNobodys = route.candidates.some(
      (candidate) => candidate.route.byNameOnly === true || candidate.route.task !== undefined,
    )
    return isNobodys ? [] : route
  })
}

/** The same lists under the name that was asked for. */
function toAuto(route: Route): Route {
  return { ...route, name: AUTO, isAuto: true }
}

/**
 * What of a model a key may use: all of it, or by another name for it, or at one supplier alone, as its list says;
 * nothing where that names neither.
 */
function narrow(route: Route, allowed: readonly string[], routes: Routes): readonly Route[] {
  if (route.names.some((name) => allowed.includes(name))) return [route]
  const { modelId } = route.candidates[0]!
  for (const name of allowed) {
    const found = routes.find(name)
    if (found === undefined || found.candidates[0]!.modelId !== modelId) continue
    if (found.candidates.every((each) => route.candidates.includes(each))) return [toAuto(found)]
  }
  return []
}

/** What is the same for all models. */
interface Question {
  readonly ask: AutoAsk
  readonly moment: AutoMoment
  readonly usage: Usage
  readonly priceMax: Ceiling
  readonly needs: readonly Capability[]
}

function needsOf({ load, usesTools, asksReasoning }: AutoAsk): readonly Capability[] {
  const needs: Capability[] = []
  if (load.images > 0) needs.push('images')
  if (load.asksAudio || load.audioBytes > 0) needs.push('audio')
  if (usesTools) needs.push('tools')
  if (asksReasoning) needs.push('reasoning')
  return needs
}

/**
 * A model is as good as the best who serves it. It costs what that one asks: the first of several, or the cheapest
 * where that is who is asked. Nobody who could answer may ask for more than the ceiling.
 */
function judgeRoute(route: Route, question: Question): Option | Bar {
  const { ask, moment, usage, priceMax } = question
  let best: Option | undefined
  let closest: Bar = 'region'
  for (const candidate of route.candidates) {
    if (candidate.rank > 0) continue
    const bar = barOf(candidate, ask)
    if (bar !== undefined) {
      closest = closerOf(closest, bar)
      continue
    }
    const price = priceAt(candidate.route.prices, moment.at)
    if (isAbove(price, usage, priceMax)) return 'price'
    const cost = costOf(usage, price)
    const grade = gradeOf(candidate, question)
    const isLess = best === undefined || grade < best.grade
    if (isLess || (route.policy === 'cheapest' && grade === best!.grade && cost < best!.cost))
      best = { route, grade, cost, isNative: isNative(candidate, ask) }
  }
  return best ?? closest
}

function barOf(candidate: Candidate, ask: AutoAsk): Bar | undefined {
  return BAR_OF[findBar(ask, candidate)]
}

function closerOf(one: Bar, other: Bar): Bar {
  return BARS.indexOf(other) > BARS.indexOf(one) ? other : one
}

function isNative(candidate: Candidate, ask: AutoAsk): boolean {
  return findAttempt(candidate, ask)?.dialect.id === ask.dialect.id
}

function gradeOf(candidate: Candidate, question: Question): number {
  const isIll = candidate.lane.standing(question.moment.now) !== LISTED
  return (isIll ? ILL : 0) + (isDoubtful(candidate, question) ? DOUBTFUL : 0)
}

/** It may do, and nobody knows: chosen only where nothing is known to do. */
function isDoubtful(candidate: Candidate, { ask, usage, needs }: Question): boolean {
  const { capabilities } = candidate.route
  if (needs.length > 0 && capabilities === undefined) return true
  // Agents ask for it with every call, and can do without.
  if (ask.asksReasoning && lacks(candidate, 'reasoning')) return true
  if (ask.refusesLosses && !isNative(candidate, ask)) return true
  return isLikelyTooLong(candidate, ask, usage)
}

/** By what text usually counts for, with room for the answer that the caller allows. */
function isLikelyTooLong(
  { route: { limits } }: Candidate,
  { load }: AutoAsk,
  usage: Usage,
): boolean {
  if (limits?.contextWindow === undefined) return false
  const wanted = load.maxTokens ?? usage.outputTokens
  const output = Math.min(wanted, limits.outputCeiling ?? wanted)
  return usage.inputTokens + output > limits.contextWindow
}

/** Pico-dollars a token. */
interface Ceiling {
  readonly input: number
  readonly output: number
}

function toCeiling({ input, output }: NonNullable<AutoConfig['price_max']> = {}): Ceiling {
  return {
    input: input === undefined ? Infinity : toTokenPrice(input),
    output: output === undefined ? Infinity : toTokenPrice(output),
  }
}

function isAbove(price: Price, usage: Usage, ceiling: Ceiling): boolean {
  const { input, output } = ratesFor(usage, price)
  return input > ceiling.input || output > ceiling.output
}

/** Completed by the models that each rules out. */
const BAR_TEXTS: Readonly<Record<Bar, string>> = {
  region: 'the region that it must stay in rules out',
  language: 'the language of this endpoint rules out',
  images: 'images rule out',
  audio: 'audio rules out',
  tools: 'tools rule out',
  length: 'the prompt is too long for',
  price: `the price limit of \`${AUTO}\` rules out`,
}

const NAMED_MAX = 5

function noCandidate(
  pool: readonly Route[],
  judged: readonly (Option | Bar)[],
  { allowedModels }: AutoAsk,
): GatewayError {
  const options = { param: 'model' } as const
  if (pool.length === 0)
    return new GatewayError(
      'autorouter_no_candidate',
      allowedModels === undefined
        ? `There is no model that \`${AUTO}\` could choose. Have the operator add a supplier, or name models under \`auto.models\`.`
        : `No model on this key's list is one that \`${AUTO}\` could choose. Have a model added to the list, or name a model that is on it.`,
      options,
    )
  const ruled = BARS.flatMap((bar) => {
    const names = pool.flatMap((route, index) => (judged[index] === bar ? route.names[0]! : []))
    return names.length === 0 ? [] : [{ bar, names }]
  })
  // What is served elsewhere is nothing that a key which is locked to a place is shown by name.
  const told = ruled.map(
    ({ bar, names }) => `${BAR_TEXTS[bar]} ${bar === 'region' ? names.length : listNames(names)}`,
  )
  return new GatewayError(
    'autorouter_no_candidate',
    `No model fits this call, of ${pool.length} that \`${AUTO}\` could choose for this key: ${told.join('; ')}. Do without one of these, name a model yourself, or have the operator serve a model that fits.`,
    {
      ...options,
      details: {
        ruled_out: Object.fromEntries(ruled.map(({ bar, names }) => [bar, names.length])),
      },
    },
  )
}

function listNames(names: readonly string[]): string {
  const more = names.length - NAMED_MAX
  return names.slice(0, NAMED_MAX).join(', ') + (more > 0 ? ` and ${more} more` : '')
}

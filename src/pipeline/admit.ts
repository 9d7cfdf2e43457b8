// Decides whether this caller may ask for this at all: the body is well-formed, the model exists, and
// the key allows model and region. Nothing here waits, and nothing here costs money.
import { GatewayError } from '../core/problem.ts'
import type { KeyRecord } from '../core/key.ts'
import { isNoPlace } from '../core/region.ts'
import { SESSION_LENGTH_MAX } from '../dialects/dialect.ts'
import type { RegionTree } from '../catalog/regions.ts'
import { AUTO } from '../routing/auto.ts'
import type { CallPlace } from '../routing/choose.ts'
import type { Route } from '../routing/routes.ts'
import { findSession } from '../routing/session-id.ts'
import type { Admitted, Plant, Received } from './call.ts'
import { findNative, onlyNative, placeOf } from './native.ts'

const QUOTED_LENGTH_MAX = 64

export function admit(call: Received, plant: Plant): Admitted {
  const sessionHeader = checkSession(call.sessionHeader)
  const facts = call.form?.facts ?? call.dialect.peek(call.body)
  const passed = call.dialect.relay.headers?.(call.headers)
  call.asked.model = facts.model
  call.asked.stream = facts.stream
  const { named, place } = findNamed(call, facts.model, plant)
  if (named === undefined && facts.model !== AUTO) throw unknownModel(facts.model, plant)
  const regions = narrowRegions(call.key, facts.region, plant.routes.regions)
  const route = named ?? pick({ ...call, sessionHeader, facts, regions }, plant)
  call.asked.route = route
  checkModel(call.key, route)
  const rate = plant.rates.take(call.key, plant.clock.elapsed())
  return { ...call, sessionHeader, facts, passed, route, place, regions, rate }
}

interface Named {
  readonly named: Route | undefined
  readonly place: CallPlace | undefined
}

/** By name alone; whoever asks by sign-ins has routes of its own. */
function findNamed(call: Received, model: string, plant: Plant): Named {
  if (call.dialect.isNative !== true) return { named: plant.routes.find(model), place: undefined }
  const place = placeOf(call, plant.directory)
  return { named: findNative(call, model, plant), place }
}

/** A call before it is known who could answer it. */
type Unrouted = Pick<Admitted, keyof Received | 'facts' | 'regions'>

/** Leaves nothing behind: a session is remembered when somebody has answered it. */
function pick(call: Unrouted, plant: Plant): Route {
  const { path, dialect, key, facts, regions, at } = call
  const { load, usesTools, asksReasoning } = facts
  return plant.auto.pick(
    {
      path,
      dialect,
      converts: true,
      regions,
      allowedModels: key.allowedModels,
      load,
      usesTools,
      asksReasoning,
      refusesLosses: plant.refusesLosses,
      pin: findPin(call, plant),
    },
    { at, now: plant.clock.elapsed() },
  )
}

/** Who answered its session before, whichever model that was. */
function findPin(call: Unrouted, { sessions, clock }: Plant): string | undefined {
  const { sessionHeader: header, facts, headers, body, key } = call
  const { max, infers } = sessions.policy
  if (max === 0) return undefined
  const id = findSession({ header, facts, headers, body }, infers ? 'inferred' : 'sent')
  if (id === undefined) return undefined
  return sessions.open(id, { accountId: key.accountId, route: ANY_MODEL }, clock.elapsed()).pin
}

const ANY_MODEL = { name: AUTO, candidates: [] } as const

function checkSession(session: string | undefined): string | undefined {
  if (session === undefined || session === '') return undefined
  if (session.length <= SESSION_LENGTH_MAX) return session
  throw new GatewayError(
    'validation_error',
    `The X-Session-Id header exceeds ${SESSION_LENGTH_MAX} characters.`,
    { param: 'X-Session-Id' },
  )
}

function unknownModel(model: string, { natives }: Plant): GatewayError {
  if (natives.serving(model).length > 0) return onlyNative()
  // What a log, a terminal or an eye could take for something else is shown as its number.
  const name = JSON.stringify(model.slice(0, QUOTED_LENGTH_MAX)).replaceAll(
    /[\p{C}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`,
  )
  return new GatewayError(
    'model_not_found',
    `No model is called ${name}. GET /v1/models lists what this key may use.`,
    { param: 'model' },
  )
}

/**
 * The key's list holds names of models; a pinned spelling of an allowed model is allowed too, and so is another name
 * for it. What stands in for a model is looked at when the list is made.
 */
function checkModel({ allowedModels }: KeyRecord, { names }: Route): void {
  if (allowedModels === undefined) return
  for (const name of names) if (allowedModels.includes(name)) return
  throw new GatewayError(
    'model_not_allowed',
    'This key may not use that model. Ask for a model on its list or have the list extended.',
    { param: 'model' },
  )
}

/** A region named by the call may narrow what the key allows, never widen it: what is in both counts. */
function narrowRegions(
  { allowedRegions: allowed }: KeyRecord,
  region: string | undefined,
  tree: RegionTree,
): readonly string[] | undefined {
  if (region === undefined) return allowed
  // To ask for no place is to ask for nothing; of a locked key it would be to ask for what is outside.
  if (allowed === undefined) return isNoPlace(region) ? undefined : [region]
  const common = new Set(allowed.flatMap((each) => tree.meet(each, region) ?? []))
  if (common.size > 0) return [...common]
  throw new GatewayError(
    'permission_denied',
    `This key is locked to ${allowed.join(', ')}; leave \`region\` out, or name one of these or a region inside of them.`,
    { param: 'region', details: { regions: allowed } },
  )
}

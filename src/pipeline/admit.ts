// Decides whether this caller may ask for this at all: the body is well-formed, the model exists, and
// the key allows model and region. Nothing here waits, and nothing here costs money.
import { GatewayError } from '../core/problem.ts'
import type { KeyRecord } from '../core/key.ts'
import { SESSION_LENGTH_MAX } from '../dialects/dialect.ts'
import type { Candidate } from '../suppliers/routes.ts'
import type { Admitted, Plant, Received } from './call.ts'

const QUOTED_LENGTH_MAX = 64

export function admit(call: Received, plant: Plant): Admitted {
  const sessionHeader = checkSession(call.sessionHeader)
  const facts = call.dialect.peek(call.body)
  call.asked.model = facts.model
  call.asked.stream = facts.stream
  const candidates = plant.routes.find(facts.model)
  if (candidates === undefined) throw unknownModel(facts.model)
  const regions = narrowRegions(call.key, facts.region)
  checkModel(call.key, facts.model, candidates)
  const rate = plant.rates.take(call.key, plant.clock.elapsed())
  const sessionId = sessionHeader ?? facts.sessionId
  return { ...call, facts, candidates, regions, sessionId, rate }
}

function checkSession(session: string | undefined): string | undefined {
  if (session === undefined || session === '') return undefined
  if (session.length <= SESSION_LENGTH_MAX) return session
  throw new GatewayError(
    'validation_error',
    `The X-Session-Id header exceeds ${SESSION_LENGTH_MAX} characters.`,
    { param: 'X-Session-Id' },
  )
}

function unknownModel(model: string): GatewayError {
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

/** The key's list holds plain model ids; a pinned spelling of an allowed model is allowed too. */
function checkModel(key: KeyRecord, model: string, candidates: readonly Candidate[]): void {
  const { allowedModels } = key
  if (allowedModels === undefined || allowedModels.includes(model)) return
  if (candidates.every(({ modelId }) => allowedModels.includes(modelId))) return
  throw new GatewayError(
    'model_not_allowed',
    'This key may not use that model. Ask for a model on its list or have the list extended.',
    { param: 'model' },
  )
}

/** A region named by the call may narrow what the key allows, never widen it. */
function narrowRegions(key: KeyRecord, region: string | undefined): readonly string[] | undefined {
  const allowed = key.allowedRegions
  if (region === undefined) return allowed
  if (allowed === undefined || allowed.includes(region)) return [region]
  throw new GatewayError(
    'permission_denied',
    `This key is locked to ${allowed.join(', ')}; leave \`region\` out or name one of these.`,
    { param: 'region' },
  )
}

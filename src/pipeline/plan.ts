// Decides who may answer and in which order. The list is made once, before any money is held, and
// nothing that comes later can leave it.
import { GatewayError } from '../core/problem.ts'
import type { Attempt, Candidate } from '../suppliers/routes.ts'
import type { Admitted, Planned, Plant } from './call.ts'

export function plan(call: Admitted, plant: Plant): Planned {
  const attempts: Attempt[] = []
  let isServed = false
  let suppliers = 0
  for (const candidate of call.candidates) {
    if (!isInside(call, candidate)) continue
    isServed = true
    const attempt = findAttempt(call, candidate)
    if (attempt === undefined) continue
    // Several credentials of one supplier stand beside each other and are one supplier.
    if (attempts.at(-1)?.supplier.id !== attempt.supplier.id) suppliers += 1
    if (suppliers > plant.limits.attemptsMax) break
    attempts.push(attempt)
  }
  if (attempts.length > 0) return { ...call, attempts }
  throw isServed ? wrongEndpoint() : noCompliantRoute(call)
}

/** A region is a wall: a supplier that promises no place is inside of none. */
function isInside(call: Admitted, candidate: Candidate): boolean {
  return call.regions === undefined || call.regions.includes(candidate.supplier.region)
}

function noCompliantRoute(call: Admitted): GatewayError {
  const regions = call.regions?.join(', ') ?? ''
  const places = [...new Set(call.candidates.map(({ supplier }) => supplier.region))].join(', ')
  return new GatewayError(
    'sovereign_route_unavailable',
    `No configured supplier serves this model in ${regions}; nothing was sent. It is served in ${places}.`,
    { status: 403, param: 'region', details: { regions: call.regions } },
  )
}

function wrongEndpoint(): GatewayError {
  return new GatewayError(
    'capability_unsupported',
    'This model cannot be used on this endpoint. GET /v1/models lists the models there are.',
    { param: 'model' },
  )
}

/** Undefined where the supplier does not speak the caller's language. */
function findAttempt({ dialect, at }: Admitted, { attempts }: Candidate): Attempt | undefined {
  for (const attempt of attempts)
    if (attempt.dialect.id === dialect.id) {
      attempt.use.at = at
      return attempt
    }
  return undefined
}

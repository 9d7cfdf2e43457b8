// Problems in the chat-completions language. Clients match on a supplier's own code and wording, so
// both survive; only what a supplier left out is filled in.
import { toEnvelope } from '../../core/envelope.ts'
import { chatType, GatewayError, isProblemCode, type ProblemCode } from '../../core/problem.ts'
import type { ProblemCodec } from '../dialect.ts'
import { isErrorStatus, readErrorBody } from '../error-body.ts'

/** How suppliers call an account without money, whatever the status. */
const SPENT = new Set(['insufficient_quota', 'billing_hard_limit_reached', 'billing_not_active'])

export const problem: ProblemCodec = {
  encode: (error) => JSON.stringify({ error: toEnvelope(error, chatType) }),

  frame: (error) => `data: ${JSON.stringify({ error: toEnvelope(error, chatType) })}\n\n`,

  decode(status, body) {
    const { origin, text } = readErrorBody(body)
    const { code } = origin
    return new GatewayError(asProblemCode(code), text, {
      origin,
      retryable: false,
      status: isErrorStatus(status) ? status : inBandStatus(code),
    })
  },

  isSpent: ({ origin }) => SPENT.has(origin?.code ?? '') || SPENT.has(origin?.type ?? ''),
}

function asProblemCode(code: string | undefined): ProblemCode {
  return code !== undefined && isProblemCode(code) ? code : 'provider_error'
}

/** An error inside a 200 has no status of its own, unless its code is one. */
function inBandStatus(code: string | undefined): number {
  const status = Number(code)
  return isErrorStatus(status) ? status : 502
}

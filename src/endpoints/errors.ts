// The catalogue of error codes, for clients that want to explain a code or decide what to do about it.
import { chatType, findProblem, GatewayError, messagesType } from '../core/problem.ts'
import { PROBLEMS } from '../core/problems/index.ts'
import type { Problem } from '../core/problems/problem.ts'
import { json } from '../http/reply.ts'
import type { KeyedEndpoint } from './endpoint.ts'

export const listErrors: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/errors',
  role: 'any',
  answer: (exchange) =>
    json(exchange.id, {
      object: 'list',
      data: Object.entries(PROBLEMS).map(([code, problem]) => describe(code, problem)),
    }),
}

export const getError: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/errors/{code}',
  role: 'any',
  answer(exchange) {
    const code = exchange.params['code'] ?? ''
    const problem = findProblem(code)
    if (problem === undefined)
      throw new GatewayError('not_found', 'No error has this code. GET /v1/errors lists them all.')
    return json(exchange.id, describe(code, problem))
  },
}

function describe(code: string, problem: Problem): Readonly<Record<string, unknown>> {
  return {
    object: 'error_code',
    code,
    status: problem.status,
    statuses: [problem.status, ...(problem.also ?? [])],
    type: chatType(problem.status),
    messages_type: messagesType(problem.status),
    group: problem.group,
    blame: problem.blame,
    retryable: problem.retryable === true,
    raised: problem.raised,
    explanation: problem.explanation,
    action: problem.action,
  }
}

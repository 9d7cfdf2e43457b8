// The one error class and the pure functions around the table.
import { describe, expect, it } from 'bun:test'
import {
  advise,
  asGatewayError,
  chatType,
  findProblem,
  GatewayError,
  isProblemCode,
  messagesType,
  splitMessage,
} from './problem.ts'
import { PROBLEMS } from './problems/index.ts'

describe('splitMessage', () => {
  it('splits after a valid code', () => {
    expect(splitMessage('model_not_found - No such model.')).toEqual({
      code: 'model_not_found',
      text: 'No such model.',
    })
  })

  it('splits at the first separator only', () => {
    expect(splitMessage('conflict - a - b - c')).toEqual({ code: 'conflict', text: 'a - b - c' })
  })

  it('leaves a message alone whose prefix is no code', () => {
    for (const message of [
      'constructor - x',
      'toString - x',
      '__proto__ - x',
      'hasOwnProperty - x',
      'Model_Not_Found - x',
      ' model_not_found - x',
      'see model_not_found - x',
      ' - x',
    ])
      expect(splitMessage(message)).toEqual({ text: message })
  })

  it('leaves a message alone that has no exact separator', () => {
    for (const message of ['', 'conflict', 'conflict-x', 'conflict -x', 'conflict: x'])
      expect(splitMessage(message)).toEqual({ text: message })
  })
})

describe('looking up a code', () => {
  it('knows the codes of the table and nothing that objects inherit', () => {
    expect(isProblemCode('budget_exceeded')).toBe(true)
    expect(isProblemCode('constructor')).toBe(false)
    expect(findProblem('budget_exceeded')?.status).toBe(402)
    expect(findProblem('valueOf')).toBeUndefined()
  })
})

describe('GatewayError', () => {
  it('takes status and text from the table unless the raise gives its own', () => {
    const plain = new GatewayError('sovereign_route_unavailable')
    expect(plain.status).toBe(503)
    expect(plain.message).toContain('region')
    const raised = new GatewayError('sovereign_route_unavailable', 'No route in EU.', {
      status: 403,
      retryable: false,
      param: 'region',
    })
    expect(raised).toMatchObject({ status: 403, message: 'No route in EU.', param: 'region' })
    expect(raised.retryable).toBe(false)
  })

  it.each([
    [0, 1],
    [-5, 1],
    [0.2, 1],
    [1, 1],
    [6.1, 7],
    [60, 60],
    [61, 60],
    [86_400, 60],
  ])('sends a wait of %d s as %d', (asked, sent) => {
    expect(new GatewayError('conflict', 'x', { retryAfter: asked }).retryAfter).toBe(sent)
  })

  it('drops a wait that is no number', () => {
    for (const retryAfter of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const error = new GatewayError('conflict', 'x', { retryAfter })
      expect(error.retryAfter).toBeUndefined()
      expect(error.retryable).toBe(false)
    }
  })

  it('is retryable by the table, by a wait or by the raise, which has the last word', () => {
    expect(new GatewayError('rate_limit_exceeded').retryable).toBe(true)
    expect(new GatewayError('validation_error').retryable).toBe(false)
    expect(new GatewayError('conflict', 'x', { retryAfter: 3 }).retryable).toBe(true)
    expect(new GatewayError('internal_error', 'x', { retryable: false }).retryable).toBe(false)
  })

  it('shows a supplier code on the wire where there is one', () => {
    expect(new GatewayError('provider_error').wireCode).toBe('provider_error')
    const origin = { code: 'string_above_max_length' }
    expect(new GatewayError('provider_error', 'x', { origin }).wireCode).toBe(origin.code)
  })

  it('answers billing_limit_reached with 403 and permission_error', () => {
    const error = new GatewayError('billing_limit_reached')
    expect(error.status).toBe(403)
    expect(chatType(error.status)).toBe('permission_error')
    expect(messagesType(error.status)).toBe('permission_error')
    expect(error.retryable).toBe(false)
  })
})

describe('types by status', () => {
  it.each([
    [400, 'invalid_request_error', 'invalid_request_error'],
    [401, 'authentication_error', 'authentication_error'],
    [402, 'permission_error', 'billing_error'],
    [403, 'permission_error', 'permission_error'],
    [404, 'invalid_request_error', 'not_found_error'],
    [405, 'invalid_request_error', 'invalid_request_error'],
    [408, 'timeout_error', 'timeout_error'],
    [409, 'invalid_request_error', 'conflict_error'],
    [412, 'invalid_request_error', 'invalid_request_error'],
    [413, 'invalid_request_error', 'invalid_request_error'],
    [415, 'invalid_request_error', 'invalid_request_error'],
    [417, 'invalid_request_error', 'invalid_request_error'],
    [422, 'invalid_request_error', 'invalid_request_error'],
    [429, 'rate_limit_error', 'rate_limit_error'],
    [431, 'invalid_request_error', 'invalid_request_error'],
    [500, 'api_error', 'api_error'],
    [502, 'api_error', 'api_error'],
    [503, 'api_error', 'api_error'],
    [504, 'timeout_error', 'timeout_error'],
    [529, 'api_error', 'overloaded_error'],
  ])('%d is %s in chat style and %s in messages style', (status, chat, messages) => {
    expect(chatType(status)).toBe(chat)
    expect(messagesType(status)).toBe(messages)
  })
})

describe('asGatewayError', () => {
  it('hands a problem on as it is', () => {
    const error = new GatewayError('not_found')
    expect(asGatewayError(error)).toBe(error)
  })

  it('keeps foreign text out of the message and in the cause', () => {
    for (const thrown of [new Error('password hunter2 at /etc/secret'), 'hunter2', undefined, 7]) {
      const error = asGatewayError(thrown)
      expect(error.code).toBe('internal_error')
      expect(error.status).toBe(500)
      expect(error.message).not.toContain('hunter2')
      expect(error.cause).toBe(thrown)
    }
  })
})

describe('advice', () => {
  it('follows what happened, in the words of the table', () => {
    expect(advise('empty_response', 'The supplier sent nothing.').message).toBe(
      `The supplier sent nothing. ${PROBLEMS.empty_response.action}`,
    )
  })
})

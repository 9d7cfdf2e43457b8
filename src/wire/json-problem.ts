// What is wrong with a JSON body, said to whoever sent it, in the same words on every path.
import { GatewayError } from '../core/problem.ts'
import type { JsonFault } from './json-cursor.ts'

export function asBodyProblem(fault: JsonFault): GatewayError {
  if (fault.kind === 'ambiguous') {
    const text = `Send \`${fault.message}\` once and in its plain spelling.`
    return new GatewayError('validation_error', text, { param: fault.message })
  }
  const code = fault.kind === 'limit' ? 'validation_error' : 'invalid_json'
  return new GatewayError(code, `The body is refused at byte ${fault.offset}: ${fault.message}.`)
}

export function emptyBody(): GatewayError {
  return new GatewayError('invalid_json', 'The body is empty. Send a JSON object.')
}

export function notUtf8(): GatewayError {
  return new GatewayError('invalid_json', 'The body is not valid UTF-8.')
}

export function notAnObject(): GatewayError {
  return new GatewayError('validation_error', 'The body must be a JSON object.')
}

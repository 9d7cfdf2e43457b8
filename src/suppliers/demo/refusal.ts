// How the demo supplier says no, in the shape of the language at hand, as clients match on its wording. A refusal
// is thrown where it is found and rendered by the server alone.
import type { Task } from '../../core/task.ts'

/** What a model is spoken to in. What is no chat has one language a task, by the task's name. */
export type Language = 'messages' | 'responses' | 'native' | Task

export interface ErrorFields {
  readonly message: string
  readonly type: string
  readonly code: string | null
  readonly param: string | null
}

export class DemoRefusal extends Error {
  readonly status: number
  readonly fields: ErrorFields

  constructor(status: number, fields: ErrorFields) {
    super(fields.message)
    this.name = 'DemoRefusal'
    this.status = status
    this.fields = fields
  }
}

export function printError(fields: ErrorFields, language: Language = 'chat'): string {
  const { message, type, param, code } = fields
  if (language === 'messages') {
    const known = type === 'server_error' ? 'api_error' : type
    return JSON.stringify({ type: 'error', error: { type: known, message } })
  }
  return JSON.stringify({ error: { message, type, param, code } })
}

export function badRequest(message: string, param: string, code = 'invalid_value'): DemoRefusal {
  return new DemoRefusal(400, { message, type: 'invalid_request_error', code, param })
}

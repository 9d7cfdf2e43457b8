// A chat request while it is read: what was found so far and the first thing that is wrong with it.
import { GatewayError, type ProblemCode } from '../../core/problem.ts'
import type { JsonCursor } from '../../wire/json-cursor.ts'
import type { Member } from '../../wire/json-splice.ts'

export interface Draft {
  readonly cursor: JsonCursor
  fault: GatewayError | undefined
  model: string
  hasMessages: boolean
  stream: boolean
  maxTokens: number | undefined
  choices: number
  region: string | undefined
  sessionId: string | undefined
  stickyKey: string | undefined
  asksUsage: boolean
  metadata: Member[] | undefined
  streamOptions: Member[] | undefined
}

export function createDraft(cursor: JsonCursor): Draft {
  return {
    cursor,
    fault: undefined,
    model: '',
    hasMessages: false,
    stream: false,
    maxTokens: undefined,
    choices: 1,
    region: undefined,
    sessionId: undefined,
    stickyKey: undefined,
    asksUsage: false,
    metadata: undefined,
    streamOptions: undefined,
  }
}

/** Passes over a value of the wrong kind and remembers that it was wrong. */
export function refuse(draft: Draft, field: string, rule: string): void {
  draft.cursor.skip()
  fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
}

export function fault(draft: Draft, code: ProblemCode, param: string, text: string): void {
  draft.fault ??= new GatewayError(code, text, { param })
}

// A request while it is read: what was found so far and the first thing that is wrong with it.
import { NO_LOAD, type Load, type Span } from '../core/load.ts'
import { GatewayError, type ProblemCode } from '../core/problem.ts'
import type { JsonCursor } from '../wire/json-cursor.ts'
import type { Member } from '../wire/json-splice.ts'
import type { Thought } from './dialect.ts'

export interface Draft {
  readonly cursor: JsonCursor
  readonly body: Uint8Array
  readonly load: DraftLoad
  fault: GatewayError | undefined
  model: string
  stream: boolean
  region: string | undefined
  sessionId: string | undefined
  stickyKey: string | undefined
  readonly opening: number[]
  /** The first message of a user has been read. */
  isOpened: boolean
  goesOn: boolean
  asksUsage: boolean
  usesTools: boolean
  asksReasoning: boolean
  readonly thoughts: Thought[]
  metadata: Member[] | undefined
  streamOptions: Member[] | undefined
  thinking: Member[] | undefined
}

/** What the request is known to bring so far. */
type DraftLoad = { -readonly [Name in keyof Load]: Name extends 'inline' ? Span[] : Load[Name] }

export function createDraft(cursor: JsonCursor, body: Uint8Array): Draft {
  return {
    cursor,
    body,
    load: createLoad(body.length),
    fault: undefined,
    model: '',
    stream: false,
    region: undefined,
    sessionId: undefined,
    stickyKey: undefined,
    opening: [],
    isOpened: false,
    goesOn: false,
    asksUsage: false,
    usesTools: false,
    asksReasoning: false,
    thoughts: [],
    metadata: undefined,
    streamOptions: undefined,
    thinking: undefined,
  }
}

function createLoad(bytes: number): DraftLoad {
  return { ...NO_LOAD, bytes, inline: [] }
}

/** Beyond so many texts only the last counts, beside the first ones. */
const OPENING_TEXTS_MAX = 8

/** What ends here began a conversation, and does so in each of its calls. */
export function noteOpening({ opening, isOpened, cursor }: Draft, from: number): void {
  if (isOpened) return
  if (opening.length === 2 * OPENING_TEXTS_MAX) opening.length -= 2
  opening.push(from, cursor.at)
}

/** Passes over a value of the wrong kind and remembers that it was wrong. */
export function refuse(draft: Draft, field: string, rule: string): void {
  draft.cursor.skip()
  fault(draft, 'validation_error', field, `\`${field}\` ${rule}.`)
}

export function fault(draft: Draft, code: ProblemCode, param: string, text: string): void {
  draft.fault ??= new GatewayError(code, text, { param })
}

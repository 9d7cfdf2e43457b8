// The items of an answer, printed: the same for a whole answer and for a stream, which tells each of them once more
// when it is done and all of them at the end.
import { isBlank, isFields } from '../../json.ts'

/** Of a message or a call. A thought that comes back with one is refused (seen in opencodex #2252, 2026-08). */
export type Status = 'in_progress' | 'completed' | 'incomplete'

const PREFIXES = { message: 'msg', call: 'fc', thought: 'rs' } as const

/** Clients send ids back, and suppliers refuse other prefixes (seen in nodetool #4252, 2026-07). */
export function itemId(kind: keyof typeof PREFIXES, answerId: string, place: number): string {
  return `${PREFIXES[kind]}_${answerId}_${place}`
}

/** `text` is printed, here and below. */
export function printPart(kind: 'text' | 'refusal', text: string): string {
  if (kind === 'refusal') return `{"type":"refusal","refusal":${text}}`
  return `{"type":"output_text","text":${text},"annotations":[],"logprobs":[]}`
}

export function printMessage(id: string, status: Status, parts: readonly string[]): string {
  const content = parts.join(',')
  return `{"id":${JSON.stringify(id)},"type":"message","status":"${status}","role":"assistant","content":[${content}]}`
}

/** What tells a call from others, as its caller has to name it. */
export interface CallName {
  readonly id: string
  readonly name: string
}

export function printCall(id: string, status: Status, call: CallName, input: string): string {
  return (
    `{"id":${JSON.stringify(id)},"type":"function_call","status":"${status}","arguments":${input},` +
    `"call_id":${JSON.stringify(call.id)},"name":${JSON.stringify(call.name)}}`
  )
}

export function printSummary(text: string): string {
  return `{"type":"summary_text","text":${text}}`
}

/** `summary` is printed, and empty where nothing is shown. */
export function printThought(id: string, summary: string, seal?: string): string {
  const sealed = seal === undefined ? '' : `,"encrypted_content":"${seal}"`
  return `{"id":${JSON.stringify(id)},"type":"reasoning","summary":[${summary}]${sealed}}`
}

/** The input of a call is an object or nothing: some send a null, or an empty text, for none. */
export function isInput(input: string): boolean {
  if (input.trim() === '') return true
  try {
    const value: unknown = JSON.parse(input)
    return isFields(value) || isBlank(value)
  } catch {
    // A mistake of the model, or it breaks off.
    return false
  }
}

/** The input of a call is an object, and complete. */
export function isWhole(input: string): boolean {
  if (!input.endsWith('}')) return false
  try {
    JSON.parse(input)
    return true
  } catch {
    // More of it is to come, or a model has made a mistake.
    return false
  }
}

// Tells a right answer from a wrong one. `load/wrk.ts` says the same in Lua.
import { EVENTS, MARKER, withoutComments } from '../traffic.ts'
import type { Answer } from './load.ts'

/** Undefined when it is as it should be. */
export function complaintOf(status: number, text: string, answer: Answer): string | undefined {
  const isRight = status === 200 && isRightText(text, answer)
  return isRight ? undefined : `${status} ${text.slice(0, 300)}`
}

/** The same of bytes. */
export function digestComplaintOf(
  status: number,
  bytes: Uint8Array,
  digest: string,
): string | undefined {
  const isRight = status === 200 && digestOf(bytes) === digest
  return isRight ? undefined : `${status} ${new TextDecoder().decode(bytes.subarray(0, 300))}`
}

export function digestOf(bytes: string | Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex')
}

function isRightText(text: string, answer: Answer): boolean {
  if (answer.includes !== undefined) return answer.includes.every((each) => text.includes(each))
  return answer.isLoose ? isAlike(text, answer) : isSame(text, answer)
}

function isSame(text: string, answer: Answer): boolean {
  return text === answer.text || withoutComments(text) === answer.text
}

function isAlike(text: string, answer: Answer): boolean {
  if (!answer.text.endsWith(MARKER)) return text.includes('"finish_reason":"stop"')
  const events = text.split('data: {').length - 1
  return events >= EVENTS && text.trimEnd().endsWith(MARKER.trimEnd())
}

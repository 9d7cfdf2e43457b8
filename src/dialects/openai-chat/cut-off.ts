// The end of a stream whose supplier would not end it: the answer has reached its limit, and says so.
import type { Basics } from '../dialect.ts'
import { idOf } from './normalize.ts'

const encoder = new TextEncoder()
const DONE = 'data: [DONE]\n\n'
const FIRST = [0]

export function cutOff(basics: Basics, open: readonly number[] = FIRST): Uint8Array {
  if (open.length === 0) return encoder.encode(DONE)
  const { id, created, model } = idOf(basics)
  const choices = open.map((index) => ({
    index,
    delta: {},
    logprobs: null,
    finish_reason: 'length',
  }))
  const chunk = { id, object: 'chat.completion.chunk', created, model, choices }
  return encoder.encode(`data: ${JSON.stringify(chunk)}\n\n${DONE}`)
}

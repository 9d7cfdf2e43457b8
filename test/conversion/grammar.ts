// What clients of a language cannot do without on a stream: the grammar of each, by its id. A language without one in
// here is only held to what its own watcher says.
import { checkMessageStream } from '../fakes/message-grammar.ts'
import { checkResponseStream } from '../fakes/response-grammar.ts'
import { framesOf, HEAD } from './roster.ts'
import type { Json } from './sides.ts'

/** Throws with what is wrong about a stream that has come to its end. */
export function checkStream(id: string, text: string, asksUsage = HEAD.asksUsage): void {
  if (id === 'openai-chat') checkChatStream(text, asksUsage)
  if (id === 'anthropic-messages') checkMessageStream(text)
  if (id === 'openai-responses') checkResponseStream(text)
}

function checkChatStream(text: string, asksUsage: boolean): void {
  if (!/^(?:data: [^\r\n]+\n\n)+$/.test(text)) throw new Error('frames of one data line each')
  const frames = framesOf(text)
  check(frames.at(-1) === '[DONE]', 'the marker is last')
  const chunks = frames.slice(0, -1).map((frame) => JSON.parse(frame) as Json)
  for (const { id, object, created, model, choices } of chunks) {
    check(id === `chatcmpl-${HEAD.id}`, 'one id for all')
    check(object === 'chat.completion.chunk', 'the kind of object')
    check(created === HEAD.created && model === HEAD.model, 'when and which model')
    check(Array.isArray(choices), 'a list of choices in every chunk')
  }
  const usageAt = chunks.findIndex(({ usage }) => (usage ?? null) !== null)
  check(usageAt === (asksUsage ? chunks.length - 1 : -1), 'usage last, where it was asked for')
  const told = chunks.slice(0, asksUsage ? -1 : undefined).map(({ choices }) => choices as Json[])
  const last = (chunks.at(-1)?.['choices'] ?? []) as readonly Json[]
  check(!asksUsage || last.length === 0, 'usage stands alone')
  check(
    told.every((choices) => choices.length === 1 && choices[0]?.['index'] === 0),
    'one choice',
  )
  const choices = told.flat()
  const finishes = choices.map((choice) => choice['finish_reason'])
  check(typeof finishes.pop() === 'string', 'a reason at the end')
  check(
    finishes.every((finish) => finish === null),
    'no reason before the end',
  )
  const deltas = choices.map(({ delta }) => delta as Json)
  check(deltas[0]?.['role'] === 'assistant', 'who speaks, at first')
  checkCalls(deltas.flatMap(({ tool_calls }) => (tool_calls ?? []) as Json[]))
}

function checkCalls(pieces: readonly Json[]): void {
  let begun = 0
  for (const { index, id, type, function: called } of pieces) {
    const { name, arguments: input } = called as Json
    check(typeof index === 'number' && index <= begun, 'calls are numbered as they begin')
    check(typeof input === 'string', 'input in pieces of text')
    if (index !== begun) continue
    check(typeof id === 'string' && typeof name === 'string', 'a call begins with its name')
    check(type === 'function', 'a call begins with its kind')
    begun += 1
  }
}

function check(holds: boolean, rule: string): void {
  if (!holds) throw new Error(`not as it must be: ${rule}`)
}

// How much text a model has put out, for the calls whose supplier does not tell: answer, reasoning and tool
// calls. What is said in a way that nobody here knows counts for something too: only silence is nothing.
import { isBlank, isFields, type Fields } from '../json.ts'

/** A text that was not made into a value: no more than how long it is. */
export class UnreadText {
  readonly bytes: number

  constructor(bytes: number) {
    this.bytes = bytes
  }
}

/** Output is whatever stands beside the role: text, a tool call, reasoning, audio. */
export function saysSomething(message: Fields): boolean {
  for (const name in message) if (name !== 'role' && !isBlank(message[name])) return true
  return false
}

/** Bytes of text in a message, or in the delta of one. */
export function outputOf(message: Fields): number {
  const { content, refusal, reasoning, reasoning_content: thoughts, audio } = message
  const bytes =
    textBytes(content) +
    textBytes(refusal) +
    // Two names for one thing; who sends both says it twice.
    Math.max(textBytes(reasoning), textBytes(thoughts)) +
    callBytes(message['function_call']) +
    toolBytes(message['tool_calls']) +
    (isFields(audio) ? textBytes(audio['transcript']) : 0)
  return bytes === 0 && saysSomething(message) ? 1 : bytes
}

/** Bytes of sound in a message, or in the delta of one. Four characters are written for three of them. */
export function audioOf({ audio }: Fields): number {
  return isFields(audio) ? Math.floor((textBytes(audio['data']) * 3) / 4) : 0
}

export interface Output {
  readonly outputBytes: number
  readonly audioBytes: number
}

/** Of all choices of an answer that came whole; undefined for a shape that is not known. */
export function outputOfAll(choices: unknown): Output | undefined {
  if (!Array.isArray(choices)) return undefined
  let outputBytes = 0
  let audioBytes = 0
  for (const choice of choices) {
    const message: unknown = isFields(choice) ? choice['message'] : undefined
    if (!isFields(message)) return undefined
    outputBytes += outputOf(message)
    audioBytes += audioOf(message)
  }
  return { outputBytes, audioBytes }
}

const TEXT_FIELDS = ['text', 'thinking', 'refusal']

/** A text, or the parts that it is cut into. */
function textBytes(value: unknown): number {
  if (value === undefined || value === null) return 0
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof UnreadText) return value.bytes
  let bytes = 0
  if (Array.isArray(value)) for (const part of value) bytes += textBytes(part)
  else if (isFields(value)) for (const name of TEXT_FIELDS) bytes += textBytes(value[name])
  return bytes
}

/** A custom tool is called with `input`, a function with `arguments`. */
function toolBytes(calls: unknown): number {
  let bytes = 0
  if (Array.isArray(calls))
    for (const call of calls)
      if (isFields(call)) bytes += callBytes(call['function']) + callBytes(call['custom'])
  return bytes
}

function callBytes(call: unknown): number {
  if (!isFields(call)) return 0
  return textBytes(call['name']) + textBytes(call['arguments']) + textBytes(call['input'])
}

// The demo's vectors: each word points somewhere, and a text where its words point together. No model runs; texts that
// share words lie close, others do not.
import { asList } from './json.ts'
import { badRequest } from './refusal.ts'
import { missing, parseBody, readText, readWhole } from './request.ts'
import { answerJson, type TaskRequest } from './task.ts'
import { countTokens } from './text.ts'
import { hashWord, wordsOf } from './words.ts'

const DIMENSIONS = 256
export const INPUTS_MAX = 2048
/** Any number of 32 bits is told apart from its neighbours by so many digits. */
const DIGITS = 9

/** A text, or one that is cut into tokens already. */
type Input = string | readonly number[]

export function readEmbedRequest(body: string): TaskRequest {
  const json = parseBody(body)
  const model = readText(json, 'model')
  const inputs = readInputs(json['input'])
  const dimensions = readWhole(json, 'dimensions', DIMENSIONS) ?? DIMENSIONS
  const isPacked = readFormat(json['encoding_format'])
  return {
    model,
    compose: ({ hidesUsage }) => {
      const tokens = inputs.reduce((sum, input) => sum + tokensOf(input), 0)
      const usage = { prompt_tokens: tokens, total_tokens: tokens }
      return answerJson({
        object: 'list',
        data: inputs.map((input, index) => ({
          object: 'embedding',
          index,
          embedding: print(vectorOf(input, dimensions), isPacked),
        })),
        model,
        ...(hidesUsage ? {} : { usage }),
      })
    },
  }
}

function readInputs(value: unknown): readonly Input[] {
  if (value === undefined || value === null) throw missing('input')
  const list = typeof value === 'string' || isTokens(value) ? [value] : asList(value)
  const inputs = list.filter((each): each is Input => isInput(each))
  const isMixed = new Set(inputs.map((each) => typeof each)).size > 1
  const isBroken = inputs.length === 0 || inputs.length < list.length || isMixed
  if (isBroken || inputs.length > INPUTS_MAX)
    throw badRequest(
      `Invalid 'input': expected up to ${INPUTS_MAX} texts or lists of tokens, none of them empty.`,
      'input',
    )
  return inputs
}

function isInput(value: unknown): value is Input {
  return (typeof value === 'string' && value !== '') || isTokens(value)
}

function isTokens(value: unknown): value is readonly number[] {
  return Array.isArray(value) && value.length > 0 && value.every((each) => Number.isInteger(each))
}

function readFormat(value: unknown): boolean {
  const format = value ?? 'float'
  if (format === 'float' || format === 'base64') return format === 'base64'
  throw badRequest("Invalid 'encoding_format': expected float or base64.", 'encoding_format')
}

function tokensOf(input: Input): number {
  return typeof input === 'string' ? countTokens(input) : input.length
}

/** Of length one. Half of the words point backwards, so that texts without a common word are at right angles. */
export function vectorOf(input: Input, dimensions = DIMENSIONS): Float32Array {
  const words = typeof input === 'string' ? wordsOf(input) : input.map((token) => `#${token}`)
  const sums = new Float64Array(dimensions)
  // Punctuation alone is a text, too.
  for (const word of words.length > 0 ? words : [String(input)]) {
    const hash = hashWord(word)
    sums[(hash >>> 1) % dimensions]! += hash % 2 === 0 ? 1 : -1
  }
  const length = Math.hypot(...sums)
  // Words may cancel each other out; a vector of nothing has no direction.
  if (length === 0) sums[0] = 1
  return Float32Array.from(sums, (sum) => sum / (length || 1))
}

function print(vector: Float32Array, isPacked: boolean): string | readonly number[] {
  if (!isPacked) return Array.from(vector, (number) => Number(number.toPrecision(DIGITS)))
  const bytes = Buffer.alloc(vector.length * Float32Array.BYTES_PER_ELEMENT)
  for (const [index, number] of vector.entries()) bytes.writeFloatLE(number, index * 4)
  return bytes.toString('base64')
}

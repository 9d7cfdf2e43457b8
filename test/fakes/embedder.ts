// A supplier of embeddings: how a configuration would describe it, and answers in which every vector tells its input.
import { toPicoUsd } from '../../src/core/money.ts'
import { openaiEmbeddings } from '../../src/dialects/openai-embeddings/index.ts'
import type { Quirks } from '../../src/dialects/quirk.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { supplierAt } from './gateway.ts'
import type { Script } from './supplier.ts'

export const EMBEDDINGS_PATH = '/v1/embeddings'
/** Nano-dollars. */
export const EMBEDDED_TOKEN_COST = 20

type Fields = Readonly<Record<string, unknown>>

/** In what it differs from others. */
export interface EmbedderHabits {
  readonly inputsMax?: number
  readonly quirks?: Quirks
}

export function embedderAt(
  origin: string,
  changes: Partial<Supplier> = {},
  habits: EmbedderHabits = {},
): Supplier {
  const price = { input: toPicoUsd(EMBEDDED_TOKEN_COST * 1000), output: toPicoUsd(0) }
  const route = {
    as: 'upstream-model',
    prices: [{ from: 0, price }],
    ownedBy: 'maker',
    task: 'embedding',
  } as const
  return supplierAt(origin, {
    services: [{ dialect: openaiEmbeddings, path: EMBEDDINGS_PATH, ...habits }],
    models: new Map([['test-model', route]]),
    ...changes,
  })
}

/** A list of numbers is one input, cut into tokens. */
export function inputsOf(input: unknown): readonly unknown[] {
  return Array.isArray(input) && typeof input[0] !== 'number' ? input : [input]
}

export function vectorOf(input: unknown): readonly number[] {
  const text = JSON.stringify(input)
  return [text.length, (Bun.hash.crc32(text) % 1000) / 8]
}

/** The answer to a request, with two tokens for each input. */
export function embed(body: Uint8Array, changes: object = {}): Fields {
  const { input } = JSON.parse(Buffer.from(body).toString()) as Fields
  const data = inputsOf(input).map((each, index) => ({
    object: 'embedding',
    index,
    embedding: vectorOf(each),
  }))
  const usage = { prompt_tokens: 2 * data.length, total_tokens: 2 * data.length }
  return { object: 'list', data, model: 'upstream-model', usage, ...changes }
}

export const goodEmbeddings: Script = ({ body }, reply) => reply.json(200, embed(body))

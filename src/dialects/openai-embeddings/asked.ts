// What an embeddings request has asked for, kept until its answer comes: in which form, and where each input stands.
import type { Facts, LimitedText } from '../dialect.ts'

/** Numbers as JSON has them, or the bytes of little-endian 32-bit floats as base64. */
export type Format = 'float' | 'base64'

export class Asked {
  format: Format = 'float'
  /** How many numbers each vector is to have, where the caller says so. */
  dimensions: number | undefined
  /** The numbers are to be small integers or bits: in base64 they are bytes of their own kind. */
  isQuantized = false
  inputs = 0
  /** Of all inputs that the caller has cut into tokens itself. */
  tokens = 0
  /** Where the inputs of a list stand in the body, each by its first byte and the place behind its last. */
  readonly places: number[] = []
  /** Of more bytes than an input may have tokens. */
  readonly longTexts: LimitedText[] = []
}

/** Of a request of this language; that of nothing in particular where nobody knows what was asked. */
export function askedOf(facts: Facts | undefined): Asked {
  return facts?.detail instanceof Asked ? facts.detail : new Asked()
}

// Bytes that stand in a request as text: how they are passed over, and how they are told from an address.
import type { Draft } from './draft.ts'

const QUOTE = 0x22
const SLASH = 0x2f
const BACKSLASH = 0x5c
const ALPHABET = new Uint8Array(256)
for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_')
  ALPHABET[letter.charCodeAt(0)] = 1
/** Longer than the scheme of any address, which ends with what is not in the alphabet. */
const SCHEME_BYTES_MAX = 32

/** In either of the two alphabets. */
export function isBase64Letter(byte: number): boolean {
  return ALPHABET[byte] === 1
}

/** What begins here is no address; a slash may be escaped. */
export function beginsAsBase64(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + SCHEME_BYTES_MAX && bytes[at] !== QUOTE; at++) {
    const isEscaped = bytes[at] === BACKSLASH && bytes[at + 1] === SLASH
    if (!isEscaped && !isBase64Letter(bytes[at]!)) return false
  }
  return true
}

/** Passes over a text that stands for bytes, and says how long it is. */
export function skipInline({ cursor, load }: Draft): number {
  const from = cursor.at + 1
  cursor.skip()
  const to = cursor.at - 1
  load.inline.push({ from, to })
  return to - from
}

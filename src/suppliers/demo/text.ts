// The demo's idea of a token: four bytes of UTF-8. Everything that counts or cuts text does it here,
// so that what is billed, what is limited and what is sent agree.
import { DEMO_LIMITS } from './models.ts'
import type { DemoRequest } from './request.ts'

const TOKEN_BYTES = 4
const MESSAGE_TOKENS = 4

export function countTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / TOKEN_BYTES)
}

export function countPrompt({ messages }: DemoRequest): number {
  const textTokens = countTokens(messages.map((message) => message.text).join(''))
  const images = messages.reduce((sum, message) => sum + message.images, 0)
  return textTokens + MESSAGE_TOKENS * messages.length + DEMO_LIMITS.imageTokens * images
}

/** The longest beginning that fits; half a character is never sent. */
export function cutToTokens(text: string, tokens: number): string {
  const bytes = Buffer.from(text)
  let end = tokens * TOKEN_BYTES
  if (bytes.length <= end) return text
  // Bytes of the form 10xxxxxx continue a character that began earlier.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1
  return bytes.toString('utf8', 0, end)
}

/** Pieces of one and two words in turn, which together are the text. */
export function splitWords(text: string): readonly string[] {
  return text.match(/\S+\s*(?:\S+\s*)?|\s+/g)?.flatMap(alternate) ?? []
}

function alternate(pair: string, position: number): readonly string[] {
  if (position % 2 === 1) return [pair]
  return pair.match(/\S+\s*|\s+/g) ?? [pair]
}

/** At most `count` parts of about equal length, never inside a surrogate pair. */
export function splitEvenly(text: string, count: number): readonly string[] {
  const characters = Array.from(text)
  const size = Math.max(1, Math.ceil(characters.length / count))
  const parts: string[] = []
  for (let start = 0; start < characters.length; start += size) {
    parts.push(characters.slice(start, start + size).join(''))
  }
  return parts
}

/** A short quotation; a longer text ends in an ellipsis. */
export function quote(text: string, charactersMax: number): string {
  const short = Array.from(text.slice(0, charactersMax * 2))
    .slice(0, charactersMax)
    .join('')
  return short.length < text.length ? `"${short}…"` : `"${text}"`
}

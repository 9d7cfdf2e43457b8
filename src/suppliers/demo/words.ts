// What the demo takes for the meaning of a text: its words, in any order and whatever their case. Enough for vectors
// that lie close where texts share words, and for a ranking that anybody can check by eye.

const WORD = /[\p{L}\p{N}]+/gu

export function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(WORD) ?? []
}

/** A whole number that a word always gets (FNV-1a, 32 bits). */
export function hashWord(word: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < word.length; index++)
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193)
  return hash >>> 0
}

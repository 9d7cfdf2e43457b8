// How long a text takes to be spoken, and so what it costs where sound is counted in tokens: at the most, and likely.
// Of 4096 characters of English prose one maker's models made 256 seconds, and about 5,300 tokens (measured by others,
// blog of sanand0, 2025-11); that is 16 characters and 21 tokens a second.

/** More than any maker counts for a second. */
const TOKENS_A_SECOND_MOST = 32
/**
 * Half a second for a character, at the usual speed: eight times as slow as prose, and still slower than a language
 * that writes a syllable in one character. Numbers and symbols that are read out as words stay below it.
 */
const SECONDS_A_CHARACTER_MOST = 0.5
/** A call has more than its text: a breath before it, and one behind. */
const SECONDS_BESIDE_MOST = 10

const TOKENS_A_SECOND = 21
/** Bytes and not characters: a character of three bytes is a syllable in most scripts that have them. */
const BYTES_A_SECOND = 16

/** No text takes more tokens than this, however it is spoken. */
export function mostTokens(characters: number, speed: number): number {
  // Some models take the speed for a wish: who asks for a fast one may get the usual one.
  const slowness = Math.max(1, 1 / speed)
  const seconds = (characters * SECONDS_A_CHARACTER_MOST + SECONDS_BESIDE_MOST) * slowness
  return Math.ceil(seconds * TOKENS_A_SECOND_MOST)
}

/** What a text is likely to take: charged where nobody tells, so it is fair on the average. */
export function likelyTokens(textBytes: number, speed: number): number {
  return Math.ceil((textBytes / BYTES_A_SECOND / speed) * TOKENS_A_SECOND)
}

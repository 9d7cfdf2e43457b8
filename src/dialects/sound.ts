// What a language that is answered with sound has to know of a request when the sound comes: nothing inside of the
// sound says it.

export interface SoundDetail {
  /** Of what was asked for. */
  readonly contentType: string
  /** Tokens that the sound is likely to come to, where a model counts them: no supplier tells. */
  readonly audioTokens: number
}

export function asSoundDetail(detail: unknown): SoundDetail {
  if (isSoundDetail(detail)) return detail
  throw new RangeError('no sound was asked for')
}

function isSoundDetail(detail: unknown): detail is SoundDetail {
  return (
    typeof detail === 'object' &&
    detail !== null &&
    'contentType' in detail &&
    'audioTokens' in detail
  )
}

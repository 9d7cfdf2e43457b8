// Why somebody who serves a model is not asked for a call. Numbers, because every call has one for each of its
// candidates; words, because people and records read them.

/** In the order in which they are looked for: of several the first is told, and of a lane's own the strongest. */
export const LISTED = 0
export const NOT_ALLOWED = 1
export const OUT_OF_SCOPE = 2
export const KEPT_ELSEWHERE = 3
export const OUTSIDE = 4
export const OTHER_ENDPOINT = 5
export const NO_IMAGES = 6
export const NO_AUDIO = 7
export const NO_TOOLS = 8
export const TOO_LONG = 9
export const RESTING = 10
export const PROBING = 11
export const FULL = 12
/** Above those before it: what a supplier has asked for outranks what is only guessed. */
export const WAITING = 13
export const SPARE = 14

export const REASON_WORDS = [
  'listed',
  'model_not_allowed',
  'out_of_scope',
  'kept_elsewhere',
  'outside_region',
  'other_endpoint',
  'no_images',
  'no_audio',
  'no_tools',
  'too_long',
  'resting',
  'probing',
  'full',
  'waiting',
  'spare',
] as const

export type ReasonWord = (typeof REASON_WORDS)[number]

export function wordOf(reason: number): ReasonWord {
  return REASON_WORDS[reason]!
}

/** Completes "it was not asked because …"; of those that were listed: why they stand where they stand. */
export const REASON_TEXTS: Readonly<Record<ReasonWord, string>> = {
  listed: 'it may be asked',
  model_not_allowed: "its model is not on the key's list",
  out_of_scope: 'it may not be used for the project of the call',
  kept_elsewhere: 'what the call goes on from is kept with another sign-in',
  outside_region: 'it is outside of the region that the call must stay in',
  other_endpoint: 'it does not serve the model on this endpoint',
  no_images: 'its model reads no images',
  no_audio: 'its model neither hears nor speaks',
  no_tools: 'its model calls no tools',
  too_long: 'the request is longer than its model can read',
  resting: 'it has failed too often and is asked only when nobody else is left',
  probing:
    'it has failed too often, and one call finds out whether it is back before others are sent there',
  full: 'as many calls run by it as may',
  waiting: 'it has asked for a pause',
  spare: 'as many as may be asked stand before it',
}

// Counting in the messages language: a request without anything about its answer comes in, one number goes out.
import { applySplices, dropMembers, type Member } from '../../wire/json-splice.ts'
import type { CountCodec, Facts, Rewrite } from '../dialect.ts'
import { asFields, parseJson } from '../json.ts'
import { fieldKey } from './fields.ts'
import { patch } from './patch.ts'
import { peekCount } from './peek.ts'

/**
 * What is about the answer alone. The maker refuses it here ("Extra inputs are not permitted", seen in
 * Wei-Shaw/sub2api #4913, 2026-07), and clients that count before they ask send it all the same.
 */
const ANSWER_KEYS = new Set(
  (['max_tokens', 'stream', 'temperature', 'top_p', 'metadata', 'service_tier'] as const).map(
    fieldKey,
  ),
)

export const count: CountCodec = {
  peek: peekCount,

  patch(body, facts, rewrite) {
    const { members } = facts.layout
    if (!members.some(isOfAnswer)) return patch(body, facts, rewrite)
    return patchBare(applySplices(body, dropMembers(members, isOfAnswer)), rewrite)
  },

  read(answer) {
    const tokens = asFields(parseJson(answer))?.['input_tokens']
    const isCount = typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens > 0
    return isCount ? tokens : undefined
  },
}

/** Things stand elsewhere in it now. */
function patchBare(body: Uint8Array, rewrite: Rewrite): Uint8Array {
  const facts: Facts = peekCount(body)
  return patch(body, facts, rewrite)
}

function isOfAnswer({ key }: Member): boolean {
  return ANSWER_KEYS.has(key)
}

// Marks for a cache. Chat has none of its own; clients send those of another language, and some suppliers read them.
import type { CacheMark } from '../../../core/chat.ts'
import { isFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { isAbsent } from '../../reader.ts'

export function decodeCache(fields: Fields, place: string, lost: Lost): CacheMark | undefined {
  const mark = fields['cache_control']
  if (isAbsent(mark)) return undefined
  const pointer = `${place}/cache_control`
  if (!isFields(mark)) {
    lost.add(pointer)
    return undefined
  }
  lost.note('cache', pointer)
  if (mark['ttl'] !== '1h') return 'short'
  lost.note('cache_long', `${pointer}/ttl`)
  return 'long'
}

const BEARERS = ['text', 'image', 'file', 'call']

/** A mark on a whole message stands for one on its last part, where that can bear it. */
export function markLast<Part extends { readonly kind: string }>(
  parts: readonly Part[],
  cache: CacheMark | undefined,
): readonly Part[] {
  const last = parts.at(-1)
  if (cache === undefined || last === undefined || !BEARERS.includes(last.kind)) return parts
  return [...parts.slice(0, -1), { ...last, cache }]
}

// Fields that set a supplier to work that no number of tokens bounds, in whatever language they are sent: many
// suppliers speak several and read the same fields in each. Nothing is refused here; that is for the books.
import { END } from '../wire/json-cursor.ts'
import { KeySet, STRICT } from '../wire/key-set.ts'
import type { Draft } from './draft.ts'

/** Seen in the documentation of suppliers, 2026-11. */
export const UNBOUNDED_FIELDS = [
  // Searches, at a fee for each and with findings of any length as input.
  'web_search_options',
  'search_parameters',
  'enable_search',
  // Searches, and documents that are read at a fee for each page.
  'plugins',
  // Documents from an index, and further calls of the model to find out what to look for.
  'data_sources',
  // Settings that are kept at the supplier: other models, longer prompts, tools of its own.
  'preset',
  // A second model that reads everything along.
  'safety_model',
  // The answer is fetched later by its id, and nobody tells us what it has cost.
  'deferred',
] as const

/** False and an empty list ask for nothing. An empty object does: it asks with nothing but defaults. */
export function readUnbounded(draft: Draft, field: string): void {
  const { cursor } = draft
  const isOff = cursor.isArray() ? cursor.isBlank() : cursor.startsWith('false')
  cursor.skip()
  if (!isOff) draft.load.unbounded ??= field
}

export function skipUnbounded(draft: Draft, field: string): void {
  draft.cursor.skip()
  draft.load.unbounded ??= field
}

const EXTRA_KEYS = new KeySet(['google'], STRICT)
// What the model thinks is counted as output, and what is filtered is not counted at all. Others are a cache
// by its name and images (ai.google.dev/gemini-api/docs/openai, seen 2026-11).
const HARMLESS_KEYS = new KeySet(['thinking_config', 'safety_settings', 'thought_tag_marker'])

/** One supplier reads fields of its own in here; others take them for fields of the request, any of them. */
export function readExtra(draft: Draft): void {
  const { cursor } = draft
  if (!cursor.isObject()) return skipUnbounded(draft, 'extra_body')
  cursor.enterObject()
  for (let key = cursor.nextKey(EXTRA_KEYS); key !== END; key = cursor.nextKey(EXTRA_KEYS))
    if (key < 0 || !cursor.isObject()) skipUnbounded(draft, 'extra_body')
    else readHarmless(draft)
}

function readHarmless(draft: Draft): void {
  const { cursor } = draft
  cursor.enterObject()
  for (let key = cursor.nextKey(HARMLESS_KEYS); key !== END; key = cursor.nextKey(HARMLESS_KEYS))
    if (key < 0) skipUnbounded(draft, 'extra_body')
    else cursor.skip()
}

// What a ranking has used, as suppliers tell it: searches, tokens, or both. Who tells searches is not paid by the
// token, and what is told by nobody is not made up here.
import type { Span } from '../../core/load.ts'
import { NO_TOKENS, type Usage } from '../../core/usage.ts'
import { Told } from '../figures.ts'
import { asFields, parseJson, type Fields } from '../json.ts'

/** More than any usage has. */
const USAGE_BYTES_MAX = 65_536

export interface UsageReading {
  readonly usage: Usage | undefined
  readonly isUnread: boolean
}

/** `meta` is where Cohere tells it, `usage` where the others do that tell any (seen 2026-11). */
export function readUsage(
  bytes: Uint8Array,
  meta: Span | undefined,
  usage: Span | undefined,
): UsageReading {
  const told = new Told()
  const more = fieldsAt(bytes, meta)
  const billed = asFields(more?.['billed_units'])
  const searches = told.count(billed, 'search_units')
  const tokens =
    told.count(fieldsAt(bytes, usage), 'total_tokens', 'prompt_tokens') ??
    told.count(billed, 'total_tokens', 'input_tokens') ??
    told.count(asFields(more?.['tokens']), 'input_tokens')
  if (searches === undefined && tokens === undefined)
    return { usage: undefined, isUnread: told.isUnread }
  const units = searches === undefined ? undefined : { searches }
  return {
    usage: { ...NO_TOKENS, inputTokens: tokens ?? 0, ...(units !== undefined && { units }) },
    isUnread: told.isUnread,
  }
}

function fieldsAt(bytes: Uint8Array, span: Span | undefined): Fields | undefined {
  if (span === undefined || span.to - span.from > USAGE_BYTES_MAX) return undefined
  return asFields(parseJson(bytes.subarray(span.from, span.to)))
}

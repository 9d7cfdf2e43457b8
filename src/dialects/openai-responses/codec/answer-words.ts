// The answer around its items, printed in the full shape that typed clients expect: as much of it repeats a request
// that is not known here, that part says what nobody has asked for.
import type { AnswerHead } from '../../../core/chat.ts'
import type { Usage } from '../../../core/usage.ts'

/** Clients parse what a call is given, and nothing is no JSON. */
export const NO_INPUT = '{}'

const ASKED =
  '"instructions":null,"metadata":{},"parallel_tool_calls":true,"tool_choice":"auto","tools":[],' +
  '"temperature":null,"top_p":null,"text":{"format":{"type":"text"}},"store":false,' +
  '"previous_response_id":null,"reasoning":{"effort":null,"summary":null},"truncation":"disabled"'

/** An answer as far as it has got. */
export interface Progress {
  readonly status: 'in_progress' | 'completed' | 'incomplete'
  /** What has cut it. */
  readonly cause?: string
  /** Printed, each. */
  readonly items: readonly string[]
  readonly usage?: Usage
}

export function responseId({ id }: AnswerHead): string {
  return `resp_${id}`
}

export function printResponse(head: AnswerHead, progress: Progress): string {
  const { status, cause, items, usage } = progress
  const details = cause === undefined ? 'null' : `{"reason":"${cause}"}`
  return (
    `{"id":${JSON.stringify(responseId(head))},"object":"response","created_at":${head.created},` +
    `"status":"${status}","error":null,"incomplete_details":${details},` +
    `"model":${JSON.stringify(head.model)},"output":[${items.join(',')}],` +
    `"usage":${usage === undefined ? 'null' : printUsage(usage)},${ASKED}}`
  )
}

function printUsage(usage: Usage): string {
  const { inputTokens, outputTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  return JSON.stringify({
    input_tokens: inputTokens,
    input_tokens_details: {
      cached_tokens: cachedTokens,
      ...(cacheWriteTokens > 0 ? { cache_write_tokens: cacheWriteTokens } : {}),
    },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  })
}

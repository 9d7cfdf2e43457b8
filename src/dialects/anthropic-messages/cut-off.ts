// The end of a stream whose supplier would not end it: the answer has reached its limit, and says so.
import type { Basics } from '../dialect.ts'

const encoder = new TextEncoder()

/** `open` are the blocks that have not ended. */
export function cutOff({ outputTokens = 0 }: Basics, open: readonly number[] = []): Uint8Array {
  const events = [
    ...open.map((index) => ({ type: 'content_block_stop', index })),
    {
      type: 'message_delta',
      delta: { stop_reason: 'max_tokens', stop_sequence: null },
      usage: { output_tokens: outputTokens },
    },
    { type: 'message_stop' },
  ]
  return encoder.encode(events.map(printEvent).join(''))
}

/** Clients go by the name of an event and pass over one without. */
function printEvent(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
}

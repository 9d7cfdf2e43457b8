// The end of a stream whose supplier would not end it: the answer has reached its limit, and says so.
import type { Basics } from '../dialect.ts'
import { idOf } from './problem.ts'

const encoder = new TextEncoder()

/** Its output came before, and is not known here any more. Some clients cannot do without a list of it. */
export function cutOff({ id, created, model, place }: Basics): Uint8Array {
  const type = 'response.incomplete'
  const response = {
    id: place?.id ?? idOf(id),
    object: 'response',
    created_at: created,
    status: 'incomplete',
    model,
    error: null,
    incomplete_details: { reason: 'max_output_tokens' },
    output: [],
    usage: null,
  }
  const event = { type, sequence_number: place?.sequence ?? 0, response }
  return encoder.encode(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`)
}

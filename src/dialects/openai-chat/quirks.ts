// What quirks may change in a chat request.
import { QuirkBook } from '../quirks.ts'
import { COST_FIELDS, REQUEST_KEYS } from './fields.ts'

// Read for their range or their kind alone: nothing that is promised to anybody hangs on them.
const FREE_FIELDS = new Set([
  'temperature',
  'top_p',
  'tools',
  'response_format',
  'reasoning_effort',
  'reasoning',
])

const LIMIT_ADVICE = ': set `max_tokens_name` to say how the supplier calls it'

export const chatQuirks = new QuirkBook({
  keys: REQUEST_KEYS,
  free: FREE_FIELDS,
  // Another tier has another price, and these make a call dearer or not at all.
  droppable: new Set<string>([...FREE_FIELDS, 'service_tier', ...COST_FIELDS]),
  advice: {
    max_tokens: LIMIT_ADVICE,
    max_completion_tokens: LIMIT_ADVICE,
    stream_options: ': set `usage` to say how the supplier tells it',
    model: ': set `as` to say how the supplier calls it',
  },
  hasTwoLimits: true,
})

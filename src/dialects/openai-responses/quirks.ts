// What quirks may change in a responses request.
import { QuirkBook } from '../quirks.ts'
import { COST_FIELDS, REQUEST_KEYS } from './fields.ts'

// Read for their range or their kind alone: nothing that is promised to anybody hangs on them.
const FREE_FIELDS = new Set(['temperature', 'top_p', 'tools', 'text', 'reasoning'])

export const responsesQuirks = new QuirkBook({
  keys: REQUEST_KEYS,
  free: FREE_FIELDS,
  // Another tier has another price, and these make a call dearer or not at all.
  droppable: new Set<string>([...FREE_FIELDS, ...COST_FIELDS]),
  advice: { model: ': set `as` to say how the supplier calls it' },
  hasTwoLimits: false,
})

// What quirks may change in an embeddings request: its answer is put into the form that was asked for in any case.
import { QuirkBook } from '../quirks.ts'
import { UNBOUNDED_FIELDS } from '../unbounded.ts'
import { REQUEST_KEYS } from './fields.ts'

// One maker refuses the plain form by its name and calls the size of a vector otherwise (garrytan/gbrain #735, 2026-05).
const FREE_FIELDS = new Set(['encoding_format', 'dimensions'])

export const embeddingQuirks = new QuirkBook({
  keys: REQUEST_KEYS,
  free: FREE_FIELDS,
  droppable: new Set<string>([...FREE_FIELDS, 'output_dtype', 'extra_body', ...UNBOUNDED_FIELDS]),
  advice: { model: ': set `as` to say how the supplier calls it' },
  hasTwoLimits: false,
})

// What quirks may change in a reranking request: nothing that is read here, since all of it decides what is ranked.
import { QuirkBook } from '../quirks.ts'
import { REQUEST_KEYS } from './fields.ts'

export const rerankQuirks = new QuirkBook({
  keys: REQUEST_KEYS,
  free: new Set(),
  droppable: new Set(),
  advice: { model: ': set `as` to say how the supplier calls it' },
  hasTwoLimits: false,
})

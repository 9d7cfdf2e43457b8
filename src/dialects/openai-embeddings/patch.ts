// The splices that a relayed embeddings request gets, and no others: the model's name at the supplier, the gateway's
// own fields taken out, and the supplier's quirks.
import { applySplices, type Splice } from '../../wire/json-splice.ts'
import type { Facts, Rewrite } from '../dialect.ts'
import { OwnFields } from '../own-fields.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { fieldKey } from './fields.ts'
import { embeddingQuirks } from './quirks.ts'

const own = new OwnFields(fieldKey)

export function patch(body: Uint8Array, facts: Facts, rewrite: Rewrite): Uint8Array {
  return applySplices(body, findSplices(body, facts, rewrite))
}

/** None of them is inside of what is to be embedded. */
export function findSplices(
  body: Uint8Array,
  { model, layout }: Facts,
  rewrite: Rewrite,
): readonly Splice[] {
  const splices = model === rewrite.model ? [] : [own.rename(layout, rewrite.model)]
  const edits = hasQuirks(rewrite) ? embeddingQuirks.findEdits(body, layout, rewrite) : NO_EDITS
  if (edits.dropped.size > 0 || own.areIn(layout))
    splices.push(...own.drop(layout, (member) => edits.dropped.has(member)))
  splices.push(...edits.splices)
  return splices.sort((left, right) => left.from - right.from)
}

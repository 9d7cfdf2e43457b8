// The splices that a relayed speech request gets, and no others: the model's name at the supplier, the gateway's own
// fields taken out, and the supplier's quirks.
import { applySplices } from '../../wire/json-splice.ts'
import type { Facts, Rewrite } from '../dialect.ts'
import { OwnFields } from '../own-fields.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { fieldKey, speechQuirks } from './fields.ts'

const own = new OwnFields(fieldKey)

export function patch(body: Uint8Array, { model, layout }: Facts, rewrite: Rewrite): Uint8Array {
  const { dropped, splices: edits } = hasQuirks(rewrite)
    ? speechQuirks.findEdits(body, layout, rewrite)
    : NO_EDITS
  const splices = [
    ...(model === rewrite.model ? [] : [own.rename(layout, rewrite.model)]),
    ...own.drop(layout, (member) => dropped.has(member)),
    ...edits,
  ]
  return applySplices(
    body,
    splices.toSorted((left, right) => left.from - right.from),
  )
}

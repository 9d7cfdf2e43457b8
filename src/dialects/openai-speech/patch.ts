// The splices that a relayed speech request gets, and no others: the model's name at the supplier, the gateway's own
// fields taken out, and the supplier's quirks.
import { applySplices, dropMembers, type Member, type Splice } from '../../wire/json-splice.ts'
import type { BodyLayout, Facts, Rewrite } from '../dialect.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { fieldKey, speechQuirks } from './fields.ts'

const MODEL = fieldKey('model')
const REGION = fieldKey('region')
const METADATA = fieldKey('metadata')

export function patch(body: Uint8Array, { model, layout }: Facts, rewrite: Rewrite): Uint8Array {
  const { dropped, splices: edits } = hasQuirks(rewrite)
    ? speechQuirks.findEdits(body, layout, rewrite)
    : NO_EDITS
  const splices = [
    ...(model === rewrite.model ? [] : [renameModel(layout, rewrite.model)]),
    ...drop(layout, dropped),
    ...edits,
  ]
  return applySplices(
    body,
    splices.toSorted((left, right) => left.from - right.from),
  )
}

function renameModel({ members }: BodyLayout, model: string): Splice {
  const { value, to } = members.find(({ key }) => key === MODEL)!
  return { from: value, to, text: JSON.stringify(model) }
}

/** Of metadata only what is the gateway's own, and all of it where that leaves nothing. */
function drop(
  { members, metadata = [] }: BodyLayout,
  dropped: ReadonlySet<Member>,
): readonly Splice[] {
  const isSpent = metadata.length > 0 && metadata.every(isListed)
  const outer = dropMembers(
    members,
    (member) =>
      member.key === REGION || (isSpent && member.key === METADATA) || dropped.has(member),
  )
  return isSpent ? outer : [...outer, ...dropMembers(metadata, isListed)]
}

function isListed({ key }: Member): boolean {
  return key >= 0
}

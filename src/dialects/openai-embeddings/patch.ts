// The splices that a relayed embeddings request gets, and no others: the model's name at the supplier, the gateway's
// own fields taken out, and the supplier's quirks.
import { applySplices, dropMembers, type Member, type Splice } from '../../wire/json-splice.ts'
import type { BodyLayout, Facts, Rewrite } from '../dialect.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { fieldKey } from './fields.ts'
import { embeddingQuirks } from './quirks.ts'

const MODEL = fieldKey('model')
const REGION = fieldKey('region')
const METADATA = fieldKey('metadata')

export function patch(body: Uint8Array, facts: Facts, rewrite: Rewrite): Uint8Array {
  return applySplices(body, findSplices(body, facts, rewrite))
}

/** None of them is inside of what is to be embedded. */
export function findSplices(
  body: Uint8Array,
  { model, layout }: Facts,
  rewrite: Rewrite,
): readonly Splice[] {
  const splices = model === rewrite.model ? [] : [renameModel(layout, rewrite.model)]
  const edits = hasQuirks(rewrite) ? embeddingQuirks.findEdits(body, layout, rewrite) : NO_EDITS
  if (edits.dropped.size > 0 || hasOwn(layout)) splices.push(...drop(layout, edits.dropped))
  splices.push(...edits.splices)
  return splices.sort((left, right) => left.from - right.from)
}

function renameModel({ members }: BodyLayout, model: string): Splice {
  const { value, to } = members.find(({ key }) => key === MODEL)!
  return { from: value, to, text: JSON.stringify(model) }
}

/** What is the gateway's and not the supplier's: also a region of null, which is none. */
function hasOwn({ members, metadata }: BodyLayout): boolean {
  return metadata !== undefined || members.some(({ key }) => key === REGION)
}

/** What held nothing but the gateway's own goes with it. */
function drop(
  { members, metadata = [] }: BodyLayout,
  dropped: ReadonlySet<Member>,
): readonly Splice[] {
  const isSpent = metadata.length > 0 && metadata.every(isListed)
  const outer = dropMembers(members, (member) => {
    if (member.key === REGION || dropped.has(member)) return true
    return isSpent && member.key === METADATA
  })
  return isSpent ? outer : [...outer, ...dropMembers(metadata, isListed)]
}

function isListed({ key }: Member): boolean {
  return key >= 0
}

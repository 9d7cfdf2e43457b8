// The splices that a relayed messages request gets, and no others: the model's name at the supplier, the
// gateway's own fields taken out, the output limit where it is lowered, and the supplier's quirks.
import { applySplices, dropMembers, type Member, type Splice } from '../../wire/json-splice.ts'
import type { Adjustment, BodyLayout, Facts, Rewrite } from '../dialect.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { lowerBudget } from './budget.ts'
import { fieldKey } from './fields.ts'
import { messagesQuirks } from './quirks.ts'

const MODEL = fieldKey('model')
const REGION = fieldKey('region')
const METADATA = fieldKey('metadata')
const LIMIT = fieldKey('max_tokens')
const THINKING = fieldKey('thinking')

export function patch(
  body: Uint8Array,
  facts: Facts,
  rewrite: Rewrite,
  adjustment?: Adjustment,
): Uint8Array {
  const { layout } = facts
  const splices = facts.model === rewrite.model ? [] : [set(layout, MODEL, rewrite.model)]
  const { dropped, splices: edits } = hasQuirks(rewrite)
    ? messagesQuirks.findEdits(body, layout, rewrite)
    : NO_EDITS
  if (dropped.size > 0 || hasOwn(layout)) splices.push(...drop(layout, dropped))
  splices.push(...edits)
  const limit = adjustment?.maxTokens
  if (limit !== undefined) splices.push(set(layout, LIMIT, limit))
  if (limit !== undefined && !isDropped(dropped, THINKING))
    splices.push(...lowerBudget(body, layout, limit))
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

/** What is the gateway's and not the supplier's: also a region of null, which is none. */
function hasOwn({ members, metadata }: BodyLayout): boolean {
  return metadata !== undefined || members.some(({ key }) => key === REGION)
}

/** Takes out the gateway's own fields and those that quirks drop. What held nothing else goes with them. */
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

function isDropped(dropped: ReadonlySet<Member>, field: number): boolean {
  for (const { key } of dropped) if (key === field) return true
  return false
}

function set({ members }: BodyLayout, field: number, to: string | number): Splice {
  const member = members.find(({ key }) => key === field)!
  return { from: member.value, to: member.to, text: JSON.stringify(to) }
}

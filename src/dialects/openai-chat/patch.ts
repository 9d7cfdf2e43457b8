// The splices that a relayed chat request gets, and no others: the model's name at the supplier, the
// gateway's own fields and what it has sealed for others taken out, the usage frame asked for on streams, the
// output limit where it is lowered, and the supplier's quirks.
import { applySplices, dropMembers, type Member, type Splice } from '../../wire/json-splice.ts'
import type { Span } from '../../core/load.ts'
import type { Adjustment, BodyLayout, Facts, Rewrite } from '../dialect.ts'
import { hasQuirks, isNull, NO_EDITS } from '../quirks.ts'
import { fieldKey } from './fields.ts'
import { chatQuirks } from './quirks.ts'

const MODEL = fieldKey('model')
const REGION = fieldKey('region')
const METADATA = fieldKey('metadata')
const STREAM_OPTIONS = fieldKey('stream_options')
const LIMITS = [fieldKey('max_tokens'), fieldKey('max_completion_tokens')]

export function patch(
  body: Uint8Array,
  facts: Facts,
  rewrite: Rewrite,
  adjustment?: Adjustment,
): Uint8Array {
  const { layout } = facts
  const asks = rewrite.usage === 'ask'
  const splices = facts.model === rewrite.model ? [] : [renameModel(layout, rewrite.model)]
  const edits = hasQuirks(rewrite) ? chatQuirks.findEdits(body, layout, rewrite) : NO_EDITS
  if (edits.dropped.size > 0 || hasOwn(layout, asks))
    splices.push(...drop(layout, edits.dropped, asks))
  if (facts.stream && asks && !facts.asksUsage) splices.push(askUsage(layout))
  if (edits.splices.length > 0) splices.push(...edits.splices)
  if (adjustment?.maxTokens !== undefined) {
    const limits = findLimits(body, layout, edits.dropped)
    splices.push(...setLimits(limits, layout, rewrite, adjustment.maxTokens))
  }
  dropThoughts(body, facts, splices)
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

const COMMA = 0x2c
const SPACE = 0x20

function dropThoughts(body: Uint8Array, { thoughts }: Facts, splices: Splice[]): void {
  for (const thought of thoughts) splices.push(dropMember(body, thought))
}

/** Takes a member out whose neighbours nobody has noted, with one of the commas beside it. */
function dropMember(body: Uint8Array, { from, to }: Span): Splice {
  let next = to
  while (body[next]! <= SPACE) next++
  if (body[next] === COMMA) {
    do next++
    while (body[next]! <= SPACE)
    return { from, to: next, text: '' }
  }
  let comma = from - 1
  while (body[comma]! <= SPACE) comma--
  return { from: body[comma] === COMMA ? comma : from, to, text: '' }
}

/** What is the gateway's and not the supplier's: also a region of null, which is none. */
function hasOwn({ members, metadata }: BodyLayout, asks: boolean): boolean {
  if (metadata !== undefined) return true
  for (const { key } of members)
    if (key === REGION || (key === STREAM_OPTIONS && !asks)) return true
  return false
}

/** Takes out the gateway's own fields and those that quirks drop. What held nothing else goes with them. */
function drop(
  { members, metadata, streamOptions }: BodyLayout,
  dropped: ReadonlySet<Member>,
  asks: boolean,
): readonly Splice[] {
  const isSpent = metadata !== undefined && metadata.length > 0 && metadata.every(isListed)
  const isVoid = !asks && (streamOptions === undefined || streamOptions.every(isListed))
  const outer = dropMembers(
    members,
    (member) =>
      member.key === REGION ||
      (isSpent && member.key === METADATA) ||
      (isVoid && member.key === STREAM_OPTIONS) ||
      dropped.has(member),
  )
  const inner = isSpent || metadata === undefined ? [] : dropMembers(metadata, isListed)
  const options = asks || isVoid ? [] : dropMembers(streamOptions ?? [], isListed)
  return [...outer, ...inner, ...options]
}

/** Only the names that the gateway changes are listed for metadata and stream options. */
function isListed({ key }: Member): boolean {
  return key >= 0
}

function renameModel({ members }: BodyLayout, model: string): Splice {
  const { value, to } = members.find((member) => member.key === MODEL)!
  return { from: value, to, text: JSON.stringify(model) }
}

/**
 * The names of the output limit that the supplier is going to see, those without a value only where none has
 * one: some suppliers refuse to hear it by both names.
 */
function findLimits(
  body: Uint8Array,
  { members }: BodyLayout,
  dropped: ReadonlySet<Member>,
): readonly Member[] {
  const sent = members.filter((member) => LIMITS.includes(member.key) && !dropped.has(member))
  const set = sent.filter((member) => !isNull(body, member))
  return set.length > 0 ? set : sent.slice(0, 1)
}

function setLimits(
  limits: readonly Member[],
  { close }: BodyLayout,
  { maxTokensName = 'max_tokens' }: Rewrite,
  maxTokens: number,
): readonly Splice[] {
  const text = String(maxTokens)
  if (limits.length > 0) return limits.map(({ value, to }) => ({ from: value, to, text }))
  return [{ from: close, to: close, text: `,"${maxTokensName}":${text}` }]
}

function askUsage({ members, streamOptions, close }: BodyLayout): Splice {
  const field = members.find((member) => member.key === STREAM_OPTIONS)
  if (field === undefined)
    return { from: close, to: close, text: ',"stream_options":{"include_usage":true}' }
  if (streamOptions === undefined)
    return { from: field.value, to: field.to, text: '{"include_usage":true}' }
  const option = streamOptions.find((member) => member.key === 0)
  if (option !== undefined) return { from: option.value, to: option.to, text: 'true' }
  const comma = streamOptions.length > 0 ? ',' : ''
  return { from: field.value + 1, to: field.value + 1, text: `"include_usage":true${comma}` }
}

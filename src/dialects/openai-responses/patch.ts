// The splices that a relayed responses request gets, and no others: the model's name at the supplier, the
// gateway's own fields taken out, thoughts that the supplier cannot read, the output limit where it is set or
// lowered, and the supplier's quirks.
import type { Span } from '../../core/load.ts'
import { applySplices, type Splice } from '../../wire/json-splice.ts'
import type { Adjustment, BodyLayout, Facts, Rewrite, Thought } from '../dialect.ts'
import { OwnFields } from '../own-fields.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { fieldKey } from './fields.ts'
import { responsesQuirks } from './quirks.ts'

const own = new OwnFields(fieldKey)
const LIMIT = fieldKey('max_output_tokens')

export function patch(
  body: Uint8Array,
  facts: Facts,
  rewrite: Rewrite,
  adjustment?: Adjustment,
): Uint8Array {
  const { layout, thoughts } = facts
  const splices = facts.model === rewrite.model ? [] : [own.rename(layout, rewrite.model)]
  const { dropped, splices: edits } = hasQuirks(rewrite)
    ? responsesQuirks.findEdits(body, layout, rewrite)
    : NO_EDITS
  if (dropped.size > 0 || own.areIn(layout))
    splices.push(...own.drop(layout, (member) => dropped.has(member)))
  splices.push(...edits)
  if (adjustment?.maxTokens !== undefined) splices.push(setLimit(layout, adjustment.maxTokens))
  if (thoughts.length > 0)
    splices.push(...dropThoughts(body, thoughts, adjustment?.dropsThoughts === true))
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

/** A limit of null is none, and gets its value where it stands. */
function setLimit({ members, close }: BodyLayout, maxTokens: number): Splice {
  const limit = members.find(({ key }) => key === LIMIT)
  const text = String(maxTokens)
  if (limit !== undefined) return { from: limit.value, to: limit.to, text }
  return { from: close, to: close, text: `,"max_output_tokens":${text}` }
}

const COMMA = 0x2c
const SPACE = 0x20

/** Takes items out of the input: those that no supplier of this language can read, or all that were thought. */
function dropThoughts(
  body: Uint8Array,
  thoughts: readonly Thought[],
  dropsAll: boolean,
): readonly Splice[] {
  const runs: Span[] = []
  for (const { from, to, isMarked } of thoughts) {
    if (!dropsAll && !isMarked) continue
    const last = runs.at(-1)
    // Neighbours go in one piece, with the one comma that they make superfluous.
    if (last !== undefined && isNext(body, last, from)) runs.splice(-1, 1, { from: last.from, to })
    else runs.push({ from, to })
  }
  return runs.map((run) => dropRun(body, run))
}

/** Nothing but a comma stands between them. */
function isNext(body: Uint8Array, last: Span, from: number): boolean {
  const comma = skipSpace(body, last.to, 1)
  return body[comma] === COMMA && skipSpace(body, comma + 1, 1) === from
}

/** With the comma before it, or that behind it at the beginning of the list. */
function dropRun(body: Uint8Array, { from, to }: Span): Splice {
  const before = skipSpace(body, from - 1, -1)
  const after = skipSpace(body, to, 1)
  if (body[before] === COMMA) return { from: before, to, text: '' }
  return { from, to: body[after] === COMMA ? skipSpace(body, after + 1, 1) : to, text: '' }
}

/** The next place, in one of two directions, that is no white space. */
function skipSpace(body: Uint8Array, from: number, step: 1 | -1): number {
  let at = from
  while (body[at]! <= SPACE) at += step
  return at
}

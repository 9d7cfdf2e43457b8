// The splices that a relayed messages request gets, and no others: the model's name at the supplier, the
// gateway's own fields taken out, thoughts that the supplier cannot read, the output limit where it is lowered,
// and the supplier's quirks.
import { applySplices, type Member, type Splice } from '../../wire/json-splice.ts'
import type { Adjustment, BodyLayout, Facts, Rewrite, Thought } from '../dialect.ts'
import { OwnFields } from '../own-fields.ts'
import { hasQuirks, NO_EDITS } from '../quirks.ts'
import { lowerBudget } from './budget.ts'
import { fieldKey, THINKING_KEYS } from './fields.ts'
import { messagesQuirks } from './quirks.ts'

const own = new OwnFields(fieldKey)
const LIMIT = fieldKey('max_tokens')
const THINKING = fieldKey('thinking')
const BUDGET = THINKING_KEYS.names.indexOf('budget_tokens')

export function patch(
  body: Uint8Array,
  facts: Facts,
  rewrite: Rewrite,
  adjustment?: Adjustment,
): Uint8Array {
  const { layout } = facts
  const splices = facts.model === rewrite.model ? [] : [own.rename(layout, rewrite.model)]
  const { dropped, splices: edits } = hasQuirks(rewrite)
    ? messagesQuirks.findEdits(body, layout, rewrite)
    : NO_EDITS
  if (dropped.size > 0 || own.areIn(layout))
    splices.push(...own.drop(layout, (member) => dropped.has(member)))
  splices.push(...edits)
  const limit = adjustment?.maxTokens
  const dropsAll = adjustment?.dropsThoughts === true
  if (limit !== undefined) splices.push(set(layout, LIMIT, limit))
  if (!isDropped(dropped, THINKING)) splices.push(...setBudget(body, layout, adjustment))
  if (facts.thoughts.length > 0) splices.push(...dropThoughts(body, facts.thoughts, dropsAll))
  if (splices.length > 1) splices.sort((left, right) => left.from - right.from)
  return applySplices(body, splices)
}

/** Models that think by a budget do so only where they are shown what they have thought before. */
const UNTHINKING = { type: 'disabled' }

function setBudget(
  body: Uint8Array,
  layout: BodyLayout,
  adjustment: Adjustment | undefined,
): readonly Splice[] {
  if (adjustment === undefined || layout.thinking?.some(isBudget) !== true) return []
  if (adjustment.dropsThoughts === true) return [set(layout, THINKING, UNTHINKING)]
  const { maxTokens } = adjustment
  return maxTokens === undefined ? [] : lowerBudget(body, layout, maxTokens)
}

function isBudget({ key }: Member): boolean {
  return key === BUDGET
}

function isDropped(dropped: ReadonlySet<Member>, field: number): boolean {
  for (const { key } of dropped) if (key === field) return true
  return false
}

function set({ members }: BodyLayout, field: number, to: string | number | object): Splice {
  const member = members.find(({ key }) => key === field)!
  return { from: member.value, to: member.to, text: JSON.stringify(to) }
}

const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const SPACE = 0x20

/** Suppliers refuse a message without content, and a text without letters. */
const NOTHING = '{"type":"text","text":"…"}'

/** Takes blocks out of the messages that they stand in: those that no supplier of this language can read, or all. */
function dropThoughts(
  body: Uint8Array,
  thoughts: readonly Thought[],
  dropsAll: boolean,
): readonly Splice[] {
  const splices: Splice[] = []
  let run: Thought[] = []
  for (const thought of thoughts) {
    if (!dropsAll && !thought.isMarked) continue
    const last = run.at(-1)
    if (last !== undefined && !isNext(body, last, thought)) {
      splices.push(...dropRun(body, run))
      run = []
    }
    run.push(thought)
  }
  return run.length === 0 ? splices : [...splices, ...dropRun(body, run)]
}

/** Nothing but a comma stands between them. */
function isNext(body: Uint8Array, last: Thought, { from }: Thought): boolean {
  const comma = skipSpace(body, last.to, 1)
  return body[comma] === COMMA && skipSpace(body, comma + 1, 1) === from
}

/** Neighbours go in one piece, with the one comma that they make superfluous. */
function dropRun(body: Uint8Array, run: readonly Thought[]): readonly Splice[] {
  const { from } = run[0]!
  const { to, from: lastFrom } = run.at(-1)!
  const before = skipSpace(body, from - 1, -1)
  const after = skipSpace(body, to, 1)
  if (body[before] !== OPEN_LIST) return [{ from: before, to, text: '' }]
  if (body[after] !== CLOSE_LIST) return [{ from, to: skipSpace(body, after + 1, 1), text: '' }]
  const rest = lastFrom === from ? [] : [{ from, to: lastFrom, text: '' }]
  return [...rest, { from: lastFrom, to, text: NOTHING }]
}

/** The next place, in one of two directions, that is no white space. */
function skipSpace(body: Uint8Array, from: number, step: 1 | -1): number {
  let at = from
  while (body[at]! <= SPACE) at += step
  return at
}

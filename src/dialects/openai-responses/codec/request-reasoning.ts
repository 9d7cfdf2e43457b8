// How much a model is to think, as this language has it: one word for the effort. How its thoughts are to be summed up
// is for who sums them up to decide.
import { EFFORTS, type Effort, type Reasoning, type Trait } from '../../../core/chat.ts'
import type { ReasoningHabit } from '../../codec.ts'
import { effortFor } from '../../effort.ts'
import type { Lost } from '../../lost.ts'
import { findFields, findText } from '../../reader.ts'
import type { Spot } from './items-decode.ts'

const FIELDS = new Set(['effort'])

/** What these ask for is what happens anyway: whatever is told of a thought is shown. */
const DEFAULTS: Readonly<Record<string, string>> = {
  summary: 'auto',
  generate_summary: 'auto',
  context: 'auto',
  mode: 'standard',
}

/** Words for: as the model sees fit. */
const UNSAID = ['default', 'auto']

/** How hard to think, and where that was said. */
export interface Wish {
  readonly effort: Effort
  readonly place: string
}

/** `later` is what an item of the conversation has asked for since. */
export function decodeReasoning(
  value: unknown,
  later: Wish | undefined,
  lost: Lost,
): Reasoning | undefined {
  const fields = findFields(value, 'reasoning') ?? {}
  lost.addOthers('/reasoning', fields, FIELDS, isDefault)
  const spot = { param: 'reasoning.effort', pointer: '/reasoning/effort', lost }
  const wish = later ?? decodeEffort(fields['effort'], spot)
  if (wish === undefined) return undefined
  lost.note('reasoning', wish.place)
  return { effort: wish.effort }
}

function isDefault(value: unknown, name: string): boolean {
  return value === null || (Object.hasOwn(DEFAULTS, name) && value === DEFAULTS[name])
}

export function decodeEffort(value: unknown, { param, pointer, lost }: Spot): Wish | undefined {
  const word = findText(value, param)
  const effort = EFFORTS.find((each) => each === word)
  if (word !== undefined && effort === undefined && !UNSAID.includes(word)) lost.add(pointer)
  return effort === undefined ? undefined : { effort, place: pointer }
}

export interface ReasoningFields {
  readonly reasoning?: { readonly effort: Effort }
  readonly include?: readonly string[]
}

/** Asked for with every thought, because nothing is stored: without its seal nobody can go on from it. */
const SEALS = ['reasoning.encrypted_content']

/** Suppliers refuse the words for more than `high`, and many the word for nothing at all. */
export function encodeReasoning(
  reasoning: Reasoning | undefined,
  habit: ReasoningHabit | undefined,
  lost: Set<Trait>,
): ReasoningFields {
  if (reasoning === undefined || reasoning.effort === 'none') return {}
  if (habit === undefined || habit === 'none') {
    lost.add('reasoning')
    return {}
  }
  const word = wordFor(reasoning)
  return { ...(word !== undefined && { reasoning: { effort: word } }), include: SEALS }
}

function wordFor({ effort, budget }: Reasoning): Effort | undefined {
  if (effort !== undefined) return effort === 'xhigh' || effort === 'max' ? 'high' : effort
  return budget === undefined ? undefined : effortFor(budget)
}

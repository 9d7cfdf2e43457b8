// How much the model is asked to think: in two places, one of which says whether and the other how hard.
import { EFFORTS, type Effort, type Reasoning } from '../../../core/chat.ts'
import { asNumber } from '../../exact-json.ts'
import { asFields, type Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { isDefault } from './request-spot.ts'

const THINKING_FIELDS = new Set(['type', 'budget_tokens'])
/** As little as a model can: not at all, or only behind the results of its calls. */
const UNTHINKING = new Set<unknown>(['disabled', 'between_tools'])

/** How hard to think, and where that was said. */
export interface Wish {
  readonly effort: Effort
  readonly place: string
}

/** Undefined where none is asked for, or none that is known. */
export function decodeEffort(output: Fields, pointer: string, lost: Lost): Wish | undefined {
  const asked = output['effort'] ?? undefined
  const effort = EFFORTS.find((each) => each === asked)
  const place = `${pointer}/effort`
  if (asked !== undefined && effort === undefined) lost.add(place)
  return effort === undefined ? undefined : { effort, place }
}

export function decodeReasoning(
  value: unknown,
  wish: Wish | undefined,
  lost: Lost,
): Reasoning | undefined {
  const asked = wish === undefined ? undefined : { effort: wish.effort }
  const thinking = asFields(value)
  if (thinking !== undefined) lost.note('reasoning', '/thinking')
  if (!UNTHINKING.has(thinking?.['type']) && wish !== undefined) lost.note('reasoning', wish.place)
  if (thinking === undefined) return asked
  lost.addOthers('/thinking', thinking, THINKING_FIELDS, isDefault)
  const { type } = thinking
  const budget = asNumber(thinking['budget_tokens'])
  if (UNTHINKING.has(type)) {
    // It is also how many words to make, which is not said without thinking.
    if (wish !== undefined && wish.effort !== 'none') lost.add(wish.place)
    return { effort: 'none' }
  }
  if (type === 'enabled' && typeof budget === 'number') return { ...asked, budget }
  return { ...asked, isAdaptive: true }
}

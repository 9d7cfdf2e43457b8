// How much a model is to think, as chat has it: one word for the effort. Some clients send an object instead, with a
// number of tokens beside it.
import {
  EFFORTS,
  type ChatRequest,
  type Effort,
  type Reasoning,
  type Trait,
} from '../../../core/chat.ts'
import type { Target } from '../../codec.ts'
import { effortFor } from '../../effort.ts'
import type { Fields } from '../../json.ts'
import type { Lost } from '../../lost.ts'
import { findBoolean, findFields, findNumber, findText, told } from '../../reader.ts'

const FIELDS = new Set(['effort', 'max_tokens', 'enabled'])

/** Words for: as the model sees fit. */
const UNSAID = ['default', 'auto']

export function decodeReasoning(fields: Fields, lost: Lost): Reasoning | undefined {
  const word = findEffort(fields['reasoning_effort'], 'reasoning_effort', lost)
  const other = decodeObject(fields['reasoning'], lost)
  if (word !== undefined) lost.note('reasoning', '/reasoning_effort')
  if (other?.budget !== undefined || (word === undefined && other !== undefined))
    lost.note('reasoning', '/reasoning')
  if (word === undefined) return other
  if (other?.effort !== undefined && other.effort !== word) lost.add('/reasoning/effort')
  return told<Reasoning>({ effort: word, budget: other?.budget })
}

function decodeObject(value: unknown, lost: Lost): Reasoning | undefined {
  const fields = findFields(value, 'reasoning')
  if (fields === undefined) return undefined
  const isShown = fields['exclude'] === false
  lost.addOthers('/reasoning', fields, isShown ? new Set([...FIELDS, 'exclude']) : FIELDS)
  const effort = findEffort(fields['effort'], 'reasoning.effort', lost)
  const budget = findNumber(fields['max_tokens'], 'reasoning.max_tokens')
  const isEnabled = findBoolean(fields['enabled'], 'reasoning.enabled')
  if (isEnabled === false) return { effort: 'none' }
  if (effort !== undefined || budget !== undefined) return told<Reasoning>({ effort, budget })
  return isEnabled === true ? { isAdaptive: true } : undefined
}

function findEffort(value: unknown, param: string, lost: Lost): Effort | undefined {
  const word = findText(value, param)
  const effort = EFFORTS.find((each) => each === word)
  if (word !== undefined && effort === undefined && !UNSAID.includes(word))
    lost.add(`/${param.replace('.', '/')}`)
  return effort
}

/** The word to send. Suppliers refuse the words for more than `high`, and many the word for nothing at all. */
export function encodeReasoning(
  { reasoning, tools }: ChatRequest,
  { reasoning: habit, besideTools }: Target,
  lost: Set<Trait>,
): string | undefined {
  const isSilenced = tools.length > 0 && besideTools !== undefined
  const isOff = isSilenced && besideTools === 'off'
  if (reasoning === undefined || reasoning.effort === 'none') return isOff ? 'none' : undefined
  if (!isSilenced && habit !== undefined && habit !== 'none') return wordFor(reasoning)
  lost.add('reasoning')
  return isOff ? 'none' : undefined
}

function wordFor({ effort, budget }: Reasoning): string | undefined {
  if (effort !== undefined) return effort === 'xhigh' || effort === 'max' ? 'high' : effort
  return budget === undefined ? undefined : effortFor(budget)
}

// How a model of this language is told to think, and what it does not take beside that. Who cannot be told so is told
// nothing, and that is a loss.
import type { ChatRequest, Effort, Reasoning, ThinkingPart, Trait } from '../../../core/chat.ts'
import type { Target } from '../../codec.ts'
import { effortFor } from '../../effort.ts'
import type { Fields } from '../../json.ts'
import { LEAST_BUDGET } from '../budget.ts'

/** What is left of the limit for the answer. */
const LEAST_ANSWER = 1024
/** Least of `top_p` that is taken beside thinking (the maker's reference of the interface, seen 2026-11). */
const LEAST_TOP_P = 0.95

const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
}

export interface ThinkingFields {
  readonly thinking?: Fields
  readonly effort?: string
  /** The model thinks, and takes less beside it. */
  readonly isOn: boolean
}

const SILENT: ThinkingFields = { isOn: false }

/** Only who has sealed a thought can read it. A seal of another language is JSON, and none of this one is. */
export function isReadable({ seal }: ThinkingPart, { supplier }: Target): boolean {
  if (seal === undefined || seal.data === '' || supplier === '') return false
  return seal.supplier === supplier && !seal.data.startsWith('{')
}

export function encodeReasoning(
  request: ChatRequest,
  target: Target,
  limit: number,
  lost: Set<Trait>,
): ThinkingFields {
  const { reasoning } = request
  if (reasoning === undefined) return SILENT
  if (reasoning.effort === 'none') return turnOff(target, lost)
  const isRefused = isForced(request) && !refusesForce(target)
  const fields = isRefused ? undefined : tell(reasoning, request, target, limit)
  if (fields === undefined) lost.add('reasoning')
  return fields ?? SILENT
}

/** Who thinks between calls at least has a word of its own for that; who always does has none. */
function turnOff(target: Target, lost: Set<Trait>): ThinkingFields {
  if (isDeaf(target)) return SILENT
  if (target.leastThinking === 'between_calls')
    return { thinking: { type: 'between_tools' }, isOn: false }
  if (target.leastThinking === undefined) return { thinking: { type: 'disabled' }, isOn: false }
  lost.add('reasoning')
  return SILENT
}

/** Who cannot be kept from thinking cannot be made to call a tool either, and is left to choose. */
export function refusesForce({ leastThinking }: Target): boolean {
  return leastThinking !== undefined
}

function isDeaf({ reasoning }: Target): boolean {
  return reasoning === undefined || reasoning === 'none'
}

/** Who must call a tool cannot think before. */
export function isForced({ tools, toolChoice }: ChatRequest): boolean {
  return tools.length > 0 && (toolChoice?.mode === 'any' || toolChoice?.mode === 'named')
}

function tell(
  reasoning: Reasoning,
  request: ChatRequest,
  target: Target,
  limit: number,
): ThinkingFields | undefined {
  if (target.reasoning === 'effort') return byEffort(reasoning, target)
  if (target.reasoning !== 'budget' || isInterrupted(request, target)) return undefined
  const { effort = 'medium', budget = BUDGETS[effort] } = reasoning
  const tokens = Math.min(Math.max(LEAST_BUDGET, Math.floor(budget)), limit - LEAST_ANSWER)
  if (tokens < LEAST_BUDGET) return undefined
  return { thinking: { type: 'enabled', budget_tokens: tokens }, isOn: true }
}

function byEffort({ effort, budget }: Reasoning, { refusedEfforts = [] }: Target): ThinkingFields {
  const thinking = { type: 'adaptive' }
  const word = effort ?? (budget === undefined ? undefined : effortFor(budget))
  if (word === undefined) return { thinking, isOn: true }
  // The most that all of them know.
  const known = refusedEfforts.includes(word) ? 'high' : word
  return { thinking, effort: known === 'minimal' ? 'low' : known, isOn: true }
}

/** Who has called a tool without a thought is not taken to have thought: suppliers refuse to go on thinking then. */
function isInterrupted({ turns }: ChatRequest, target: Target): boolean {
  const last = turns.findLast(({ role }) => role === 'assistant')
  if (last?.role !== 'assistant' || last.parts.every(({ kind }) => kind !== 'call')) return false
  return !last.parts.some((part) => part.kind === 'thinking' && isReadable(part, target))
}

/** What a model takes of how to choose its words. */
export interface Openness {
  readonly isThinking: boolean
  /** It takes nothing of it, whether it thinks or not. */
  readonly isFixed: boolean
}

/** Models that think take hardly any of these; newer ones take only one of the first two, and the newest none. */
export function encodeSampling(request: ChatRequest, openness: Openness, lost: Set<Trait>): Fields {
  const { topK } = request
  const temperature = encodeTemperature(request, openness, lost)
  const topP = encodeTopP(request, { ...openness, hasOther: temperature !== undefined }, lost)
  const takesTopK = !openness.isFixed && !openness.isThinking
  if (topK !== undefined && !takesTopK) lost.add('top_k')
  return { temperature, top_p: topP, top_k: takesTopK ? topK : undefined }
}

function encodeTemperature(
  { temperature }: ChatRequest,
  { isThinking, isFixed }: Openness,
  lost: Set<Trait>,
): number | undefined {
  if (temperature === undefined) return undefined
  const isRefused = isFixed || (isThinking && temperature < 1)
  if (temperature > 1 || (isRefused && temperature !== 1)) lost.add('temperature')
  return isRefused ? undefined : Math.min(1, temperature)
}

/** All of it is what is taken without a word. */
function encodeTopP(
  { topP }: ChatRequest,
  { isThinking, isFixed, hasOther }: Openness & { readonly hasOther: boolean },
  lost: Set<Trait>,
): number | undefined {
  if (topP === undefined) return undefined
  const isRefused = isFixed || hasOther || (isThinking && topP < LEAST_TOP_P)
  if (isRefused && topP !== 1) lost.add('top_p')
  return isRefused ? undefined : topP
}

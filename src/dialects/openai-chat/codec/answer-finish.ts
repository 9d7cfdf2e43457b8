// Why an answer ends, in the words of chat suppliers and in ours. Suppliers made up more words than the language has:
// a word that says the answer was cut is never read as a complete one.
import type { Finish } from '../../../core/chat.ts'
import { isBlank, type Fields } from '../../json.ts'

type Reason = Finish['reason']

const REASONS: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ['stop', 'end'],
  ['stop_sequence', 'stop'],
  ['length', 'length'],
  ['max_tokens', 'length'],
  // The model can hold no more: Mistral's (seen in mistral-openapi-client 0.1.0, read 2026-11).
  ['model_length', 'window'],
  ['tool_calls', 'tools'],
  ['function_call', 'tools'],
  ['tool_use', 'tools'],
  ['content_filter', 'refusal'],
  ['refusal', 'refusal'],
  ['safety', 'refusal'],
  ['recitation', 'refusal'],
  ['sensitive', 'refusal'],
  // It ended before the model did; the first is DeepSeek's (seen in ds-api 0.10.7, read 2026-11). A caller that takes
  // it for complete would act on half an answer.
  ['insufficient_system_resource', 'length'],
  ['abort', 'length'],
  ['error', 'length'],
  ['network_error', 'length'],
])

/** What an answer holds that bears on why it ends. */
export interface Said {
  readonly hasCalls: boolean
  readonly hasRefusal: boolean
}

/** True where a choice says that it ends, in whatever word. */
export function isFinished(choice: Fields): boolean {
  return !isBlank(choice['finish_reason'])
}

export function readFinish(choice: Fields, said: Said): Finish {
  const word = choice['finish_reason']
  const raw = typeof word === 'string' && word !== '' ? word : undefined
  const stopText = stopTextOf(choice)
  const told = REASONS.get(raw?.toLowerCase() ?? '') ?? 'end'
  const reason = settle(told === 'end' && stopText !== undefined ? 'stop' : told, said)
  return { reason, raw, ...(reason === 'stop' && stopText !== undefined ? { stopText } : {}) }
}

/** Some suppliers say `stop` where they wait for results, and some wait for none where they say so. */
function settle(reason: Reason, { hasCalls, hasRefusal }: Said): Reason {
  if (reason === 'length' || reason === 'window' || reason === 'refusal') return reason
  if (hasRefusal) return 'refusal'
  if (hasCalls) return 'tools'
  return reason === 'tools' ? 'end' : reason
}

/**
 * vLLM names the text that stopped it, SGLang under another name; a token that stops it is a number (seen in
 * agentgateway #3283, 2026-09).
 */
function stopTextOf(choice: Fields): string | undefined {
  const { stop_reason: text, matched_stop: other } = choice
  if (typeof text === 'string' && text !== '') return text
  return typeof other === 'string' && other !== '' ? other : undefined
}

/** The members of a choice that say why it ends. The text that stopped it is told as vLLM tells it. */
export function writeFinish(
  { reason, stopText }: Finish,
  { hasCalls, hasRefusal }: Said,
): Record<string, string> {
  const word = wordOf(reason, hasCalls, hasRefusal)
  const hasStopText = stopText !== undefined && reason === 'stop' && word === 'stop'
  return { finish_reason: word, ...(hasStopText ? { stop_reason: stopText } : {}) }
}

function wordOf(reason: Reason, hasCalls: boolean, hasRefusal: boolean): string {
  if (reason === 'length' || reason === 'window') return 'length'
  if (reason === 'refusal') return hasRefusal ? 'stop' : 'content_filter'
  // Clients look for calls where this word is, and nowhere else.
  return hasCalls ? 'tool_calls' : 'stop'
}

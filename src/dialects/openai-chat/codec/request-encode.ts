// A request in the words of chat. Whatever of it is left unsaid is told as lost, also where the supplier is known to
// refuse the field.
import type { ChatRequest, Trait } from '../../../core/chat.ts'
import type { EncodedRequest, Target } from '../../codec.ts'
import { noteDropped } from '../../dropped.ts'
import type { Fields } from '../../json.ts'
import { printBody } from '../../outgoing.ts'
import { CallWords } from './calls-encode.ts'
import { encodeReasoning } from './request-reasoning.ts'
import { encodeFormat } from './request-format.ts'
import { encodeTools } from './tools-encode.ts'
import { encodeTurns } from './turns-encode.ts'

const USER_LENGTH_MAX = 64

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { quirks } = target
  const lost = new Set<Trait>()
  const words = new CallWords(quirks)
  const fields: Record<string, unknown> = {
    model: target.model,
    messages: encodeTurns(request, { supplier: target.supplier, quirks, words, lost }),
    ...encodeTools(request, words, lost),
    [quirks.maxTokensName ?? 'max_tokens']: encodeLimit(request, target),
    stop: request.stop.length > 0 ? request.stop : undefined,
    ...encodeSampling(request, target, lost),
    seed: request.seed,
    response_format: encodeFormat(request.format),
    reasoning_effort: encodeReasoning(request, target, lost),
    user: encodeUser(request.user, lost),
    ...(request.stream && { stream: true }),
    ...(request.stream && quirks.usage === 'ask' && { stream_options: { include_usage: true } }),
  }
  const { format } = request
  const said = { ...SAID, response_format: format === undefined ? [] : [format.kind] }
  noteDropped(fields, quirks, said, lost)
  return { body: printBody(fields, quirks), headers: {}, lost: [...lost], names: words.names }
}

/** To a model that takes none of it the defaults are not sent either: they change nothing, and some refuse them too. */
function encodeSampling(request: ChatRequest, { samples }: Target, lost: Set<Trait>): Fields {
  const { temperature, topP, topK, presencePenalty, frequencyPenalty } = request
  if (topK !== undefined) lost.add('top_k')
  if (samples !== false)
    return {
      temperature,
      top_p: topP,
      presence_penalty: presencePenalty,
      frequency_penalty: frequencyPenalty,
    }
  if ((temperature ?? 1) !== 1) lost.add('temperature')
  if ((topP ?? 1) !== 1) lost.add('top_p')
  if ((presencePenalty ?? 0) !== 0 || (frequencyPenalty ?? 0) !== 0) lost.add('penalties')
  return {}
}

/** There has to be room for something: only other languages have a use for none. */
function encodeLimit({ maxTokens }: ChatRequest, target: Target): number | undefined {
  const limit = target.maxTokens ?? maxTokens
  return limit === undefined ? undefined : Math.max(1, limit)
}

/** Longer ones are refused (seen in the maker's reference, 2026-11). */
function encodeUser(user: string | undefined, lost: Set<Trait>): string | undefined {
  if (user === undefined || user.length <= USER_LENGTH_MAX) return user
  lost.add('user')
  return undefined
}

const SAID = {
  tools: ['tools'],
  tool_choice: ['tool_choice'],
  parallel_tool_calls: ['parallel_tools'],
  max_tokens: ['max_tokens'],
  max_completion_tokens: ['max_tokens'],
  stop: ['stop'],
  temperature: ['temperature'],
  top_p: ['top_p'],
  seed: ['seed'],
  presence_penalty: ['penalties'],
  frequency_penalty: ['penalties'],
  reasoning_effort: ['reasoning'],
  user: ['user'],
} as const

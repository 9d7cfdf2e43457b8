// A request in the words of responses. Whatever of it is left unsaid is told as lost, also where the supplier is known
// to refuse the field. Nothing is ever kept by the supplier.
import type { ChatRequest, Trait } from '../../../core/chat.ts'
import type { EncodedRequest, Target } from '../../codec.ts'
import { noteDropped } from '../../dropped.ts'
import type { Fields } from '../../json.ts'
import { printBody } from '../../outgoing.ts'
import { ToolNames } from '../../tool-names.ts'
import { encodeFormat } from './request-format.ts'
import { encodeReasoning } from './request-reasoning.ts'
import { encodeTools } from './tools-encode.ts'
import { encodeConversation } from './turns-encode.ts'

const USER_LENGTH_MAX = 64

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const { quirks } = target
  const lost = new Set<Trait>()
  const tools = new ToolNames()
  const fields: Record<string, unknown> = {
    model: target.model,
    ...encodeConversation(request, { supplier: target.supplier, tools, lost }),
    ...encodeTools(request, tools, lost),
    max_output_tokens: encodeLimit(request, target),
    ...encodeSampling(request, target, lost),
    text: encodeFormat(request.format),
    ...encodeReasoning(request.reasoning, target.reasoning, lost),
    user: encodeUser(request.user, lost),
    store: false,
    ...(request.stream && { stream: true }),
  }
  noteUnsaid(request, lost)
  const { format } = request
  const said = { ...SAID, text: format === undefined ? [] : [format.kind] }
  noteDropped(fields, quirks, said, lost)
  return { body: printBody(fields, quirks), headers: {}, lost: [...lost], names: tools.names }
}

/** To a model that takes none of it the defaults are not sent either: they change nothing, and some refuse them too. */
function encodeSampling(request: ChatRequest, { samples }: Target, lost: Set<Trait>): Fields {
  const { temperature, topP } = request
  if (samples !== false) return { temperature, top_p: topP }
  if ((temperature ?? 1) !== 1) lost.add('temperature')
  if ((topP ?? 1) !== 1) lost.add('top_p')
  return {}
}

/** What has no words here. A penalty of nothing is none. */
function noteUnsaid(request: ChatRequest, lost: Set<Trait>): void {
  const { stop, topK, seed, presencePenalty = 0, frequencyPenalty = 0 } = request
  if (stop.length > 0) lost.add('stop')
  if (topK !== undefined) lost.add('top_k')
  if (seed !== undefined) lost.add('seed')
  if (presencePenalty !== 0 || frequencyPenalty !== 0) lost.add('penalties')
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
  instructions: ['system'],
  tools: ['tools'],
  tool_choice: ['tool_choice'],
  parallel_tool_calls: ['parallel_tools'],
  max_output_tokens: ['max_tokens'],
  temperature: ['temperature'],
  top_p: ['top_p'],
  reasoning: ['reasoning'],
  user: ['user'],
} as const

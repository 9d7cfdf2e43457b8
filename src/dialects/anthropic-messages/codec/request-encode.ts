// A request put into the words of this language for one supplier. Whatever it does not say is told as lost.
import type { ChatRequest, Format, Trait } from '../../../core/chat.ts'
import type { EncodedRequest, Target } from '../../codec.ts'
import { noteDropped } from '../../dropped.ts'
import { isFields, type Fields } from '../../json.ts'
import { printBody } from '../../outgoing.ts'
import { limitMarks } from './marks-encode.ts'
import { closeSchema } from './schema-encode.ts'
import { encodeReasoning, encodeSampling } from './thinking-encode.ts'
import { encodeTools } from './tools-encode.ts'
import { encodeConversation } from './turns-encode.ts'

const VERSION = 'anthropic-version'
/** The next one, 2026-10-21, takes no temperature for any model (seen in MinusPod 2.101.10, 2026-10). */
const SPOKEN = '2023-06-01'
const USER_LENGTH_MAX = 256

export function encodeRequest(request: ChatRequest, target: Target): EncodedRequest {
  const lost = new Set<Trait>()
  const { stream, format } = request
  const limit = target.maxTokens ?? request.maxTokens ?? target.maxTokensDefault
  const { system, messages } = encodeConversation(request, target, lost)
  const { thinking, effort, isOn } = encodeReasoning(request, target, limit, lost)
  const output = { effort, format: encodeFormat(format, lost) }
  const fields = {
    model: target.model,
    max_tokens: limit,
    ...limitMarks({ system, messages, ...encodeTools(request, target, lost) }, lost),
    thinking,
    output_config: output.effort === undefined && output.format === undefined ? undefined : output,
    ...encodeSampling(request, { isThinking: isOn, isFixed: target.samples === false }, lost),
    stop_sequences: encodeStops(request, lost),
    metadata: encodeUser(request, lost),
    stream: stream ? true : undefined,
  }
  noteUnsaid(request, lost)
  noteDropped(fields, target.quirks, saidIn(request, output), lost)
  return {
    body: printBody(fields, target.quirks),
    headers: { [VERSION]: SPOKEN },
    lost: [...lost],
  }
}

/** A schema has no name here, which nobody misses; what was said about it is. */
function encodeFormat(format: Format | undefined, lost: Set<Trait>): Fields | undefined {
  if (format === undefined) return undefined
  if (format.kind === 'json') {
    lost.add('json')
    return undefined
  }
  if (format.description !== undefined) lost.add('schema_name')
  const schema = isFields(format.schema) ? closeSchema(format.schema) : undefined
  if (schema !== undefined) return { type: 'json_schema', schema }
  lost.add('schema')
  return undefined
}

/** Suppliers refuse those that are nothing but white space. */
function encodeStops({ stop }: ChatRequest, lost: Set<Trait>): readonly string[] | undefined {
  const sent = stop.filter((text) => text.trim() !== '')
  if (sent.length < stop.length) lost.add('stop')
  return sent.length === 0 ? undefined : sent
}

function encodeUser({ user }: ChatRequest, lost: Set<Trait>): Fields | undefined {
  if (user === undefined) return undefined
  if (user.length <= USER_LENGTH_MAX) return { user_id: user }
  lost.add('user')
  return undefined
}

/** What has no words here. A penalty of nothing is none. */
function noteUnsaid(request: ChatRequest, lost: Set<Trait>): void {
  const { seed, presencePenalty = 0, frequencyPenalty = 0 } = request
  if (seed !== undefined) lost.add('seed')
  if (presencePenalty !== 0 || frequencyPenalty !== 0) lost.add('penalties')
}

const SAID = {
  max_tokens: ['max_tokens'],
  system: ['system'],
  tools: ['tools'],
  thinking: ['reasoning'],
  temperature: ['temperature'],
  top_p: ['top_p'],
  top_k: ['top_k'],
  stop_sequences: ['stop'],
  metadata: ['user'],
} as const

/** What each field says, where some have several things to say. */
function saidIn(
  { toolChoice, parallelTools }: ChatRequest,
  output: { readonly effort: unknown; readonly format: unknown },
): Readonly<Record<string, readonly Trait[]>> {
  const choice: Trait[] = toolChoice === undefined ? [] : ['tool_choice']
  if (parallelTools !== undefined) choice.push('parallel_tools')
  const wishes: Trait[] = output.effort === undefined ? [] : ['reasoning']
  if (output.format !== undefined) wishes.push('schema')
  return { ...SAID, tool_choice: choice, output_config: wishes }
}

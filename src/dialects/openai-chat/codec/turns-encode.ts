// Turns as the messages of a chat request. A result is a message of its own and says only text, so what it shows moves
// into what the user says behind all results. Some suppliers are strict about who speaks behind whom.
import type {
  AssistantTurn,
  CallPart,
  ChatRequest,
  ResultPart,
  TextPart,
  Trait,
  Turn,
  UserTurn,
} from '../../../core/chat.ts'
import { sayFailed } from '../../failed-tool.ts'
import type { Fields } from '../../json.ts'
import type { Quirks } from '../../quirk.ts'
import type { CallWords } from './calls-encode.ts'
import {
  encodePart,
  encodeTexts,
  noteCache,
  printContent,
  textPart,
  type ContentPart,
} from './parts-encode.ts'
import { unsupported } from '../../reader.ts'
import { restoreThinking } from './turns-thinking.ts'

/** What turns are said with. */
export interface Saying {
  readonly supplier: string
  readonly quirks: Quirks
  readonly words: CallWords
  readonly lost: Set<Trait>
}

export function encodeTurns({ system, turns }: ChatRequest, saying: Saying): readonly Fields[] {
  const messages = system.length > 0 ? [encodeSystem(system, saying)] : []
  const isStrict = saying.quirks.strictOrder === true
  for (const turn of turns)
    for (const message of encodeTurn(turn, saying)) {
      if (isStrict && breaksIn(message, messages.at(-1))) messages.push(BRIDGE)
      messages.push(message)
    }
  return messages
}

/** What the model is taken to have said between the results of its calls and whoever speaks next. */
const BRIDGE: Fields = { role: 'assistant', content: 'Noted.' }

/** A user speaks right behind results: refused by who is strict (zed #37021, 2026-04; hermes-agent #84944, 2026-08). */
function breaksIn({ role }: Fields, previous: Fields | undefined): boolean {
  return role === 'user' && previous?.['role'] === 'tool'
}

function encodeSystem(parts: readonly TextPart[], { lost }: Saying): Fields {
  return { role: 'system', content: printContent(encodeTexts(parts, lost)) }
}

function encodeTurn(turn: Turn, saying: Saying): readonly Fields[] {
  if (turn.role === 'system') return [encodeRemark(turn.parts, saying)]
  return turn.role === 'user' ? encodeUser(turn, saying) : encodeAssistant(turn, saying)
}

/** Who is strict takes a system message neither behind the model's nor behind results, but anything from a user. */
function encodeRemark(parts: readonly TextPart[], saying: Saying): Fields {
  const { quirks, lost } = saying
  if (quirks.strictOrder !== true) return encodeSystem(parts, saying)
  const text = encodeTexts(parts, lost).map((part) => String(part['text']))
  return { role: 'user', content: `<system>\n${text.join('\n')}\n</system>` }
}

function encodeUser({ parts }: UserTurn, saying: Saying): readonly Fields[] {
  const messages: Fields[] = []
  const shown: ContentPart[] = []
  const said: ContentPart[] = []
  for (const part of parts) {
    if (part.kind === 'result') messages.push(encodeResult(part, shown, saying))
    else said.push(...encodePart(part, saying.lost))
  }
  const content = [...shown, ...said]
  if (content.length > 0 || parts.length === 0)
    messages.push({ role: 'user', content: printContent(content) })
  if (messages.length === 0)
    throw unsupported(
      'messages',
      'Nothing of one message can be said to a supplier of chat completions. Send it as text, or with images and files by their data, or ask for another model.',
    )
  return messages
}

/** Puts what the result shows with what others show, and says whose it is. */
function encodeResult(result: ResultPart, shown: ContentPart[], saying: Saying): Fields {
  const { words, lost } = saying
  noteCache(result, lost)
  const id = words.id(result.id)
  const texts: ContentPart[] = []
  let pointer = ''
  for (const part of result.parts) {
    for (const encoded of encodePart(part, lost)) {
      if (encoded.type === 'text') texts.push(encoded)
      else {
        shown.push(textPart(`[${part.kind} of tool result ${id}]`), encoded)
        pointer ||= `(see the ${part.kind} below)`
      }
    }
  }
  if (texts.length === 0 && pointer !== '') texts.push(textPart(pointer))
  const content = printContent(result.isError ? markError(texts) : texts)
  return { role: 'tool', tool_call_id: id, content }
}

/** Chat has no other way to say that a call has failed. */
function markError([first, ...rest]: readonly ContentPart[]): readonly ContentPart[] {
  return [textPart(first === undefined ? 'Error' : sayFailed(String(first['text']))), ...rest]
}

/** A turn of which nothing is left is left out: its thoughts were another supplier's. */
function encodeAssistant({ parts }: AssistantTurn, saying: Saying): readonly Fields[] {
  const { lost } = saying
  const thoughts = parts.filter((part) => part.kind === 'thinking')
  const texts = parts.filter((part) => part.kind === 'text')
  const refusals = parts.filter((part) => part.kind === 'refusal')
  const calls = parts.filter((part) => part.kind === 'call')
  const { fields, besideCalls } = restoreThinking(thoughts, saying, lost)
  const isSilent = texts.length + refusals.length + calls.length === 0
  if (isSilent && thoughts.length > 0 && Object.keys(fields).length === 0) return []
  const hasSubstitute = refusals.length + calls.length > 0
  return [
    {
      role: 'assistant',
      content: texts.length === 0 && hasSubstitute ? null : printContent(encodeTexts(texts, lost)),
      ...(refusals.length > 0 && { refusal: refusals.map(({ text }) => text).join('\n') }),
      ...fields,
      ...(calls.length > 0 && {
        tool_calls: calls.map((call) => encodeCall(call, besideCalls, saying)),
      }),
    },
  ]
}

function encodeCall(
  call: CallPart,
  besideCalls: Map<string, unknown>,
  { words, lost }: Saying,
): Fields {
  noteCache(call, lost)
  const extra = besideCalls.get(call.id)
  // It belongs to one call; whoever forges a seal could have it repeated for thousands.
  besideCalls.delete(call.id)
  return {
    id: words.id(call.id),
    type: 'function',
    // A call without input has one of nothing: suppliers read it as JSON, which an empty text is not.
    function: { name: words.name(call.name), arguments: call.input === '' ? '{}' : call.input },
    ...(extra !== undefined && { extra_content: extra }),
  }
}

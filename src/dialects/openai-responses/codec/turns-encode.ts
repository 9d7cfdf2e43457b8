// Turns as the items of a request: each thing that a model has done is one of its own, in the order in which it was done.
import type {
  AssistantPart,
  AssistantTurn,
  CallPart,
  ChatRequest,
  RefusalPart,
  ResultPart,
  TextPart,
  Trait,
  Turn,
  UserTurn,
} from '../../../core/chat.ts'
import { sayFailed } from '../../failed-tool.ts'
import type { Fields } from '../../json.ts'
import { unsupported } from '../../reader.ts'
import type { ToolNames } from '../../tool-names.ts'
import {
  encodePart,
  encodeTexts,
  noteCache,
  printContent,
  textPart,
  type ContentPart,
} from './items-encode.ts'
import { encodeThought } from './reasoning-items.ts'

/** What turns are said with. */
export interface Saying {
  readonly supplier: string
  readonly tools: ToolNames
  readonly lost: Set<Trait>
}

/** One text has a field of its own, which every supplier reads; several stay apart in a message before all others. */
export function encodeConversation({ system, turns }: ChatRequest, saying: Saying): Fields {
  const { lost } = saying
  const [first] = system
  const isSingle = first !== undefined && system.length === 1
  if (isSingle) noteCache(first, lost)
  const input = isSingle || first === undefined ? [] : [encodeSystem(system, lost)]
  for (const turn of turns) for (const item of encodeTurn(turn, saying)) input.push(item)
  return { instructions: isSingle ? first.text : undefined, input }
}

function message(role: Turn['role'], content: readonly ContentPart[]): Fields {
  return { type: 'message', role, content: printContent(content) }
}

function encodeSystem(parts: readonly TextPart[], lost: Set<Trait>): Fields {
  return message('system', encodeTexts(parts, lost))
}

function encodeTurn(turn: Turn, saying: Saying): readonly Fields[] {
  const { lost } = saying
  if (turn.role === 'system') return [encodeSystem(turn.parts, lost)]
  return turn.role === 'user' ? encodeUser(turn, lost) : encodeAssistant(turn, saying)
}

function encodeUser({ parts }: UserTurn, lost: Set<Trait>): readonly Fields[] {
  const items: Fields[] = []
  const said: ContentPart[] = []
  for (const part of parts) {
    if (part.kind === 'result') items.push(encodeResult(part, lost))
    else said.push(...encodePart(part, lost))
  }
  if (said.length > 0 || parts.length === 0) items.push(message('user', said))
  // Who is converted for has messages, and no items.
  if (items.length === 0)
    throw unsupported(
      'messages',
      'Nothing of one message can be said to a supplier of responses. Send it as text, or with images and files by their data, or ask for another model.',
    )
  return items
}

/** Longer ones are refused (decolua/9router#393, seen 2026-11), and other languages make them. */
const ID_LENGTH_MAX = 64
const ID_LENGTH_KEPT = 40

/** The same for a call and for its result. What is made of a long id is told from what is made of another. */
function encodeId(id: string): string {
  if (id.length <= ID_LENGTH_MAX) return id
  return `${id.slice(0, ID_LENGTH_KEPT).toWellFormed()}_${Bun.hash(id).toString(36)}`
}

function encodeResult(result: ResultPart, lost: Set<Trait>): Fields {
  noteCache(result, lost)
  const parts = result.parts.flatMap((part) => encodePart(part, lost))
  const output = printContent(result.isError ? markError(parts) : parts)
  return { type: 'function_call_output', call_id: encodeId(result.id), output }
}

/** There is no other way to say that a call has failed. */
function markError(parts: readonly ContentPart[]): readonly ContentPart[] {
  const [first, ...rest] = parts
  const text = first?.['text']
  return typeof text === 'string'
    ? [textPart(sayFailed(text)), ...rest]
    : [textPart('Error'), ...parts]
}

/** What follows each other in words is one message. A turn of which nothing is left has no items. */
function encodeAssistant({ parts }: AssistantTurn, saying: Saying): readonly Fields[] {
  const { supplier, lost } = saying
  const items: Fields[] = []
  let said: ContentPart[] = []
  const close = (): void => {
    if (said.length > 0) items.push(message('assistant', said))
    said = []
  }
  for (const part of parts) {
    if (isSpoken(part)) said.push(encodeSpoken(part, lost))
    else {
      const item =
        part.kind === 'call' ? [encodeCall(part, saying)] : encodeThought(part, supplier, lost)
      if (item.length > 0) close()
      items.push(...item)
    }
  }
  close()
  return items
}

function isSpoken(part: AssistantPart): part is TextPart | RefusalPart {
  return part.kind === 'text' || part.kind === 'refusal'
}

function encodeSpoken(part: TextPart | RefusalPart, lost: Set<Trait>): ContentPart {
  if (part.kind === 'refusal') return { type: 'refusal', refusal: part.text }
  noteCache(part, lost)
  return { type: 'output_text', text: part.text, annotations: [] }
}

function encodeCall(call: CallPart, { tools, lost }: Saying): Fields {
  noteCache(call, lost)
  const name = tools.name(call.name)
  // A call without input has one of nothing: suppliers read it as JSON, which an empty text is not.
  const input = call.input === '' ? '{}' : call.input
  return { type: 'function_call', call_id: encodeId(call.id), name, arguments: input }
}

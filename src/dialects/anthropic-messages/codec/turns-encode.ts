// Turns of a conversation as messages. What the system says between them goes to the user's. A turn in which nothing is
// left to say is no message, unless a user said something in it: then the request makes no sense any more. The user
// speaks first.
import type {
  AssistantPart,
  ChatRequest,
  TextPart,
  ThinkingPart,
  Trait,
  Turn,
  UserPart,
  UserTurn,
} from '../../../core/chat.ts'
import type { GatewayError } from '../../../core/problem.ts'
import type { Target } from '../../codec.ts'
import type { Fields } from '../../json.ts'
import { unsupported } from '../../reader.ts'
import { encodeCall, encodeResult, encodeShown, encodeText } from './blocks-encode.ts'
import { CallIds } from './ids-encode.ts'
import { isReadable } from './thinking-encode.ts'

interface Message {
  readonly role: Turn['role']
  readonly content: readonly Fields[]
}

/** What the turns of one conversation have in common. */
interface Speech {
  readonly target: Target
  readonly ids: CallIds
  readonly lost: Set<Trait>
}

/** Where there is nothing but what the system says, the user says it. */
export function encodeConversation(
  request: ChatRequest,
  target: Target,
  lost: Set<Trait>,
): { readonly system: readonly Fields[] | undefined; readonly messages: readonly Message[] } {
  const system = request.system.flatMap((part) => encodeText(part, lost))
  const messages = encodeTurns(request, { target, ids: new CallIds(), lost })
  if (messages.length > 0) return { system: system.length === 0 ? undefined : system, messages }
  if (system.length === 0) throw unsayable('The conversation')
  return { system: undefined, messages: [{ role: 'user', content: system }] }
}

/** Stands where the user has said nothing, and suppliers want to hear from him first. */
const SILENCE: Message = { role: 'user', content: [{ type: 'text', text: '…' }] }

function encodeTurns({ turns }: ChatRequest, speech: Speech): readonly Message[] {
  const { ids, lost } = speech
  const messages: Message[] = []
  /** What the system has said since, which waits for a turn of the user. */
  const waiting: Fields[] = []
  const say = (role: Turn['role'], content: readonly Fields[]): void => {
    if (content.length > 0) messages.push({ role, content })
  }
  for (const turn of turns) {
    if (turn.role === 'system') {
      for (const part of turn.parts) waiting.push(...encodeAside(part, lost))
    } else if (turn.role === 'user') {
      say('user', encodeUser(turn, waiting.splice(0), speech))
      ids.endTurn()
    } else {
      say('user', waiting.splice(0))
      say(
        'assistant',
        turn.parts.flatMap((part) => encodeSaid(part, speech)),
      )
    }
  }
  say('user', waiting)
  const trimmed = trimEnd(messages)
  return trimmed[0]?.role === 'assistant' ? [SILENCE, ...trimmed] : trimmed
}

/** An answer that is to be gone on with must not end in white space. */
function trimEnd(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1)
  const block = last?.content.at(-1)
  if (last?.role !== 'assistant' || typeof block?.['text'] !== 'string') return messages
  const trimmed = { ...block, text: block['text'].trimEnd() }
  const content = [...last.content.slice(0, -1), trimmed]
  return [...messages.slice(0, -1), { role: 'assistant', content }]
}

/**
 * Older models refuse a message of the system's (seen in claude-code #61412, 2026-05), so what it says is marked as its
 * own in one of the user's.
 */
function encodeAside(part: TextPart, lost: Set<Trait>): readonly Fields[] {
  const isBlank = part.text.trim() === ''
  return encodeText(isBlank ? part : { ...part, text: `<system>\n${part.text}\n</system>` }, lost)
}

/** Results come first: nothing may stand between them and their calls. */
function encodeUser(
  { parts }: UserTurn,
  asides: readonly Fields[],
  { ids, lost }: Speech,
): readonly Fields[] {
  const results = parts.flatMap((part) =>
    part.kind === 'result' ? [encodeResult(part, ids, lost)] : [],
  )
  const rest = parts.flatMap((part) => encodeTold(part, lost))
  if (results.length + rest.length === 0 && parts.some(saysSomething))
    throw unsayable('A message of the user')
  return [...results, ...asides, ...rest]
}

function encodeTold(part: UserPart, lost: Set<Trait>): readonly Fields[] {
  if (part.kind === 'result') return []
  if (part.kind !== 'audio') return encodeShown(part, lost)
  lost.add('audio')
  return []
}

function encodeSaid(part: AssistantPart, { target, ids, lost }: Speech): readonly Fields[] {
  if (part.kind === 'thinking') return encodeThought(part, target, lost)
  if (part.kind === 'call') return [encodeCall(part, ids, lost)]
  return encodeText(part.kind === 'text' ? part : { kind: 'text', text: part.text }, lost)
}

function encodeThought(part: ThinkingPart, target: Target, lost: Set<Trait>): readonly Fields[] {
  const { text, seal, isHidden } = part
  if (!isReadable(part, target)) {
    if (text !== '') lost.add('thinking')
    if (seal !== undefined && seal.data !== '') lost.add('seal')
    return []
  }
  const data = seal?.data
  if (isHidden) return [{ type: 'redacted_thinking', data }]
  return [{ type: 'thinking', thinking: text, signature: data }]
}

function saysSomething(part: UserPart): boolean {
  return part.kind !== 'text' || part.text !== ''
}

function unsayable(subject: string): GatewayError {
  return unsupported(
    'messages',
    `${subject} holds nothing that this supplier could be told: send text, images or PDF documents in it.`,
  )
}

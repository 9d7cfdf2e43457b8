// What client programs are known to need and to send, told apart by their headers and fields. Seen on the wire
// in November 2026.
import { SESSION_LENGTH_MAX, type BodyLayout } from './dialect.ts'
import type { Member } from '../wire/json-splice.ts'

const SDK_AGENT = /^(OpenAI|AsyncOpenAI|Anthropic|AsyncAnthropic|claude-cli|claude-code)\b/

/** SDKs read `data` of a listing and take a plain array for an empty one. */
export function readsListObjects(headers: Headers): boolean {
  if (headers.has('x-stainless-lang') || headers.has('anthropic-version')) return true
  return SDK_AGENT.test(headers.get('user-agent') ?? '')
}

/**
 * The session that an agent's program tells of by itself, with whoever speaks in it: those that an agent sends out
 * have conversations, and caches, of their own. What is odd about it is no error, because nobody wrote it for us.
 */
export function findAgentSession(
  headers: Headers,
  body: Uint8Array,
  { members, metadata }: BodyLayout,
): string | undefined {
  return (
    readPair(headers, 'x-claude-code-session-id', 'x-claude-code-agent-id') ??
    readUserId(body, metadata) ??
    readPair(headers, 'session-id', 'thread-id') ??
    readId(headers, 'thread-id') ??
    // By the names that they had before.
    readId(headers, 'session_id') ??
    readId(headers, 'conversation_id') ??
    readCacheKey(body, members)
  )
}

function readPair(headers: Headers, session: string, part: string): string | undefined {
  const id = readId(headers, session)
  if (id === undefined) return undefined
  const own = readId(headers, part)
  // No header holds a line break, so two pairs never come to the same.
  return own === undefined || own === id ? id : `${id}\n${own}`
}

/** A header that is sent twice arrives as one with a comma in it. */
function readId(headers: Headers, name: string): string | undefined {
  const id = headers.get(name)
  return id === null || id.includes(',') ? undefined : asId(id)
}

function asId(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return value === '' || value.length > SESSION_LENGTH_MAX ? undefined : value
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const USER_ID = encoder.encode('"user_id"')
const CACHE_KEY = encoder.encode('"prompt_cache_key"')
/** Longer than what any of them was seen to send, with room for escapes. */
const VALUE_BYTES_MAX = 2_048

/** Some put a text of JSON into it: a device, an account and the session. */
function readUserId(body: Uint8Array, metadata: readonly Member[] | undefined): string | undefined {
  const text = readMember(body, metadata ?? [], USER_ID)
  if (typeof text !== 'string' || !text.startsWith('{')) return undefined
  const value = parse(text)
  if (typeof value !== 'object' || value === null || !('session_id' in value)) return undefined
  return asId(value.session_id)
}

function readCacheKey(body: Uint8Array, members: readonly Member[]): string | undefined {
  return asId(readMember(body, members, CACHE_KEY))
}

/** Fields that are nobody's business but the supplier's: found where they stand, and left there. */
function readMember(body: Uint8Array, members: readonly Member[], name: Uint8Array): unknown {
  for (const { key, from, value, to } of members) {
    if (key >= 0 || to - value > VALUE_BYTES_MAX || !isAt(body, from, name)) continue
    return parse(decoder.decode(body.subarray(value, to)))
  }
  return undefined
}

function isAt(body: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let index = 0; index < name.length; index++)
    if (body[from + index] !== name[index]) return false
  return true
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // What is no JSON is no session either.
    return undefined
  }
}

// By what a call is known to belong to a session: what the caller says, else what its program sends by itself,
// else how the conversation begins. Each is looked for only where the one before is not there.
import { findAgentSession } from '../dialects/clients.ts'
import type { Facts } from '../dialects/dialect.ts'

export interface SessionClues {
  /** X-Session-Id. */
  readonly header: string | undefined
  readonly facts: Facts
  readonly headers: Headers
  readonly body: Uint8Array
}

/** How far to look: for what the caller says, also for what its program sends, also at what it asks. */
export type SessionSearch = 'named' | 'sent' | 'inferred'

export interface SessionId {
  /** The word in front keeps apart what comes from different places. */
  readonly text: string
  /** Nothing can have gone before: where only its beginning tells, each conversation has a first call of its own. */
  readonly isFirst: boolean
}

/** Undefined where nothing tells. */
export function findSession(clues: SessionClues, search: SessionSearch): SessionId | undefined {
  const { header, facts, headers, body } = clues
  const named = header ?? facts.sessionId
  if (named !== undefined) return { text: `named:${named}`, isFirst: false }
  if (search === 'named') return undefined
  const sent = findAgentSession(headers, body, facts.layout)
  if (sent !== undefined) return { text: `sent:${sent}`, isFirst: false }
  const text = search === 'inferred' ? digestOpening(facts.opening, body) : undefined
  return text === undefined ? undefined : { text, isFirst: !facts.goesOn }
}

/** Of a longer text its beginning and its end count: prompts differ in either, and their length is told as well. */
const SAMPLE_BYTES = 4096

/** The same for the same texts, whatever the model and whatever stands around them. */
function digestOpening(opening: readonly number[], body: Uint8Array): string | undefined {
  if (opening.length === 0) return undefined
  let digest = 0n
  for (let index = 0; index < opening.length; index += 2)
    digest = digestText(body, opening[index]!, opening[index + 1]!, digest)
  return `opening:${digest.toString(36)}`
}

function digestText(body: Uint8Array, from: number, to: number, seed: bigint): bigint {
  const length = to - from
  if (length <= 2 * SAMPLE_BYTES) return hash(body.subarray(from, to), seed + BigInt(length))
  const start = hash(body.subarray(from, from + SAMPLE_BYTES), seed + BigInt(length))
  return hash(body.subarray(to - SAMPLE_BYTES, to), start)
}

/** Two openings that were taken for one would cost a cache and nothing else, so a fast one will do. */
function hash(bytes: Uint8Array, seed: bigint): bigint {
  return Bun.hash.wyhash(bytes, seed & 0xffff_ffff_ffff_ffffn)
}

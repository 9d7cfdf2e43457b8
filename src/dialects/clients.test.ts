// What agents send by themselves that tells their sessions apart, and what of it is not taken.
import { describe, expect, it } from 'bun:test'
import { findAgentSession } from './clients.ts'
import { peek } from './openai-chat/peek.ts'

type Pairs = [string, string][]

const LONG = 'x'.repeat(257)

/** The session that a request with these headers and members tells of. */
function sessionOf(headers: Readonly<Record<string, string>> | Pairs, members = ''): unknown {
  const text = `{"model":"m","messages":[{"role":"user","content":"Hi"}]${members}}`
  const body = new TextEncoder().encode(text)
  return findAgentSession(new Headers(headers), body, peek(body).layout)
}

function userId(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return `,"metadata":{"a":"b","user_id":${JSON.stringify(text)}}`
}

const CLAUDE = 'x-claude-code-session-id'
const CLAUDE_AGENT = 'x-claude-code-agent-id'

describe('the session of an agent', () => {
  it.each([
    ['Claude Code', { [CLAUDE]: '7bad5c49' }, '', '7bad5c49'],
    ['Claude Code in its metadata', {}, userId({ device_id: 'd', session_id: 's-1' }), 's-1'],
    ['Codex', { 'session-id': '01a1', 'thread-id': '01a1' }, '', '01a1'],
    ['a thread alone', { 'thread-id': '01a2' }, '', '01a2'],
    ['an older Codex', { session_id: '01a3', conversation_id: '01a3' }, '', '01a3'],
    ['one that is older still', { conversation_id: '01a4' }, '', '01a4'],
    ['the key of a cache', {}, ',"prompt_cache_key":"k\\u0031"', 'k1'],
  ])('is read from %s', (_, headers, members, session) => {
    expect(sessionOf(headers, members)).toBe(session)
  })

  it('is another one for each agent that it sends out', () => {
    const told = [
      sessionOf({ [CLAUDE]: 's' }),
      sessionOf({ [CLAUDE]: 's', [CLAUDE_AGENT]: 'a' }),
      sessionOf({ [CLAUDE]: 's', [CLAUDE_AGENT]: 'b' }),
      sessionOf({ 'session-id': 'r', 'thread-id': 'r' }),
      sessionOf({ 'session-id': 'r', 'thread-id': 't' }),
    ]
    expect(new Set(told).size).toBe(told.length)
  })

  it('is the first of several that it could be', () => {
    const headers: Pairs = [
      [CLAUDE, 'one'],
      ['session-id', 'three'],
    ]
    const members = `${userId({ session_id: 'two' })},"prompt_cache_key":"four"`
    expect(sessionOf(headers, members)).toBe('one')
    expect(sessionOf(headers.slice(1), members)).toBe('two')
    expect(sessionOf(headers.slice(1), ',"prompt_cache_key":"four"')).toBe('three')
    expect(sessionOf({}, ',"prompt_cache_key":"four"')).toBe('four')
  })

  it.each([
    ['a header that came twice', [[CLAUDE, 'a'] as const, [CLAUDE, 'b'] as const], ''],
    ['a long header', [[CLAUDE, LONG] as const], ''],
    ['an empty header', [['session-id', ''] as const], ''],
    ['a user id that is a name', [], userId('someone')],
    ['a user id that is broken', [], userId('{"session_id":"s"')],
    ['a user id without a session', [], userId({ device_id: 'd' })],
    ['a session that is no text', [], userId({ session_id: 5 })],
    ['a long session', [], userId({ session_id: LONG })],
    ['a user id that is long', [], userId({ filler: 'f'.repeat(3_000), session_id: 's' })],
    ['a user id that is no text', [], ',"metadata":{"user_id":{"session_id":"s"}}'],
    ['metadata of nothing', [], ',"metadata":null'],
    ['a key of a cache that is no text', [], ',"prompt_cache_key":["k"]'],
    ['a long key of a cache', [], `,"prompt_cache_key":"${LONG}"`],
    ['a name that only begins alike', [], ',"prompt_cache_keys":"k"'],
  ])('is not taken from %s', (_, headers, members) => {
    expect(
      sessionOf(
        headers.map(([name, value]) => [name, value]),
        members,
      ),
    ).toBeUndefined()
  })
})

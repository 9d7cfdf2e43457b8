// Which of all that could name a session does, and which conversations begin alike.
import { describe, expect, it } from 'bun:test'
import { peek } from '../dialects/openai-chat/peek.ts'
import { findSession, type SessionSearch } from './session-id.ts'

interface Asked {
  readonly header?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>
}

function find({ header, headers = {}, body }: Asked, search: SessionSearch): string | undefined {
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'm', ...body }))
  const clues = { header, facts: peek(bytes), headers: new Headers(headers), body: bytes }
  return findSession(clues, search)?.text
}

type Message = Readonly<Record<string, unknown>>

const SYSTEM = { role: 'system', content: 'Be brief.' }
const QUESTION = { role: 'user', content: 'Why is the sky blue?' }
const ANSWER = { role: 'assistant', content: 'It scatters light.' }

function opening(messages: readonly Message[], others: object = {}): string {
  const found = find({ body: { ...others, messages } }, 'inferred')
  expect(found).toMatch(/^opening:\w+$/)
  return found ?? ''
}

describe('what names a session', () => {
  const metadata = { session_id: 'two', sticky_key: 'three' }
  const headers = { 'session-id': 'four' }
  const body = { messages: [QUESTION] }

  it.each<[string, Asked]>([
    ['named:one', { header: 'one', headers, body: { ...body, metadata } }],
    ['named:two', { headers, body: { ...body, metadata } }],
    ['named:three', { headers, body: { ...body, metadata: { sticky_key: 'three' } } }],
    ['sent:four', { headers, body: { ...body, prompt_cache_key: 'five' } }],
    ['sent:five', { body: { ...body, prompt_cache_key: 'five' } }],
  ])('is %s', (id, asked) => {
    expect(find(asked, 'inferred')).toBe(id)
  })

  it('is looked for no further than it is asked', () => {
    expect(find({ headers, body }, 'named')).toBeUndefined()
    expect(find({ body: { ...body, metadata } }, 'named')).toBe('named:two')
    expect(find({ headers, body }, 'sent')).toBe('sent:four')
    expect(find({ body }, 'sent')).toBeUndefined()
  })

  it('never makes one place look like another', () => {
    const sent = find({ headers: { 'session-id': 'x' }, body }, 'sent')
    expect(find({ header: 'x', body }, 'sent')).not.toBe(sent)
  })
})

describe('how a conversation begins', () => {
  it('stays the same while it grows', () => {
    const first = opening([SYSTEM, QUESTION])
    const later = [SYSTEM, QUESTION, ANSWER, { role: 'user', content: 'And at night?' }]
    expect(opening(later)).toBe(first)
  })

  it('does not depend on the model or on settings', () => {
    const first = opening([SYSTEM, QUESTION])
    expect(opening([SYSTEM, QUESTION], { model: 'another', temperature: 0, user: 'u' })).toBe(first)
  })

  it('does not depend on where the caches of a supplier are marked', () => {
    const text = { type: 'text', text: QUESTION.content }
    const marked = { ...text, cache_control: { type: 'ephemeral' } }
    const first = opening([SYSTEM, { role: 'user', content: [marked] }])
    expect(opening([SYSTEM, { role: 'user', content: [text] }, ANSWER, QUESTION])).toBe(first)
    expect(opening([SYSTEM, QUESTION])).toBe(first)
  })

  it.each<[string, readonly Message[], readonly Message[]]>([
    ['questions', [SYSTEM, QUESTION], [SYSTEM, { role: 'user', content: 'Why is it red?' }]],
    ['instructions', [SYSTEM, QUESTION], [{ role: 'system', content: 'Be long.' }, QUESTION]],
    [
      'where one text ends and the next begins',
      [
        { role: 'system', content: 'ab' },
        { role: 'user', content: 'c' },
      ],
      [
        { role: 'system', content: 'a' },
        { role: 'user', content: 'bc' },
      ],
    ],
    [
      'images',
      [{ role: 'user', content: [image('AAAA')] }],
      [{ role: 'user', content: [image('BBBB')] }],
    ],
    [
      'ends of long questions behind long instructions',
      [long('system'), { role: 'user', content: `${'context '.repeat(5_000)} one` }],
      [long('system'), { role: 'user', content: `${'context '.repeat(5_000)} two` }],
    ],
    [
      'lengths of texts that begin and end alike',
      [{ role: 'user', content: 'a'.repeat(10_000) }],
      [{ role: 'user', content: 'a'.repeat(12_000) }],
    ],
    [
      'the last of many parts',
      [{ role: 'user', content: parts(20, 'one') }],
      [{ role: 'user', content: parts(20, 'two') }],
    ],
  ])('tells %s apart', (_, one, other) => {
    expect(opening(one)).not.toBe(opening(other))
  })

  it('tells nothing where no text is', () => {
    const messages = [{ role: 'assistant', content: null, tool_calls: [] }]
    expect(find({ body: { messages } }, 'inferred')).toBeUndefined()
  })
})

function image(data: string): object {
  return { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } }
}

function long(role: string): Message {
  return { role, content: 'Do as the user says. '.repeat(2_000) }
}

function parts(count: number, last: string): readonly object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'text',
    text: index === count - 1 ? last : `part ${index}`,
  }))
}

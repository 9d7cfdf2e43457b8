// What the events of an answer come to.
import { describe, expect, it } from 'bun:test'
import type { ChatEvent } from '../../../core/chat-event.ts'
import { collect } from './answer-collect.ts'

const seal = (data: string) => ({ data, supplier: undefined })
const thinking = (text: string): ChatEvent => ({ kind: 'thinking', text })

describe('what was told', () => {
  it('is one thought up to its seal, and another behind it', () => {
    expect(
      collect([thinking('a'), thinking('b'), { kind: 'seal', data: 's' }, thinking('c')]).parts,
    ).toEqual([
      { kind: 'thinking', text: 'ab', seal: seal('s') },
      { kind: 'thinking', text: 'c' },
    ])
  })

  it('is another text behind a break, a call or a thought that is hidden', () => {
    const text: ChatEvent = { kind: 'text', text: 'a' }
    expect(
      collect([
        text,
        { kind: 'break' },
        text,
        { kind: 'call', place: 4, id: 'c', name: 'f' },
        text,
        { kind: 'input', place: 4, text: '{}' },
        text,
        { kind: 'hidden', data: 'h' },
        text,
      ]).parts,
    ).toEqual([
      { kind: 'text', text: 'a' },
      { kind: 'text', text: 'a' },
      { kind: 'call', id: 'c', name: 'f', input: '{}' },
      { kind: 'text', text: 'aa' },
      { kind: 'thinking', text: '', isHidden: true, seal: seal('h') },
      { kind: 'text', text: 'a' },
    ])
  })

  it('has a seal of its own where nothing was thought', () => {
    const events: ChatEvent[] = [
      { kind: 'text', text: 'a' },
      { kind: 'seal', data: 's' },
    ]
    expect(collect(events).parts[1]).toEqual({ kind: 'thinking', text: '', seal: seal('s') })
    expect(collect(events).finish).toBeUndefined()
  })
})

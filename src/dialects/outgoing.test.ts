// Quirks on a request that the gateway has written itself.
import { describe, expect, it } from 'bun:test'
import type { Trait } from '../core/chat.ts'
import { noteDropped } from './dropped.ts'
import { printBody } from './outgoing.ts'

const sent = (fields: Record<string, unknown>, quirks: object): unknown =>
  JSON.parse(new TextDecoder().decode(printBody(fields, { usage: 'ask', ...quirks })))

describe('a body that is printed', () => {
  it('has a default only where nothing else is said', () => {
    const quirks = { default: { temperature: 0.2, top_p: 0.5 } }
    expect(sent({ temperature: 0.9, top_p: undefined }, quirks)).toEqual({
      temperature: 0.9,
      top_p: 0.5,
    })
  })
  it('always has a default for what is dropped', () => {
    expect(
      sent({ temperature: 0.9 }, { drop: ['temperature'], default: { temperature: 0.2 } }),
    ).toEqual({ temperature: 0.2 })
  })
})

describe('fields that are dropped', () => {
  it('lose what they say, and nothing where they say nothing of their own', () => {
    const lost = new Set<Trait>()
    const fields = { top_p: 0.5, stream_options: {} }
    noteDropped(
      fields,
      { usage: 'ask', drop: ['top_p', 'seed', 'stream_options'] },
      { top_p: ['top_p'], seed: ['seed'] },
      lost,
    )
    expect([...lost]).toEqual(['top_p'])
  })
})

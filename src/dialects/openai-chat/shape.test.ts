// The shortcut may only ever say what a parse would have said.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import { watch } from './stream.ts'

const encoder = new TextEncoder()

function frame(content: unknown, changes: object = {}, finishReason: string | null = null): string {
  return JSON.stringify({
    id: 'c',
    choices: [{ index: 0, delta: { content }, finish_reason: finishReason }],
    ...changes,
  })
}

/** What a fresh watcher that has seen only the role says of this frame. */
function parsed(text: string): string {
  const watcher = watch()
  try {
    const bytes = encoder.encode(text)
    return watcher.see(bytes, 0, bytes.length)
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

describe('text shape', () => {
  it('says of every frame what a parse would say, whatever came before', () => {
    const text = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('"', '\\', '\n', '', '"}'),
    )
    const valid = fc.tuple(
      text,
      fc.constantFrom({}, { x: 1 }, { error: null }, { error: { message: 'm' } }),
    )
    const broken = fc.constantFrom(
      frame('a').replace('"a"', '"a'),
      frame('a').replace('"a"', '"a\u0001b"'),
      frame('a').replace('"a"', '"a\\q"'),
      frame('a').slice(0, -1),
      `${frame('a')}}`,
    )
    const any = fc.oneof(
      valid.map(([content, changes]) => frame(content, changes)),
      broken,
    )
    fc.assert(
      fc.property(fc.array(any, { maxLength: 20 }), (frames) => {
        const watcher = watch()
        for (const each of frames) {
          const bytes = encoder.encode(each)
          let kind: string
          try {
            kind = watcher.see(bytes, 0, bytes.length)
          } catch (thrown) {
            kind = thrown instanceof Error ? thrown.message : String(thrown)
          }
          expect(kind).toBe(parsed(each))
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('never hides a reason to stop or a usage behind the shape of the text before', () => {
    const watcher = watch()
    const see = (text: string) => watcher.see(encoder.encode(text), 0, encoder.encode(text).length)
    for (const word of ['one', 'two', 'three']) expect(see(frame(word))).toBe('content')
    expect(watcher.isFinished(1)).toBe(false)
    expect(see(frame('last', { usage: { prompt_tokens: 3, completion_tokens: 4 } }, 'stop'))).toBe(
      'content',
    )
    expect(watcher.isFinished(1)).toBe(true)
    expect(watcher.usage()).toMatchObject({ inputTokens: 3, outputTokens: 4 })
  })
})

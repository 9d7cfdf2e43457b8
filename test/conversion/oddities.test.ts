// Suppliers that speak a language not quite as its maker does. What they mean is understood, told the same whole and
// streamed, and told properly to callers of every language.
import { describe, expect, it } from 'bun:test'
import type { AssistantPart } from '../../src/core/chat.ts'
import type { Usage } from '../../src/core/usage.ts'
import { checkStream } from './grammar.ts'
import { ODDITIES } from './oddities.ts'
import { call, MADE_UP, type Oddity } from './oddity.ts'
import { HEAD, languages, listen, TARGET, tell, toBytes, type Language } from './roster.ts'
import { sideOf, type Json } from './sides.ts'

const USAGE: Usage = {
  inputTokens: 10,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 0,
  audioOutputTokens: 0,
}

/** As a caller of a language is told it: properly, and with a client of it none the wiser. */
function expectTold(caller: Language, told: string, { reason }: Oddity): void {
  const heard = listen(caller, told)
  expect(heard.isFinished).toBe(true)
  expect(heard.finish?.reason).toBe(reason)
  checkStream(caller.id, told)
}

for (const supplier of languages) {
  const side = sideOf(supplier.id)
  describe(`suppliers of ${supplier.id}`, () => {
    for (const oddity of ODDITIES[supplier.id] ?? []) {
      const { what, answer, frames, reason, lost = [] } = oddity
      const parts = [...oddity.parts]

      if (answer !== undefined)
        it(`may send ${what}`, () => {
          const body = side.answer(answer)
          const others = { ...(body['choices'] as Json[] | undefined)?.[0], index: 1 }
          if (lost.includes('/choices/*')) (body['choices'] as Json[]).push(others)
          const response = supplier.codec.response.decode(toBytes(body))
          expect(response.parts.map(likeIn(parts))).toEqual(parts)
          expect(response.finish.reason).toBe(reason)
          expect(response.lost.toSorted()).toEqual(lost.toSorted())
          for (const caller of languages) {
            const told = caller.codec.response.encode({ ...response, usage: USAGE }, HEAD)
            const again = caller.codec.response.decode(told)
            expect(again.finish.reason).toBe(reason)
            expect(caller.relay.read(told).usage).toEqual(USAGE)
          }
        })

      if (frames !== undefined)
        it(`may stream ${what}`, () => {
          const heard = listen(supplier, side.frames(frames))
          expect(heard.parts.map(withInput).map(likeIn(parts))).toEqual(parts)
          expect(heard.finish?.reason).toBe(reason)
          expect(heard.lost.toSorted()).toEqual((oddity.lostOnStream ?? lost).toSorted())
          expect(heard.events.filter(({ kind }) => kind === 'start')).toHaveLength(1)
          expect(heard.events[0]).toEqual({ kind: 'start' })
          for (const caller of languages)
            expectTold(caller, tell(caller, heard.events, USAGE), oddity)
        })
    }
  })
}

/** Made-up ids are not compared, but there must be one. */
function likeIn(
  parts: readonly AssistantPart[],
): (part: AssistantPart, at: number) => AssistantPart {
  return (part, at) => {
    const wanted = parts[at]
    if (part.kind !== 'call' || wanted?.kind !== 'call' || wanted.id !== MADE_UP) return part
    expect(part.id).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    return { ...part, id: MADE_UP }
  }
}

/** A call whose input was never told has none. */
function withInput(part: AssistantPart): AssistantPart {
  return part.kind === 'call' && part.input === '' ? { ...part, input: '{}' } : part
}

describe('a stream that tells no usage', () => {
  it('is told to its end with what the gateway counts', () => {
    for (const supplier of languages)
      for (const caller of languages) {
        const [oddity] = ODDITIES[supplier.id] ?? []
        const { events } = listen(supplier, sideOf(supplier.id).frames(oddity?.frames ?? []))
        const told = listen(caller, tell(caller, events, USAGE))
        expect(told.usage).toEqual(USAGE)
      }
  })
})

describe('ids that suppliers leave out', () => {
  const oddities = languages.flatMap((supplier) =>
    (ODDITIES[supplier.id] ?? [])
      .filter(({ answer }) => answer !== undefined)
      .filter(({ parts }) => parts.some((part) => part.kind === 'call' && part.id === MADE_UP))
      .map((oddity) => ({ supplier, oddity })),
  )

  it.each(oddities)('are the same whole and streamed, and never twice', ({ supplier, oddity }) => {
    const { answer = {}, frames = [] } = oddity
    const side = sideOf(supplier.id)
    const whole = supplier.codec.response.decode(toBytes(side.answer(answer)))
    const ids = callIds(whole.parts)
    expect(callIds(listen(supplier, side.frames(frames)).parts)).toEqual(ids)
    expect(new Set(ids).size).toBe(ids.length)
    const later = { ...side.answer(answer), id: 'another' }
    expect(ids).not.toContain(callIds(supplier.codec.response.decode(toBytes(later)).parts)[0])
  })
})

function callIds(parts: readonly AssistantPart[]): readonly string[] {
  return parts.flatMap((part) => (part.kind === 'call' ? [part.id] : []))
}

describe('numbers that are longer than numbers can be', () => {
  const BIG = '12345678901234567890.5'
  const INPUT = `{"x":${BIG}}`

  /** Puts the figure where a fixture has a word for it, since JavaScript cannot hold it. */
  function withBig(value: unknown): Uint8Array {
    return toBytes(JSON.stringify(value).replaceAll('"BIG"', BIG))
  }

  it('pass in the input of calls, asked and answered', () => {
    for (const supplier of languages)
      for (const caller of languages) {
        const meant = { parts: [call('c', 'now', INPUT)], lost: [] }
        const finish = { reason: 'tools', raw: undefined } as const
        const theirs = supplier.codec.response.encode({ ...meant, finish, usage: USAGE }, HEAD)
        const response = supplier.codec.response.decode(theirs)
        const ours = caller.codec.response.encode({ ...response, usage: USAGE }, HEAD)
        expect(Buffer.from(ours).toString()).toContain(BIG)
        expect(caller.codec.response.decode(ours).parts).toEqual(meant.parts)
      }
  })

  it('pass in the calls of a conversation', () => {
    const bodies: Readonly<Record<string, Json>> = {
      'openai-chat': {
        message: {
          tool_calls: [{ id: 'c', type: 'function', function: { name: 'now', arguments: INPUT } }],
        },
      },
      'anthropic-messages': {
        content: [{ type: 'tool_use', id: 'c', name: 'now', input: { x: 'BIG' } }],
      },
      'openai-responses': {
        output: [{ type: 'function_call', call_id: 'c', name: 'now', arguments: INPUT }],
      },
    }
    for (const caller of languages)
      for (const supplier of languages) {
        const { request, goOn } = sideOf(caller.id)
        const body = withBig({ ...request, ...goOn(bodies[caller.id] ?? {}) })
        const decoded = caller.codec.request.decode(body)
        const { body: sent, lost } = supplier.codec.request.encode(decoded.request, TARGET)
        expect(Buffer.from(sent).toString()).toContain(BIG)
        expect(lost).toEqual([])
      }
  })
})

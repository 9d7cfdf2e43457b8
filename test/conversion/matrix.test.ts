// Every fixture in every ordered pair of languages, one caller's and one supplier's: what is asked, what is answered,
// whole and streamed. A language of the roster takes part by itself as soon as fixtures speak it.
import { describe, expect, it } from 'bun:test'
import type { Target } from '../../src/dialects/codec.ts'
import { fixtures, type Fixture } from './fixtures.ts'
import { checkStream } from './grammar.ts'
import {
  framesOf,
  fromBytes,
  HEAD,
  languages,
  listen,
  pairs,
  TARGET,
  tell,
  titleOf,
  toBytes,
  type Pair,
} from './roster.ts'
import { sideOf, type Json } from './sides.ts'

/** What suppliers of a language make of what a caller says. */
function ask({ caller, supplier }: Pair, brief: Json, { reasoning = 'effort' }: Fixture) {
  const body = toBytes({ ...sideOf(caller.id).request, ...brief })
  caller.peek(body)
  const target: Target = {
    ...TARGET,
    reasoning,
    quirks: { usage: 'ask', maxTokensName: 'max_completion_tokens' },
  }
  const { request, lost: unheard } = caller.codec.request.decode(body)
  const { body: sent, lost, headers } = supplier.codec.request.encode(request, target)
  return { sent: fromBytes(sent) as Json, unheard, lost, headers }
}

function sorted(values: readonly string[] = []): readonly string[] {
  return values.toSorted()
}

for (const pair of pairs) {
  const { caller, supplier } = pair
  const theirs = sideOf(supplier.id)
  const ours = sideOf(caller.id)

  describe(`what is asked, ${titleOf(pair)}`, () => {
    for (const fixture of fixtures) {
      const expected = fixture.request?.[supplier.id]
      if (expected === undefined) continue
      const wanted = theirs.plain({ ...theirs.request, ...expected })
      for (const [place, brief] of fixture.asks(caller.id).entries())
        it(`${fixture.topic}: ${fixture.name}${place > 0 ? `, in words ${place + 1}` : ''}`, () => {
          const { sent, unheard, lost, headers } = ask(pair, brief, fixture)
          expect(theirs.plain(sent)).toEqual(wanted)
          expect(sorted(lost)).toEqual(sorted(fixture.lost?.[supplier.id]))
          expect(sorted(unheard)).toEqual(sorted(fixture.unheard?.[caller.id]))
          expect(headers).toMatchObject(fixture.headers?.[supplier.id] ?? {})
          expect(sent['model']).toBe(TARGET.model)
          const streamed = ask(pair, { ...brief, stream: true }, fixture).sent
          expect(streamed['stream']).toBe(true)
          expect(theirs.plain(streamed)).toEqual(wanted)
        })
    }
  })

  describe(`what is answered, ${titleOf(pair)}`, () => {
    for (const fixture of fixtures) {
      const brief = fixture.answer?.[caller.id]
      if (brief === undefined) continue
      const wanted = ours.answer(brief)
      const title = `${fixture.topic}: ${fixture.name}`

      for (const [place, said] of fixture.says(supplier.id).entries()) {
        it(`${title}${place > 0 ? `, in words ${place + 1}` : ''}`, () => {
          const answer = toBytes(theirs.answer(said))
          const { usage } = supplier.relay.read(answer)
          if (usage === undefined) throw new Error('the fixture tells no usage')
          const response = supplier.codec.response.decode(answer)
          const written = caller.codec.response.encode({ ...response, usage }, HEAD)
          const { usage: told, ...rest } = fromBytes(written) as Json
          const { usage: wantedUsage, ...wantedRest } = wanted
          expect(rest).toEqual(wantedRest)
          expect(told).toMatchObject(wantedUsage as object)
          expect(caller.relay.read(written).usage).toEqual(usage)
          expect(response.lost).toEqual([])
        })

        it(`${title}${place > 0 ? `, in words ${place + 1}` : ''}, streamed`, () => {
          expectStream(pair, theirs.stream(said), wanted)
        })
      }

      for (const [place, frames] of (fixture.streams?.[supplier.id] ?? []).entries())
        it(`${title}, stream ${place + 1}`, () => {
          expectStream(pair, theirs.frames(frames), wanted)
        })
    }
  })
}

/** A client makes of the converted stream what it would have been answered at once, and nothing of a part of it. */
function expectStream({ caller, supplier }: Pair, text: string, wanted: Json): void {
  const side = sideOf(caller.id)
  const heard = listen(supplier, text)
  expect(heard.isFinished).toBe(true)
  expect(heard.lost).toEqual([])
  const told = tell(caller, heard.events, heard.usage)
  const { usage, ...rest } = side.brief(side.answer(side.collect(told)))
  const { usage: wantedUsage, ...wantedRest } = side.brief(wanted)
  expect(unsealed(rest)).toEqual(unsealed(wantedRest))
  expect(usage).toMatchObject(wantedUsage as object)
  checkStream(caller.id, told)
  const unasked = tell(caller, heard.events, heard.usage, { ...HEAD, asksUsage: false })
  checkStream(caller.id, unasked, false)

  const again = listen(caller, told)
  expect(again.isFinished).toBe(true)
  expect(again.usage).toEqual(heard.usage)
  expect(again.kinds.at(-1)).toBe('end')
  // Cut anywhere before its end, neither stream is taken for a whole one.
  for (const [language, whole] of [
    [supplier, text],
    [caller, told],
  ] as const) {
    const frames = framesOf(whole).map((data) => `data: ${data}\n\n`)
    const finishAt = frames.findIndex((_, at) => listen(language, upTo(frames, at)).isFinished)
    expect(finishAt).toBeGreaterThan(0)
    const cut = listen(language, upTo(frames, finishAt - 1))
    expect(cut.finish).toBeUndefined()
    expect(cut.kinds).not.toContain('end')
  }
}

function upTo(frames: readonly string[], last: number): string {
  return frames.slice(0, last + 1).join('')
}

/** A stream seals what it has told already, so the thought is not told again beside its seal. */
function unsealed(brief: Json): Json {
  const { message, ...rest } = brief
  if (typeof message !== 'object' || message === null) return brief
  const { reasoning_details: _, ...said } = message as Json
  return { ...rest, message: said }
}

describe('the fixtures', () => {
  it('ask and answer in every language that can be converted', () => {
    for (const { id } of languages) {
      expect(fixtures.flatMap((fixture) => fixture.asks(id)).length).toBeGreaterThan(20)
      expect(fixtures.flatMap((fixture) => fixture.says(id)).length).toBeGreaterThan(10)
    }
  })

  it('speak no language that is not in the roster', () => {
    const known = new Set(languages.map(({ id }) => id))
    for (const { name, topic: _, reasoning: __, asks: ___, says: ____, ...fields } of fixtures)
      for (const byLanguage of Object.values(fields))
        for (const id of Object.keys(byLanguage)) expect(known, name).toContain(id)
  })
})

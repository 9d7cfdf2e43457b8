// What holds for every language and every conversation: nothing is dropped in silence, what was said once is said the
// same ever after, and a stream tells what the whole answer would have told.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import {
  TRAITS,
  type Answered,
  type AssistantPart,
  type ChatRequest,
  type ChatResponse,
  type Finish,
  type Trait,
} from '../../src/core/chat.ts'
import { GatewayError } from '../../src/core/problem.ts'
import type { Usage } from '../../src/core/usage.ts'
import type { ReasoningHabit, Target } from '../../src/dialects/codec.ts'
import {
  ALL_TRAITS,
  answers,
  requestsOf,
  streamOf,
  usages,
  type Collected,
} from '../fakes/conversations.ts'
import { isObject, leavesOf, settled, traitsOf, unseen } from './aspects.ts'
import { fixtures } from './fixtures.ts'
import { checkStream } from './grammar.ts'
import { exists } from './pointer.ts'
import {
  framesOf,
  HEAD,
  hear,
  languages,
  listen,
  pairs,
  TARGET,
  tell,
  titleOf,
  toBytes,
  type Language,
} from './roster.ts'
import { sideOf } from './sides.ts'

const RUNS = 300

const USAGE: Usage = {
  inputTokens: 10,
  cachedTokens: 2,
  cacheWriteTokens: 3,
  cacheWriteLongTokens: 0,
  audioInputTokens: 0,
  outputTokens: 5,
  reasoningTokens: 1,
  audioOutputTokens: 0,
}

/**
 * What a language has words for and may still not say, and when. Anything else that is lost must be declared so, for
 * each of its traits.
 */
const SOMETIMES_LOST: Partial<Record<Trait, string>> = {
  cache: 'there are more of them than the language takes',
  call_input: 'it is no JSON object',
  file_data: 'it is of a type that the language does not take',
  file_name: 'it stands beside an address',
  max_tokens: 'the supplier is given another limit',
  penalties: 'the model refuses them',
  reasoning: 'the model is not told to think, or cannot be beside tools or below its limit',
  schema_name: 'a description has no place',
  seal: 'another supplier made it',
  stop: 'it is white space',
  temperature: 'it is beyond the scale, or the model thinks or refuses it',
  thinking: 'it has no seal of this supplier, or that takes nothing back',
  tool_choice: 'the model cannot be made to call a tool',
  tool_strict: 'the schema leaves something open',
  top_k: 'the model thinks or refuses it',
  top_p: 'a temperature is there, or the model thinks or refuses it',
  user: 'it is too long',
  cache_long: 'it is kept for a shorter time',
}

const targets: fc.Arbitrary<Target> = fc
  .tuple(
    fc.constantFrom<ReasoningHabit | undefined>('effort', 'budget', 'none', undefined),
    fc.constantFrom(undefined, true, false),
    fc.constantFrom(undefined, 'unsaid', 'off'),
    fc.constantFrom('reasoning_content', 'reasoning', 'none'),
    fc.constantFrom({}, { leastThinking: 'always' }, { refusedEfforts: ['xhigh', 'max'] }),
  )
  .map(([reasoning, samples, besideTools, thoughts, bounds]) => {
    const quirks = { ...TARGET.quirks, thoughts }
    return { ...TARGET, reasoning, samples, besideTools, quirks, ...bounds }
  })

function traitsWith(language: Language, ...fates: readonly string[]): ReadonlySet<Trait> {
  return new Set(TRAITS.filter((trait) => fates.includes(language.codec.traits[trait].fate)))
}

/** Some of the traits, so that each is often met without the others. */
function someOf(traits: ReadonlySet<Trait>): fc.Arbitrary<ReadonlySet<Trait>> {
  return fc.oneof(
    fc.constant(traits),
    fc.subarray([...traits]).map((some) => new Set<Trait>(['text', ...some])),
  )
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })
const orders = fc.array(fc.nat(5), { minLength: 1, maxLength: 9 })

const junk = fc.oneof(fc.constantFrom(null, '', 0, -1, true, [], {}, [[]], [null]), fc.jsonValue())

const asked = someOf(ALL_TRAITS).chain(requestsOf)

for (const language of languages) {
  const { codec, id } = language

  describe(`requests of ${id}`, () => {
    it('differ from what was meant only in what is told to be lost', () => {
      const kept = someOf(traitsWith(language, 'kept', 'lost')).chain(requestsOf)
      fc.assert(
        fc.property(kept, targets, (request, target) => {
          const { heard, lost, misheard } = hear(language, request, target)
          expect(misheard).toEqual([])
          // How much a model is to think is said in its own measure; the fixtures say how.
          const gone = new Set<Trait>([...(lost as readonly Trait[]), 'reasoning'])
          // A schema has a name only where it must have one.
          if (codec.traits.schema_name.fate !== 'kept') gone.add('schema_name')
          const expected = settled(unseen(request, gone))
          expect(settled(unseen(heard, gone), request)).toEqual(expected)
        }),
        { numRuns: RUNS },
      )
    })

    it('say every word that is not told to be lost, be it in another way', () => {
      fc.assert(
        fc.property(asked, targets, (request, target) => {
          const { lost, sent } = hear(language, request, target)
          const gone = new Set([...(lost as readonly Trait[]), 'seal' as const])
          const { turns, system, tools, stop } = unseen(request, gone)
          const said = saidOf(sent).join('\n')
          const words = [wordsOf(turns), wordsOf([{ role: 'system', parts: system }]), stop]
          const named = tools.map(({ name, description, schema }) => [name, description, schema])
          for (const leaf of leavesOf([...words, named])) expect(said).toContain(leaf)
        }),
        { numRuns: RUNS },
      )
    })

    it('are understood as they were said: once said, nothing more is lost', () => {
      fc.assert(
        fc.property(asked, targets, (request, target) => {
          const { heard } = hear(language, request, target)
          const again = hear(language, heard, target)
          expect(again.heard).toEqual(heard)
          expect(again.lost).toEqual([])
          expect(again.misheard).toEqual([])
        }),
        { numRuns: RUNS },
      )
    })

    it('lose what they declare, always, and nothing that is not there', () => {
      const always = traitsWith(language, 'lost')
      fc.assert(
        fc.property(asked, targets, (request, target) => {
          const { lost } = hear(language, request, target)
          const there = traitsOf(request)
          for (const trait of lost as readonly Trait[]) {
            expect(there).toContain(trait)
            if (!always.has(trait)) expect(Object.keys(SOMETIMES_LOST)).toContain(trait)
          }
          // A mark that is not sent cannot be too long either.
          for (const trait of there)
            if (always.has(trait) && trait !== 'cache_long') expect(lost).toContain(trait)
          expect(new Set(lost).size).toBe(lost.length)
        }),
        { numRuns: RUNS },
      )
    })

    it('that are odd anywhere are understood or refused, and never a crash', () => {
      const bodies = fixtures.flatMap((fixture) => fixture.asks(id))
      const { request } = sideOf(id)
      fc.assert(
        fc.property(
          fc.constantFrom(...bodies),
          fc.nat(),
          junk,
          targets,
          (body, at, junk, target) => {
            const spoilt = spoil({ ...request, ...body }, at, junk)
            const bytes = toBytes(spoilt)
            let isSound = false
            orRefused(() => {
              language.peek(bytes)
              isSound = true
            })
            if (!isSound) return
            orRefused(() => {
              const decoded = codec.request.decode(bytes)
              const places = [...decoded.lost, ...decoded.places.values()].flat()
              for (const place of places)
                expect([place, exists(spoilt, place)]).toEqual([place, true])
              for (const other of languages)
                orRefused(() => other.codec.request.encode(decoded.request, target), true)
            }, true)
          },
        ),
        { numRuns: RUNS * 4 },
      )
    })

    it('have a word on every trait', () => {
      for (const trait of TRAITS) {
        const { fate, note, pointers } = codec.traits[trait]
        expect(note, trait).not.toBe('')
        expect(['kept', 'worded', 'lost'], trait).toContain(fate)
        for (const pointer of pointers) expect(pointer, trait).toStartWith('/')
        if (fate === 'kept') expect(pointers.length, trait).toBeGreaterThan(0)
      }
    })
  })

  describe(`answers of ${id}`, () => {
    it('are understood as they were said', () => {
      fc.assert(
        fc.property(answers, usages, (answer, usage) => {
          const body = codec.response.encode({ ...answer, usage }, HEAD)
          expect(language.relay.read(body).usage).toEqual(usage)
          const heard = codec.response.decode(body)
          expect(heard.lost).toEqual([])
          expect(wordsAt(language, heard.parts)).toEqual(wordsAt(language, answer.parts))
          expectFinish(language, heard.finish, answer.finish)
        }),
        { numRuns: RUNS },
      )
    })

    it('tell on a stream what they tell at once, in whatever pieces and order', () => {
      fc.assert(
        fc.property(answers, usages, sizes, orders, (answer, usage, sizes, order) => {
          const text = tell(language, streamOf(answer, sizes, order), usage)
          checkStream(id, text)
          const heard = listen(language, text)
          expect(heard.isFinished).toBe(true)
          expect(heard.kinds.at(-1)).toBe('end')
          expect(heard.usage).toEqual(usage)
          const whole = codec.response.decode(codec.response.encode({ ...answer, usage }, HEAD))
          expect(comparable(heard)).toEqual(comparable(whole))
        }),
        { numRuns: RUNS },
      )
    })

    it('that are odd anywhere are told properly or refused, and never a crash', () => {
      const side = sideOf(id)
      const briefs = fixtures.flatMap((fixture) => fixture.says(id))
      fc.assert(
        fc.property(fc.constantFrom(...briefs), fc.nat(), junk, (brief, at, junk) => {
          const body = toBytes(spoil(side.answer(brief), at, junk))
          orRefused(() => {
            language.relay.read(body)
            const response = codec.response.decode(body)
            for (const caller of languages) {
              const told = caller.codec.response.encode({ ...response, usage: USAGE }, HEAD)
              expect(caller.relay.read(told).usage).toEqual(USAGE)
            }
          })
        }),
        { numRuns: RUNS * 4 },
      )
    })

    it('that are odd anywhere on a stream are told properly or refused, and never a crash', () => {
      const side = sideOf(id)
      const texts = fixtures.flatMap((fixture) => fixture.says(id).map(side.stream))
      fc.assert(
        fc.property(
          fc.constantFrom(...texts),
          fc.nat(),
          fc.nat(),
          junk,
          (text, frame, at, junk) => {
            const frames = framesOf(text)
            const place = frame % (frames.length - 1)
            const spoilt = frames.with(
              place,
              JSON.stringify(spoil(JSON.parse(frames[place] ?? ''), at, junk)),
            )
            orRefused(() => {
              const heard = listen(language, spoilt.map((data) => `data: ${data}\n\n`).join(''))
              if (!heard.isFinished) return
              for (const caller of languages) {
                const told = tell(caller, heard.events, USAGE)
                expect(listen(caller, told).isFinished).toBe(true)
                // What a model has spoilt by itself is told as it is.
                if (!heard.parts.some(isSpoilt)) checkStream(caller.id, told)
              }
            })
          },
        ),
        { numRuns: RUNS * 4 },
      )
    })

    it('never finish on a stream that was cut', () => {
      fc.assert(
        fc.property(answers, sizes, orders, fc.nat(), (answer, sizes, order, at) => {
          const events = streamOf(answer, sizes, order)
          const cut = events.slice(0, at % (events.length - 1))
          const heard = listen(language, tell(language, cut, undefined))
          expect(heard.finish).toBeUndefined()
          expect(heard.isFinished).toBe(false)
          expect(heard.kinds).not.toContain('end')
        }),
        { numRuns: RUNS },
      )
    })
  })
}

for (const pair of pairs) {
  const { caller, supplier } = pair

  describe(`answers, ${titleOf(pair)}`, () => {
    it('are the same streamed and whole', () => {
      fc.assert(
        fc.property(answers, usages, sizes, orders, (answer, usage, sizes, order) => {
          const whole = convert(caller, supplier, { ...answer, usage })
          const heard = listen(supplier, tell(supplier, streamOf(answer, sizes, order), usage))
          const text = tell(caller, heard.events, heard.usage)
          checkStream(caller.id, text)
          const told = listen(caller, text)
          expect(told.usage).toEqual(usage)
          expect(comparable(told)).toEqual(comparable(whole))
        }),
        { numRuns: RUNS },
      )
    })
  })
}

/** A supplier's whole answer as a caller's client would understand it. */
function convert(caller: Language, supplier: Language, answered: Answered): ChatResponse {
  const theirs = supplier.codec.response.encode(answered, HEAD)
  const response = supplier.codec.response.decode(theirs)
  const usage = supplier.relay.read(theirs).usage ?? answered.usage
  return caller.codec.response.decode(caller.codec.response.encode({ ...response, usage }, HEAD))
}

/** Seals differ in the words around them; the loop of a conversation proves that they come back whole. */
function comparable({ parts, finish }: Collected): unknown {
  return { parts: wordsOfParts(parts), reason: finish?.reason, stopText: finish?.stopText }
}

function wordsOfParts(parts: readonly AssistantPart[]): readonly unknown[] {
  return parts.map((part) => {
    if (part.kind === 'call') return { ...part, input: part.input === '' ? '{}' : part.input }
    if (part.kind !== 'thinking') return part
    return { kind: 'thinking', text: part.text, isSealed: part.seal !== undefined }
  })
}

/** What a language cannot tell apart is compared as one: texts that follow each other, and a text that refuses. */
function wordsAt({ codec }: Language, parts: readonly AssistantPart[]): readonly unknown[] {
  const isText = codec.traits.refusal.fate !== 'kept'
  const words: { kind: string; text?: string }[] = []
  for (const part of wordsOfParts(parts)) {
    const { isSealed: _, ...word } = part as { isSealed?: boolean; kind: string; text?: string }
    if (isText && word.kind === 'refusal') word.kind = 'text'
    const before = words.at(-1)
    if (word.kind === 'text' && before?.kind === 'text') before.text = `${before.text}${word.text}`
    else words.push(word)
  }
  return words
}

/** Reasons for which some languages have only a broader word. */
const BROADER: Partial<Record<Finish['reason'], Finish['reason']>> = {
  window: 'length',
  pause: 'end',
}

/** Who cannot be told which texts stop an answer is not told which has. */
function expectFinish({ codec }: Language, heard: Finish, meant: Finish): void {
  const isUntold = meant.reason === 'stop' && codec.traits.stop.fate === 'lost'
  const reason = isUntold ? 'end' : meant.reason
  expect([reason, BROADER[reason]]).toContain(heard.reason)
  expect(heard.stopText).toBe(isUntold ? undefined : meant.stopText)
  expect(heard.raw).toBeString()
}

/** Turns without the words that stand for kinds and ids of ours. */
function wordsOf(turns: ChatRequest['turns']): unknown {
  return turns.map(({ parts }) =>
    (parts as readonly object[]).map((part) => {
      const { kind: _, cache: __, input, source, ...words } = part as Record<string, unknown>
      const inside = words['parts']
      return {
        ...words,
        ...(typeof input === 'string' ? { input: keysOf(input) } : {}),
        ...(source === undefined ? {} : { source: bytesOf(source) }),
        ...(Array.isArray(inside) ? { parts: wordsOf([{ role: 'user', parts: inside }]) } : {}),
      }
    }),
  )
}

/** All that was sent, and what is inside of it as JSON text. */
function saidOf(sent: unknown): readonly string[] {
  return leavesOf(sent).flatMap((leaf) => [leaf, ...keysOf(leaf)])
}

function keysOf(input: string): readonly string[] {
  try {
    return leavesOf(JSON.parse(input))
  } catch {
    return []
  }
}

function bytesOf(source: unknown): unknown {
  const { kind: _, mediaType: __, ...bytes } = source as Record<string, unknown>
  return bytes
}

function isSpoilt(part: AssistantPart): boolean {
  return part.kind === 'call' && part.input !== '' && !isObject(part.input)
}

/** Puts junk in the place of some value below the first level. */
function spoil(body: Record<string, unknown>, at: number, junk: unknown): unknown {
  const copy = structuredClone(body)
  const places: [Record<string, unknown>, string][] = []
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    const holder = value as Record<string, unknown>
    for (const name of Object.keys(holder)) {
      places.push([holder, name])
      walk(holder[name])
    }
  }
  walk(copy)
  const [holder, name] = places[at % places.length] ?? [copy, 'messages']
  holder[name] = junk
  return copy
}

function orRefused(run: () => void, isCallers = false): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    // Who asked is at fault, and is told where.
    if (isCallers) expect([error.status, error.param]).toEqual([400, expect.any(String)])
  }
}

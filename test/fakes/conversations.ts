// Conversations at random, in the gateway's own words and in the order in which every language can say them: results
// first in a turn, thoughts before texts, calls last. A set of traits says what may occur.
import fc from 'fast-check'
import {
  EFFORTS,
  TRAITS,
  type AssistantPart,
  type AssistantTurn,
  type CacheMark,
  type CallPart,
  type ChatRequest,
  type ChatResponse,
  type FilePart,
  type Finish,
  type Format,
  type ImagePart,
  type Reasoning,
  type ResultPart,
  type Source,
  type SystemTurn,
  type TextPart,
  type ThinkingPart,
  type Tool,
  type ToolChoice,
  type Trait,
  type Turn,
  type UserPart,
  type UserTurn,
} from '../../src/core/chat.ts'
import type { ChatEvent } from '../../src/core/chat-event.ts'
import type { Usage } from '../../src/core/usage.ts'

export const ALL_TRAITS: ReadonlySet<Trait> = new Set(TRAITS)

/** Who has sealed what a model thought in these conversations: never who is asked next. */
export const STRANGER = 'somebody-else'

/** Never blank, and hardly ever twice the same: what is missing must be missed. */
export const texts: fc.Arbitrary<string> = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 8 }), fc.nat(999_999))
  .map(([text, number]) => `${text}${number}`)

const names = fc
  .tuple(fc.constantFrom('look', 'get_weather', 'Read', 'mcp__a__b'), fc.nat(99))
  .map(([name, number]) => `${name}-${number}`)
const base64 = fc
  .uint8Array({ minLength: 1, maxLength: 9 })
  .map((bytes) => Buffer.from(bytes).toString('base64'))
const cacheMarks = fc.constantFrom<CacheMark>('short', 'long')

/** An object as JSON text, as its parser would print it. */
export const inputs: fc.Arbitrary<string> = fc
  .dictionary(texts, fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(JSON.parse(JSON.stringify(value))))

export const schemas: fc.Arbitrary<object> = fc.record({
  $schema: fc.constant('https://json-schema.org/draft/2020-12/schema'),
  type: fc.constant('object'),
  properties: fc.dictionary(names, fc.constantFrom({ type: 'string' }, { enum: [1, null, 'a'] }), {
    maxKeys: 2,
    noNullPrototype: true,
  }),
  // Some languages close what is open, which is another schema.
  additionalProperties: fc.constant(false),
})

/** Fields of a record that are there or not, but only where their trait may occur. */
class Palette {
  readonly allowed: ReadonlySet<Trait>

  constructor(allowed: ReadonlySet<Trait>) {
    this.allowed = allowed
  }

  field<Value>(trait: Trait, arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> {
    return this.allowed.has(trait)
      ? fc.option(arbitrary, { nil: undefined })
      : fc.constant(undefined)
  }

  flag(trait: Trait): fc.Arbitrary<boolean> {
    return this.allowed.has(trait) ? fc.boolean() : fc.constant(false)
  }

  cache(): fc.Arbitrary<CacheMark | undefined> {
    if (!this.allowed.has('cache')) return fc.constant(undefined)
    return fc.option(this.allowed.has('cache_long') ? cacheMarks : fc.constant('short' as const), {
      nil: undefined,
      freq: 2,
    })
  }

  text(): fc.Arbitrary<TextPart> {
    return fc.tuple(texts, this.cache()).map(([text, cache]) => told({ kind: 'text', text, cache }))
  }

  images(): fc.Arbitrary<ImagePart>[] {
    const sources = this.#sources({
      image_data: base64.map((data) => ({ kind: 'data', mediaType: 'image/png', data }) as const),
      image_url: texts.map(
        (text) => ({ kind: 'url', url: `https://a.test/${encodeURIComponent(text)}` }) as const,
      ),
      image_id: texts.map((id) => ({ kind: 'id', id: `file_${id}` }) as const),
    })
    return sources.map((source) =>
      fc
        .tuple(source, this.field('image_detail', fc.constantFrom('low', 'high')), this.cache())
        .map(([source, detail, cache]) => told({ kind: 'image', source, detail, cache })),
    )
  }

  files(): fc.Arbitrary<FilePart>[] {
    const sources = this.#sources({
      file_data: fc
        .tuple(fc.constantFrom('application/pdf', 'application/pdf', 'application/zip'), base64)
        .map(([mediaType, data]) => ({ kind: 'data', mediaType, data }) as const),
      file_url: texts.map(
        (text) => ({ kind: 'url', url: `https://b.test/${encodeURIComponent(text)}` }) as const,
      ),
      file_id: texts.map((id) => ({ kind: 'id', id: `file_${id}` }) as const),
      file_text: texts.map((text) => ({ kind: 'text', text }) as const),
    })
    return sources.map((source) =>
      fc
        .tuple(source, this.field('file_name', texts), this.cache())
        .map(([source, name, cache]) => told({ kind: 'file', source, name, cache })),
    )
  }

  #sources(byTrait: Partial<Record<Trait, fc.Arbitrary<Source>>>): fc.Arbitrary<Source>[] {
    return TRAITS.flatMap((trait) => {
      const source = byTrait[trait]
      return source !== undefined && this.allowed.has(trait) ? [source] : []
    })
  }

  /** What a user says beside results: always some text, so that nothing of it can leave the turn empty. */
  said(): fc.Arbitrary<readonly UserPart[]> {
    const audio = texts.map(
      (data) => ({ kind: 'audio', data: btoaOf(data), format: 'wav' }) as const,
    )
    const others: fc.Arbitrary<UserPart>[] = [
      this.text(),
      ...this.images(),
      ...this.files(),
      ...(this.allowed.has('audio') ? [audio] : []),
    ]
    return fc
      .tuple(this.text(), fc.array(fc.oneof(...others), { maxLength: 2 }), fc.boolean())
      .map(([text, rest, isFirst]) => (isFirst ? [text, ...rest] : [...rest, text]))
  }

  result(id: string): fc.Arbitrary<ResultPart> {
    const contents: fc.Arbitrary<TextPart | ImagePart | FilePart>[] = [
      texts.map((text) => ({ kind: 'text', text })),
      ...(this.allowed.has('result_image') ? this.images() : []),
      ...(this.allowed.has('result_file') ? this.files() : []),
    ]
    return fc
      .tuple(
        fc.array(fc.oneof(...contents).map(withoutMark), { maxLength: 3 }),
        this.flag('result_error'),
        this.cache(),
      )
      .map(([parts, isError, cache]) => told({ kind: 'result', id, parts, isError, cache }))
  }

  thought(): fc.Arbitrary<ThinkingPart> {
    const seal = texts.map((data) => ({ data, supplier: STRANGER }))
    return fc.oneof(
      fc
        .tuple(texts, this.field('seal', seal))
        .map(([text, seal]) => told<ThinkingPart>({ kind: 'thinking', text, seal })),
      ...(this.allowed.has('seal')
        ? [seal.map((seal) => ({ kind: 'thinking', text: '', seal, isHidden: true }) as const)]
        : []),
    )
  }

  assistant(first: number): fc.Arbitrary<AssistantTurn> {
    const calls = fc
      .array(fc.tuple(names, this.#callInputs(), this.cache()), { maxLength: 2 })
      .map((all) =>
        all.map(([name, input, cache], place) =>
          told<CallPart>({ kind: 'call', id: `call_${first}_${place}`, name, input, cache }),
        ),
      )
    const canCall = this.allowed.has('calls') && this.allowed.has('results')
    return fc
      .record({
        thoughts: this.#few('thinking', this.thought()),
        said: fc.array(this.text(), { minLength: 1, maxLength: 2 }),
        refusals: this.#few(
          'refusal',
          texts.map((text) => ({ kind: 'refusal', text }) as const),
        ),
        calls: canCall ? calls : fc.constant([]),
        isSilent: fc.boolean(),
      })
      .map(({ thoughts, said, refusals, calls, isSilent }) => {
        if (calls.length > 0) return [...thoughts, ...(isSilent ? [] : said), ...calls]
        return refusals.length > 0 ? [...thoughts, ...refusals] : [...thoughts, ...said]
      })
      .map((parts: readonly AssistantPart[]) => ({ role: 'assistant', parts }))
  }

  #callInputs(): fc.Arbitrary<string> {
    if (!this.allowed.has('call_input')) return inputs
    return fc.oneof({ weight: 4, arbitrary: inputs }, fc.constantFrom('[1]', '{"cut":', '7'))
  }

  #few<Part>(trait: Trait, part: fc.Arbitrary<Part>): fc.Arbitrary<readonly Part[]> {
    return this.allowed.has(trait)
      ? fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, fc.tuple(part))
      : fc.constant([])
  }

  system(): fc.Arbitrary<SystemTurn | undefined> {
    return this.field(
      'system_between',
      fc
        .array(this.text(), { minLength: 1, maxLength: 2 })
        .map((parts) => ({ role: 'system', parts })),
    )
  }

  /** A user, what the assistant said and what came of its calls, again and again. */
  turns(): fc.Arbitrary<readonly Turn[]> {
    const round = (first: number): fc.Arbitrary<readonly Turn[]> =>
      fc.tuple(this.system(), this.assistant(first)).chain(([system, answer]) => {
        const results = answer.parts.flatMap((part) =>
          part.kind === 'call' ? [this.result(part.id)] : [],
        )
        return fc
          .tuple(fc.tuple(...results), this.said(), fc.boolean())
          .map(([results, said, isSilent]): readonly Turn[] => [
            ...(system === undefined ? [] : [system]),
            answer,
            userTurn([...results, ...(isSilent && results.length > 0 ? [] : said)]),
          ])
      })
    return fc
      .tuple(
        this.said(),
        fc
          .nat(2)
          .chain((count) => fc.tuple(...Array.from({ length: count }, (_, at) => round(at)))),
        this.system(),
      )
      .map(([said, rounds, last]) => [
        userTurn(said),
        ...rounds.flat(),
        ...(last === undefined ? [] : [last]),
      ])
  }

  tools(): fc.Arbitrary<readonly Tool[]> {
    if (!this.allowed.has('tools')) return fc.constant([])
    const tool = fc
      .record({
        name: names,
        description: fc.option(texts, { nil: undefined }),
        schema: schemas,
        isStrict: this.field('tool_strict', fc.boolean()),
        cache: this.cache(),
      })
      .map((tool) => told<Tool>(tool))
    return fc.uniqueArray(tool, { maxLength: 3, selector: ({ name }) => name })
  }

  format(): fc.Arbitrary<Format | undefined> {
    const schema = fc
      .record({
        kind: fc.constant('schema' as const),
        schema: schemas,
        name: this.field('schema_name', names),
        description: this.field('schema_name', texts),
      })
      .map((format) => told<Format>(format))
    const kinds: fc.Arbitrary<Format>[] = [
      ...(this.allowed.has('schema') ? [schema] : []),
      ...(this.allowed.has('json') ? [fc.constant({ kind: 'json' } as const)] : []),
    ]
    if (kinds.length === 0) return fc.constant(undefined)
    return fc.option(fc.oneof(...kinds), { nil: undefined })
  }
}

const reasonings: fc.Arbitrary<Reasoning> = fc.oneof(
  fc.constantFrom(...EFFORTS).map((effort) => ({ effort })),
  fc.integer({ min: 1_024, max: 40_000 }).map((budget) => ({ budget })),
  fc.constant({ isAdaptive: true } as const),
  fc.constantFrom(...EFFORTS.slice(2)).map((effort) => ({ effort, isAdaptive: true }) as const),
)

/** Requests that have no other traits than these. */
export function requestsOf(allowed: ReadonlySet<Trait>): fc.Arbitrary<ChatRequest> {
  const palette = new Palette(allowed)
  const stops = fc.oneof({ weight: 6, arbitrary: texts }, fc.constantFrom('\n', ' '))
  const penalty = fc.integer({ min: 1, max: 20 }).map((tenths) => tenths / -10)
  return palette.tools().chain((tools) =>
    fc
      .record({
        system: allowed.has('system')
          ? fc.array(palette.text(), { maxLength: 3 })
          : fc.constant([]),
        turns: palette.turns(),
        tools: fc.constant(tools),
        toolChoice: tools.length > 0 ? palette.field('tool_choice', choicesOf(tools)) : NOTHING,
        parallelTools: tools.length > 0 ? palette.field('parallel_tools', fc.boolean()) : NOTHING,
        maxTokens: palette.field('max_tokens', fc.integer({ min: 1, max: 64_000 })),
        stream: fc.boolean(),
        stop: allowed.has('stop') ? fc.uniqueArray(stops, { maxLength: 3 }) : fc.constant([]),
        temperature: palette.field(
          'temperature',
          fc.nat(20).map((tenths) => tenths / 10),
        ),
        topP: palette.field(
          'top_p',
          fc.integer({ min: 1, max: 99 }).map((hundredths) => hundredths / 100),
        ),
        topK: palette.field('top_k', fc.integer({ min: 1, max: 500 })),
        seed: palette.field('seed', fc.nat()),
        presencePenalty: palette.field('penalties', penalty),
        frequencyPenalty: palette.field('penalties', penalty),
        format: palette.format(),
        reasoning: palette.field('reasoning', reasonings),
        user: palette.field(
          'user',
          fc.oneof(
            { weight: 3, arbitrary: texts },
            fc.constantFrom('u'.repeat(65), 'v'.repeat(257)),
          ),
        ),
      })
      .map((request) => told<ChatRequest>(request)),
  )
}

const NOTHING = fc.constant(undefined)

/** One call at a time says nothing where none is to be made, so `none` is not among them. */
function choicesOf(tools: readonly Tool[]): fc.Arbitrary<ToolChoice> {
  return fc.constantFrom<ToolChoice>(
    { mode: 'auto' },
    { mode: 'any' },
    ...tools.map(({ name }) => ({ mode: 'named', name }) as const),
  )
}

export const usages: fc.Arbitrary<Usage> = fc
  .record({
    plain: fc.integer({ min: 1, max: 5_000 }),
    cachedTokens: fc.oneof(fc.constant(0), fc.nat(5_000)),
    cacheWriteTokens: fc.oneof(fc.constant(0), fc.nat(5_000)),
    outputTokens: fc.integer({ min: 1, max: 9_000 }),
    share: fc.oneof(fc.constant(0), fc.nat(100)),
  })
  .map(({ plain, cachedTokens, cacheWriteTokens, outputTokens, share }) => ({
    inputTokens: plain + cachedTokens + cacheWriteTokens,
    cachedTokens,
    cacheWriteTokens,
    cacheWriteLongTokens: 0,
    audioInputTokens: 0,
    outputTokens,
    reasoningTokens: Math.floor((outputTokens * share) / 100),
    audioOutputTokens: 0,
  }))

function finishesOf(parts: readonly AssistantPart[]): fc.Arbitrary<Finish> {
  const finish = (reason: Finish['reason']): Finish => ({ reason, raw: undefined })
  if (parts.some(({ kind }) => kind === 'refusal')) return fc.constant(finish('refusal'))
  if (parts.some(({ kind }) => kind === 'call'))
    return fc.constantFrom(finish('tools'), finish('tools'), finish('length'))
  return fc.oneof(
    fc.constantFrom<Finish['reason']>('end', 'length', 'window', 'refusal', 'pause').map(finish),
    texts.map((stopText) => ({ ...finish('stop'), stopText })),
  )
}

/** Answers of a model: what it thought, what it said or why it does not, what it wants done. */
export const answers: fc.Arbitrary<ChatResponse> = fc
  .record({
    thoughts: fc.oneof(
      fc.constant([]),
      fc.tuple(new Palette(ALL_TRAITS).thought().map(withoutMaker)),
    ),
    said: fc.array(
      texts.map((text): TextPart => ({ kind: 'text', text })),
      { maxLength: 2 },
    ),
    refusal: fc.option(texts, { nil: undefined, freq: 6 }),
    calls: fc.array(fc.tuple(names, inputs), { maxLength: 3 }),
  })
  .map(({ thoughts, said, refusal, calls }): readonly AssistantPart[] =>
    refusal === undefined
      ? [
          ...thoughts,
          ...said,
          ...calls.map(([name, input], place) => callPart(`call_${place}`, name, input)),
        ]
      : [...thoughts, { kind: 'refusal', text: refusal }],
  )
  .chain((parts) => finishesOf(parts).map((finish) => ({ parts, finish, lost: [] })))

/** The seals of an answer are its supplier's own. */
function withoutMaker(part: ThinkingPart): ThinkingPart {
  if (part.seal === undefined) return part
  return { ...part, seal: { data: part.seal.data, supplier: undefined } }
}

function callPart(id: string, name: string, input: string): CallPart {
  return { kind: 'call', id, name, input }
}

/**
 * A stream on which an answer is told: its texts in pieces of any length, its calls one after the other or mixed, as
 * `order` says for each next piece.
 */
export function streamOf(
  { parts, finish }: ChatResponse,
  sizes: readonly number[],
  order: readonly number[],
): readonly ChatEvent[] {
  const events: ChatEvent[] = [{ kind: 'start' }]
  const cut = cutter(sizes)
  let before: AssistantPart | undefined
  for (const part of parts) {
    if (part.kind === 'call') continue
    if (before?.kind === part.kind) events.push({ kind: 'break' })
    events.push(...eventsOf(part, cut))
    before = part
  }
  const calls = parts.filter((part) => part.kind === 'call')
  const queues = calls.map(({ id, name, input }, place): ChatEvent[] => [
    { kind: 'call', place, id, name },
    ...cut(input).map((text): ChatEvent => ({ kind: 'input', place, text })),
  ])
  events.push(...mix(queues, order), { kind: 'finish', finish })
  return events
}

function eventsOf(part: Exclude<AssistantPart, CallPart>, cut: Cut): readonly ChatEvent[] {
  if (part.kind !== 'thinking') return cut(part.text).map((text) => ({ kind: part.kind, text }))
  const { text, seal, isHidden } = part
  if (isHidden === true) return [{ kind: 'hidden', data: seal?.data ?? '' }]
  const thought = cut(text).map((text): ChatEvent => ({ kind: 'thinking', text }))
  return seal === undefined ? thought : [...thought, { kind: 'seal', data: seal.data }]
}

type Cut = (text: string) => readonly string[]

/** Cuts texts into pieces whose sizes come from a list, again and again; never inside a character. */
function cutter(sizes: readonly number[]): Cut {
  let turn = 0
  return (text) => {
    const characters = Array.from(text)
    const pieces: string[] = []
    while (characters.length > 0)
      pieces.push(characters.splice(0, sizes[turn++ % sizes.length] ?? 1).join(''))
    return pieces
  }
}

/** Draws from the queues as told, each in its own order; a call begins only once those before it have. */
function mix(queues: ChatEvent[][], order: readonly number[]): readonly ChatEvent[] {
  const mixed: ChatEvent[] = []
  let begun = 0
  for (let turn = 0; queues.some(({ length }) => length > 0); turn += 1) {
    const open = queues.filter(({ length }, place) => length > 0 && place <= begun)
    const queue = open[(order[turn % order.length] ?? 0) % open.length]
    const event = queue?.shift()
    if (event === undefined) continue
    if (event.kind === 'call') begun = Math.max(begun, event.place + 1)
    mixed.push(event)
  }
  return mixed
}

/** The answer that a stream has told; its finish is undefined where it was not told. */
export interface Collected {
  readonly parts: readonly AssistantPart[]
  readonly finish: Finish | undefined
}

export function collect(events: readonly ChatEvent[]): Collected {
  const parts: Writable<AssistantPart>[] = []
  const calls = new Map<number, Writable<CallPart>>()
  let finish: Finish | undefined
  let isBroken = false
  for (const event of events) {
    const last = parts.at(-1)
    switch (event.kind) {
      case 'text':
      case 'thinking':
      case 'refusal': {
        const goesOn = !isBroken && last?.kind === event.kind && !isSealed(last)
        if (goesOn && 'text' in last) last.text += event.text
        else if (event.text !== '') parts.push({ kind: event.kind, text: event.text })
        isBroken = false
        break
      }
      case 'seal': {
        const seal = { data: event.data, supplier: undefined }
        if (last?.kind === 'thinking' && !isSealed(last)) last.seal = seal
        else parts.push({ kind: 'thinking', text: '', seal })
        break
      }
      case 'hidden': {
        const seal = { data: event.data, supplier: undefined }
        parts.push({ kind: 'thinking', text: '', seal, isHidden: true })
        break
      }
      case 'call': {
        const { id, name, place } = event
        const call: Writable<CallPart> = { kind: 'call', id, name, input: '' }
        calls.set(place, call)
        parts.push(call)
        break
      }
      case 'input': {
        const call = calls.get(event.place)
        if (call === undefined)
          throw new Error(`input for call ${event.place}, which has not begun`)
        call.input += event.text
        break
      }
      case 'break':
        isBroken = true
        break
      case 'finish':
        if (finish !== undefined) throw new Error('a second finish')
        finish = event.finish
        break
      case 'start':
        break
    }
  }
  return { parts, finish }
}

type Writable<Value> = { -readonly [Key in keyof Value]: Value[Key] }

function isSealed(part: AssistantPart): boolean {
  return part.kind === 'thinking' && (part.seal !== undefined || part.isHidden === true)
}

function withoutMark<Part extends TextPart | ImagePart | FilePart>(part: Part): Part {
  return told<Part>({ ...part, cache: undefined })
}

function userTurn(parts: readonly UserPart[]): UserTurn {
  return { role: 'user', parts }
}

function btoaOf(text: string): string {
  return Buffer.from(text).toString('base64')
}

/** Without the fields that are undefined: absence has one spelling. */
function told<Value>(value: {
  readonly [Key in keyof Value]: Value[Key] | undefined
}): Value
function told<Value>(value: object): Value {
  const fields = Object.entries(value).filter(([, each]) => each !== undefined)
  return Object.fromEntries(fields) as Value
}

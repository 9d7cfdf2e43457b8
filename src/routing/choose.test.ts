// Who is asked for a call and in which order, as a table: who may not, who is not well, by which policy, with which
// session, and how many.
import { describe, expect, it } from 'bun:test'
import {
  candidateOf,
  findCandidate,
  label,
  load,
  MOMENT,
  NO_WISH,
  routeOf,
  type Stall,
} from '../../test/fakes/stalls.ts'
import type { ModelRoute } from '../suppliers/supplier.ts'
import { choose, type Moment, type RouteAsk } from './choose.ts'
import { PROBING, RESTING, WAITING, wordOf } from './reason.ts'
import type { RouteParts } from './routes.ts'

const A: Stall = { id: 'a', region: 'EU' }
const B: Stall = { id: 'b', region: 'US' }
const C: Stall = { id: 'c', region: 'DE' }
const D: Stall = { id: 'd' }
const EITHER = { model: {}, spare: {} }
/** The first for long answers, the second for long questions. */
const CHEAP_EITHER_WAY: readonly Stall[] = [
  { ...A, input: 2, output: 4 },
  { ...B, input: 1, output: 20 },
]
const WITH_SPARE = { wishes: { model: { fallbacks: ['spare'] } } }

interface Row {
  readonly of?: readonly Stall[]
  readonly parts?: Partial<RouteParts>
  readonly ask?: Partial<RouteAsk>
  /** How lanes stand, by label. */
  readonly stand?: Readonly<Record<string, number>>
  /** Milliseconds that answers took. */
  readonly took?: Readonly<Record<string, number>>
  readonly busy?: Readonly<Record<string, number>>
  readonly pin?: string
  readonly draw?: number
  readonly list: readonly string[]
  readonly why?: Readonly<Record<string, string>>
  readonly isPinned?: true
  readonly isLastResort?: true
}

const can = (
  ...capabilities: NonNullable<ModelRoute['capabilities']>
): NonNullable<Stall['models']> => ({
  model: { capabilities },
})
const window = (contextWindow: number): Partial<ModelRoute> => ({ limits: { contextWindow } })
const MOSTLY_FIRST: readonly Stall[] = [
  { ...A, weight: 95 },
  { ...B, weight: 5 },
]
const SMALL: Stall = { ...A, models: { model: window(10) } }
const weight = { policy: 'weight' } as const

const ROWS: Readonly<Record<string, Row>> = {
  'everybody in the order of the file': { list: ['a', 'b', 'c'], why: { d: 'spare' } },
  'as many as may be asked': { ask: { attemptsMax: 2 }, list: ['a', 'b'], why: { c: 'spare' } },
  'all there are': { ask: { attemptsMax: 9 }, list: ['a', 'b', 'c', 'd'] },

  'only who is inside of a region': {
    ask: { regions: ['EU'] },
    list: ['a', 'c'],
    why: { b: 'outside_region', d: 'outside_region' },
  },
  'who promises the part of a region, and not who promises the whole': {
    ask: { regions: ['DE'] },
    list: ['c'],
    why: { a: 'outside_region' },
  },
  'who is in one of several regions': { ask: { regions: ['US', 'DE'] }, list: ['b', 'c'] },
  'nobody where nobody is': { ask: { regions: ['JP'] }, list: [], why: { d: 'outside_region' } },
  'nobody for a list of no regions at all': { ask: { regions: [] }, list: [] },
  'nobody outside of a region however unwell who is inside': {
    ask: { regions: ['US'] },
    stand: { b: RESTING },
    list: ['b'],
    isLastResort: true,
  },

  'who speaks the language': {
    of: [A, { ...B, otherLanguage: true }],
    list: ['a'],
    why: { b: 'other_endpoint' },
  },
  'images: who is not known to do without': {
    of: [{ ...A, models: can('tools') }, { ...B, models: can('images') }, C],
    ask: load({ images: 1 }),
    list: ['b', 'c'],
    why: { a: 'no_images' },
  },
  'tools: who is not known to do without': {
    of: [{ ...A, models: can('images') }, B],
    ask: { usesTools: true },
    list: ['b'],
    why: { a: 'no_tools' },
  },
  'audio in': {
    of: [{ ...A, models: can('images') }, B],
    ask: load({ audioBytes: 1 }),
    list: ['b'],
    why: { a: 'no_audio' },
  },
  'audio out': {
    of: [{ ...A, models: can('images') }, B],
    ask: load({ asksAudio: true }),
    list: ['b'],
  },
  'text: whatever is known': { of: [{ ...A, models: can() }], list: ['a'] },
  'the first of several reasons is told': {
    of: [{ ...A, models: can() }],
    ask: { regions: ['US'], usesTools: true },
    list: [],
    why: { a: 'outside_region' },
  },

  'who can read it': {
    of: [SMALL, B],
    ask: load({ bytes: 161 }),
    list: ['b'],
    why: { a: 'too_long' },
  },
  'who might just be able to read it': {
    of: [SMALL, B],
    ask: load({ bytes: 160 }),
    list: ['a', 'b'],
  },
  'images do not make it long': {
    of: [SMALL, B],
    ask: load({ bytes: 1000, inline: [{ from: 0, to: 900 }] }),
    list: ['a', 'b'],
  },
  'who cannot read it, where nobody else is left': {
    of: [SMALL],
    ask: load({ bytes: 1000 }),
    list: ['a'],
    why: { a: 'listed' },
  },
  'who rests and can read it, not who is well and cannot': {
    of: [SMALL, B],
    ask: load({ bytes: 1000 }),
    stand: { b: RESTING },
    list: ['b'],
    why: { a: 'too_long', b: 'resting' },
    isLastResort: true,
  },
  'who cannot read it before nobody, but not who waits': {
    of: [SMALL, { ...B, models: { model: window(10) } }],
    ask: load({ bytes: 1000 }),
    stand: { a: WAITING },
    list: ['b'],
    why: { a: 'waiting' },
  },
  'nobody who cannot read it while who can has asked for a pause': {
    of: [SMALL, B],
    ask: load({ bytes: 1000 }),
    stand: { b: WAITING },
    list: [],
    why: { a: 'too_long', b: 'waiting' },
  },
  'nobody who cannot read it while what stands in, and can, has asked for a pause': {
    of: [SMALL, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    ask: load({ bytes: 1000 }),
    stand: { 'b/spare': WAITING },
    list: [],
    why: { a: 'too_long', 'b/spare': 'waiting' },
  },
  'who cannot read it while only who could not do it at all has asked for a pause': {
    of: [SMALL, B],
    ask: { ...load({ bytes: 1000 }), regions: ['EU'] },
    stand: { b: WAITING },
    list: ['a'],
    why: { b: 'outside_region' },
  },

  'nobody who has asked for a pause': { stand: { a: WAITING }, list: ['b', 'c', 'd'] },
  'who rests, behind everybody else': {
    of: [A, B, C],
    stand: { a: RESTING },
    list: ['b', 'c', 'a'],
    why: { a: 'resting' },
  },
  'who is being looked at, behind everybody else': {
    of: [A, B],
    stand: { a: PROBING },
    list: ['b', 'a'],
  },
  'no room for who rests': { stand: { a: RESTING }, list: ['b', 'c', 'd'], why: { a: 'resting' } },
  'all who rest, where nobody is well': {
    of: [A, B],
    stand: { a: RESTING, b: PROBING },
    list: ['a', 'b'],
    isLastResort: true,
  },
  'nobody where all have asked for a pause': {
    of: [A, B],
    stand: { a: WAITING, b: WAITING },
    list: [],
    why: { a: 'waiting', b: 'waiting' },
  },
  'the last resort and no pause': {
    of: [A, B],
    stand: { a: WAITING, b: RESTING },
    list: ['b'],
    isLastResort: true,
  },

  'by weight: the first of the draw': { parts: weight, draw: 0, list: ['a', 'b', 'c'] },
  'by weight: the last of the draw': { parts: weight, draw: 0.999, list: ['d', 'a', 'b'] },
  'by weight: a share as large as it says': {
    of: MOSTLY_FIRST,
    parts: weight,
    draw: 0.95,
    list: ['b', 'a'],
  },
  'by weight: just below': { of: MOSTLY_FIRST, parts: weight, draw: 0.9499, list: ['a', 'b'] },
  'by weight: nothing for who has none, but after all others': {
    of: [{ ...A, weight: 0 }, B, C],
    parts: weight,
    draw: 0,
    list: ['b', 'c', 'a'],
  },
  'by weight: nothing for the last of the file that has none': {
    of: [B, { ...A, weight: 0 }],
    parts: weight,
    draw: 1 - Number.EPSILON / 2,
    list: ['b', 'a'],
  },
  'by weight: as in the file where nobody has any': {
    of: [
      { ...A, weight: 0 },
      { ...B, weight: 0 },
    ],
    parts: weight,
    draw: 0.7,
    list: ['a', 'b'],
  },
  'by weight: only who may': {
    parts: weight,
    ask: { regions: ['EU'] },
    draw: 0.5,
    list: ['c', 'a'],
  },
  'by weight: nobody who rests': {
    of: [{ ...A, weight: 100 }, B, C],
    parts: weight,
    stand: { a: RESTING },
    draw: 0.5,
    list: ['c', 'b', 'a'],
  },
  'by weight: a model of a supplier has its own': {
    of: [A, { ...B, weight: 9, models: { model: { weight: 0 } } }],
    parts: weight,
    draw: 0.99,
    list: ['a', 'b'],
  },
  'by weight: credentials of one supplier weigh as one, and stay together': {
    of: [A, { ...B, credentials: 3 }],
    parts: weight,
    draw: 0.5,
    list: ['b#1', 'b#2', 'b#3', 'a'],
  },
  'by weight: also among those who stand in': {
    of: [
      A,
      { ...B, models: { spare: {} }, weight: 1 },
      { ...C, models: { spare: {} }, weight: 99 },
    ],
    parts: { ...weight, ...WITH_SPARE },
    draw: 0.5,
    list: ['a', 'c/spare', 'b/spare'],
  },

  'the cheapest first': {
    of: [
      { ...A, output: 3 },
      { ...B, output: 1 },
      { ...C, output: 2 },
    ],
    parts: { policy: 'cheapest' },
    list: ['b', 'c', 'a'],
  },
  'the cheapest for much to read': {
    of: CHEAP_EITHER_WAY,
    parts: { policy: 'cheapest' },
    ask: load({ bytes: 400_000 }),
    list: ['b', 'a'],
  },
  'the cheapest for little to read': {
    of: CHEAP_EITHER_WAY,
    parts: { policy: 'cheapest' },
    ask: load({ bytes: 400 }),
    list: ['a', 'b'],
  },
  'the cheapest for a short answer': {
    of: CHEAP_EITHER_WAY,
    parts: { policy: 'cheapest' },
    ask: load({ bytes: 400, maxTokens: 1 }),
    list: ['b', 'a'],
  },
  'the cheapest where several answers at once are asked for': {
    of: CHEAP_EITHER_WAY,
    parts: { policy: 'cheapest' },
    // One answer of as much would leave the second the cheaper one.
    ask: load({ bytes: 4000, maxTokens: 40, choices: 3 }),
    list: ['a', 'b'],
  },
  'an image is no text of its length': {
    of: CHEAP_EITHER_WAY,
    parts: { policy: 'cheapest' },
    ask: load({ bytes: 400_000, images: 1, inline: [{ from: 0, to: 400_000 }] }),
    list: ['a', 'b'],
  },
  'the free one before all, and equals as in the file': {
    of: [A, B, { ...C, input: 0, output: 0 }],
    parts: { policy: 'cheapest' },
    list: ['c', 'a', 'b'],
  },
  'the cheapest is no model that was not asked for': {
    of: [A, { ...B, input: 0, output: 0, models: { spare: {} } }],
    parts: { policy: 'cheapest', ...WITH_SPARE },
    list: ['a', 'b/spare'],
  },

  'the fastest first': {
    of: [A, B, C],
    parts: { policy: 'fastest' },
    took: { a: 300, b: 100, c: 200 },
    list: ['b', 'c', 'a'],
  },
  'whoever is not known yet before the fastest': {
    of: [A, B],
    parts: { policy: 'fastest' },
    took: { a: 1 },
    list: ['b', 'a'],
  },
  'credentials of one supplier as fast as the slowest that is known': {
    of: [{ ...A, credentials: 2 }, B],
    parts: { policy: 'fastest' },
    took: { 'a#1': 300, b: 200 },
    list: ['b', 'a#1', 'a#2'],
  },

  'the least busy credential of a supplier, then the others as in the file': {
    of: [{ ...A, credentials: 4 }, B],
    busy: { 'a#1': 3, 'a#2': 2, 'a#3': 1, 'a#4': 2 },
    list: ['a#3', 'a#1', 'a#2', 'a#4', 'b'],
  },
  'the least busy credential, whoever of the others is the busiest': {
    of: [{ ...A, credentials: 3 }, B],
    busy: { 'a#1': 2, 'a#2': 3, 'a#3': 1 },
    list: ['a#3', 'a#1', 'a#2', 'b'],
  },
  'the least busy credential of each supplier, also behind one that has but one': {
    of: [A, { ...B, credentials: 2 }, { ...C, credentials: 2 }],
    busy: { 'b#1': 1, 'c#1': 1 },
    list: ['a', 'b#2', 'b#1', 'c#2', 'c#1'],
  },
  'equally busy credentials as in the file': {
    of: [{ ...A, credentials: 2 }],
    busy: { 'a#1': 2, 'a#2': 2 },
    list: ['a#1', 'a#2'],
  },
  'a busy supplier is a supplier all the same': {
    of: [A, B],
    busy: { a: 50 },
    list: ['a', 'b'],
  },
  'several credentials as one supplier among so many': {
    of: [{ ...A, credentials: 5 }, B, C],
    ask: { attemptsMax: 2 },
    list: ['a#1', 'a#2', 'a#3', 'a#4', 'a#5', 'b'],
    why: { c: 'spare' },
  },
  'the credential that does not rest': {
    of: [{ ...A, credentials: 2 }, B],
    stand: { 'a#1': RESTING },
    list: ['a#2', 'b', 'a#1'],
  },

  'who answered the session before': { pin: 'c', list: ['c', 'a', 'b'], isPinned: true },
  'who answered the session before, although it is the last': {
    pin: 'd',
    ask: { attemptsMax: 1 },
    list: ['d'],
    why: { a: 'spare' },
    isPinned: true,
  },
  'the very credential that answered the session': {
    of: [A, { ...B, credentials: 3 }],
    pin: 'b#2',
    list: ['b#2', 'a', 'b#1', 'b#3'],
    isPinned: true,
  },
  'a session before every policy': {
    of: [A, { ...B, output: 99 }],
    parts: { policy: 'cheapest' },
    pin: 'b',
    list: ['b', 'a'],
    isPinned: true,
  },
  'a session that has no supplier any more': { pin: 'gone', list: ['a', 'b', 'c'] },
  'no session outside of its region': { pin: 'b', ask: { regions: ['EU'] }, list: ['a', 'c'] },
  'no session with who rests': {
    of: [A, B],
    pin: 'a',
    stand: { a: RESTING },
    list: ['b', 'a'],
  },
  'no session with who rests, not even where all do': {
    of: [A, B],
    pin: 'b',
    stand: { a: RESTING, b: RESTING },
    list: ['a', 'b'],
    isLastResort: true,
  },
  'no session with who has asked for a pause': {
    of: [A, B],
    pin: 'a',
    stand: { a: WAITING },
    list: ['b'],
  },
  'a session last where it became slow': {
    of: [A, B, C],
    pin: 'a',
    ask: { isPinSlow: true },
    list: ['b', 'c', 'a'],
  },
  'a session where it is slow and there is nobody else': {
    of: [A],
    pin: 'a',
    ask: { isPinSlow: true },
    list: ['a'],
    isPinned: true,
  },
  'a slow session before who rests, and before another model': {
    of: [A, B, C, { ...D, models: { spare: {} } }],
    parts: WITH_SPARE,
    pin: 'a',
    stand: { c: RESTING },
    ask: { isPinSlow: true, attemptsMax: 4 },
    list: ['b', 'a', 'd/spare', 'c'],
  },
  'a session of the model that stood in goes back to the one that is asked for': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    pin: 'b/spare',
    list: ['a', 'b/spare'],
  },
  'a session of the model that stands in stays there as long as it does': {
    of: [A, { ...B, models: { spare: {} } }, { ...C, models: { spare: {} } }],
    parts: WITH_SPARE,
    pin: 'c/spare',
    stand: { a: RESTING },
    list: ['c/spare', 'b/spare', 'a'],
    isPinned: true,
  },

  'a model that stands in comes last': {
    of: [
      { ...A, models: EITHER },
      { ...B, models: EITHER },
    ],
    parts: WITH_SPARE,
    ask: { attemptsMax: 9 },
    list: ['a', 'b', 'a/spare', 'b/spare'],
  },
  'one place is kept for a model that stands in': {
    of: [A, B, C, { ...D, models: { spare: {} } }],
    parts: WITH_SPARE,
    list: ['a', 'b', 'd/spare'],
    why: { c: 'spare' },
  },
  'no place is kept where only one may be asked': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    ask: { attemptsMax: 1 },
    list: ['a'],
    why: { 'b/spare': 'spare' },
  },
  'no place is kept for a model that rests': {
    of: [A, B, C, { ...D, models: { spare: {} } }],
    parts: WITH_SPARE,
    stand: { 'd/spare': RESTING },
    list: ['a', 'b', 'c'],
    why: { 'd/spare': 'resting' },
  },
  'once its place is taken the others are for whoever comes': {
    of: [A, B, { ...D, models: { spare: {} } }],
    parts: WITH_SPARE,
    stand: { b: RESTING },
    list: ['a', 'd/spare', 'b'],
  },
  'several that stand in, where the model itself has few': {
    of: [A, { ...B, models: { spare: {} } }, { ...C, models: { spare: {} } }],
    parts: WITH_SPARE,
    list: ['a', 'b/spare', 'c/spare'],
  },
  'models that stand in, in their order': {
    of: [A, { ...B, models: { second: {}, first: {} } }],
    parts: { wishes: { model: { fallbacks: ['first', 'second'] } } },
    list: ['a', 'b/first', 'b/second'],
  },
  'no model that the key may not use': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    ask: { allowedModels: ['model'] },
    list: ['a'],
    why: { 'b/spare': 'model_not_allowed' },
  },
  'a model that the key may use': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    ask: { allowedModels: ['model', 'spare'] },
    list: ['a', 'b/spare'],
  },
  'no model outside of the region': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    ask: { regions: ['EU'] },
    list: ['a'],
    why: { 'b/spare': 'outside_region' },
  },
  'a model that can do what the asked one cannot': {
    of: [
      { ...A, models: can() },
      { ...B, models: { spare: { capabilities: ['tools'] } } },
    ],
    parts: WITH_SPARE,
    ask: { usesTools: true },
    list: ['b/spare'],
    why: { a: 'no_tools' },
  },
  'a model that reads more than the asked one': {
    of: [SMALL, { ...B, models: { spare: window(1000) } }],
    parts: WITH_SPARE,
    ask: load({ bytes: 1000 }),
    list: ['b/spare'],
    why: { a: 'too_long' },
  },
  'a model that is well before the asked one that is not': {
    of: [A, { ...B, models: { spare: {} } }],
    parts: WITH_SPARE,
    stand: { a: RESTING },
    list: ['b/spare', 'a'],
  },
  'models that stand in, in their order and not by their price': {
    of: [A, { ...B, models: { first: {} } }, { ...C, input: 0, output: 0, models: { second: {} } }],
    parts: { policy: 'cheapest', wishes: { model: { fallbacks: ['first', 'second'] } } },
    list: ['a', 'b/first', 'c/second'],
  },
  'the asked model first also where all rest': {
    of: [A, { ...B, input: 0, output: 0, models: { spare: {} } }],
    parts: { policy: 'cheapest', ...WITH_SPARE },
    stand: { a: RESTING, 'b/spare': RESTING },
    list: ['a', 'b/spare'],
    isLastResort: true,
  },
  'not what stands in for who stands in': {
    of: [A, { ...B, models: { spare: {} } }, { ...C, models: { third: {} } }],
    parts: { wishes: { model: { fallbacks: ['spare'] }, spare: { fallbacks: ['third'] } } },
    list: ['a', 'b/spare'],
  },
}

function ready(row: Row): { readonly ask: RouteAsk; readonly moment: Moment } {
  const route = routeOf(row.of ?? [A, B, C, D], row.parts)
  for (const [name, standing] of Object.entries(row.stand ?? {}))
    candidateOf(route, name).lane.standing = () => standing
  for (const [name, ms] of Object.entries(row.took ?? {}))
    candidateOf(route, name).lane.whole.add(ms, 0)
  for (const [name, calls] of Object.entries(row.busy ?? {}))
    candidateOf(route, name).lane.account.inFlight = calls
  const pin =
    row.pin === undefined ? undefined : (findCandidate(route, row.pin)?.lane.id ?? row.pin)
  const moment = { ...MOMENT, draw: row.draw ?? 0 }
  return { ask: { ...NO_WISH, route, pin, ...row.ask }, moment }
}

describe('a list has', () => {
  it.each(Object.entries(ROWS))('%s', (_what, row) => {
    const { ask, moment } = ready(row)
    const verdict = choose(ask, moment)
    expect(verdict.attempts.map(({ candidate }) => label(candidate))).toEqual([...row.list])
    const { candidates } = ask.route
    expect(verdict.reasons).toHaveLength(candidates.length)
    const why = candidates.map((each, index) => [label(each), wordOf(verdict.reasons[index]!)])
    expect(Object.fromEntries(why)).toMatchObject(row.why ?? {})
    expect(verdict.isPinned).toBe(row.isPinned ?? false)
    expect(verdict.isLastResort).toBe(row.isLastResort ?? false)
    expect(choose(ask, moment)).toBe(verdict)
  })
})

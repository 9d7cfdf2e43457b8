// When a list is another one, how large shares are, and what holds of every list: asked at random.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import {
  candidateOf,
  CHAT,
  load,
  MOMENT,
  NO_WISH,
  OTHER_LANGUAGE,
  routeOf,
  type Stall,
} from '../../test/fakes/stalls.ts'
import { choose } from './choose.ts'
import { LISTED, OTHER_ENDPOINT, PROBING, RESTING, WAITING } from './reason.ts'
import type { Candidate } from './routes.ts'

const A: Stall = { id: 'a', region: 'EU' }
const B: Stall = { id: 'b', region: 'US' }
const C: Stall = { id: 'c', region: 'DE' }

describe('a list is made anew', () => {
  it.each([
    ['fewer may be asked', { attemptsMax: 2 }],
    ['another language is spoken', { dialect: OTHER_LANGUAGE }],
    ['the session is elsewhere', { pin: 'b' }],
    ['a region is asked for', { regions: ['EU'] }],
  ] as const)('when %s', (_why, changes) => {
    const route = routeOf([A, B, C])
    const pin = 'pin' in changes ? candidateOf(route, changes.pin).lane.id : undefined
    const before = choose({ ...NO_WISH, route }, MOMENT)
    const after = choose({ ...NO_WISH, route, ...changes, pin }, MOMENT)
    expect(after).not.toBe(before)
    expect(after).not.toEqual(before)
    expect(choose({ ...NO_WISH, route }, MOMENT)).toBe(before)
  })

  it('when another language is spoken by the same suppliers', () => {
    const route = routeOf([{ ...A, otherLanguage: 'too' }])
    const spoken = [CHAT, OTHER_LANGUAGE].map(
      (dialect) => choose({ ...NO_WISH, route, dialect }, MOMENT).attempts[0]?.dialect.id,
    )
    expect(spoken).toEqual([CHAT.id, OTHER_LANGUAGE.id])
  })

  it('when a call must not be put into another language', () => {
    const route = routeOf([A])
    const dialect = { ...CHAT, id: 'third' }
    const both = [true, false].map((converts) =>
      choose({ ...NO_WISH, route, dialect, converts }, MOMENT),
    )
    expect(both.map(({ attempts }) => attempts.length)).toEqual([1, 0])
    expect(both[0]?.attempts[0]?.dialect.id).toBe(CHAT.id)
    expect(both[1]?.reasons).toEqual([OTHER_ENDPOINT])
  })

  it('when only the session makes the difference, which is told', () => {
    const route = routeOf([A, B])
    const plain = choose({ ...NO_WISH, route }, MOMENT)
    const pinned = choose({ ...NO_WISH, route, pin: candidateOf(route, 'a').lane.id }, MOMENT)
    expect(pinned.attempts).toEqual(plain.attempts)
    expect([plain.isPinned, pinned.isPinned]).toEqual([false, true])
  })
})

it('has room for more than anybody has', () => {
  const stalls = Array.from({ length: 400 }, (_, index) => ({ id: `s${index}` }))
  const route = routeOf([...stalls, { ...A, id: 'last' }])
  const { attempts, reasons } = choose({ ...NO_WISH, route, regions: ['EU'] }, MOMENT)
  expect(attempts.map(({ supplier }) => supplier.id)).toEqual(['last'])
  expect(reasons).toHaveLength(401)
})

describe('shares by weight', () => {
  it('are exactly as large as the weights say', () => {
    const route = routeOf(
      [
        { ...A, weight: 95 },
        { ...B, weight: 5 },
      ],
      { policy: 'weight' },
    )
    const counts = new Map<string, number>()
    for (let index = 0; index < 2000; index++) {
      const { attempts } = choose({ ...NO_WISH, route }, { ...MOMENT, draw: index / 2000 })
      const { id } = attempts[0]!.supplier
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    expect(Object.fromEntries(counts)).toEqual({ a: 1900, b: 100 })
  })
})

describe('the fastest', () => {
  it('are who was fast of late, and who was slow long ago is looked at again', () => {
    const route = routeOf([A, B], { policy: 'fastest' })
    const first = (now: number, stream = true): string =>
      choose({ ...NO_WISH, route, stream }, { ...MOMENT, now }).attempts[0]!.supplier.id
    candidateOf(route, 'a').lane.first.add(900, 0)
    candidateOf(route, 'b').lane.first.add(100, 0)
    expect(first(0)).toBe('b')
    // Streams and whole answers are not compared.
    expect(first(0, false)).toBe('a')
    for (let now = 0; now <= 600_000; now += 10_000)
      candidateOf(route, 'b').lane.first.add(100, now)
    expect(first(600_000)).toBe('a')
    candidateOf(route, 'a').lane.first.add(900, 600_000)
    expect(first(600_000)).toBe('b')
  })
})

const REGIONS = ['EU', 'US', 'DE', 'global'] as const
const MODELS = ['model', 'spare', 'third'] as const

const someStall = fc.record({
  region: fc.constantFrom(...REGIONS),
  credentials: fc.integer({ min: 1, max: 3 }),
  weight: fc.constantFrom(0, 1, 5, 0.5),
  input: fc.integer({ min: 0, max: 3 }),
  speaksOther: fc.boolean(),
  models: fc.uniqueArray(
    fc.record({
      id: fc.constantFrom(...MODELS),
      capabilities: fc.constantFrom(undefined, [], ['tools'], ['tools', 'images'] as const),
      contextWindow: fc.constantFrom(undefined, 10, 1000),
    }),
    { selector: ({ id }) => id, minLength: 1 },
  ),
})

const someAsk = fc.record({
  dialect: fc.constantFrom(CHAT, OTHER_LANGUAGE),
  regions: fc.constantFrom(undefined, ['EU'], ['DE'], ['US', 'DE'], ['JP']),
  allowedModels: fc.constantFrom(undefined, ['model'], ['model', 'third']),
  usesTools: fc.boolean(),
  stream: fc.boolean(),
  attemptsMax: fc.integer({ min: 1, max: 4 }),
  images: fc.integer({ min: 0, max: 1 }),
  bytes: fc.constantFrom(0, 100, 5000, 50_000),
  pin: fc.nat(20),
  isPinSlow: fc.boolean(),
  draw: fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
  standings: fc.array(fc.constantFrom(LISTED, LISTED, RESTING, PROBING, WAITING), {
    minLength: 12,
    maxLength: 12,
  }),
})

describe('whatever is asked', () => {
  const world = fc.record({
    stalls: fc.array(someStall, { minLength: 1, maxLength: 5 }),
    policy: fc.constantFrom('priority', 'weight', 'cheapest', 'fastest'),
    asks: fc.array(someAsk, { minLength: 1, maxLength: 6 }),
  })

  it('a list has whom it may have, and only those, once', () => {
    fc.assert(
      fc.property(world, ({ stalls, policy, asks }) => {
        const route = routeOf(
          [
            { id: 'own' },
            ...stalls.map(({ models, speaksOther, ...stall }, index): Stall => ({
              ...stall,
              id: `s${index}`,
              ...(speaksOther && { otherLanguage: true }),
              models: Object.fromEntries(
                models.map(({ id, capabilities, contextWindow }) => [
                  id,
                  {
                    ...(capabilities !== undefined && { capabilities }),
                    ...(contextWindow !== undefined && { limits: { contextWindow } }),
                  },
                ]),
              ),
            })),
          ],
          { policy, wishes: { model: { fallbacks: ['spare', 'third'] } } },
        )
        const { candidates } = route
        for (const { images, bytes, pin, draw, standings, ...rest } of asks) {
          for (const [index, { lane }] of candidates.entries())
            lane.standing = () => standings[index % standings.length]!
          const ask = {
            ...rest,
            converts: true,
            route,
            ...load({ images, bytes }),
            pin: candidates[pin]?.lane.id,
          }
          const verdict = choose(ask, { at: 0, now: 0, draw })
          const listed = verdict.attempts.map(({ candidate }) => candidate)
          const isBarred = (each: Candidate): boolean =>
            ask.regions?.some((region) => each.regions.has(region)) === false ||
            (each.rank > 0 && ask.allowedModels?.every((id) => id !== each.modelId) === true) ||
            !each.attempts.some(({ dialect }) => dialect.id === ask.dialect.id) ||
            (images > 0 && each.route.capabilities?.includes('images') === false) ||
            (ask.usesTools && each.route.capabilities?.includes('tools') === false)
          // Sixteen bytes a token are more than any text has.
          const isLong = ({ route: { limits } }: Candidate): boolean =>
            bytes > 16 * (limits?.contextWindow ?? Infinity)
          const fit = candidates.filter((each) => !isBarred(each))
          const able = fit.filter((each) => !isLong(each))
          // Whoever cannot read it says so itself, where nobody can who only waits, either.
          const open = (able.length > 0 ? able : fit).filter(
            ({ lane }) => lane.standing(0) !== WAITING,
          )
          expect(listed.filter((each) => !open.includes(each))).toEqual([])
          expect(listed.length > 0).toBe(open.length > 0)
          expect(new Set(listed).size).toBe(listed.length)
          const suppliers = new Set(listed.map(({ place, rank }) => `${place} ${rank}`))
          expect(suppliers.size).toBeLessThanOrEqual(ask.attemptsMax)
          const rests = listed.map(({ lane }) => lane.standing(0) !== LISTED)
          expect(rests).toEqual(rests.toSorted((one, other) => Number(one) - Number(other)))
          expect(verdict.attempts.every(({ dialect }) => dialect.id === ask.dialect.id)).toBe(true)
          expect(choose(ask, { at: 0, now: 0, draw })).toBe(verdict)
        }
      }),
      { numRuns: 300 },
    )
  })
})

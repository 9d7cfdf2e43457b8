// What records keep of a list: bounded whatever is configured, made once, and readable when its names are gone.
import { describe, expect, it } from 'bun:test'
import { MOMENT, NO_WISH, routeOf, type Stall } from '../../test/fakes/stalls.ts'
import { choose } from './choose.ts'
import { REASON_TEXTS, REASON_WORDS } from './reason.ts'
import { readTrace, tellVerdict, textOf, traceOf } from './trace.ts'

const FEW: readonly Stall[] = [
  { id: 'one', region: 'EU', credentials: 2 },
  { id: 'two', region: 'US', models: { model: {}, other: {} } },
]
const MANY: readonly Stall[] = Array.from({ length: 300 }, (_, index) => ({
  id: `a-supplier-with-a-long-name-${index}`,
  region: 'US',
}))

describe('the trace of a list', () => {
  it('names credentials and models that stand in, and says why others are not on it', () => {
    const route = routeOf(FEW, { wishes: { model: { fallbacks: ['other'] } } })
    const all = choose({ route, ...NO_WISH, allowedModels: ['model'] }, MOMENT)
    expect(JSON.parse(traceOf(route, all, 'abc'))).toEqual({
      snapshot: 'abc',
      listed: ['one#1', 'one#2', 'two'],
      excluded: { 'two/other': 'model_not_allowed' },
    })
    const walled = choose({ route, ...NO_WISH, regions: ['US'] }, MOMENT)
    expect(JSON.parse(traceOf(route, walled, 'abc'))).toEqual({
      snapshot: 'abc',
      listed: ['two', 'two/other'],
      excluded: { 'one#1': 'outside_region', 'one#2': 'outside_region' },
    })
  })

  it('says that all of them rested, and only then', () => {
    const route = routeOf(FEW)
    const tell = (): unknown =>
      JSON.parse(traceOf(route, choose({ route, ...NO_WISH }, MOMENT), 'x'))
    for (const { lane } of route.candidates) {
      expect(tell()).not.toHaveProperty('last_resort')
      lane.circuit.close({ why: 'slow', restMs: 30_000 }, MOMENT.now)
    }
    expect(tell()).toMatchObject({ listed: ['one#1', 'one#2', 'two'], last_resort: true })
  })

  it('is the same text for all calls that have the same list', () => {
    const route = routeOf(FEW)
    const [one, other] = [1, 2].map(() => choose({ route, ...NO_WISH }, MOMENT))
    expect(traceOf(route, one!, 'abc')).toBe(traceOf(route, other!, 'abc'))
  })

  it('stays small, and counts whom it does not name', () => {
    const route = routeOf(MANY)
    for (const regions of [undefined, ['EU']]) {
      const verdict = choose({ route, ...NO_WISH, regions }, MOMENT)
      const trace = readTrace(traceOf(route, verdict, 'abc'))!
      const named = trace.listed.length + Object.keys(trace.excluded ?? {}).length
      expect([named, named + (trace.more ?? 0)]).toEqual([40, 300])
      const told = { regions, now: 0 }
      expect(tellVerdict(route, verdict, told, ['x'.repeat(9000)]).length).toBeLessThan(3001)
    }
  })

  it('tells of those who are left alone for how long and after what, where that is now', () => {
    const route = routeOf(FEW)
    const [{ lane }] = route.candidates as [(typeof route.candidates)[number]]
    lane.circuit.wait(20_000, '429 slow', 0)
    const verdict = choose({ route, ...NO_WISH }, MOMENT)
    const text = tellVerdict(route, verdict, { regions: undefined, now: 5_000 })
    expect(text).toContain('Not one#1: it has asked for a pause, for another 15 s (429 slow).')
    const later = tellVerdict(route, verdict, { regions: undefined, now: undefined })
    expect(later).toContain('Not one#1: it has asked for a pause.')
  })

  it('has a sentence for every word, and none for words of other versions', () => {
    for (const word of REASON_WORDS) expect(textOf(word)).toBe(REASON_TEXTS[word])
    expect(textOf('unheard_of')).toBeNull()
    expect(readTrace('{}')).toBeUndefined()
  })
})

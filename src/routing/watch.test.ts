import { describe, expect, it } from 'bun:test'
import { createFakeClock, type FakeClock } from '../../test/fakes/clock.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { RegionTree } from '../catalog/regions.ts'
import { GatewayError } from '../core/problem.ts'
import { DEFAULT_LIMITS } from '../pipeline/call.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import { createUpstream } from '../upstream/client.ts'
import { AttemptFailure } from '../upstream/failure.ts'
import { Lanes, type Lane } from './lane.ts'
import { LISTED, RESTING } from './reason.ts'
import { buildRoutes, Uses, type Routes } from './routes.ts'
import { Watch } from './watch.ts'

interface Scene {
  readonly clock: FakeClock
  readonly lines: string[]
  lane(supplier: string, model?: string): Lane
  /** Takes suppliers of these names into force, in place of those before. */
  reload(...names: readonly string[]): void
}

const ROUTE = supplierAt('http://127.0.0.1:1').models.get('test-model')!

function open(...names: readonly string[]): Scene {
  const clock = createFakeClock()
  const lanes = new Lanes()
  const lines: string[] = []
  const build = (ids: readonly string[]): Routes =>
    buildRoutes({
      suppliers: ids.map(supplierOf),
      upstreamOf: ({ origin }) => createUpstream({ origin, headers: {} }),
      timeouts: DEFAULT_LIMITS,
      uses: new Uses(),
      lanes,
      regions: new RegionTree(),
      policy: 'priority',
      wishes: { one: { fallbacks: ['two'] } },
      aliases: { uno: 'one' },
    })
  let routes = build(names)
  const note = (level: string, text: string): number => lines.push(`${level} ${text}`)
  const log = { request: () => {}, note, flush: () => {} }
  clock.everySecond(new Watch({ routes: () => routes, lanes, clock, log }))
  return {
    clock,
    lines,
    lane: (supplier, model = 'one') => routes.find(`${supplier}/${model}`)!.candidates[0]!.lane,
    reload: (...ids) => void (routes = build(ids)),
  }
}

function supplierOf(id: string): Supplier {
  const models = new Map(['one', 'two'].map((model) => [model, ROUTE]))
  return supplierAt('http://127.0.0.1:1', { id, models })
}

/** So many streams whose first content took so long. */
function measure(scene: Scene, supplier: string, ms: number, count = 10): void {
  const now = scene.clock.elapsed()
  for (let index = 0; index < count; index++) {
    const visit = scene.lane(supplier).enter(now - ms)
    visit.answered(now)
    visit.leave()
  }
}

function fail(lane: Lane, { clock }: Scene, status = 500): void {
  const visit = lane.enter(clock.elapsed())
  const problem = new GatewayError('provider_error', undefined, { status, origin: {} })
  visit.failed(new AttemptFailure(problem, 'refused'), clock.elapsed(), 0)
  visit.leave()
}

function standingOf(scene: Scene, supplier: string): number {
  return scene.lane(supplier).standing(scene.clock.elapsed())
}

describe('a route that is far slower than others of its model', () => {
  it.each([
    [
      [200, 300, 5000],
      [LISTED, LISTED, RESTING],
    ],
    [
      [200, 1100],
      [LISTED, LISTED],
    ],
    [
      [2000, 9900],
      [LISTED, LISTED],
    ],
    [
      [2000, 10_100],
      [LISTED, RESTING],
    ],
    [
      [100, 1000],
      [LISTED, LISTED],
    ],
    [
      [100, 1200],
      [LISTED, RESTING],
    ],
    // Of the others the two in the middle count alike.
    [
      [100, 2000, 5300],
      [LISTED, LISTED, RESTING],
    ],
    [
      [100, 2000, 5200],
      [LISTED, LISTED, LISTED],
    ],
    [[9000], [LISTED]],
  ])('of %p milliseconds to the first content: %p', (times, standings) => {
    const names = times.map((_, index) => `s${index}`)
    const scene = open(...names)
    for (const [index, ms] of times.entries()) measure(scene, names[index]!, ms)
    scene.clock.advance(1000)
    expect(names.map((name) => standingOf(scene, name))).toEqual([...standings])
  })

  it('is not judged by few calls, its own or those of others', () => {
    const scene = open('fast', 'slow', 'new')
    measure(scene, 'fast', 100, 9)
    measure(scene, 'slow', 9000)
    measure(scene, 'new', 9000, 9)
    scene.clock.advance(1000)
    expect(['slow', 'new'].map((name) => standingOf(scene, name))).toEqual([LISTED, LISTED])
  })

  it('is not judged by whole answers, which take as long as they are long', () => {
    const scene = open('fast', 'slow')
    for (let index = 0; index < 20; index++) {
      scene.lane('fast').enter(0, 'whole').answered(10)
      scene.lane('slow').enter(0, 'whole').answered(90_000)
    }
    scene.clock.advance(1000)
    expect(standingOf(scene, 'slow')).toBe(LISTED)
  })

  it('is not held to one that is itself left alone', () => {
    const scene = open('fast', 'slow')
    measure(scene, 'fast', 100)
    for (let index = 0; index < 5; index++) fail(scene.lane('fast'), scene)
    measure(scene, 'slow', 9000)
    scene.clock.advance(1000)
    expect(standingOf(scene, 'slow')).toBe(LISTED)
  })

  it('is judged anew once it is back', () => {
    const scene = open('fast', 'slow')
    measure(scene, 'fast', 100)
    measure(scene, 'slow', 9000)
    scene.clock.advance(1000)
    scene.clock.advance(30_000)
    measure(scene, 'slow', 100, 1)
    scene.clock.advance(1000)
    expect(standingOf(scene, 'slow')).toBe(LISTED)
    expect(scene.lane('slow').first.ms).toBe(100)
  })
})

describe('a route that has fallen silent', () => {
  it.each([
    [100, 6, LISTED],
    [100, 7, RESTING],
    [2000, 20, LISTED],
    [2000, 22, RESTING],
  ])('where answers take %i ms, after %i seconds stands at %i', (usual, seconds, standing) => {
    const scene = open('only', 'other')
    measure(scene, 'only', usual)
    for (let index = 0; index < 5; index++) scene.lane('only').enter(scene.clock.elapsed())
    scene.clock.advance(seconds * 1000)
    expect(standingOf(scene, 'only')).toBe(standing)
  })

  it('is not silent where nobody knows how long an answer takes', () => {
    const scene = open('only')
    for (let index = 0; index < 50; index++) scene.lane('only').enter(0)
    scene.clock.advance(20_000)
    expect(standingOf(scene, 'only')).toBe(LISTED)
  })

  it('is not silent to those who wait for whole answers because streams are quick to begin', () => {
    const scene = open('only')
    measure(scene, 'only', 100)
    for (let index = 0; index < 50; index++) scene.lane('only').enter(0, 'whole')
    scene.clock.advance(20_000)
    expect(standingOf(scene, 'only')).toBe(LISTED)
  })

  it('is not silent because some whole answers are far longer than others', () => {
    const scene = open('only')
    for (let index = 0; index < 20; index++) scene.lane('only').enter(0, 'whole').answered(10)
    for (let index = 0; index < 50; index++) scene.lane('only').enter(0, 'whole')
    scene.clock.advance(20_000)
    expect(standingOf(scene, 'only')).toBe(LISTED)
  })

  it('is not silent while anybody there says anything', () => {
    const scene = open('only')
    measure(scene, 'only', 100)
    for (let index = 0; index < 50; index++) scene.lane('only').enter(0)
    for (let second = 0; second < 20; second++) {
      if (second % 4 === 0) fail(scene.lane('only'), scene, 429)
      scene.clock.advance(1000)
      scene.lane('only').enter(scene.clock.elapsed()).refused(scene.clock.elapsed())
    }
    expect(scene.lane('only').view(scene.clock.elapsed()).why).not.toBe('silent')
  })

  it('stays closed when those who waited are answered after all', () => {
    const scene = open('only')
    measure(scene, 'only', 100)
    const visits = Array.from({ length: 5 }, () => scene.lane('only').enter(0))
    scene.clock.advance(8000)
    for (const visit of visits) visit.answered(scene.clock.elapsed())
    expect(standingOf(scene, 'only')).toBe(RESTING)
  })
})

it('lets go of a pause that is over, so that nothing is left to look at', () => {
  const scene = open('one')
  const { circuit } = scene.lane('one')
  circuit.wait(7000, '429', 0)
  scene.clock.advance(8000)
  expect(circuit.isClear).toBe(true)
})

describe('the operator', () => {
  const failAll = (scene: Scene, lane: Lane): void => {
    for (let index = 0; index < 5; index++) fail(lane, scene)
  }

  it('is told once when a route is closed, and once when it is back', () => {
    const scene = open('one', 'two')
    failAll(scene, scene.lane('one'))
    scene.clock.advance(40_000)
    fail(scene.lane('one'), scene)
    scene.clock.advance(100_000)
    const visit = scene.lane('one').enter(scene.clock.elapsed())
    visit.answered(scene.clock.elapsed())
    scene.clock.advance(10_000)
    expect(scene.lines).toEqual([
      'warn supplier one: left alone for 29 s more (500 provider_error), then one call finds out whether it is back: one',
      'info supplier one: can be asked again: one',
    ])
  })

  it('is told in one line of all models that fail alike', () => {
    const scene = open('one')
    failAll(scene, scene.lane('one', 'one'))
    failAll(scene, scene.lane('one', 'two'))
    scene.clock.advance(1000)
    expect(scene.lines).toHaveLength(1)
    expect(scene.lines[0]).toEndWith(': one, two')
  })

  it('is told with an alert, and once, that an account is refused', () => {
    const scene = open('one')
    fail(scene.lane('one'), scene, 401)
    scene.clock.advance(5000)
    expect(scene.lines).toEqual([
      'error supplier one: left alone for 299 s more (401 provider_error), then one call finds out whether it is back: all its models',
    ])
  })

  it('is not told of the pauses and back-offs of a supplier that is only busy', () => {
    const scene = open('one')
    fail(scene.lane('one'), scene, 429)
    scene.clock.advance(5000)
    expect(scene.lines).toEqual([])
  })

  it('is not told that what was taken out of the configuration is back', () => {
    const scene = open('one', 'two')
    const lane = scene.lane('one')
    failAll(scene, lane)
    scene.clock.advance(1000)
    scene.reload('two')
    lane.enter(31_000).answered(31_000)
    scene.clock.advance(1000)
    expect(scene.lines).toHaveLength(1)
    // Nor when it is put back, which is nothing that has happened to the supplier.
    scene.reload('one', 'two')
    scene.clock.advance(1000)
    expect(scene.lines).toHaveLength(1)
  })

  it('is told anew of what is put back into the configuration and still left alone', () => {
    const scene = open('one', 'two')
    failAll(scene, scene.lane('one'))
    scene.clock.advance(1000)
    scene.reload('two')
    scene.clock.advance(1000)
    scene.reload('one', 'two')
    scene.clock.advance(1000)
    expect(scene.lines).toEqual(
      [29, 27].map((seconds) => expect.stringContaining(`one: left alone for ${seconds} s more`)),
    )
  })
})

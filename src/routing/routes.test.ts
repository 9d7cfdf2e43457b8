// Which names can be asked for, what each of them means, and what is listed: worked out once from who serves what.
import { describe, expect, it } from 'bun:test'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { label, routesOf, type Stall } from '../../test/fakes/stalls.ts'
import { FREE } from '../catalog/price.ts'
import { Secret } from '../core/secret.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import { Lanes, type Lane } from './lane.ts'
import { Uses, type Routes } from './routes.ts'

const STALLS: readonly Stall[] = [
  { id: 'one', region: 'EU', models: { model: {}, spare: {} } },
  { id: 'two', region: 'US', models: { model: {} }, credentials: 2 },
  { id: 'three', region: 'JP', models: { spare: {} } },
]
const LOCAL = supplierAt('http://127.0.0.1:1', {
  id: 'local',
  models: new Map(),
  anyModel: FREE,
})

const who = (routes: Routes, name: string): readonly string[] | undefined =>
  routes.find(name)?.candidates.map(label)

describe('a name', () => {
  const routes = routesOf(
    STALLS,
    {
      wishes: { model: { fallbacks: ['spare'], policy: 'cheapest' } },
      aliases: {
        quick: 'model',
        abroad: 'two/model',
        'at/home': 'local/llama:8b',
        lost: 'nothing',
        again: 'quick',
        spare: 'model',
        'one/spare': 'model',
      },
    },
    [LOCAL],
  )

  it.each([
    ['model', ['one', 'two#1', 'two#2', 'one/spare', 'three/spare']],
    ['spare', ['one', 'three']],
    ['two/model', ['two#1', 'two#2']],
    ['one/model', ['one']],
    ['local/anything', ['local']],
    ['quick', ['one', 'two#1', 'two#2', 'one/spare', 'three/spare']],
    ['abroad', ['two#1', 'two#2']],
    ['at/home', ['local']],
    ['one/spare', ['one']],
    ['lost', undefined],
    ['again', undefined],
    ['nothing', undefined],
    ['two/spare', undefined],
    ['local/', undefined],
    ['local', undefined],
  ])('%s means %j', (name, expected) => {
    expect(who(routes, name)).toEqual(expected)
  })

  it.each([
    ['model', ['model']],
    ['two/model', ['two/model', 'model']],
    ['quick', ['quick', 'model']],
    ['abroad', ['abroad', 'two/model', 'model']],
    ['at/home', ['at/home', 'local/llama:8b']],
  ])('%s is open to a key that lists one of %j', (name, names) => {
    expect(routes.find(name)?.names).toEqual(names)
  })

  it('shares lists and policy with what it is another name for', () => {
    const [quick, model] = [routes.find('quick')!, routes.find('model')!]
    expect(quick.verdicts).toBe(model.verdicts)
    expect([quick.policy, model.policy, routes.find('spare')!.policy]).toEqual([
      'cheapest',
      'cheapest',
      'priority',
    ])
  })

  it('is listed with where it is served, and not where something else stands in', () => {
    const listed = routes.models.map(({ id, aliasOf, regions }) => [
      id,
      aliasOf,
      ['EU', 'US', 'JP'].filter((region) => regions.has(region)),
    ])
    expect(listed).toEqual([
      ['model', undefined, ['EU', 'US']],
      ['spare', undefined, ['EU', 'JP']],
      ['quick', 'model', ['EU', 'US']],
      ['abroad', 'two/model', ['US']],
      ['at/home', 'local/llama:8b', ['EU']],
    ] as never)
  })
})

describe('credentials of one supplier', () => {
  it('stand beside each other, whatever stood between them', () => {
    const [, first, second] = routesOf(STALLS).find('model')!.candidates
    const between = supplierAt('http://127.0.0.1:1', { id: 'between' })
    const model = new Map([['model', between.models.get('test-model')!]])
    const routes = routesOf([], {}, [
      first!.supplier,
      { ...between, models: model },
      second!.supplier,
    ])
    expect(who(routes, 'model')).toEqual(['two#1', 'two#2', 'between'])
  })
})

describe('what is known of a way', () => {
  it('outlives the routes, and belongs to a supplier, a credential and a model', () => {
    const lanes = new Lanes()
    const ids = (): readonly string[] =>
      routesOf(STALLS, { lanes, wishes: { model: { fallbacks: ['spare'] } } })
        .find('model')!
        .candidates.map(({ lane }) => lane.id)
    expect(new Set(ids()).size).toBe(5)
    expect(ids()).toEqual(ids() as string[])
    const [before, after] = [1, 2].map(() => routesOf(STALLS, { lanes }).find('model')!)
    expect(after!.candidates[0]!.lane).toBe(before!.candidates[0]!.lane)
  })

  it.each<[string, Partial<Supplier>]>([
    ['at another address', { origin: 'http://127.0.0.1:2' }],
    ['in another region', { region: 'US' }],
    ['with another credential', { credential: new Secret('another') }],
    ['without a credential', { credential: undefined }],
    ['by another name', { id: 'other' }],
  ])('is not known of the same model %s', (_, changes) => {
    const lanes = new Lanes()
    const laneOf = (supplier: Supplier): Lane =>
      routesOf([], { lanes }, [supplier]).find('test-model')!.candidates[0]!.lane
    const supplier = supplierAt('http://127.0.0.1:1')
    const known = laneOf(supplier)
    const other = laneOf({ ...supplier, ...changes })
    expect(other).not.toBe(known)
    expect(other.account).not.toBe(known.account)
    expect(laneOf(supplier)).toBe(known)
  })

  it('is kept apart for names that only callers know', () => {
    const routes = routesOf(STALLS, {}, [LOCAL])
    expect(routes.find('local/anything')!.candidates.map(({ lane }) => lane.isOpen)).toEqual([true])
    expect(routes.find('model')!.candidates.some(({ lane }) => lane.isOpen)).toBe(false)
  })

  it('is not learned from those who name their supplier', () => {
    const routes = routesOf(STALLS, { aliases: { mine: 'one/model' } })
    const named = ['model', 'one/model', 'mine'].map((name) => routes.find(name)?.isNamed)
    expect(named).toEqual([false, true, true])
  })

  it('is kept for the use of another name, too', () => {
    const uses = new Uses()
    const find = () => routesOf(STALLS, { uses, aliases: { quick: 'model' } }).find('quick')!
    expect(find().aliasUse).toBe(find().aliasUse)
  })
})

describe('names that only callers know', () => {
  it('are remembered up to a thousand of them, and one that was forgotten is found again', () => {
    const routes = routesOf([], {}, [LOCAL])
    const find = (index: number) => routes.find(`local/model-${index}`)!
    const first = find(0)
    for (let index = 1; index < 1000; index++) find(index)
    expect(find(0)).toBe(first)
    expect(find(1000).name).toBe('local/model-1000')
    expect(find(0)).not.toBe(first)
    expect(find(0)).toMatchObject({ name: 'local/model-0', names: ['local/model-0'] })
  })
})

describe('how long is waited', () => {
  it("is the model's own where it has one, else its supplier's, else everybody's", () => {
    const supplier = supplierAt('http://127.0.0.1:1', { timeouts: { unaryMs: 2, idleMs: 2 } })
    const model = { ...supplier.models.get('test-model')!, timeouts: { unaryMs: 3 } }
    const models = new Map([['test-model', model]])
    const timeouts = { unaryMs: 1, firstByteMs: 1, firstContentMs: 1, idleMs: 1 }
    const [own] = routesOf([], { timeouts }, [{ ...supplier, models }]).find(
      'test-model',
    )!.candidates
    expect(own!.attempts[0]!.timeouts).toEqual({ ...timeouts, unaryMs: 3, idleMs: 2 })
  })
})

// What is chosen for calls that leave the model to the gateway: needs, policies, walls, health and sessions.
import { describe, expect, it } from 'bun:test'
import {
  load,
  MOMENT,
  NO_WISH,
  OTHER_LANGUAGE,
  routesOf,
  type Stall,
} from '../../test/fakes/stalls.ts'
import { Auto as AutoSchema } from '../config/auto.ts'
import { NO_LOAD } from '../core/load.ts'
import { toPicoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { PriceList } from '../core/usage.ts'
import type { ModelRoute } from '../suppliers/supplier.ts'
import { Auto, type AutoAsk } from './auto.ts'
import type { RouteParts, Routes } from './routes.ts'

const ASK: AutoAsk = {
  ...NO_WISH,
  path: '/v1/messages',
  asksReasoning: false,
  refusesLosses: false,
  pin: undefined,
}

type Models = Readonly<Record<string, Partial<ModelRoute>>>

/** Dollars a million tokens. */
function costs(input: number, output: number, from = 0): { readonly prices: PriceList } {
  const price = { input: toPicoUsd(input * 1_000_000), output: toPicoUsd(output * 1_000_000) }
  return { prices: [{ from, price }] }
}

const one = (models: Models): readonly Stall[] => [{ id: 'one', models }]

function routesAt(stalls: readonly Stall[], changes: Partial<RouteParts> = {}): Routes {
  return routesOf(stalls, changes)
}

interface Chooser {
  readonly routes: Routes
  readonly auto: Auto
  /** The id of the chosen model. */
  readonly pick: (changes?: Partial<AutoAsk>) => string
  /** Why none was chosen. */
  readonly refusal: (changes?: Partial<AutoAsk>) => GatewayError
  /** The lane of a model at a supplier. */
  readonly lane: (name: string) => { readonly id: string; rest(): void; wait(): void }
}

function chooser(
  stalls: readonly Stall[] | Models,
  config: object = {},
  changes: Partial<RouteParts> = {},
): Chooser {
  const routes = routesAt(isStalls(stalls) ? stalls : one(stalls), changes)
  const auto = new Auto(routes, AutoSchema.parse(config))
  const pick = (asked: Partial<AutoAsk> = {}): string =>
    auto.pick({ ...ASK, ...asked }, MOMENT).candidates[0]!.modelId
  return {
    routes,
    auto,
    pick,
    refusal(asked) {
      try {
        pick(asked)
      } catch (thrown) {
        if (thrown instanceof GatewayError) return thrown
      }
      throw new Error('a model was chosen')
    },
    lane(name) {
      const { lane } = routes.find(name)!.candidates[0]!
      return {
        id: lane.id,
        rest: () => lane.circuit.broke(lane.circuit.enter(0), { why: '401', restMs: 60_000 }, 0),
        wait: () => lane.circuit.wait(5_000, '429', 0),
      }
    },
  }
}

function isStalls(value: readonly Stall[] | Models): value is readonly Stall[] {
  return Array.isArray(value)
}

const CHEAP = costs(0.1, 0.2)
const PLAIN = costs(1, 2)
const DEAR = costs(10, 20)
/** About a hundred thousand tokens. */
const LONG = load({ bytes: 400_000 })

describe('a need', () => {
  it.each([
    ['images', load({ images: 1 })],
    ['audio', load({ audioBytes: 100 })],
    ['audio', load({ asksAudio: true })],
    ['tools', { usesTools: true }],
    ['reasoning', { asksReasoning: true }],
  ] as const)('of %s rules out who is known to lack it', (ability, need) => {
    const { pick } = chooser({
      simple: { ...CHEAP, capabilities: [] },
      able: { ...DEAR, capabilities: [ability] },
    })
    expect(pick()).toBe('simple')
    expect(pick(need)).toBe('able')
  })

  it('of thinking is done without where nobody thinks: agents ask for it with every call', () => {
    const { pick } = chooser({ simple: { ...CHEAP, capabilities: [] } })
    expect(pick({ asksReasoning: true })).toBe('simple')
  })

  it('is rather left to who is known to meet it than to who is not known at all', () => {
    const { pick } = chooser({ unknown: CHEAP, able: { ...DEAR, capabilities: ['tools'] } })
    expect(pick()).toBe('unknown')
    expect(pick({ usesTools: true })).toBe('able')
    expect(chooser({ unknown: CHEAP }).pick({ usesTools: true })).toBe('unknown')
  })

  it('of length rules out a window that is likely too small', () => {
    const { pick } = chooser({
      small: { ...CHEAP, limits: { contextWindow: 50_000 } },
      large: { ...DEAR, limits: { contextWindow: 200_000 } },
    })
    expect(pick(load({ bytes: 4_000 }))).toBe('small')
    expect(pick(LONG)).toBe('large')
  })

  it('of length counts the answer that the caller allows, as far as the model can give it', () => {
    const limits = { contextWindow: 50_000 }
    const models = (ceiling: object): Models => ({
      small: { ...CHEAP, limits: { ...limits, ...ceiling } },
      large: { ...DEAR, limits: { contextWindow: 200_000 } },
    })
    const asked = load({ bytes: 4_000, maxTokens: 64_000 })
    expect(chooser(models({})).pick(asked)).toBe('large')
    expect(chooser(models({ outputCeiling: 8_000 })).pick(asked)).toBe('small')
  })

  it('of length is left to the supplier where only a guess speaks against it', () => {
    const limits = { contextWindow: 50_000 }
    expect(chooser({ small: { ...CHEAP, limits } }).pick(LONG)).toBe('small')
    const { code, message } = chooser({ small: { ...CHEAP, limits } }).refusal(
      load({ bytes: 4_000_000 }),
    )
    expect(code).toBe('autorouter_no_candidate')
    // Clients that shorten a conversation by themselves look for these words.
    expect(message).toContain('prompt is too long for small')
  })
})

describe('the policy', () => {
  it('cheapest takes who is likely to cost least for this very call', () => {
    const { pick } = chooser({ reader: costs(1, 40), writer: costs(4, 4) })
    expect(pick(load({ bytes: 400_000, maxTokens: 10 }))).toBe('reader')
    expect(pick(load({ bytes: 400, maxTokens: 400 }))).toBe('writer')
  })

  it('cheapest takes the prices of the moment', () => {
    const { prices } = costs(1, 1)
    const later = costs(9, 9, 1_000).prices[0]
    const { auto } = chooser({ rising: { prices: [prices[0], later] }, steady: costs(5, 5) })
    const at = (moment: number): string =>
      auto.pick(ASK, { at: moment, now: 0 }).candidates[0]!.modelId
    expect([at(999), at(1_000)]).toEqual(['rising', 'steady'])
  })

  it('cheapest takes of equals who speaks the language of the caller, then who comes first', () => {
    const { pick } = chooser({ first: PLAIN, second: PLAIN })
    expect(pick()).toBe('first')
    const foreign = chooser([
      { id: 'chat', models: { first: PLAIN } },
      { id: 'own', otherLanguage: 'too', models: { second: PLAIN } },
    ])
    const dialect = { ...OTHER_LANGUAGE, codec: NO_WISH.dialect.codec! }
    expect(foreign.pick({ dialect })).toBe('second')
    expect(foreign.pick()).toBe('first')
  })

  it('best takes the dearest', () => {
    expect(chooser({ a: PLAIN, b: DEAR, c: CHEAP }, { policy: 'best' }).pick()).toBe('b')
  })

  it('best takes the first of the list that fits', () => {
    const { pick } = chooser(
      {
        a: { ...PLAIN, capabilities: ['tools'] },
        b: { ...DEAR, capabilities: [] },
        c: { ...CHEAP, capabilities: ['tools'] },
      },
      { policy: 'best', models: ['b', 'c', 'a'] },
    )
    expect(pick()).toBe('b')
    expect(pick({ usesTools: true })).toBe('c')
  })

  it('best stays within the price', () => {
    const models = { a: PLAIN, b: DEAR, c: CHEAP }
    const best = (price: object): string =>
      chooser(models, { policy: 'best', price_max: price }).pick()
    expect(best({ input: 1, output: 2 })).toBe('a')
    expect(best({ output: 1.99 })).toBe('c')
    expect(best({ input: 0.99 })).toBe('c')
    expect(best({ input: 10 })).toBe('b')
  })

  it('holds anybody who could answer to the price, but for who is outside of the region', () => {
    const stalls: readonly Stall[] = [
      { id: 'one', region: 'EU', models: { a: PLAIN } },
      { id: 'two', region: 'US', models: { a: DEAR } },
      { id: 'three', region: 'EU', models: { c: CHEAP } },
    ]
    const { pick } = chooser(stalls, { policy: 'best', price_max: { input: 5 } })
    expect(pick()).toBe('c')
    expect(pick({ regions: ['EU'] })).toBe('a')
  })

  it('counts the price of a long input', () => {
    const rates = { input: toPicoUsd(20_000_000), output: toPicoUsd(1) }
    const price = { ...costs(3, 3).prices[0].price, longContext: { above: 50_000, rates } }
    const models: Models = { a: { prices: [{ from: 0, price }] }, b: PLAIN }
    const { pick } = chooser(models, { policy: 'best', price_max: { input: 5 } })
    expect(pick()).toBe('a')
    expect(pick(LONG)).toBe('b')
  })

  it('compares a model by who would be asked for it', () => {
    const stalls: readonly Stall[] = [
      { id: 'one', models: { a: DEAR } },
      { id: 'two', models: { a: CHEAP } },
      { id: 'three', models: { b: PLAIN } },
    ]
    expect(chooser(stalls).pick()).toBe('b')
    expect(chooser(stalls, {}, { policy: 'cheapest' }).pick()).toBe('a')
  })
})

describe('what may be chosen', () => {
  it('is what the operator lists, else all models but those that are asked for by name alone', () => {
    const models: Models = { trick: { ...CHEAP, byNameOnly: true }, a: PLAIN, b: DEAR }
    expect(chooser(models).pick()).toBe('a')
    expect(chooser(models, { models: ['b'] }).pick()).toBe('b')
    expect(chooser(models, { models: ['b', 'trick'] }).pick()).toBe('trick')
  })

  it('may be a model at one supplier', () => {
    const stalls: readonly Stall[] = ['one', 'two'].map((id) => ({ id, models: { a: PLAIN } }))
    const { auto } = chooser(stalls, { models: ['two/a'] })
    const { candidates } = auto.pick(ASK, MOMENT)
    expect(candidates.map(({ supplier }) => supplier.id)).toEqual(['two'])
  })

  it('is only what the key may use', () => {
    const { pick, refusal } = chooser({ a: CHEAP, b: PLAIN, c: DEAR })
    expect(pick({ allowedModels: ['c', 'b'] })).toBe('b')
    const { code, message, param } = refusal({ allowedModels: ['gone', 'auto'] })
    expect([code, param]).toEqual(['autorouter_no_candidate', 'model'])
    expect(message).toStartWith("No model on this key's list is one that `auto` could choose.")
  })

  it('is what the key may use by another name', () => {
    const { auto } = chooser({ a: CHEAP, b: PLAIN }, {}, { aliases: { quick: 'b' } })
    const route = auto.pick({ ...ASK, allowedModels: ['quick'] }, MOMENT)
    expect(route.candidates[0]!.modelId).toBe('b')
    expect(route.names).toContain('quick')
  })

  it('is what the key may use at one supplier, and there alone', () => {
    const stalls: readonly Stall[] = ['one', 'two'].map((id) => ({ id, models: { a: PLAIN } }))
    const { auto } = chooser(stalls)
    const { candidates } = auto.pick({ ...ASK, allowedModels: ['two/a'] }, MOMENT)
    expect(candidates.map(({ supplier }) => supplier.id)).toEqual(['two'])
    const narrow = chooser(stalls, { models: ['one/a'] })
    expect(narrow.refusal({ allowedModels: ['two/a'] }).code).toBe('autorouter_no_candidate')
    // Whoever may use a model wherever it is served is not let out of what the operator offers.
    const wide = narrow.auto.pick({ ...ASK, allowedModels: ['a'] }, MOMENT)
    expect(wide.candidates.map(({ supplier }) => supplier.id)).toEqual(['one'])
  })

  it('is only what is served inside of the region', () => {
    const { pick, refusal } = chooser([
      { id: 'one', region: 'US', models: { a: CHEAP } },
      { id: 'two', region: 'DE', models: { b: DEAR } },
    ])
    expect(pick({ regions: ['EU'] })).toBe('b')
    const { message, details } = refusal({ regions: ['FR'] })
    expect(message).toContain('the region that it must stay in rules out 2.')
    expect(details).toEqual({ ruled_out: { region: 2 } })
  })

  it('is only what can be spoken to', () => {
    const stalls: readonly Stall[] = [
      { id: 'one', otherLanguage: true, models: { a: CHEAP } },
      { id: 'two', models: { b: DEAR } },
    ]
    expect(chooser(stalls).pick()).toBe('b')
    expect(chooser(stalls.slice(0, 1)).refusal().details).toEqual({ ruled_out: { language: 1 } })
  })

  it('is what fits by itself, and not by what stands in for it', () => {
    const models: Models = {
      a: { ...CHEAP, capabilities: [] },
      c: { ...DEAR, capabilities: ['tools'] },
    }
    const { pick, lane } = chooser(models, {}, { wishes: { a: { fallbacks: ['c'] } } })
    expect(pick({ usesTools: true })).toBe('c')
    // What stood in for it has answered: the session is with that.
    expect(pick({ pin: lane('c').id })).toBe('c')
  })

  it('rather speaks the language of the caller where nothing may get lost', () => {
    const { pick } = chooser([
      { id: 'one', models: { a: CHEAP } },
      { id: 'two', otherLanguage: 'too', models: { b: DEAR } },
    ])
    const dialect = { ...OTHER_LANGUAGE, codec: NO_WISH.dialect.codec! }
    expect(pick({ dialect })).toBe('a')
    expect(pick({ dialect, refusesLosses: true })).toBe('b')
  })
})

describe('a refusal', () => {
  it('says which need rules out what, and what to do', () => {
    const { refusal } = chooser(
      {
        a: { ...CHEAP, capabilities: ['tools'] },
        b: { ...CHEAP, capabilities: ['images'] },
        c: { ...DEAR, capabilities: ['tools', 'images'] },
      },
      { price_max: { input: 5 } },
    )
    const { code, status, message, details } = refusal({
      load: { ...NO_LOAD, images: 1 },
      usesTools: true,
    })
    expect([code, status]).toEqual(['autorouter_no_candidate', 400])
    expect(message).toBe(
      'No model fits this call, of 3 that `auto` could choose for this key: images rule out a; tools rule out b; the price limit of `auto` rules out c. Do without one of these, name a model yourself, or have the operator serve a model that fits.',
    )
    expect(details).toEqual({ ruled_out: { images: 1, tools: 1, price: 1 } })
  })

  it('names a few and counts the others', () => {
    const names = Array.from({ length: 8 }, (_, index) => `m${index}`)
    const models = Object.fromEntries(names.map((name) => [name, { capabilities: [] }]))
    const { message } = chooser(models).refusal({ usesTools: true })
    expect(message).toContain('tools rule out m0, m1, m2, m3, m4 and 3 more.')
  })

  it('names no model that the key may not use', () => {
    const none = { capabilities: [] } as const
    const { message } = chooser({ seen: none, secret: none }).refusal({
      usesTools: true,
      allowedModels: ['seen'],
    })
    expect(message).toContain('tools rule out seen.')
    expect(message).not.toContain('secret')
  })

  it('is what everybody gets where nothing is served', () => {
    expect(chooser([]).refusal().message).toStartWith('There is no model that `auto` could choose.')
  })

  it.each([
    [
      {},
      '/v1/chat/completions',
      'is not offered at this endpoint. Ask for it at POST /v1/messages,',
    ],
    [{ endpoints: ['chat'] }, '/v1/messages', 'Ask for it at POST /v1/chat/completions,'],
    [{ endpoints: [] }, '/v1/messages', 'is switched off. Name a model'],
    [{ endpoints: ['messages'] }, '/v1/messagesandmore', 'is not offered at this endpoint.'],
  ])('is what calls get where it is not offered: %j at %s', (config, path, text) => {
    const { code, status, message, param } = chooser({ a: PLAIN }, config).refusal({ path })
    expect([code, status, param]).toEqual(['unsupported_auto_mode', 400, 'model'])
    expect(message).toContain(text)
  })

  it('is not what calls get below an endpoint that offers it', () => {
    expect(chooser({ a: PLAIN }).pick({ path: '/v1/messages/count_tokens' })).toBe('a')
  })
})

describe('a model of which nobody is well', () => {
  it.each(['rest', 'wait'] as const)('is passed over while it must %s', (how) => {
    const { pick, lane } = chooser({ a: CHEAP, b: DEAR })
    lane('a')[how]()
    expect(pick()).toBe('b')
  })

  it('is chosen where nobody else is left', () => {
    const { pick, lane } = chooser({ a: CHEAP, b: { ...DEAR, capabilities: [] } })
    lane('a').wait()
    expect(pick({ usesTools: true })).toBe('a')
    lane('b').rest()
    expect(pick()).toBe('a')
  })

  it('is well again while one who serves it is', () => {
    const { pick, lane } = chooser([
      { id: 'one', models: { a: CHEAP } },
      { id: 'two', models: { a: CHEAP } },
      { id: 'three', models: { b: DEAR } },
    ])
    lane('one/a').rest()
    expect(pick()).toBe('a')
    lane('two/a').rest()
    expect(pick()).toBe('b')
  })
})

describe('a session', () => {
  const models: Models = {
    cheap: { ...CHEAP, capabilities: [] },
    dear: { ...DEAR, capabilities: ['tools', 'images'] },
    other: { ...costs(2, 2), capabilities: ['tools'] },
  }

  it('stays with the model that answered it, whatever the policy says', () => {
    const { pick, lane } = chooser(models)
    expect(pick({ pin: lane('dear').id })).toBe('dear')
    expect(pick({ pin: lane('dear').id, usesTools: true })).toBe('dear')
  })

  it('goes elsewhere when that model does not meet a need', () => {
    const { pick, lane } = chooser(models)
    expect(pick({ pin: lane('cheap').id, usesTools: true })).toBe('other')
    expect(pick({ pin: lane('other').id, ...load({ images: 1 }) })).toBe('dear')
  })

  it('goes elsewhere when that model is outside of key, region or price', () => {
    const stalls: readonly Stall[] = [
      { id: 'one', region: 'US', models: { a: DEAR } },
      { id: 'two', region: 'EU', models: { b: CHEAP } },
    ]
    const { pick, lane } = chooser(stalls)
    const pin = lane('a').id
    expect(pick({ pin })).toBe('a')
    expect(pick({ pin, allowedModels: ['b'] })).toBe('b')
    expect(pick({ pin, regions: ['EU'] })).toBe('b')
    const bounded = chooser(stalls, { price_max: { input: 5 } })
    expect(bounded.pick({ pin: bounded.lane('a').id })).toBe('b')
  })

  it('goes elsewhere while that model is not well', () => {
    const { pick, lane } = chooser(models)
    lane('dear').rest()
    expect(pick({ pin: lane('dear').id })).toBe('cheap')
  })

  it('stays where it is when nobody is well', () => {
    const { pick, lane } = chooser(models)
    for (const name of Object.keys(models)) lane(name).rest()
    expect(pick({ pin: lane('dear').id })).toBe('dear')
  })

  it('that has grown out of a window goes to a larger one', () => {
    const { pick, lane } = chooser({
      small: { ...CHEAP, limits: { contextWindow: 50_000 } },
      large: { ...DEAR, limits: { contextWindow: 500_000 } },
    })
    expect(pick({ pin: lane('small').id })).toBe('small')
    expect(pick({ pin: lane('small').id, ...LONG })).toBe('large')
  })

  it('of a supplier that is gone is as a new one', () => {
    expect(chooser(models).pick({ pin: 'gone' })).toBe('cheap')
  })
})

describe('the route', () => {
  it('is that of the chosen model under the name that was asked for', () => {
    const { auto, routes } = chooser({ a: PLAIN, b: DEAR })
    const route = auto.pick(ASK, MOMENT)
    expect(route).toMatchObject({ name: 'auto', names: ['a'], isAuto: true })
    expect(route.verdicts).toBe(routes.find('a')!.verdicts)
    expect(auto.pick(ASK, MOMENT)).toBe(route)
    expect(routes.find('a')!.isAuto).toBe(false)
  })

  it('is the same from call to call for a key with a list', () => {
    const { auto } = chooser({ a: PLAIN, b: DEAR }, {}, { aliases: { quick: 'b' } })
    const ask = { ...ASK, allowedModels: ['quick'] }
    expect(auto.pick(ask, MOMENT)).toBe(auto.pick(ask, MOMENT))
  })

  it('keeps the models that stand in', () => {
    const wishes = { a: { fallbacks: ['b'] } }
    const { auto } = chooser({ a: PLAIN, b: DEAR }, {}, { wishes })
    expect(auto.pick(ASK, MOMENT).candidates.map(({ modelId }) => modelId)).toEqual(['a', 'b'])
  })
})

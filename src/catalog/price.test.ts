// Golden conversions from published texts to exact integers, and what is refused instead of rounded.
import { describe, expect, it } from 'bun:test'
import type { PriceList } from '../core/usage.ts'
import type { ModelKind, PriceRow, PriceText } from './model.ts'
import { parsePrice, PriceError, raisePrices, toTokenPrice } from './price.ts'

function thrownBy(run: () => unknown): unknown {
  try {
    run()
  } catch (thrown) {
    return thrown
  }
  return undefined
}

function pathOf(run: () => unknown): unknown {
  const thrown = thrownBy(run)
  return thrown instanceof PriceError ? thrown.path : thrown
}

function single(list: PriceList): Readonly<Record<string, unknown>> {
  expect(list).toHaveLength(1)
  expect(list[0].from).toBe(0)
  return { ...list[0].price }
}

describe('a rate', () => {
  it('becomes whole pico-dollars a token exactly', () => {
    const exact: readonly (readonly [string, number])[] = [
      ['0.15', 150_000],
      ['0', 0],
      ['1', 1_000_000],
      ['0.000001', 1],
      ['0.003625', 3625],
      ['0.29', 290_000],
      ['1.005', 1_005_000],
      ['4.35', 4_350_000],
      ['600.00', 600_000_000],
    ]
    for (const [text, pico] of exact) expect<number>(toTokenPrice(text)).toBe(pico)
  })

  it('is refused when it is finer than a pico-dollar or no plain decimal', () => {
    const wrong = ['0.0000001', '0.1500000', '-1', '+1', '1e-3', '.5', '5.', '', ' 1', '1,5', 'NaN']
    for (const text of wrong) expect(() => toTokenPrice(text), text).toThrow(RangeError)
  })

  it('is refused when it is more than exact integers can hold', () => {
    for (const text of ['9000', '9007199254740993'])
      expect(() => toTokenPrice(text), text).toThrow(RangeError)
  })

  it('says what to write instead', () => {
    expect(() => toTokenPrice('free')).toThrow(/'free' is no price: write dollars a million tokens/)
    expect(() => parsePrice({ minute: '1.5e-3' }, 'transcription')).toThrow(/dollars a minute/)
  })

  it('counts a thousand searches by the one', () => {
    const { search } = single(parsePrice({ search: '2.00' }, 'rerank'))
    expect(search).toBe(2_000_000_000)
    expect(single(parsePrice({ search: '0.000000001' }, 'rerank'))['search']).toBe(1)
  })

  it('counts a million characters by the one', () => {
    expect(single(parsePrice({ character: '15.00' }, 'speech'))['character']).toBe(15_000_000)
  })

  it('divides a minute into seconds, upward where it must', () => {
    const seconds: readonly (readonly [string, number])[] = [
      ['0.006', 100_000_000],
      ['0.0045', 75_000_000],
      ['0.003', 50_000_000],
      // 30,833,333.3… and 11,111,116.6… pico-dollars.
      ['0.00185', 30_833_334],
      ['0.000666667', 11_111_117],
    ]
    for (const [minute, pico] of seconds)
      expect(single(parsePrice({ minute }, 'transcription'))['second'], minute).toBe(pico)
  })
})

describe('a price', () => {
  it('leaves an absent rate absent', () => {
    expect(single(parsePrice({ input: '1', output: '2' }))).toEqual({
      input: 1_000_000,
      output: 2_000_000,
    })
  })

  it('keeps every rate that it has', () => {
    const text: PriceText = {
      input: '1',
      cachedInput: '2',
      cacheWrite: '3',
      cacheWriteLong: '3.5',
      audioInput: '4',
      output: '5',
      reasoning: '6',
      audioOutput: '7',
      search: '8',
      character: '9',
      minute: '60',
      longContext: { above: 1000, input: '10', output: '11' },
    }
    expect(single(parsePrice(text))).toEqual({
      input: 1_000_000,
      cachedInput: 2_000_000,
      cacheWrite: 3_000_000,
      cacheWriteLong: 3_500_000,
      audioInput: 4_000_000,
      output: 5_000_000,
      reasoning: 6_000_000,
      audioOutput: 7_000_000,
      search: 8_000_000_000,
      character: 9_000_000,
      second: 1_000_000_000_000,
      longContext: { above: 1000, rates: { input: 10_000_000, output: 11_000_000 } },
    })
  })

  it('is complete for its kind, or refused', () => {
    const enough: readonly (readonly [ModelKind, PriceText])[] = [
      ['chat', { input: '1', output: '1' }],
      ['embedding', { input: '1' }],
      ['rerank', { search: '1' }],
      ['rerank', { input: '1' }],
      ['transcription', { minute: '1' }],
      ['transcription', { input: '1', output: '1', audioInput: '2' }],
      ['speech', { character: '1' }],
      ['speech', { input: '1', output: '1' }],
      ['speech', { input: '1', audioOutput: '1' }],
    ]
    for (const [kind, text] of enough) expect(() => parsePrice(text, kind), kind).not.toThrow()
    const lacking: readonly (readonly [ModelKind, PriceText])[] = [
      ['chat', {}],
      ['chat', { input: '1' }],
      ['chat', { output: '1' }],
      ['embedding', { output: '1' }],
      ['rerank', { output: '1' }],
      ['transcription', { input: '1' }],
      ['transcription', { character: '1' }],
      ['speech', { minute: '1' }],
      ['speech', { audioOutput: '1' }],
      ['chat', { input: '1', output: '1', longContext: { above: 10, input: '1' } }],
    ]
    for (const [kind, text] of lacking)
      expect(() => parsePrice(text, kind), JSON.stringify(text)).toThrow(PriceError)
  })

  it('asks for audio however a speech model reports its output', () => {
    const { output } = single(parsePrice({ input: '0.60', audioOutput: '12' }, 'speech'))
    expect(output).toBe(12_000_000)
  })

  it('leads to the text that is wrong', () => {
    const wrong: readonly (readonly [PriceRow, readonly (string | number)[]])[] = [
      [{ input: '1', output: 'x' }, ['output']],
      [{ input: '1', output: '1', cachedInput: '-1' }, ['cachedInput']],
      [{ input: '1' }, []],
      [
        { input: '1', output: '1', longContext: { above: 0, input: '1', output: '1' } },
        ['longContext', 'above'],
      ],
      [
        [
          { input: '1', output: '1' },
          { from: '2027-01-01', input: '1', output: '?' },
        ],
        [1, 'output'],
      ],
    ]
    for (const [row, path] of wrong) expect(pathOf(() => parsePrice(row))).toEqual(path)
  })
})

describe('a list of prices', () => {
  const OLD = { input: '1', output: '1' }
  const NEW = { input: '2', output: '2' }

  it('begins for ever ago and changes at midnight UTC', () => {
    const list = parsePrice([OLD, { from: '2026-12-01', ...NEW }])
    expect(list.map(({ from }) => from)).toEqual([0, Date.UTC(2026, 11, 1)])
    expect(list.map(({ price }) => price.input as number)).toEqual([1_000_000, 2_000_000])
  })

  it('lets the oldest hold before its day, so that no moment is without a price', () => {
    const list = parsePrice([
      { from: '2026-01-01', ...OLD },
      { from: '2026-12-01', ...NEW },
    ])
    expect(list[0].from).toBe(0)
  })

  it('refuses days that are none, missing or out of order', () => {
    const later = { from: '2026-12-01', ...NEW }
    const wrong: readonly (readonly [PriceRow, readonly (string | number)[]])[] = [
      [
        [OLD, { from: '2026-02-30', ...NEW }],
        [1, 'from'],
      ],
      [
        [OLD, { from: 'soon', ...NEW }],
        [1, 'from'],
      ],
      [[{ from: '2026-13-01', ...OLD }], [0, 'from']],
      [[OLD, NEW], [1]],
      [
        [OLD, later, later],
        [2, 'from'],
      ],
      [
        [OLD, later, { from: '2026-11-30', ...NEW }],
        [2, 'from'],
      ],
      [
        [{ from: '2026-12-01', ...OLD }, later],
        [1, 'from'],
      ],
      [[], []],
    ]
    for (const [row, path] of wrong) expect(pathOf(() => parsePrice(row))).toEqual(path)
  })
})

describe('an uplift', () => {
  it('raises every rate of every price, and none of the days', () => {
    const list = parsePrice([
      {
        input: '1',
        cachedInput: '0.1',
        output: '5',
        longContext: { above: 10, input: '2', output: '7' },
      },
      { from: '2026-12-01', input: '2', output: '10', minute: '0.006', search: '2' },
    ])
    expect(raisePrices(list, 10) as unknown).toEqual([
      {
        from: 0,
        price: {
          input: 1_100_000,
          cachedInput: 110_000,
          output: 5_500_000,
          longContext: { above: 10, rates: { input: 2_200_000, output: 7_700_000 } },
        },
      },
      {
        from: Date.UTC(2026, 11, 1),
        price: { input: 2_200_000, output: 11_000_000, second: 110_000_000, search: 2_200_000_000 },
      },
    ])
  })

  it('rounds a fraction of a pico-dollar up', () => {
    const [{ price }] = raisePrices(parsePrice({ input: '0.000001', output: '0.000015' }), 10)
    expect([price.input, price.output] as number[]).toEqual([2, 17])
  })

  it('is whole percents above nothing', () => {
    const list = parsePrice({ input: '1', output: '1' })
    for (const percent of [0, -10, 2.5, NaN])
      expect(() => raisePrices(list, percent), String(percent)).toThrow(RangeError)
  })
})

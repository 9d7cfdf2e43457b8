// Published dollar texts become whole pico-dollars a unit here, once. What cannot be exact is refused;
// the two places that must divide, minutes into seconds and percents, round upward.
import { PICO_A_NANO, parseUsd, toPicoUsd, type PicoUsd } from '../core/money.ts'
import type { DatedPrice, Price, PriceList, Rates } from '../core/usage.ts'
import type { ModelKind, PriceRow, PriceText } from './model.ts'

type RateName = Exclude<keyof PriceText, 'longContext'>
type RateTexts = Pick<PriceText, RateName>
type MutableRates = { -readonly [Name in keyof Rates]?: Rates[Name] }
type Path = readonly (string | number)[]

/** A price text that is none. The path leads from the row to the text, in the names of the row. */
export class PriceError extends RangeError {
  override readonly name = 'PriceError'
  readonly path: Path

  constructor(path: Path, message: string) {
    super(message)
    this.path = path
  }
}

const UNITS_A_PRICE = 1_000_000
const SECONDS_A_MINUTE = 60
/** Pico-dollars of what costs less are still exact. */
const DOLLARS_BELOW = 9000

interface Unit {
  readonly as: keyof Rates
  /** Decimals that a text may have: what exact integers can still hold. */
  readonly decimals: number
  readonly noun: string
  readonly read: (nano: number) => PicoUsd
}

function tokens(as: keyof Rates): Unit {
  return { as, decimals: 6, noun: 'a million tokens', read: shareByMillion }
}

const UNITS: Readonly<Record<RateName, Unit>> = {
  input: tokens('input'),
  cachedInput: tokens('cachedInput'),
  cacheWrite: tokens('cacheWrite'),
  cacheWriteLong: tokens('cacheWriteLong'),
  audioInput: tokens('audioInput'),
  output: tokens('output'),
  reasoning: tokens('reasoning'),
  audioOutput: tokens('audioOutput'),
  // A thousandth of a nano-dollar is a pico-dollar, so the figures are the same.
  search: { as: 'search', decimals: 9, noun: 'a thousand searches', read: toPicoUsd },
  character: { as: 'character', decimals: 6, noun: 'a million characters', read: shareByMillion },
  minute: {
    as: 'second',
    decimals: 9,
    noun: 'a minute',
    read: (nano) => divideUp(nano * PICO_A_NANO, SECONDS_A_MINUTE),
  },
}

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a record are its keys
const RATE_NAMES = Object.keys(UNITS) as readonly RateName[]

interface Need {
  /** Any one of these sets is enough. */
  readonly sets: readonly (readonly RateName[])[]
  readonly text: string
}

// What a kind is paid by. A rate that was forgotten would be given away, so it stops the start.
const NEEDS: Readonly<Record<ModelKind, Need>> = {
  chat: { sets: [['input', 'output']], text: 'input and output' },
  embedding: { sets: [['input']], text: 'input' },
  rerank: { sets: [['search'], ['input']], text: 'search, or input' },
  transcription: {
    sets: [['minute'], ['input', 'output']],
    text: 'minute, or input and output',
  },
  speech: {
    sets: [['character'], ['input', 'output'], ['input', 'audioOutput']],
    text: 'character, or input and output',
  },
}

/**
 * The prices of a row. Several must be ordered by their days; the oldest also holds before its day, so
 * that no moment is without a price. Throws a `PriceError`.
 */
export function parsePrice(row: PriceRow, kind: ModelKind = 'chat'): PriceList {
  if (!isList(row)) return [{ from: 0, price: toPrice(row, kind, []) }]
  const [first, ...later] = row
  if (first === undefined) throw new PriceError([], 'has no price: write one')
  if (first.from !== undefined) readDay(first.from, [0, 'from'])
  const prices: [DatedPrice, ...DatedPrice[]] = [{ from: 0, price: toPrice(first, kind, [0]) }]
  let before = first.from ?? ''
  for (const [offset, part] of later.entries()) {
    const index = offset + 1
    const day = part.from
    if (day === undefined) throw new PriceError([index], 'has no first day: write from')
    const from = readDay(day, [index, 'from'])
    if (day <= before) throw new PriceError([index, 'from'], `${day} is not after ${before}`)
    before = day
    prices.push({ from, price: toPrice(part, kind, [index]) })
  }
  return prices
}

/** Nothing to pay, whatever is counted. */
export const FREE: PriceList = [
  {
    from: 0,
    price: {
      input: toPicoUsd(0),
      output: toPicoUsd(0),
      search: toPicoUsd(0),
      character: toPicoUsd(0),
      second: toPicoUsd(0),
    },
  },
]

/** The same prices with whole percents on top; a fraction of a pico-dollar is rounded up. */
export function raisePrices([first, ...later]: PriceList, percent: number): PriceList {
  if (!Number.isSafeInteger(percent) || percent <= 0)
    throw new RangeError(`${percent} is no uplift: write whole percents above 0`)
  const raise = (dated: DatedPrice): DatedPrice => ({
    from: dated.from,
    price: raisePrice(dated.price, percent),
  })
  return [raise(first), ...later.map(raise)]
}

/** `'0.15'` dollars a million tokens are 150,000 pico-dollars a token. */
export function toTokenPrice(dollarsPerMillion: string): PicoUsd {
  return readRate(dollarsPerMillion, UNITS.input, [])
}

function isList(row: PriceRow): row is Extract<PriceRow, readonly unknown[]> {
  return Array.isArray(row)
}

function toPrice(text: PriceText, kind: ModelKind, path: Path): Price {
  const rates = toRates(text, kind, path)
  const { longContext } = text
  if (longContext === undefined) return rates
  const inside = [...path, 'longContext']
  if (!Number.isSafeInteger(longContext.above) || longContext.above <= 0)
    throw new PriceError([...inside, 'above'], 'is no number of tokens')
  return {
    ...rates,
    longContext: { above: longContext.above, rates: toRates(longContext, kind, inside) },
  }
}

function toRates(text: RateTexts, kind: ModelKind, path: Path): Rates {
  requireRates(text, kind, path)
  const rates: MutableRates = {}
  for (const name of RATE_NAMES) {
    const dollars = text[name]
    if (dollars === undefined) continue
    const unit = UNITS[name]
    rates[unit.as] = readRate(dollars, unit, [...path, name])
  }
  // All that a speech model puts out is audio: its one rate holds however the output is reported.
  const output = rates.output ?? (kind === 'speech' ? rates.audioOutput : undefined)
  return { ...rates, input: rates.input ?? toPicoUsd(0), output: output ?? toPicoUsd(0) }
}

function requireRates(text: RateTexts, kind: ModelKind, path: Path): void {
  const { sets, text: names } = NEEDS[kind]
  if (sets.some((set) => set.every((name) => text[name] !== undefined))) return
  throw new PriceError(path, `lacks a rate: the price of a ${kind} model needs ${names}`)
}

function readRate(dollars: string, unit: Unit, path: Path): PicoUsd {
  const match = /^\d+(?:\.(\d+))?$/.exec(dollars)
  const isFine = match !== null && (match[1] ?? '').length <= unit.decimals
  const nano = isFine && Number(dollars) < DOLLARS_BELOW ? parseUsd(dollars) : undefined
  if (nano !== undefined) return unit.read(nano)
  throw new PriceError(
    path,
    `'${dollars}' is no price: write dollars ${unit.noun}, below ${DOLLARS_BELOW} and with at most ${unit.decimals} decimals`,
  )
}

/** No remainder: the text has at most six of the nine decimals of a nano-dollar. */
function shareByMillion(nano: number): PicoUsd {
  return toPicoUsd((nano * PICO_A_NANO) / UNITS_A_PRICE)
}

/** Whole numbers in, a whole number out, never less than the quotient. */
function divideUp(dividend: number, divisor: number): PicoUsd {
  if (!Number.isSafeInteger(dividend)) throw new RangeError('a price left the exact range')
  const rest = dividend % divisor
  return toPicoUsd((dividend - rest) / divisor + (rest > 0 ? 1 : 0))
}

function raisePrice(price: Price, percent: number): Price {
  const { longContext, ...rates } = price
  const raised = raiseRates(rates, percent)
  if (longContext === undefined) return raised
  return {
    ...raised,
    longContext: { above: longContext.above, rates: raiseRates(longContext.rates, percent) },
  }
}

function raiseRates(rates: Rates, percent: number): Rates {
  const raise = (rate: PicoUsd): PicoUsd => divideUp(rate * (100 + percent), 100)
  const raised: MutableRates = {}
  for (const name of RATE_NAMES) {
    const { as } = UNITS[name]
    const rate = rates[as]
    if (rate !== undefined) raised[as] = raise(rate)
  }
  return { ...raised, input: raise(rates.input), output: raise(rates.output) }
}

/** Midnight UTC of a day that the calendar has. */
function readDay(text: string, path: Path): number {
  const day = /^\d{4}-\d{2}-\d{2}$/.test(text) ? new Date(`${text}T00:00:00Z`) : undefined
  if (day === undefined || Number.isNaN(day.getTime()) || !day.toISOString().startsWith(text))
    throw new PriceError(path, `'${text}' is no day: write one such as 2026-12-01`)
  return day.getTime()
}

// Exact money: whole nano-dollars for amounts, whole pico-dollars for prices. Only the two converters
// below touch dollars; no fraction of a dollar is ever added.

declare const nano: unique symbol
declare const pico: unique symbol

export type NanoUsd = number & { readonly [nano]: true }
export type PicoUsd = number & { readonly [pico]: true }

/** Pico-dollars in a nano-dollar. */
export const PICO_A_NANO = 1000

export const ZERO_USD: NanoUsd = toNanoUsd(0)

const PLAIN_DECIMAL = /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/

/** Asserts what arithmetic cannot: a whole amount that a number still holds exactly. */
export function toNanoUsd(amount: number): NanoUsd {
  if (!Number.isSafeInteger(amount)) throw new RangeError('an amount left the exact range')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the brand's one entrance
  return amount as NanoUsd
}

export function toPicoUsd(price: number): PicoUsd {
  if (!Number.isSafeInteger(price) || price < 0) throw new RangeError('a price must be whole')
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the brand's one entrance
  return price as PicoUsd
}

/** Reads a dollar amount exactly; undefined for what is negative, finer than a nano-dollar or too large. */
export function parseUsd(dollars: number | string): NanoUsd | undefined {
  if (Object.is(dollars, -0)) return undefined
  const match = PLAIN_DECIMAL.exec(String(dollars))
  if (!match) return undefined
  const [, whole = '', fraction = '', exponent = '0'] = match
  const digits = whole + fraction
  const shift = Number(exponent) - fraction.length + 9
  const lost = shift < 0 ? digits.slice(shift) : ''
  if (/[1-9]/.test(lost)) return undefined
  const kept = shift < 0 ? digits.slice(0, shift) : digits + '0'.repeat(Math.min(shift, 40))
  const amount = Number(kept === '' ? '0' : kept)
  return Number.isSafeInteger(amount) ? toNanoUsd(amount) : undefined
}

const AMOUNT_MAX = 9_000_000_000_000_000

/**
 * The amount of a JSON number. From some millions on these lie further apart than amounts do: one that could mean
 * two is none.
 */
export function readUsd(dollars: number): NanoUsd | undefined {
  const amount = parseUsd(dollars)
  if (amount === undefined || amount > AMOUNT_MAX) return undefined
  const isTold = (other: number): boolean => Number(printUsd(toNanoUsd(other))) !== dollars
  return isTold(amount + 1) && isTold(amount - 1) ? amount : undefined
}

/** Prints a plain decimal of dollars: `0.0000001`, never `1e-7`. A sum of many may be too large for a number. */
export function printUsd(amount: NanoUsd | bigint): string {
  const sign = amount < 0 ? '-' : ''
  const digits = String(amount).replace('-', '').padStart(10, '0')
  const fraction = digits.slice(-9).replace(/0+$/, '')
  return sign + digits.slice(0, -9) + (fraction === '' ? '' : `.${fraction}`)
}

declare global {
  interface JSON {
    /** Stands in what is stringified for exactly this text. */
    rawJSON(text: string): object
  }
}

/** A JSON number as a plain decimal: `0.0000001` would else leave as `1e-7`. */
export function toJsonUsd(amount: NanoUsd | bigint): object {
  return JSON.rawJSON(printUsd(amount))
}

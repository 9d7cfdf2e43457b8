// Amounts and times as people read them: plain decimals and UTC to the second, with the distance from now
// where that is the point.
import { parseUsd, printUsd, toNanoUsd, ZERO_USD, type NanoUsd } from '../core/money.ts'

/** `1e-7` is what a parsed number prints as; nobody reads a price from that. */
export function money(value: unknown): string {
  const amount = toAmount(value)
  return amount === undefined ? '' : printUsd(amount)
}

export function sumMoney(values: readonly unknown[]): string {
  const sum = values.reduce<NanoUsd>(
    (total, value) => toNanoUsd(total + (toAmount(value) ?? 0)),
    ZERO_USD,
  )
  return printUsd(sum)
}

function toAmount(value: unknown): NanoUsd | undefined {
  if (typeof value !== 'number') return undefined
  // What is left of a budget may be less than nothing.
  const amount = parseUsd(Math.abs(value))
  return amount === undefined ? undefined : toNanoUsd(Math.sign(value) * amount)
}

/** `2026-11-15T05:42:31Z`: without the fraction, and as an address of the interface takes it. */
export function time(value: unknown): string {
  const at = toMoment(value)
  return at === undefined ? '' : new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** `05:42:31Z`, for a window without room, of what is known to be of today. */
export function timeOfDay(value: unknown): string {
  return time(value).replace(/^.*T/, '')
}

export function isToday(value: unknown, now: number): boolean {
  return time(value).slice(0, 10) === new Date(now).toISOString().slice(0, 10)
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['year', 365 * 86_400_000],
  ['month', 30 * 86_400_000],
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

/** `in 15 days`, `3 minutes ago`. */
export function distance(value: unknown, now: number): string {
  const at = toMoment(value)
  if (at === undefined) return ''
  const away = at - now
  const [unit, ms] = UNITS.find(([, ms]) => Math.abs(away) >= ms) ?? ['second', 1000]
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'always' })
  return Math.abs(away) < 1000 ? 'now' : words.format(Math.trunc(away / ms), unit)
}

export function timeAndDistance(value: unknown, now: number): string {
  const moment = time(value)
  return moment === '' ? '' : `${moment} (${distance(value, now)})`
}

function toMoment(value: unknown): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

/** `1 key`, `3 keys`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

// One record of the gateway as a sheet: everything that it tells, in its order; names become words, and what
// is nested becomes lines of its own.
import { isRecord, toList, toRecord, toText, type JsonRecord } from './json.ts'
import { money, time, timeAndDistance } from './print.ts'

type Line = readonly [name: string, value: string]

/** Parts whose fields speak for themselves. */
const PLAIN_PARTS: ReadonlySet<string> = new Set(['settlement', 'usage'])
const MOMENTS: ReadonlySet<string> = new Set(['timestamp', 'since', 'resolves_at'])

export function describeEntry(entry: JsonRecord, now: number): readonly Line[] {
  return Object.entries(entry).flatMap(([name, value]): readonly Line[] => {
    if (TOLD_BY_PAYER.has(name) && Object.hasOwn(entry, 'payer')) return []
    if (name === 'payer' && isRecord(value)) return describePayer(value)
    if (Array.isArray(value)) return value.map((item, at) => [nth(name, at), spell(item)])
    if (isRecord(value)) return describePart(name, value, { entry, now })
    return [[labelOf(name), valueOf(name, value, now)]]
  })
}

/** What one call tells under its payer, too. */
const TOLD_BY_PAYER: ReadonlySet<string> = new Set(['payer_wallet_id', 'payer_link'])

const PERIODS: Readonly<Record<string, string>> = {
  daily: 'a day',
  monthly: 'a month',
  rolling: 'in 30 days',
}

/** `Payer  wal_… (project), open end`, and a line for each place that was asked before. */
function describePayer(payer: JsonRecord): readonly Line[] {
  const { wallet_id: wallet, link, credit_line_usd: line, spending_limit_usd: limit } = payer
  const most = money(limit)
  const period = PERIODS[toText(payer['spending_period'])] ?? ''
  const bounds = [
    line === null ? 'open end' : `credit line ${money(line)} USD`,
    ...(most === '' ? [] : [`at most ${most} USD ${period}`]),
  ]
  const passed = toList(payer['passed']).map(toRecord)
  return [
    ['Payer', `${toText(wallet)} (${toText(link)}), ${bounds.join(', ')}`],
    ...passed.map((place): Line => ['Passed', describePassed(place)]),
  ]
}

const REASONS: Readonly<Record<string, string>> = {
  none: 'no wallet',
  closed: 'its wallet is closed',
  funds: 'too little in it',
  limit: 'its spending limit leaves too little',
  busy: 'busy with calls under way',
}

function describePassed({ link, wallet_id: wallet, why }: JsonRecord): string {
  const reason = REASONS[toText(why)]
  const place = wallet === null ? toText(link) : `${toText(wallet)} (${toText(link)})`
  return `${place}: ${toText(why)}${reason === undefined ? '' : `, ${reason}`}`
}

interface Whole {
  readonly entry: JsonRecord
  readonly now: number
}

/** What is told outside already is not told again. */
function describePart(part: string, value: JsonRecord, { entry, now }: Whole): readonly Line[] {
  const isPlain = PLAIN_PARTS.has(part)
  return Object.entries(value)
    .filter(([name]) => !isPlain || !Object.hasOwn(entry, name))
    .map(([name, each]) => [labelOf(isPlain ? name : `${part}_${name}`), valueOf(name, each, now)])
}

/** `tries` is a list of which each is a try. */
const SINGULARS: Readonly<Record<string, string>> = { tries: 'try', terms: 'may reach' }

function nth(list: string, at: number): string {
  return `${labelOf(SINGULARS[list] ?? list)} ${at + 1}`
}

/** `supplier demo, region EU, price input 0.15 output 0.6`. */
function spell(value: unknown): string {
  if (!isRecord(value)) return toText(value)
  return Object.entries(value)
    .filter(([, each]) => each !== null)
    .map(([name, each]) => `${name.replaceAll('_', ' ')} ${spellInner(each)}`)
    .join(', ')
}

function spellInner(value: unknown): string {
  return isRecord(value) ? spell(value).replaceAll(',', '') : money(value) || toText(value)
}

function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ').replace(/\b(id|usd)\b/g, (word) => word.toUpperCase())
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}

function valueOf(name: string, value: unknown, now: number): string {
  if (value === null || value === undefined) return '-'
  if (MOMENTS.has(name)) return timeAndDistance(value, now)
  if (name === 'hour') return time(value)
  if (isRecord(value)) return spell(value)
  // Amounts are printed digit for digit; other numbers as they are.
  return typeof value === 'number' ? money(value) || toText(value) : toText(value)
}

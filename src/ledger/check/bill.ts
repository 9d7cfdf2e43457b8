// What a call must have cost by its own record: the tokens that its row tells, at the prices that its hold
// fixed. Where a row does not tell which tokens had a price of their own, only bounds are known.
import type { AuditRow } from '../../core/audit.ts'
import type { Terms, TermsEntry } from '../../core/record.ts'
import type { Price, Rates, Units } from '../../core/usage.ts'

export interface Bill {
  readonly least: bigint
  readonly most: bigint
}

const PICO_A_NANO = 1000n
/** Terms are alike for many calls: reading each text once is most of the work saved. */
const TERMS_KEPT = 1000

export class Bills {
  readonly #terms = new Map<string, Terms>()

  /** Whoever the hold allows by this name; undefined where the terms cannot be read. */
  suppliers(terms: string, supplier: string): readonly TermsEntry[] | undefined {
    return this.#read(terms)?.filter((entry) => entry.supplier === supplier)
  }

  /** Undefined where the row does not tell a usage that somebody reported, or not who did. */
  of(row: AuditRow, terms: string): Bill | undefined {
    const { inputTokens: input, outputTokens: output, supplier, region } = row
    if (row.state !== 'settled' || row.evidence !== 'reported' || supplier === undefined)
      return undefined
    if (input === undefined || output === undefined) return undefined
    const entries = this.suppliers(terms, supplier) ?? []
    const bills = entries
      .filter((entry) => entry.region === region)
      .map(({ price }) => billOf(input, output, price, row.details?.units))
    return bills.reduce<Bill | undefined>((whole, bill) => widest(whole ?? bill, bill), undefined)
  }

  #read(text: string): Terms | undefined {
    const known = this.#terms.get(text)
    if (known !== undefined) return known
    const terms = parseTerms(text)
    if (terms === undefined) return undefined
    if (this.#terms.size >= TERMS_KEPT) this.#terms.clear()
    this.#terms.set(text, terms)
    return terms
  }
}

/** Each token costs at least the lowest of the rates that it may have had, and at most the highest. */
function billOf(input: number, output: number, price: Price, units: Units | undefined): Bill {
  const { longContext: long } = price
  const rates = long !== undefined && input > long.above ? long.rates : price
  const inputs = ratesOf([
    rates.input,
    rates.cachedInput,
    rates.cacheWrite,
    rates.cacheWriteLong,
    rates.audioInput,
  ])
  const outputs = ratesOf([rates.output, rates.reasoning, rates.audioOutput])
  const beside = unitsOf(units, rates)
  return {
    least: toNano(BigInt(input) * inputs.low + BigInt(output) * outputs.low + beside),
    most: toNano(BigInt(input) * inputs.high + BigInt(output) * outputs.high + beside),
  }
}

/** Of what is not counted in tokens the row tells all there is. */
function unitsOf(units: Units | undefined, { search, character, second }: Rates): bigint {
  if (units === undefined) return 0n
  const { searches, characters, seconds } = units
  return product(searches, search) + product(characters, character) + product(seconds, second)
}

function product(count = 0, rate = 0): bigint {
  return BigInt(count) * BigInt(rate)
}

function ratesOf(rates: readonly (number | undefined)[]): {
  readonly low: bigint
  readonly high: bigint
} {
  const known = rates.filter((rate) => rate !== undefined)
  return { low: BigInt(Math.min(...known)), high: BigInt(Math.max(...known)) }
}

/** One rounding, upward. */
function toNano(pico: bigint): bigint {
  return (pico + PICO_A_NANO - 1n) / PICO_A_NANO
}

function widest(one: Bill, other: Bill): Bill {
  return {
    least: one.least < other.least ? one.least : other.least,
    most: one.most > other.most ? one.most : other.most,
  }
}

function parseTerms(text: string): Terms | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) && value.every(isEntry) ? value : undefined
  } catch {
    // A text that is none is told by whoever asked, with the record that has it.
    return undefined
  }
}

function isEntry(value: unknown): value is TermsEntry {
  if (!isObject(value) || typeof value['supplier'] !== 'string') return false
  const { price } = value
  return isRates(price) && (price['longContext'] === undefined || isLong(price['longContext']))
}

function isLong(value: unknown): boolean {
  return isObject(value) && typeof value['above'] === 'number' && isRates(value['rates'])
}

/** Whole numbers, or no exact sum is possible. */
function isRates(value: unknown): value is Rates & Readonly<Record<string, unknown>> {
  if (!isObject(value) || value['input'] === undefined || value['output'] === undefined)
    return false
  return Object.entries(value).every(
    ([name, rate]) => name === 'longContext' || Number.isSafeInteger(rate),
  )
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

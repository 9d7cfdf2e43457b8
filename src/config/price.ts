// How the file writes down what a supplier asks: dollars as its price page shows them. A price is whole
// or refused, because a rate that was forgotten would be given away.
import { z } from 'zod'

/** What exact integers can hold: whole pico-dollars a unit. */
const DECIMAL = /^\d{1,6}(?:\.\d{1,6})?$/

/**
 * More than anybody asks. Five thousand million tokens, the most that the report of one call can amount to,
 * cost less than nine million dollars at this rate, and that is what whole nano-dollars can hold exactly.
 */
export const DOLLARS_MAX = 1500

/** Dollars, as text so that no digit is lost on the way to exact integers. */
export const Dollars = z
  .union([z.number(), z.string()])
  .transform(printDecimal)
  .refine((text) => DECIMAL.test(text), { abort: true })
  .refine((text) => Number(text) <= DOLLARS_MAX, {
    message: `is more than ${DOLLARS_MAX} dollars, which nobody asks: write dollars for a million tokens, not cents and not for more`,
  })
  .meta({ hint: 'a number of US dollars such as 0.15' })

const rates = {
  input: Dollars.optional().describe('A million input tokens.'),
  cached_input: Dollars.optional().describe('A million input tokens that a cache answered.'),
  cache_write: Dollars.optional().describe('A million input tokens written to a cache.'),
  cache_write_long: Dollars.optional().describe(
    'A million input tokens written to a cache for an hour. Without it: as `cache_write`.',
  ),
  output: Dollars.optional().describe('A million output tokens.'),
  reasoning: Dollars.optional().describe(
    'A million reasoning tokens, where they cost something else than output.',
  ),
  audio_input: Dollars.optional().describe('A million audio tokens of the input.'),
  audio_output: Dollars.optional().describe('A million audio tokens of the output.'),
  search: Dollars.optional().describe('A thousand searches or rerank units.'),
  character: Dollars.optional().describe('A million characters of speech.'),
  minute: Dollars.optional().describe('A minute of audio.'),
}

const TOKEN_RATES = [
  'input',
  'cached_input',
  'cache_write',
  'cache_write_long',
  'output',
  'reasoning',
  'audio_input',
  'audio_output',
]

const Day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine(isDay, { message: 'is a day that no calendar has: write one such as 2026-12-01' })
  .meta({ hint: 'a day such as 2026-12-01' })

const LongContext = z
  .strictObject({
    above: z
      .int()
      .positive()
      .describe('Input tokens beyond which these rates hold for the whole call.')
      .meta({ hint: 'a number of tokens such as 200000' }),
    ...rates,
  })
  .superRefine(checkRates, { when: isMapping })
  .meta({ hint: 'above: and the rates beyond it on lines of their own below it' })

const PricePart = z
  .strictObject({
    ...rates,
    from: Day.optional().describe('The first day of this price, in UTC. Without it: since ever.'),
    long_context: LongContext.optional().describe('Other rates for calls with a long input.'),
  })
  .superRefine(checkRates, { when: isMapping })

/** `free`, one price, or several with the day from which each holds. */
export const Price = z
  .union([
    z.literal('free'),
    PricePart,
    z
      .array(PricePart)
      .min(1)
      .superRefine(checkDays, { when: ({ value }) => Array.isArray(value) }),
  ])
  .meta({ hint: 'free, or input: and output: in dollars for a million tokens below it' })

/** A rate of input alone would make output free, and the other way round. */
function checkRates(
  price: Readonly<Record<string, unknown>>,
  context: z.core.$RefinementCtx,
): void {
  const isSet = (rate: string): boolean => price[rate] !== undefined
  if (!Object.keys(rates).some(isSet)) {
    context.addIssue({ code: 'custom', message: 'has no rate: write input: and output: below it' })
    return
  }
  if (!TOKEN_RATES.some(isSet)) return
  for (const [rate, other] of [
    ['input', 'output'],
    ['output', 'input'],
  ] as const)
    if (!isSet(rate))
      context.addIssue({
        code: 'custom',
        path: [rate],
        message: `is missing beside ${isSet(other) ? other : 'the other rates'}: add ${rate}: with the dollars for a million tokens (0 where there is nothing to pay)`,
      })
}

function checkDays(
  parts: readonly { readonly from?: unknown }[],
  context: z.core.$RefinementCtx,
): void {
  let before = ''
  for (const [index, part] of parts.entries()) {
    const from = typeof part?.from === 'string' && isDay(part.from) ? part.from : undefined
    if (part?.from === undefined && index > 0)
      context.addIssue({
        code: 'custom',
        path: [index],
        message: 'has no first day: add from: with the day this price begins, such as 2026-12-01',
      })
    if (from !== undefined && from <= before)
      context.addIssue({
        code: 'custom',
        path: [index, 'from'],
        message: `comes after ${before} in the list and is not later: order prices from the oldest to the newest`,
      })
    before = from ?? before
  }
}

export function isDay(text: string): boolean {
  const day = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}

/** `1e-7` is how the language prints a small number, and not how anybody reads a price. */
function printDecimal(dollars: number | string): string {
  const text = String(dollars)
  return typeof dollars === 'number' && /e-/.test(text) ? dollars.toFixed(20) : text
}

function isMapping({ value }: { readonly value: unknown }): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

// Dollars as people type them, as numbers that the gateway reads digit for digit.
import { parseUsd, printUsd } from '../core/money.ts'
import { wrongUsage } from './failure.ts'

/** Flags whose value the word none takes away say so. */
export function readAmount(text: string, flag: string, isRemovable = true): object {
  const amount = parseUsd(text.replace(/^\$/, ''))
  if (amount !== undefined) return JSON.rawJSON(printUsd(amount))
  const none = isRemovable ? ', or none' : ''
  throw wrongUsage(
    `--${flag} takes dollars as a plain number such as 10 or 0.50, with at most nine decimals${none}, and got ${JSON.stringify(text)}.`,
  )
}

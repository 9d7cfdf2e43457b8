// What works and should still be changed: secrets that stand in the file, and prices that look as if
// they were meant for something else.
import type { ConfigPath } from './fault.ts'
import { variableFor } from './names.ts'
import type { Config, PriceConfig } from './schema.ts'

export interface Warning {
  readonly path: ConfigPath
  readonly message: string
}

export interface Suspect {
  readonly file: string
  readonly config: Config
  readonly mode?: number
  readonly plainSecrets: readonly ConfigPath[]
}

const GROUP_OR_OTHERS = 0o044
/** Nobody sells a million tokens for less, but many a token. */
const LEAST_PLAUSIBLE = 0.0005

export function findWarnings(suspect: Suspect): readonly Warning[] {
  return [...findPlainSecrets(suspect), ...findOddPrices(suspect.config)]
}

function findPlainSecrets({ file, mode = 0, plainSecrets }: Suspect): readonly Warning[] {
  const [first] = plainSecrets
  const warnings = plainSecrets.map((path) => ({
    path,
    message: `stands in the file for all to read: write ${variableFor(path)} and export the variable`,
  }))
  if (first === undefined || (mode & GROUP_OR_OTHERS) === 0) return warnings
  const message = `other users of this machine can read the file: run \`chmod 600 ${file}\``
  return [...warnings, { path: first, message }]
}

function findOddPrices({ suppliers, models }: Config): readonly Warning[] {
  const own = Object.entries(models).flatMap(([id, model]) =>
    findOddRates(model.price, ['models', id, 'price']),
  )
  const theirs = Object.entries(suppliers).flatMap(([supplier, { models = {} }]) =>
    Object.entries(models).flatMap(([id, model]) =>
      findOddRates(model?.price, ['suppliers', supplier, 'models', id, 'price']),
    ),
  )
  return [...own, ...theirs]
}

function findOddRates(price: PriceConfig | undefined, path: ConfigPath): readonly Warning[] {
  if (price === undefined || price === 'free') return []
  if (Array.isArray(price))
    return price.flatMap((part, index) => findOddRates(part, [...path, index]))
  return (['input', 'output'] as const).flatMap((rate) => {
    const dollars = 'input' in price || 'output' in price ? Number(price[rate] ?? 0) : 0
    if (dollars === 0 || dollars >= LEAST_PLAUSIBLE) return []
    const better = Number((dollars * 1e6).toFixed(6))
    const message = `is very little for a million tokens: if it is the price of one, write ${better}`
    return [{ path: [...path, rate], message }]
  })
}

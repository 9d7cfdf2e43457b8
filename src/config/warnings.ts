// What works and should still be changed: secrets that stand in the file, prices that look as if they were meant
// for something else, weights that weigh nothing, and regions that nobody knows.
import { foldRegion, NO_PLACE } from '../core/region.ts'
import type { ConfigPath } from './fault.ts'
import { findClosest, variableFor } from './names.ts'
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
  /** Regions that need no explanation, in capitals. Without them any name passes. */
  readonly regions: readonly string[] | undefined
}

const GROUP_OR_OTHERS = 0o044
/** Nobody sells a million tokens for less, but many a token. */
const LEAST_PLAUSIBLE = 0.0005

export function findWarnings(suspect: Suspect): readonly Warning[] {
  const { config } = suspect
  return [
    ...findPlainSecrets(suspect),
    ...findOddPrices(config),
    ...findIdleWeights(config),
    ...findStrangeRegions(suspect),
  ]
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

/** Whoever shares calls out by weight and does not say so sends all of them to the first. */
function findIdleWeights({ suppliers, models, routing }: Config): readonly Warning[] {
  const policies = [routing.policy, ...Object.values(models).map(({ policy }) => policy)]
  if (policies.includes('weight')) return []
  const message =
    'counts for nothing, as calls are shared out otherwise: write policy: weight under routing, or under the model'
  return Object.entries(suppliers).flatMap(([supplier, { weight, models: own = {} }]) => [
    ...(weight === undefined ? [] : [{ path: ['suppliers', supplier, 'weight'], message }]),
    ...Object.entries(own).flatMap(([id, model]) =>
      model?.weight === undefined
        ? []
        : [{ path: ['suppliers', supplier, 'models', id, 'weight'], message }],
    ),
  ])
}

/** A slip of the pen makes a region of its own, which closes doors without a word. */
function findStrangeRegions({ config, regions }: Suspect): readonly Warning[] {
  if (regions === undefined) return []
  const own = Object.keys(config.regions).map(foldRegion)
  const known = new Set([...regions, ...own])
  const suppliers = Object.entries(config.suppliers)
  const used = new Set(suppliers.map(([, { region }]) => region))
  const hint = (region: string): string => {
    const closest = findClosest(region, [...known])
    return closest === undefined ? '' : ` (did you mean ${closest}?)`
  }
  const theirs = suppliers.flatMap(([supplier, { region = NO_PLACE }]) =>
    region === NO_PLACE || known.has(region)
      ? []
      : [
          {
            path: ['suppliers', supplier, 'region'],
            message: `is a region that nobody knows${hint(region)}, so only keys for this very name reach the supplier: correct it, or write under regions what it lies in`,
          },
        ],
  )
  const around = Object.entries(config.regions).flatMap(([name, region]) =>
    known.has(region) || used.has(region)
      ? []
      : [
          {
            path: ['regions', name],
            message: `lies in a region that nobody knows${hint(region)} and where no supplier is: correct it, or write under regions what that one lies in`,
          },
        ],
  )
  return [...theirs, ...around]
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

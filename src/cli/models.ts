// The command about models: what a start would serve, by the files alone, or what a running gateway lets
// a key call.
import type { CatalogueModel, ModelKind } from '../catalog/model.ts'
import { toNanoUsd, printUsd, type PicoUsd } from '../core/money.ts'
import { NO_PLACE } from '../core/region.ts'
import type { Price } from '../core/usage.ts'
import { priceAt } from '../ledger/cost/price.ts'
import type { Desk, Words } from './command.ts'
import {
  asConfigurationFailure,
  findServing,
  readOffer,
  readCatalogue,
  type Offer,
} from './files.ts'
import { parseExactly, toRecord, toText } from './json.ts'
import { reach, somethingElse } from './live.ts'
import { count } from './print.ts'
import type { Column } from './table.ts'

export async function listModels(words: Words, desk: Desk): Promise<void> {
  const isAddressGiven = words.has('url') || desk.lookup('GATEWAY_URL') !== undefined
  if (words.has('live') || isAddressGiven) await listLive(words, desk)
  else await listOffered(words, desk)
}

async function listLive(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const live = await reach(words, desk)
  // A parameter of any name makes the answer a list object, whatever the gateway's habit.
  const { text } = await live.call('GET', '/v1/models?limit=1000')
  const answer = parseExactly(text)
  const all: unknown = Array.isArray(answer) ? answer : toRecord(answer)['data']
  if (!Array.isArray(all)) throw somethingElse(live.url)
  const models = all.map(toRecord).filter(({ id }) => isWanted(toText(id), words))
  if (screen.isMachine) return screen.json({ object: 'list', data: models })
  screen.table(
    [{ title: 'MODEL' }, { title: 'OWNER' }],
    models.map(({ id, owned_by: owner }) => [toText(id), toText(owner)]),
  )
  screen.note(`\n${count(models.length, 'model')} at ${live.url}`)
}

async function listOffered(words: Words, desk: Desk): Promise<void> {
  const { screen, terminal, now } = desk
  const options = { config: words.text('config'), environment: terminal.environment }
  const offer = await readOffer(options)
    .catch(asConfigurationFailure)
    .catch((thrown: unknown) => withoutFile(thrown, words, desk))
  const all =
    'settings' in offer && !words.has('all')
      ? fromSuppliers(offer, now())
      : fromCatalogue(offer.catalogue, now(), await findServing())
  const models = all.filter(({ id }) => isWanted(id, words))
  if (screen.isMachine) return screen.json({ object: 'list', data: models.map(toMachine) })
  if (models.length > 0) screen.table(COLUMNS, models.map(toRow))
  screen.note(`\n${sourceOf(models.length, offer, words)}`)
}

type CatalogueAlone = Pick<Offer, 'catalogue'>

/** The catalogue is part of the program: a file with problems does not hide it. */
async function withoutFile(
  thrown: unknown,
  words: Words,
  { screen }: Desk,
): Promise<Offer | CatalogueAlone> {
  if (!words.has('all')) throw thrown
  screen.warn(
    'The configuration has problems, so this is the catalogue without it. `gateway config check` lists them.',
  )
  return { catalogue: await readCatalogue() }
}

function isWanted(id: string, { argument }: Words): boolean {
  return argument === undefined || id.toLowerCase().includes(argument.toLowerCase())
}

interface Shown {
  readonly id: string
  readonly model: CatalogueModel | undefined
  /** What it does; undefined where nobody says. */
  readonly kind: ModelKind | undefined
  /** Who serves it, in the order in which they are asked. */
  readonly suppliers: readonly string[]
  /** Those that a key may be locked to and still call it. */
  readonly regions: readonly string[]
  /** What the first of them asks. */
  readonly price: Price | undefined
  /** What it is another name for. */
  readonly aliasOf?: string
}

const NOBODY: Pick<Shown, 'suppliers' | 'regions' | 'price'> = {
  suppliers: [],
  regions: [],
  price: undefined,
}

function fromSuppliers(offer: Offer, now: number): readonly Shown[] {
  const known = new Map(offer.catalogue.map((model) => [model.id, model]))
  const shown = new Map<string, Shown>()
  for (const { id: supplier, region, models } of offer.offered)
    for (const [id, { prices, task }] of models) {
      const place = `${supplier} (${region})`
      const { suppliers, regions, price } = shown.get(id) ?? NOBODY
      if (suppliers.includes(place)) continue
      const model = known.get(id)
      shown.set(id, {
        id,
        model,
        kind: model?.kind ?? task,
        suppliers: [...suppliers, place],
        regions: [...new Set([...regions, ...locksOf(region, offer)])],
        price: price ?? priceAt(prices, now),
      })
    }
  return [...shown.values(), ...aliasesOf(offer, shown)]
}

/** Other names, each with what is known of the model; `<supplier>/<id>` is at one supplier alone. */
function aliasesOf({ settings }: Offer, shown: ReadonlyMap<string, Shown>): readonly Shown[] {
  return Object.entries(settings.config.aliases).map(([id, aliasOf]) => {
    const own = shown.get(aliasOf)
    if (own !== undefined) return { ...own, id, aliasOf }
    const { model, kind } = shown.get(aliasOf.slice(aliasOf.indexOf('/') + 1)) ?? UNKNOWN
    return { id, aliasOf, model, kind, suppliers: [], regions: [], price: undefined }
  })
}

const UNKNOWN = { model: undefined, kind: undefined }

/** No lock matches a supplier that promises no place. */
function locksOf(region: string, { regions }: Offer): Iterable<string> {
  return region === NO_PLACE ? [] : regions.placesOf(region)
}

/** The catalogue also has suppliers that are no kind yet; nobody could set one up. */
function fromCatalogue(
  catalogue: readonly CatalogueModel[],
  now: number,
  serving: ReadonlySet<string>,
): readonly Shown[] {
  return catalogue.map((model) => ({
    id: model.id,
    model,
    kind: model.kind,
    suppliers: [...model.suppliers.keys()].filter((kind) => serving.has(kind)),
    regions: [],
    price: model.prices && priceAt(model.prices, now),
  }))
}

const COLUMNS: readonly Column[] = [
  { title: 'MODEL' },
  { title: 'KIND', rank: 1 },
  { title: 'CONTEXT', align: 'right' },
  { title: 'INPUT', align: 'right' },
  { title: 'OUTPUT', align: 'right' },
  { title: 'SUPPLIERS', isElastic: true },
]

function toRow({ id, model, kind, suppliers, price, aliasOf }: Shown): readonly string[] {
  const { input, output } = pricesOf(price)
  // Vectors and scores are not counted in tokens.
  const isWithoutOutput = kind !== undefined && kind !== 'chat' && output === '0'
  return [
    id,
    kind ?? '',
    tokens(model?.contextWindow),
    input,
    isWithoutOutput ? '' : output,
    aliasOf === undefined ? suppliers.join(', ') || 'none yet' : `another name for ${aliasOf}`,
  ]
}

const THOUSAND = 1000
const MILLION = 1_000_000

/** `128k`, `1.05M`. */
function tokens(count: number | undefined): string {
  if (count === undefined) return ''
  if (count < THOUSAND) return String(count)
  const [unit, name] = count < MILLION ? [THOUSAND, 'k'] : [MILLION, 'M']
  return `${Number((count / unit).toPrecision(3))}${name}`
}

/** Tokens have no unit behind them; what is counted otherwise has. */
function pricesOf(price: Price | undefined): { readonly input: string; readonly output: string } {
  if (price === undefined) return { input: '', output: '' }
  const { input, output, search, character, second } = price
  const rates = [input, output, search, character, second]
  if (rates.every((rate) => rate === undefined || rate === 0))
    return { input: 'free', output: 'free' }
  const others = [
    search === undefined ? '' : `${printUsd(toNanoUsd(search))}/1k searches`,
    character === undefined ? '' : `${perMillion(character)}/1M chars`,
    second === undefined ? '' : `${perMinute(second)}/min`,
  ].filter((text) => text !== '')
  const isByToken = others.length === 0 || input > 0 || output > 0
  return isByToken
    ? { input: perMillion(input), output: [perMillion(output), ...others].join(' + ') }
    : { input: '', output: others.join(' + ') }
}

/** A pico-dollar a token is a thousand nano-dollars a million of them. */
function perMillion(price: PicoUsd): string {
  return printUsd(toNanoUsd(price * THOUSAND))
}

function perMinute(price: PicoUsd): string {
  return printUsd(toNanoUsd(Math.round((price * 60) / THOUSAND)))
}

function toMachine(shown: Shown): object {
  const { aliasOf } = shown
  return { ...describe(shown), ...(aliasOf !== undefined && { alias_of: aliasOf }) }
}

function describe({ id, model, kind, suppliers, regions, price }: Shown): object {
  return {
    id,
    object: 'model',
    owned_by: model?.ownedBy ?? null,
    kind: kind ?? null,
    context_window: model?.contextWindow ?? null,
    output_ceiling: model?.outputCeiling ?? null,
    capabilities: model?.capabilities ?? [],
    suppliers,
    regions,
    price: price === undefined ? null : toMachinePrice(price),
  }
}

/** Dollars a million tokens, or what the name says. */
function toMachinePrice({ input, output, cachedInput, search, character, second }: Price): object {
  return {
    input: JSON.rawJSON(perMillion(input)),
    ...(cachedInput === undefined ? {} : { cached_input: JSON.rawJSON(perMillion(cachedInput)) }),
    output: JSON.rawJSON(perMillion(output)),
    ...(search === undefined ? {} : { search: JSON.rawJSON(printUsd(toNanoUsd(search))) }),
    ...(character === undefined ? {} : { character: JSON.rawJSON(perMillion(character)) }),
    ...(second === undefined ? {} : { minute: JSON.rawJSON(perMinute(second)) }),
  }
}

function sourceOf(shown: number, offer: Offer | CatalogueAlone, words: Words): string {
  const models = count(shown, 'model')
  if (words.has('all') || !('settings' in offer))
    return `${models} of the catalogue; prices in dollars a million tokens where nothing else is said`
  const { settings, isDemo } = offer
  if (shown === 0 && words.argument !== undefined)
    return `No model that would be served has ${words.argument} in its id. \`gateway models --all ${words.argument}\` searches the whole catalogue.`
  const from = settings.file ?? 'the environment'
  const isAlone = isDemo && offer.suppliers.length === 0
  const demo = isAlone ? '; the demo answers, because no supplier is set' : ''
  return `${models} by ${from}; prices in dollars a million tokens where nothing else is said${demo}`
}

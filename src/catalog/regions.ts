// Which region lies in which. A key that is locked to a region reaches whoever promises that region or a part of
// it, and never whoever promises only the whole of which it is a part. What is not known lies in nothing.
import { ConfigFault, Faults } from '../config/fault.ts'
import type { Config } from '../config/schema.ts'
import { foldRegion, isNoPlace } from '../core/region.ts'

/**
 * What lies in each, as it is compared: in capitals. Each lies in one other alone, so any two of them are one in the
 * other or have nothing in common. Regions of clouds are in the country where their buildings stand, whatever they are
 * called: London and Zürich have names that begin like those of the EU.
 */
const PARTS: Readonly<Record<string, string>> = {
  EEA: 'EU NO IS LI',
  EU: `AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE
    EU-CENTRAL EU-EAST EU-NORTH EU-SOUTH EU-WEST`,
  BE: 'EUROPE-WEST1',
  DE: 'EU-CENTRAL-1 EUROPE-WEST3 EUROPE-WEST10 GERMANYNORTH GERMANYWESTCENTRAL',
  ES: 'EU-SOUTH-2 EUROPE-SOUTHWEST1 SPAINCENTRAL',
  FI: 'EUROPE-NORTH1',
  FR: 'EU-WEST-3 EUROPE-WEST9 FRANCECENTRAL FRANCESOUTH',
  IE: 'EU-WEST-1 NORTHEUROPE',
  IT: 'EU-SOUTH-1 EUROPE-WEST8 EUROPE-WEST12 ITALYNORTH',
  NL: 'EUROPE-WEST4 WESTEUROPE',
  PL: 'EUROPE-CENTRAL2 POLANDCENTRAL',
  SE: 'EU-NORTH-1 EUROPE-NORTH2 SWEDENCENTRAL',
  CH: 'EU-CENTRAL-2 EUROPE-WEST6 SWITZERLANDNORTH SWITZERLANDWEST',
  GB: 'UK EU-WEST-2 EUROPE-WEST2 UKSOUTH UKWEST',
  NO: 'NORWAYEAST NORWAYWEST',
  US: `US-CENTRAL US-EAST US-WEST US-EAST-1 US-EAST-2 US-WEST-1 US-WEST-2 US-CENTRAL1 US-EAST1 US-EAST4 US-EAST5
    US-SOUTH1 US-WEST1 US-WEST2 US-WEST3 US-WEST4 CENTRALUS EASTUS EASTUS2 NORTHCENTRALUS SOUTHCENTRALUS
    WESTCENTRALUS WESTUS WESTUS2 WESTUS3`,
  AE: '',
  AU: '',
  BR: '',
  CA: '',
  IN: '',
  JP: '',
  KR: '',
  SG: '',
}

/** Every region that is known without being told, and what it lies in; undefined for the outermost. */
export const KNOWN_REGIONS: ReadonlyMap<string, string | undefined> = new Map([
  ...Object.keys(PARTS).map((region) => [region, undefined] as const),
  ...Object.entries(PARTS).flatMap(([region, parts]) =>
    parts.split(/\s+/).flatMap((part) => (part === '' ? [] : [[part, region] as const])),
  ),
])

export class RegionTree {
  /** Of every region that has a name here: itself, and all that it lies in from the inside out. */
  readonly #places: ReadonlyMap<string, ReadonlySet<string>>

  /** `own` are the operator's, beside those that everybody knows and that nobody changes. */
  constructor(own: Readonly<Record<string, string>> = {}) {
    const added = Object.entries(own).map(
      ([region, around]) => [foldRegion(region), around] as const,
    )
    const around = new Map([...added, ...KNOWN_REGIONS])
    this.#places = new Map([...around.keys()].map((region) => [region, climb(region, around)]))
  }

  /** The region itself and all that it lies in, from the inside out. */
  placesOf(region: string): ReadonlySet<string> {
    // Callers name what they like, so nothing is kept of a name that nobody has told.
    return this.#places.get(region) ?? new Set([region])
  }

  /** What is both in the one and in the other: the smaller, where one lies in the other; else undefined. */
  meet(one: string, other: string): string | undefined {
    if (this.placesOf(one).has(other)) return one
    return this.placesOf(other).has(one) ? other : undefined
  }

  /** What is noted for the region, or else for the nearest that it lies in. */
  findNearest<Note>(region: string, notes: ReadonlyMap<string, Note>): Note | undefined {
    for (const place of this.placesOf(region)) {
      const note = notes.get(place)
      if (note !== undefined) return note
    }
    return undefined
  }
}

type Around = ReadonlyMap<string, string | undefined>

function climb(region: string, around: Around): ReadonlySet<string> {
  const places = new Set<string>()
  for (let at: string | undefined = region; at !== undefined; at = around.get(at)) {
    if (places.has(at)) break
    places.add(at)
  }
  return places
}

/** The regions of a file. Throws a `ConfigFault` for those that would move a wall which others rely on. */
export function configureRegions(own: Config['regions']): RegionTree {
  const faults = new Faults()
  const seen = new Map<string, string>()
  for (const [name, around] of Object.entries(own))
    faults.collect(() => {
      const region = foldRegion(name)
      const reason = seen.has(region) ? TWICE : findReason(region, around)
      if (reason !== undefined) throw new ConfigFault(['regions', name], reason)
      seen.set(region, around)
    })
  for (const circle of findCircles(seen)) {
    const name = Object.keys(own).find((each) => foldRegion(each) === circle[0]) ?? ''
    faults.collect(() => {
      throw new ConfigFault(['regions', name], tellCircle(circle))
    })
  }
  if (!faults.isEmpty) throw faults.gather()
  return new RegionTree(own)
}

const TWICE = 'stands here twice, in other letters: keep one of the two lines'

function findReason(region: string, around: string): string | undefined {
  if (isNoPlace(region))
    return 'means no place at all, so it lies in nothing: write the name of your own region instead'
  if (isNoPlace(around))
    return 'cannot lie in global, which means no place at all: write the region around it such as EU, or remove the line'
  if (around === region)
    return 'cannot lie in itself: write the region around it such as EU, or remove the line'
  if (!KNOWN_REGIONS.has(region) || KNOWN_REGIONS.get(region) === around) return undefined
  const known = KNOWN_REGIONS.get(region)
  const where = known === undefined ? 'lies in no other' : `lies in ${known}`
  return `is a region that everybody knows, and it ${where}: remove the line, or choose another name for a place of your own`
}

/** Each circle once, from the first of its regions. */
function findCircles(own: ReadonlyMap<string, string>): readonly (readonly string[])[] {
  const told = new Set<string>()
  return [...own.keys()].flatMap((region) => {
    const circle = [...climb(region, own)]
    const isCircle = own.get(circle.at(-1)!) === region
    if (!isCircle || told.has(region)) return []
    for (const each of circle) told.add(each)
    return [circle]
  })
}

function tellCircle(circle: readonly string[]): string {
  const way = [...circle.slice(1), circle[0]].join(', which lies in ')
  return `lies in ${way}: nothing lies in itself, so write for one of these the region around all of them`
}

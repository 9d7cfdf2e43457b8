// What lies in what: by the list that everybody knows, by the names that an operator adds to it, and for what must
// not be added the place in the file and a sentence that says what to write.
import { describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { ConfigFault, spreadFaults } from '../config/fault.ts'
import { ConfigSchema } from '../config/schema.ts'
import { configureRegions, KNOWN_REGIONS, RegionTree } from './regions.ts'

const tree = new RegionTree()
const placesOf = (region: string): readonly string[] => [...tree.placesOf(region)]

const MEMBERS = 'AT BE BG HR CY CZ DK EE FI FR DE GR HU IE IT LV LT LU MT NL PL PT RO SK SI ES SE'

describe('a region', () => {
  it('of a cloud lies in its country, and with it in all around that, from the inside out', () => {
    expect(placesOf('EU-CENTRAL-1')).toEqual(['EU-CENTRAL-1', 'DE', 'EU', 'EEA'])
    expect(placesOf('WESTEUROPE')).toEqual(['WESTEUROPE', 'NL', 'EU', 'EEA'])
    expect(placesOf('US-EAST1')).toEqual(['US-EAST1', 'US'])
  })

  it.each([
    'EU-WEST-2',
    'EUROPE-WEST2',
    'UKSOUTH',
    'EU-CENTRAL-2',
    'EUROPE-WEST6',
    'GB',
    'UK',
    'CH',
  ])('that only looks European is outside of the EU: %s', (region) => {
    expect(placesOf(region)).not.toContain('EU')
    expect(placesOf(region)).not.toContain('EEA')
  })

  it('is in the EU by membership: 27 states and no other', () => {
    const states = [...KNOWN_REGIONS].flatMap(([region, around]) =>
      around === 'EU' && region.length === 2 ? [region] : [],
    )
    expect(states.toSorted()).toEqual(MEMBERS.split(' ').toSorted())
    expect(states).toHaveLength(27)
  })

  it('beside the EU is in the EEA, and the EU is in it', () => {
    for (const region of ['NO', 'IS', 'LI', 'NORWAYEAST'])
      expect(placesOf(region).slice(-1)).toEqual(['EEA'])
    expect(placesOf('NO')).not.toContain('EU')
    expect(placesOf('EU')).toEqual(['EU', 'EEA'])
  })

  it.each(['MARS', 'EU-WEST-9', 'global', 'GLOBAL', 'eu', 'constructor'])(
    'that nobody knows lies in nothing: %s',
    (region) => {
      expect(placesOf(region)).toEqual([region])
    },
  )

  it('has what it has in common with another where one lies in the other', () => {
    expect(tree.meet('EU', 'DE')).toBe('DE')
    expect(tree.meet('DE', 'EEA')).toBe('DE')
    expect(tree.meet('DE', 'DE')).toBe('DE')
    expect(tree.meet('DE', 'FR')).toBeUndefined()
    expect(tree.meet('EU', 'EU-WEST-2')).toBeUndefined()
    expect(tree.meet('EU', 'GLOBAL')).toBeUndefined()
  })

  it('is named in capitals, as names are compared', () => {
    for (const region of KNOWN_REGIONS.keys()) expect(region).toMatch(/^[A-Z0-9-]+$/)
  })

  it('stands in the guide with what it lies in, and nothing else stands there', async () => {
    const page = await Bun.file(join(import.meta.dir, '../../docs/regions.md')).text()
    const rows = [...page.matchAll(/^\| `([A-Z]+)` \|(.*)\|$/gm)].map(
      ([, around, cell = '']) =>
        [
          around,
          [...cell.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name.toUpperCase()),
        ] as const,
    )
    const told = rows.flatMap(([around, parts]) => parts.map((part) => `${part} in ${around}`))
    const known = [...KNOWN_REGIONS].flatMap(([region, around]) =>
      around === undefined ? [] : [`${region} in ${around}`],
    )
    expect(told.toSorted()).toEqual(known.toSorted())
    for (const [region, around] of KNOWN_REGIONS)
      if (around === undefined) expect(page).toContain(`\`${region}\``)
  })
})

function configure(regions: object): RegionTree {
  return configureRegions(ConfigSchema.parse({ regions }).regions)
}

/** Names of the file that are at fault, each with its sentence. */
function faultsOf(regions: object): Readonly<Record<string, string>> {
  try {
    configure(regions)
  } catch (thrown) {
    if (!(thrown instanceof ConfigFault)) throw thrown
    return Object.fromEntries(
      spreadFaults([thrown]).map(({ path, message }) => {
        expect(path[0]).toBe('regions')
        return [String(path[1]), message]
      }),
    )
  }
  throw new Error('there was no fault')
}

describe("an operator's own region", () => {
  it('lies where the file says, over several steps and in any letters', () => {
    const own = configure({ 'fra-dc': 'de', 'fra-dc-hall': 'Fra-DC', moon: 'space' })
    expect([...own.placesOf('FRA-DC-HALL')]).toEqual(['FRA-DC-HALL', 'FRA-DC', 'DE', 'EU', 'EEA'])
    expect([...own.placesOf('MOON')]).toEqual(['MOON', 'SPACE'])
    expect(own.meet('EU', 'FRA-DC')).toBe('FRA-DC')
  })

  it('may be one that is known by now, where the file says the same', () => {
    expect([...configure({ 'eu-west-1': 'ie' }).placesOf('EU-WEST-1')]).toContain('EU')
  })

  it.each([
    [
      'a wall that others rely on',
      { 'eu-west-2': 'EU' },
      'eu-west-2',
      'it lies in GB: remove the line',
    ],
    ['the country of a cloud', { 'eu-west-1': 'FR' }, 'eu-west-1', 'it lies in IE'],
    ['an outermost region', { ch: 'EU' }, 'ch', 'it lies in no other'],
    ['no place', { Global: 'EU' }, 'Global', 'the name of your own region'],
    ['what lies in no place', { 'fra-dc': 'GLOBAL' }, 'fra-dc', 'write the region around it'],
    ['what lies in itself', { 'fra-dc': 'FRA-DC' }, 'fra-dc', 'cannot lie in itself'],
    ['two spellings of one', { 'fra-dc': 'DE', 'FRA-dc': 'FR' }, 'FRA-dc', 'keep one of the two'],
    [
      'a circle',
      { tail: 'b', a: 'b', b: 'c', c: 'a' },
      'a',
      'lies in B, which lies in C, which lies in A',
    ],
  ])('cannot be %s', (_what, regions, place, words) => {
    const faults = faultsOf(regions)
    expect(Object.keys(faults)).toEqual([place])
    expect(faults[place]).toContain(words)
  })

  it('at fault does not hide the next', () => {
    expect(Object.keys(faultsOf({ gb: 'EU', x: 'x', y: 'z', z: 'y' }))).toEqual(['gb', 'x', 'y'])
  })
})

// The architecture as a test: imports point down, nothing goes in circles, rosters name what their
// folders hold, and no vendor is named where none belongs.
import { describe, expect, it } from 'bun:test'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { compatible } from '../src/suppliers/compatible.ts'
import { dialects } from '../src/dialects/index.ts'
import { endpoints } from '../src/endpoints/index.ts'

const SOURCE = resolve(import.meta.dir, '../src')

/** Above all folders but `cli`, which may import them: the files that put the house together. */
const TOP = [
  'main.ts',
  'app.ts',
  'drain.ts',
  'reload.ts',
  'snapshot.ts',
  'changes.ts',
  'roll-ups.ts',
]

/** Folders by floor. An import goes to a lower floor or stays in its own folder. */
const FLOORS: readonly (readonly string[])[] = [
  ['core'],
  ['wire', 'http', 'upstream', 'store', 'config', 'observe'],
  ['dialects', 'access', 'ledger', 'catalog'],
  ['suppliers'],
  ['routing'],
  ['pipeline'],
  ['endpoints'],
  TOP,
  ['cli'],
]

const DIALECT_NAMES = new RegExp(
  dialects
    .flatMap(({ id }) => [id, id.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())])
    .join('|'),
  'g',
)

const files = walk(SOURCE)
const product = files.filter((file) => !file.endsWith('.test.ts'))

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name)
    if (statSync(path).isDirectory()) return walk(path)
    return path.endsWith('.ts') ? [path] : []
  })
}

/** The folder of `src` that a file lives in; the files above the folders stand for themselves. */
function folderOf(file: string): string {
  return relative(SOURCE, file).split('/')[0] ?? ''
}

/** Of other files of ours, also those that are loaded only when they are needed. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(/(?:from |import\()'(\.[^']+\.ts)'/g)].map((match) =>
    resolve(dirname(file), match[1]!),
  )
}

function floorOf(folder: string): number {
  return FLOORS.findIndex((floor) => floor.includes(folder))
}

describe('the house', () => {
  it('has a floor for every folder', () => {
    const folders = new Set(files.map(folderOf))
    for (const folder of folders) expect(floorOf(folder), folder).toBeGreaterThanOrEqual(0)
  })

  it('imports downward only', () => {
    for (const file of product) {
      const from = folderOf(file)
      // What stands at the top may import all that is there; the circle below is forbidden to it, too.
      if (TOP.includes(from)) continue
      for (const target of importsOf(file)) {
        const to = folderOf(target)
        const name = `${relative(SOURCE, file)} imports ${relative(SOURCE, target)}`
        if (to !== from) expect(floorOf(to), name).toBeLessThan(floorOf(from))
        if (to !== from) expect(floorOf(to), name).toBeGreaterThanOrEqual(0)
      }
    }
  })

  it('has no circle', () => {
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      const circle = path.indexOf(file)
      const names = [...path.slice(Math.max(0, circle)), file].map((each) => relative(SOURCE, each))
      expect(circle, names.join(' → ')).toBe(-1)
      if (done.has(file)) return
      for (const target of importsOf(file)) visit(target, [...path, file])
      done.add(file)
    }
    for (const file of product) visit(file, [])
  })

  it('lists every dialect folder in the roster', () => {
    const folders = readdirSync(join(SOURCE, 'dialects')).filter((name) => !name.endsWith('.ts'))
    expect(dialects.map(({ id }) => id).toSorted()).toEqual(folders.toSorted())
  })

  it('lists every endpoint file in the roster', () => {
    const roster = readFileSync(join(SOURCE, 'endpoints/index.ts'), 'utf8')
    const entries = ['audit', 'call', 'explain', 'key', 'usage'].map((name) => `${name}-entry.ts`)
    const helpers = [
      'act.ts',
      'body.ts',
      'audit-query.ts',
      'key-query.ts',
      'usage-query.ts',
      'csv.ts',
      'download.ts',
      'page.ts',
      'print.ts',
      'query.ts',
      'resource.ts',
      'supposed-form.ts',
      ...entries,
    ]
    const own = ['endpoint.ts', 'index.ts', ...helpers]
    for (const file of product.filter((each) => folderOf(each) === 'endpoints')) {
      const name = relative(join(SOURCE, 'endpoints'), file)
      if (!own.includes(name.split('/').at(-1)!)) expect(roster, name).toContain(`from './${name}'`)
    }
    expect(endpoints.length).toBeGreaterThan(8)
  })

  it('names no vendor outside the folders that describe vendors', () => {
    // One of the ids is an English word that comments need.
    const ids = compatible.map(({ id }) => id).filter((id) => id !== 'together')
    const vendors = [...ids, 'anthropic', 'claude', 'gpt', 'cohere', 'azure']
    const pattern = new RegExp(`\\b(${vendors.join('|')})`, 'i')
    const homes = ['dialects', 'suppliers', 'catalog']
    for (const file of product) {
      if (homes.includes(folderOf(file))) continue
      // A dialect's own name may be imported and used; that is how an endpoint says what it speaks.
      const text = readFileSync(file, 'utf8').replaceAll(DIALECT_NAMES, '')
      expect(pattern.exec(text)?.[0], relative(SOURCE, file)).toBeUndefined()
    }
  })

  it('reads the environment in config alone', () => {
    for (const file of product) {
      if (folderOf(file) === 'config') continue
      expect(/process\.env|Bun\.env/.test(readFileSync(file, 'utf8')), file).toBe(false)
    }
  })

  it('opens every file with what lives there', () => {
    for (const file of product)
      expect(readFileSync(file, 'utf8').startsWith('// '), file).toBe(true)
  })
})

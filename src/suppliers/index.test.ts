// The roster of kinds: what every row must have, and that the page about suppliers says the same.
import { describe, expect, it } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../catalog/index.ts'
import { checkOrigin } from '../upstream/address.ts'
import { kindIds, kinds as credentialed, nativeKinds } from './index.ts'

const kinds = [...credentialed, ...nativeKinds]

describe('the roster of kinds', () => {
  it('names each kind once', () => {
    expect(new Set(kindIds).size).toBe(kinds.length)
  })

  it('gives each kind a variable that no other one reads', () => {
    const names = kinds.flatMap((kind) => kind.environment)
    expect(new Set(names).size).toBe(names.length)
    for (const kind of credentialed)
      if (kind.isGeneric !== true) expect(kind.environment).not.toBeEmpty()
  })

  it('holds bare public origins, encrypted unless local, and absolute paths', () => {
    for (const kind of kinds) {
      for (const { path } of kind.services)
        expect(path, kind.id).toMatch(/^\/[\w/-]+\/(?:completions|messages|responses)$/)
      const origins = [kind.origin, ...Object.values(kind.regions ?? {})]
      for (const origin of origins.filter((each) => each !== undefined)) {
        const checked = checkOrigin(origin, { allowPrivate: kind.isLocal === true })
        expect(checked, kind.id).toMatchObject({ origin, prefix: '' })
      }
    }
  })

  it('has regions as the file writes them', () => {
    for (const kind of kinds)
      for (const region of Object.keys(kind.regions ?? {})) expect(region).toMatch(/^[A-Z]{2}$/)
  })

  it('has only quirks that can be', () => {
    for (const kind of kinds)
      for (const { dialect, quirks } of kind.services)
        expect(dialect.relay.findFault?.(quirks), kind.id).toBeUndefined()
  })

  it('has a kind for every supplier of a chat model in the catalogue', () => {
    const chat = catalogue.filter((model) => model.kind === 'chat')
    const named = new Set(chat.flatMap((model) => [...model.suppliers.keys()]))
    expect([...named].filter((id) => !kindIds.includes(id))).toEqual([])
  })
})

describe('the page about suppliers', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/suppliers.md'), 'utf8')
  const rows = page.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    return /^`[a-z-]+`$/.test(cells[1] ?? '') ? [cells.slice(1, -1)] : []
  })

  it.each(kinds.map((kind) => [kind.id, kind] as const))('describes %s as it is', (id, kind) => {
    const cells = rows.find(([name]) => name === `\`${id}\``)
    const [, variable = '', origin = '', regions = '', quirks = ''] = cells ?? []
    for (const name of kind.environment) expect(variable).toContain(`\`${name}\``)
    if (kind.origin !== undefined) expect(origin).toContain(`\`${kind.origin}\``)
    for (const region of Object.keys(kind.regions ?? {})) expect(regions).toContain(region)
    const [first] = kind.services
    expect(quirks.includes('always')).toBe(first.quirks.usage === 'always')
    const { drop = [], rename = {}, maxTokensName } = first.quirks
    for (const name of [...drop, ...Object.keys(rename)]) expect(quirks).toContain(`\`${name}\``)
    if (maxTokensName !== undefined) expect(quirks).toContain(`\`${maxTokensName}\``)
  })

  it('describes nothing that does not exist', () => {
    expect(new Set(rows.map(([name]) => name?.replaceAll('`', '')))).toEqual(new Set(kindIds))
    expect(rows).toHaveLength(kinds.length)
  })
})

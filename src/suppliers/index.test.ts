// The roster of kinds: what every row must have, and that the page about suppliers says the same.
import { describe, expect, it } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../catalog/index.ts'
import { checkOrigin } from '../upstream/address.ts'
import { kindIds, kinds as credentialed, nativeKinds } from './index.ts'

const kinds = [...credentialed, ...nativeKinds]
const PATH =
  /^\/[\w/{}-]+\/(?:completions|messages|responses|embeddings|rerank|transcriptions|speech)(?:\?api-version=[\w-]+)?$/

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
      for (const { path } of kind.services) expect(path, kind.id).toMatch(PATH)
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

  it('has a kind for every supplier in the catalogue, and a service for what it has there', () => {
    const missing = catalogue.flatMap(({ id: model, kind: task, suppliers }) =>
      [...suppliers.keys()].flatMap((id) => {
        const services = kinds.find((kind) => kind.id === id)?.services ?? []
        const isOffered = services.some(({ dialect }) => (dialect.task ?? 'chat') === task)
        return isOffered ? [] : `${model} at ${id}`
      }),
    )
    expect(missing).toEqual([])
  })

  it('has chats first where there are any, since quirks of the file hold for what is first', () => {
    for (const { id, services } of kinds) {
      const tasks = services.map(({ dialect }) => dialect.task ?? 'chat')
      if (tasks.includes('chat')) expect(tasks[0], id).toBe('chat')
    }
  })
})

describe('the page about suppliers', () => {
  const page = readFileSync(join(import.meta.dir, '../../docs/suppliers.md'), 'utf8')
  const all = page.split('\n').flatMap((line) => {
    const cells = line.split('|').map((cell) => cell.trim())
    return /^`[a-z-]+`$/.test(cells[1] ?? '') ? [cells.slice(1, -1)] : []
  })
  const rows = all.filter(({ length }) => length === 5)
  const besides = all.filter(({ length }) => length === 6)

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

  it.each(
    kinds.flatMap((kind) =>
      kind.services.some(({ dialect }) => dialect.task !== undefined)
        ? [[kind.id, kind] as const]
        : [],
    ),
  )('says what %s does beside chats', (id, { services }) => {
    const cells = besides.find(([name]) => name === `\`${id}\``)
    const [, embedding = '', inputs = '', rerank = '', transcription = '', speech = ''] =
      cells ?? []
    const said = { embedding, rerank, transcription, speech }
    for (const [task, cell] of Object.entries(said)) {
      const service = services.find(({ dialect }) => dialect.task === task)
      expect(cell !== '', `${id} ${task}`).toBe(service !== undefined)
      // Those of one kind are many, by its version.
      if (service !== undefined && id !== 'azure') expect(cell).toContain(`\`${service.path}\``)
    }
    const most = services.find(({ dialect }) => dialect.task === 'embedding')?.inputsMax
    expect(inputs).toBe(most === undefined ? '' : String(most))
  })

  it('describes nothing that does not exist', () => {
    expect(new Set(rows.map(([name]) => name?.replaceAll('`', '')))).toEqual(new Set(kindIds))
    expect(rows).toHaveLength(kinds.length)
    expect(besides.filter(([name]) => !kindIds.includes(name!.replaceAll('`', '')))).toEqual([])
  })
})

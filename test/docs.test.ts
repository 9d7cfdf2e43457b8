// Generated pages are committed, so that they can be read without running anything. This fails when
// a table changed and its page did not.
import { join } from 'node:path'
import { describe, expect, it } from 'bun:test'
import { parseConfig } from '../src/config/load.ts'
import { describeField, type Field } from '../src/config/outline.ts'
import { ConfigSchema } from '../src/config/schema.ts'
import { PROBLEMS } from '../src/core/problems/index.ts'
import { configReference } from '../tools/config-reference.ts'
import { conversionReference } from '../tools/conversion-reference.ts'
import { errorReference } from '../tools/error-reference.ts'

describe('the error reference', () => {
  it('matches the table; `npm run docs` writes it anew', async () => {
    const page = Bun.file(join(import.meta.dir, '..', 'docs/reference/errors.md'))
    expect((await page.text()).replaceAll('\r\n', '\n') === errorReference()).toBe(true)
  })

  it('has one line for each code', () => {
    const lines = errorReference().split('\n')
    const missing = Object.keys(PROBLEMS).filter(
      (code) => lines.filter((line) => line.startsWith(`| \`${code}\` |`)).length !== 1,
    )
    expect(missing).toEqual([])
  })
})

describe('the conversion reference', () => {
  it('matches what the codecs say of themselves; `npm run docs` writes it anew', async () => {
    const page = Bun.file(join(import.meta.dir, '..', 'docs/reference/conversion.md'))
    expect((await page.text()).replaceAll('\r\n', '\n') === conversionReference()).toBe(true)
  })
})

describe('the configuration reference', () => {
  it('matches the schema; `npm run docs` writes it anew', async () => {
    const page = Bun.file(join(import.meta.dir, '..', 'docs/reference/configuration.md'))
    expect((await page.text()).replaceAll('\r\n', '\n') === configReference()).toBe(true)
  })

  it('says of every field what it means, and of every field what to write', () => {
    const isSilent = ({ shape, hint }: Field): boolean =>
      hint === '' && !['number', 'boolean', 'choice', 'any'].includes(shape)
    const silent = (path: string, field: Field): string[] => [
      ...Object.entries(field.fields).flatMap(([name, schema]) => {
        const below = describeField(schema)
        const own = `${path}.${name}`
        const isBare = below.description === '' || isSilent(below)
        return [...(isBare ? [own] : []), ...silent(own, below)]
      }),
      ...(field.member ? silent(`${path}.*`, describeField(field.member)) : []),
      ...field.forms.flatMap((form) => silent(path, form)),
    ]
    expect(silent('', describeField(ConfigSchema))).toEqual([])
  })
})

describe('the configuration guide', () => {
  it('shows files that work', async () => {
    const page = await Bun.file(join(import.meta.dir, '..', 'docs/configuration.md')).text()
    const files = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = '']) => text)
    expect(files.length).toBeGreaterThan(8)
    // Every variable is set, to something that is fit for a key.
    const environment = new Proxy({}, { get: () => `svc_${'x'.repeat(40)}` })
    for (const text of files) {
      const { warnings } = parseConfig({ file: 'guide.yaml', text }, environment)
      expect(warnings).toEqual([])
    }
  })
})

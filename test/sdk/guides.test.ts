// The programs of the guides for clients run as they stand there, against a gateway that has nothing but the demo.
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT_KEY, startGateway } from '../fakes/gateway.ts'
import { closeStreet, tidy } from '../fakes/street.ts'

const root = join(import.meta.dir, '../..')
const guides = join(root, 'docs/clients')

const PROGRAMS = readdirSync(guides).flatMap((name) => {
  const page = readFileSync(join(guides, name), 'utf8')
  const blocks = [...page.matchAll(/^```ts\n(.*?)^```/gms)].map((match) => match[1]!)
  return blocks.map((program, index): [string, number, string] => [name, index + 1, program])
})

afterEach(closeStreet)

describe('the guides for clients', () => {
  it('have a program for every library', () => {
    expect(new Set(PROGRAMS.map(([name]) => name))).toEqual(
      new Set(['anthropic-sdk.md', 'cohere.md', 'langchain.md', 'vercel-ai.md']),
    )
  })

  it.each(PROGRAMS)('%s: program %i does what it says', async (_name, _index, program) => {
    const { url } = tidy(await startGateway())
    // Where the packages are found.
    const cache = join(root, 'node_modules/.cache')
    mkdirSync(cache, { recursive: true })
    const folder = mkdtempSync(join(cache, 'guide-'))
    tidy({ stop: () => Promise.resolve(rmSync(folder, { recursive: true, force: true })) })
    const file = join(folder, 'program.ts')
    writeFileSync(file, program.replaceAll('http://127.0.0.1:8080', url))
    const child = Bun.spawn([process.execPath, file], {
      env: { PATH: process.env['PATH'] ?? '', KEY: ROOT_KEY },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, errors] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ])
    expect(errors.replaceAll(ROOT_KEY, '…')).toBe('')
    const lines = output.trim().split('\n')
    expect(new Set(lines)).toEqual(new Set(['one two three']))
    expect(await child.exited).toBe(0)
  })
})

// What `npm start` installs: nothing where everything that is pinned is there, wherever npm has put it. npm is a
// stand-in that only tells how it was called.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { createFolder, ROOT, type Folder } from './fakes/process.ts'

const SYSTEM = process.platform === 'win32' ? 'windows' : process.platform
const MACHINE = process.arch === 'arm64' ? 'aarch64' : process.arch
const PLATFORM = `@oven/bun-${SYSTEM}-${MACHINE}`
const PLACEHOLDER = '#!/bin/sh\necho "the install script was not run" >&2\nexit 1\n'

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
  readonly devDependencies: Readonly<Record<string, string>>
}

const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Manifest
const PINNED = manifest.dependencies['bun'] ?? ''

let clone: Folder

/** A clone after an install that has brought the packages and not yet Bun itself. */
beforeEach(() => {
  clone = createFolder()
  write('package.json', readFileSync(join(ROOT, 'package.json'), 'utf8'))
  write('src/main.ts', "console.log('started by', process.execPath)\n")
  write('node_modules/.package-lock.json', '{}')
  mkdirSync(at('tools'))
  copyFileSync(join(ROOT, 'tools/run.mjs'), at('tools/run.mjs'))
  for (const [id, version] of Object.entries(manifest.dependencies))
    addPackage(id, version.split('@').at(-1) ?? '')
  write('node_modules/bun/bin/bun.exe', PLACEHOLDER)
  write('bin/npm', '#!/bin/sh\necho "npm $*" >&2\nexit 1\n')
  chmodSync(at('bin/npm'), 0o755)
})

afterEach(() => clone[Symbol.dispose]())

function at(path: string): string {
  return join(clone.path, path)
}

function write(path: string, text: string): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), text)
}

function addPackage(id: string, version: string): void {
  write(`node_modules/${id}/package.json`, JSON.stringify({ name: id, version }))
}

function addProgram(path: string): void {
  rmSync(at(path), { force: true })
  mkdirSync(dirname(at(path)), { recursive: true })
  symlinkSync(process.execPath, at(path))
}

async function start(): Promise<{ readonly out: string; readonly err: string }> {
  const child = Bun.spawn(['node', at('tools/run.mjs'), 'start'], {
    cwd: clone.path,
    env: { PATH: `${at('bin')}:${process.env['PATH'] ?? ''}` },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { out, err }
}

describe.if(process.platform !== 'win32')('a start', () => {
  it('takes Bun from the package of the platform', async () => {
    addPackage(PLATFORM, PINNED)
    addProgram(`node_modules/${PLATFORM}/bin/bun`)
    expect(await start()).toEqual({ out: expect.stringContaining('started by'), err: '' })
  })

  it('takes Bun from where its install script has moved it', async () => {
    addPackage(PLATFORM, PINNED)
    addProgram('node_modules/bun/bin/bun.exe')
    expect(await start()).toEqual({ out: expect.stringContaining('started by'), err: '' })
  })

  it('installs where only the placeholder is there', async () => {
    addPackage(PLATFORM, PINNED)
    const { out, err } = await start()
    expect(out).toBe('')
    expect(err).toMatch(/npm ci .*--omit=dev/)
  })

  it('installs where Bun is of another version', async () => {
    addPackage(PLATFORM, '0.0.1')
    addProgram(`node_modules/${PLATFORM}/bin/bun`)
    expect((await start()).err).toContain('npm ci ')
  })

  it('leaves the tools of a developer where they are', async () => {
    const [[tool, version] = ['', '']] = Object.entries(manifest.devDependencies)
    addPackage(tool, version)
    expect((await start()).err).toMatch(/npm ci .*--include=dev/)
  })
})

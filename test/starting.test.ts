// Starts that go wrong cost nothing, and a gateway that npm has started ends with npm.
import { afterEach, describe, expect, it } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createFolder, ROOT, runProcess, startProcess, type Folder } from './fakes/process.ts'
import { closeStreet, good, tidy, until } from './fakes/street.ts'
import { startFakeSupplier } from './fakes/supplier.ts'

afterEach(closeStreet)

describe('a first start', () => {
  it('that finds its port taken leaves the root key to the next one', async () => {
    using folder = createFolder()
    const other = tidy(await startFakeSupplier(good))
    const { port } = new URL(other.origin)
    const { code, output, errors } = await runProcess(folder, { PORT: port, HOST: '127.0.0.1' })
    expect(errors).toContain('set PORT and HOST to another place')
    expect(code).toBe(1)
    expect(output).toBe('')
    await using second = await startProcess(folder)
    expect(second.key).toMatch(/^svc_/)
    const models = await fetch(`${second.url}/v1/models`, {
      headers: { authorization: `Bearer ${second.key}` },
    })
    expect(models.status).toBe(200)
  })
})

describe('a start at an address that the machine does not have', () => {
  it('says so', async () => {
    using folder = createFolder()
    const { code, errors } = await runProcess(folder, { HOST: '192.0.2.1' })
    expect(errors).toContain('This machine has no such address')
    expect(code).toBe(1)
  })
})

/** The process that serves, however many others stand between it and this one. */
function readPid({ path }: Folder): number {
  const run = JSON.parse(readFileSync(join(path, 'data', 'run.json'), 'utf8')) as { pid: number }
  return run.pid
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    // Nobody has this number any more.
    return false
  }
}

async function untilDraining(url: string): Promise<number> {
  for (;;) {
    const { status } = await fetch(`${url}/health`)
    if (status !== 200) return status
  }
}

describe('a gateway that npm has started', () => {
  it('ends when npm is told to end', async () => {
    const folder = createFolder()
    tidy({ stop: async () => folder[Symbol.dispose]() })
    // Npm runs in the checkout, where a developer's own configuration may stand.
    const config = join(folder.path, 'empty.yaml')
    writeFileSync(config, '')
    const variables = { HOME: folder.path, GATEWAY_CONFIG: config }
    await using npm = await startProcess(folder, variables, ['npm', '--prefix', ROOT, 'start'])
    const pid = readPid(folder)
    expect(pid).not.toBe(npm.pid)
    tidy({
      async stop() {
        if (isAlive(pid)) process.kill(pid, 'SIGKILL')
      },
    })
    npm.kill('SIGTERM')
    await npm.exited
    expect(await untilDraining(npm.url)).toBe(503)
    // It was told to end and announces it; a second word spares us the wait.
    process.kill(pid, 'SIGTERM')
    await until(() => !isAlive(pid))
    const late = await fetch(`${npm.url}/health`).catch((thrown: unknown) => thrown)
    expect(late).toBeInstanceOf(Error)
  }, 10_000)
})

// The benchmark as a process: however it is stopped, nothing of it stays behind.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const isLinux = process.platform === 'linux'
let folder: string
let child: Bun.Subprocess | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'bench-test-'))
})
afterEach(() => {
  child?.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

describe('the benchmark', () => {
  it.if(isLinux)('cleans up after Ctrl-C, however often that arrives', async () => {
    const file = join(import.meta.dir, '../bench/index.ts')
    const run = Bun.spawn([process.execPath, file, '--only', 'cold-start'], {
      stdout: 'ignore',
      stderr: 'pipe',
      env: { ...process.env, TMPDIR: folder },
    })
    child = run
    // The first scenario is named when supplier and candidates run.
    for await (const chunk of run.stderr) if (chunk.length > 0) break
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^gateway-bench-/)])
    while (run.exitCode === null && run.signalCode === null) {
      run.kill('SIGINT')
      // oxlint-disable-next-line no-await-in-loop -- again and again until it has ended
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(readdirSync(folder)).toEqual([])
  })
})

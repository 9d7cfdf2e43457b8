// Installs the programs that the suite drives as their users do. They are large, so that nobody gets them unasked:
// pinned by a lock file of their own, without install scripts, and beside everything else in node_modules.
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENTS_FOLDER, findClaudeCode } from '../test/sdk/claude-code.ts'
import { findCodex } from '../test/sdk/codex.ts'

const from = join(import.meta.dir, 'clients')

function install(): number {
  mkdirSync(CLIENTS_FOLDER, { recursive: true })
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(from, name), join(CLIENTS_FOLDER, name))
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const isWindows = process.platform === 'win32'
  const { exitCode } = Bun.spawnSync([isWindows ? 'npm.cmd' : 'npm', ...flags], {
    cwd: CLIENTS_FOLDER,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  return exitCode
}

function isComplete(): boolean {
  return [findClaudeCode(), findCodex()].every((program) => program !== undefined)
}

if (!isComplete()) {
  console.log('Installing the programs that the suite drives (once) …')
  if (install() !== 0 || !isComplete()) {
    console.error('error: they could not be installed (see above)')
    process.exit(1)
  }
}

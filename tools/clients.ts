// Installs the programs and libraries that the suite drives as their users do. They are large, so that nobody gets them
// unasked: pinned by lock files of their own, without install scripts, and beside everything else in node_modules.
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENTS_FOLDER, findClaudeCode } from '../test/sdk/claude-code.ts'
import { findCodex } from '../test/sdk/codex.ts'
import { findPython, INSTALLED, PYTHON_FOLDER, REQUIREMENTS } from '../test/sdk/python.ts'

const from = join(import.meta.dir, 'clients')
const isWindows = process.platform === 'win32'

interface Part {
  readonly name: string
  isComplete(): boolean
  install(): void
}

const PARTS: readonly Part[] = [
  { name: 'the programs', isComplete: hasPrograms, install: installPrograms },
  {
    name: 'the libraries for Python (3.11 or newer, with venv)',
    isComplete: () => findPython() !== undefined,
    install: installPython,
  },
]

function hasPrograms(): boolean {
  return [findClaudeCode(), findCodex()].every((program) => program !== undefined)
}

function installPrograms(): void {
  mkdirSync(CLIENTS_FOLDER, { recursive: true })
  for (const name of ['package.json', 'package-lock.json'])
    copyFileSync(join(from, name), join(CLIENTS_FOLDER, name))
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  run([isWindows ? 'npm.cmd' : 'npm', ...flags], CLIENTS_FOLDER)
}

/** Wheels alone, of which nothing is run to install them. */
function installPython(): void {
  rmSync(PYTHON_FOLDER, { recursive: true, force: true })
  const isMade = run([isWindows ? 'python' : 'python3', '-m', 'venv', PYTHON_FOLDER], from)
  if (!isMade) return
  const python = isWindows ? ['Scripts', 'python.exe'] : ['bin', 'python']
  const flags = ['--quiet', '--no-input', '--disable-pip-version-check', '--no-deps']
  const only = ['--only-binary', ':all:', '--require-hashes', '-r', REQUIREMENTS]
  const program = join(PYTHON_FOLDER, ...python)
  if (run([program, '-m', 'pip', 'install', ...flags, ...only], from))
    copyFileSync(REQUIREMENTS, INSTALLED)
}

function run(command: readonly string[], cwd: string): boolean {
  try {
    const stdio = ['ignore', 'inherit', 'inherit'] as const
    return Bun.spawnSync([...command], { cwd, stdio: [...stdio] }).exitCode === 0
  } catch (thrown) {
    // Nothing of that name is installed.
    console.error(thrown instanceof Error ? thrown.message : String(thrown))
    return false
  }
}

for (const part of PARTS) {
  if (part.isComplete()) continue
  console.log(`Installing ${part.name} that the suite drives (once) …`)
  part.install()
  if (part.isComplete()) continue
  console.error(`error: ${part.name} could not be installed (see above)`)
  process.exitCode = 1
}

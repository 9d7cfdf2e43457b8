// The door for every npm script: brings the machine to the state that the lock file names, then runs
// the command under Bun. Plain Node without a dependency, because it runs before anything is installed.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { devNull } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

// Until Bun's install script has run, a few lines of shell that tell so stand in the place of the program.
const PLACEHOLDER_BYTES_MAX = 1_000_000

const COMMANDS = {
  start: {
    needs: ['dependencies'],
    steps: [['bun', join(root, 'src/main.ts'), 'start']],
    isHere: true,
  },
  // Runs where the person is, which may be anybody's folder: no settings and no code are taken from there.
  gateway: {
    needs: ['dependencies'],
    steps: [['bun', '--no-env-file', `--config=${devNull}`, join(root, 'src/main.ts')]],
    isHere: true,
  },
  test: { needs: ['dependencies', 'devDependencies'], steps: [['bun', 'tools/test.ts']] },
  check: {
    needs: ['dependencies', 'devDependencies'],
    steps: [
      ['typescript', 'tsc', '--noEmit'],
      ['oxlint', 'oxlint', '--type-aware', '--deny-warnings'],
      ['oxfmt', 'oxfmt', '--check'],
      ['bun', 'tools/test.ts'],
    ],
  },
  bench: { needs: ['dependencies'], steps: [['bun', 'bench/index.ts']] },
  'bench:plan': { needs: ['dependencies'], steps: [['bun', 'bench/plan.ts']] },
  clients: { needs: ['dependencies', 'devDependencies'], steps: [['bun', 'tools/clients.ts']] },
  docs: { needs: ['dependencies', 'devDependencies'], steps: [['bun', 'tools/docs.ts']] },
  format: { needs: ['dependencies', 'devDependencies'], steps: [['oxfmt', 'oxfmt']] },
}

const [name = 'start', ...rest] = process.argv.slice(2)
const command = COMMANDS[name]
if (!command) fail(`unknown command ${name}; one of: ${Object.keys(COMMANDS).join(', ')}`)
install(command.needs)
for (const [index, step] of command.steps.entries()) {
  const last = index === command.steps.length - 1
  const code = await run(step, last ? rest : [])
  if (code !== 0) process.exit(code)
}

/** Installs only when a pinned package is missing or of another version, so a warm start costs nothing. */
function install(groups) {
  const wanted = groups.flatMap((group) => Object.entries(manifest[group] ?? {}))
  // npm writes this file last: without it an install was cut off half-way.
  const isWhole = existsSync(join(root, 'node_modules', '.package-lock.json'))
  const isPinned = ([id, version]) => installedVersion(id) === version.split('@').at(-1)
  if (isWhole && wanted.every(isPinned) && findBun()) return
  console.error('Installing pinned packages (once) …')
  // Install scripts stay off: nothing here needs one, and they are how poisoned packages run.
  const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  // Said in both cases: an environment for production would leave the tests without their tools. What a
  // developer has is not taken away by a start.
  const hasTools = Object.keys(manifest.devDependencies).some((id) => installedVersion(id))
  const isDeveloper = groups.includes('devDependencies') || hasTools
  flags.push(isDeveloper ? '--include=dev' : '--omit=dev')
  const windows = process.platform === 'win32'
  const done = spawnSync(windows ? 'npm.cmd' : 'npm', flags, {
    cwd: root,
    // Standard output belongs to the command, whose answer may be a key or JSON.
    stdio: ['ignore', 2, 'inherit'],
    shell: windows,
  })
  if (done.status !== 0) fail('npm could not install the packages of package-lock.json (see above)')
  if (!findBun()) fail(`Bun has no build for ${process.platform} ${process.arch}`)
}

function installedVersion(id) {
  try {
    return JSON.parse(readFileSync(join(root, 'node_modules', id, 'package.json'), 'utf8')).version
  } catch {
    // Missing or cut off: either way it has to be installed.
    return undefined
  }
}

/**
 * The binary: inside the platform package, or where Bun's own install script, which a plain `npm ci` runs, has
 * moved it. Both are of the version that the package beside them says.
 */
function findBun() {
  const version = manifest.dependencies.bun
  const system = { win32: 'windows' }[process.platform] ?? process.platform
  const machine = { arm64: 'aarch64' }[process.arch] ?? process.arch
  const platforms = namesIn('@oven')
    .filter((name) => name.startsWith(`bun-${system}-${machine}`))
    .map((name) => `@oven/${name}`)
  return ['bun', ...platforms]
    .filter((id) => installedVersion(id) === version)
    .flatMap((id) => ['bun', 'bun.exe'].map((file) => join(root, 'node_modules', id, 'bin', file)))
    .find(isProgram)
}

function namesIn(scope) {
  const folder = join(root, 'node_modules', scope)
  return existsSync(folder) ? readdirSync(folder) : []
}

function isProgram(path) {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.size > PLACEHOLDER_BYTES_MAX
}

function binary(id, script) {
  const require = createRequire(join(root, 'package.json'))
  const file = require.resolve(`${id}/package.json`)
  const { bin } = JSON.parse(readFileSync(file, 'utf8'))
  return join(dirname(file), typeof bin === 'string' ? bin : bin[script])
}

function run([tool, ...words], rest) {
  const line =
    tool === 'bun'
      ? [findBun(), ...words, ...rest]
      : [process.execPath, binary(tool, words[0]), ...words.slice(1), ...rest]
  const cwd = command.isHere ? process.cwd() : root
  const child = spawn(line[0], line.slice(1), { cwd, stdio: 'inherit' })
  // Ctrl-C at a terminal reaches the child by itself; a signal sent to this process alone is handed on.
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGINT'])
    process.on(signal, () => {
      if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
    })
  // npm and its shell die of a signal without handing it on; what they leave behind must end, too.
  const parent = process.ppid
  const watch = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(watch)
    child.kill('SIGTERM')
  }, 500)
  watch.unref()
  return new Promise((resolve) => {
    child.on('exit', (code, signal) => resolve(signal ? 1 : code))
    child.on('error', (error) => fail(error.message))
  })
}

function fail(message) {
  console.error(`error: ${message}`)
  process.exit(1)
}

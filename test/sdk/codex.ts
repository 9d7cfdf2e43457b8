// Codex as its users run it, with a home of its own: nothing of the person's is read, nothing is told to anyone, and
// every way out but to this machine is closed.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CLIENTS_FOLDER, type Folders, type Run } from './claude-code.ts'

const root = join(import.meta.dir, '../..')

function readJson(path: string): unknown {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** The program, if the version that is wanted is installed for this machine. */
export function findCodex(): string | undefined {
  const manifest = readJson(join(root, 'tools/clients/package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const system = `${process.platform}-${process.arch}`
  const folder = join(CLIENTS_FOLDER, `node_modules/@openai/codex-${system}`)
  const { version } = readJson(join(folder, 'package.json')) as { readonly version?: string }
  // Builds for all systems are versions of one package.
  if (version !== `${manifest.dependencies['@openai/codex']}-${system}`) return undefined
  const file = process.platform === 'win32' ? 'codex.exe' : 'codex'
  return readdirSync(join(folder, 'vendor'))
    .map((target) => join(folder, 'vendor', target, 'bin', file))
    .find((path) => existsSync(path))
}

export interface Settings {
  readonly url: string
  readonly key: string
  readonly model: string
  /** Further lines of its file of settings, before those that are made here. */
  readonly settings?: readonly string[]
  /** Words of the command line before the prompt. */
  readonly words?: readonly string[]
  /** Puts files where it will find them. */
  readonly prepare?: (folders: Folders) => void
}

/** A port at which nobody can be: whoever looks for the world outside finds nothing. */
const NOWHERE = 'http://127.0.0.1:9'
/** So long it may take; one that hangs is ended. */
const LIMIT_MS = 55_000

/** What the guide tells people to write, and that nothing is told to anyone. */
function settingsOf({ url, model, settings = [] }: Settings): string {
  return [
    `model = "${model}"`,
    'model_provider = "gateway"',
    'check_for_update_on_startup = false',
    ...settings,
    '[analytics]',
    'enabled = false',
    '[feedback]',
    'enabled = false',
    '[history]',
    'persistence = "none"',
    '[model_providers.gateway]',
    'name = "gateway"',
    `base_url = "${url}/v1/native"`,
    'wire_api = "responses"',
    'env_key = "GATEWAY_KEY"',
    '',
  ].join('\n')
}

/** Runs it once, with a prompt, in a folder that is gone afterwards. The output is its last message alone. */
export async function runCodex(program: string, prompt: string, settings: Settings): Promise<Run> {
  const place = mkdtempSync(join(tmpdir(), 'gateway-codex-'))
  const folders = { home: join(place, 'home'), work: join(place, 'work') }
  for (const folder of Object.values(folders)) mkdirSync(folder)
  try {
    writeFileSync(join(folders.home, 'config.toml'), settingsOf(settings))
    settings.prepare?.(folders)
    // What it runs is what the scripted supplier told it to, so that a cage would only be in the way.
    const flags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox']
    const words = [program, 'exec', ...flags, ...(settings.words ?? []), prompt]
    const child = Bun.spawn(words, {
      cwd: folders.work,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      timeout: LIMIT_MS,
      env: {
        HOME: folders.home,
        USERPROFILE: folders.home,
        CODEX_HOME: folders.home,
        PATH: process.env['PATH'] ?? '',
        GATEWAY_KEY: settings.key,
        HTTP_PROXY: NOWHERE,
        HTTPS_PROXY: NOWHERE,
        NO_PROXY: '127.0.0.1',
      },
    })
    const [output, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    return { output: output.trim(), errors, code }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

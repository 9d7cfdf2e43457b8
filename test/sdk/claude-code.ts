// Claude Code as its users run it, with a home of its own: nothing of the person's is read, nothing is told to anyone,
// and every way out but to this machine is closed.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dir, '../..')

export const CLIENTS_FOLDER = join(root, 'node_modules/.cache/clients')

function readJson(path: string): unknown {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {}
}

/** The program, if the version that is wanted is installed for this machine. */
export function findClaudeCode(): string | undefined {
  const manifest = readJson(join(root, 'tools/clients/package.json')) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  const wanted = manifest.dependencies['@anthropic-ai/claude-code']
  const system = `${process.platform}-${process.arch}`
  const file = process.platform === 'win32' ? 'claude.exe' : 'claude'
  return [system, `${system}-musl`]
    .map((name) => join(CLIENTS_FOLDER, `node_modules/@anthropic-ai/claude-code-${name}`))
    .filter((folder) => {
      const { version } = readJson(join(folder, 'package.json')) as { readonly version?: string }
      return version === wanted
    })
    .map((folder) => join(folder, file))
    .find((path) => existsSync(path))
}

export interface Run {
  readonly output: string
  readonly errors: string
  readonly code: number
}

/** A port at which nobody can be: whoever looks for the world outside finds nothing. */
const NOWHERE = 'http://127.0.0.1:9'

export interface Settings {
  readonly url: string
  readonly key: string
  /** Words of the command line behind the prompt. */
  readonly words: readonly string[]
  /** What else it finds in its environment; empty where it is to find nothing. */
  readonly environment?: Readonly<Record<string, string>>
  /** Puts files where it will find them. */
  readonly prepare?: (folders: Folders) => void
  /** Looks at what it has left behind. */
  readonly inspect?: (folders: Folders) => void
}

export interface Folders {
  readonly home: string
  /** Where it works. */
  readonly work: string
}

/** Runs it once, with a prompt, in a folder that is gone afterwards. */
export async function runClaude(
  program: string,
  prompt: string,
  { url, key, words, environment, prepare, inspect }: Settings,
): Promise<Run> {
  const place = mkdtempSync(join(tmpdir(), 'gateway-claude-'))
  const folders = { home: join(place, 'home'), work: join(place, 'work') }
  for (const folder of Object.values(folders)) mkdirSync(folder)
  try {
    prepare?.(folders)
    const child = Bun.spawn([program, '-p', prompt, ...words], {
      cwd: folders.work,
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      env: {
        HOME: folders.home,
        USERPROFILE: folders.home,
        PATH: process.env['PATH'] ?? '',
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_AUTH_TOKEN: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
        DISABLE_ERROR_REPORTING: '1',
        DISABLE_TELEMETRY: '1',
        HTTP_PROXY: NOWHERE,
        HTTPS_PROXY: NOWHERE,
        NO_PROXY: '127.0.0.1',
        ...environment,
      },
    })
    const [output, errors, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ])
    inspect?.(folders)
    return { output: output.trim(), errors, code }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

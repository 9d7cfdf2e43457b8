// The gateway as its own process, with nothing of this one's environment but the path.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

export const ROOT = resolve(import.meta.dir, '../..')
const DIRECT = [process.execPath, join(ROOT, 'src/main.ts')]
/** As people start it. */
export const BY_NPM = ['node', join(ROOT, 'tools/run.mjs'), 'start']

export interface Folder extends Disposable {
  readonly path: string
}

export function createFolder(): Folder {
  const path = mkdtempSync(join(tmpdir(), 'gateway-process-'))
  return {
    path,
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}

export interface GatewayProcess extends AsyncDisposable {
  readonly url: string
  readonly pid: number
  /** What it told the person in front of it. */
  readonly welcome: string
  /** The root key, if it showed one. */
  readonly key: string | undefined
  kill(signal: NodeJS.Signals): void
  readonly exited: Promise<number>
}

type Variables = Readonly<Record<string, string>>

function launch(folder: Folder, variables: Variables, command: readonly string[]) {
  return Bun.spawn([...command], {
    // Not the checkout, where a developer's own configuration may stand.
    cwd: folder.path,
    env: {
      PATH: process.env['PATH'] ?? '',
      PORT: '0',
      GATEWAY_DATA: join(folder.path, 'data'),
      ...variables,
    },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
}

/** Resolves when it has said how to use it. */
export async function startProcess(
  folder: Folder,
  variables: Variables = {},
  command: readonly string[] = DIRECT,
): Promise<GatewayProcess> {
  const child = launch(folder, variables, command)
  const errors = new Response(child.stderr).text()
  let welcome = ''
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    welcome += text
    if (welcome.endsWith('\n\n') && welcome.includes('curl')) break
  }
  const url = /on (http:\S+)/.exec(welcome)?.[1]
  if (url === undefined) throw new Error(`it did not start: ${await errors}`)
  return {
    url,
    pid: child.pid,
    welcome,
    key: /Root key +(svc_\S+)/.exec(welcome)?.[1],
    kill: (signal) => child.kill(signal),
    exited: child.exited,
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM')
      child.kill('SIGINT')
      await Promise.race([child.exited, Bun.sleep(3000)])
      child.kill('SIGKILL')
      await child.exited
    },
  }
}

/** For a start that is expected to fail. */
export async function runProcess(
  folder: Folder,
  variables: Variables,
): Promise<{ readonly code: number; readonly output: string; readonly errors: string }> {
  const child = launch(folder, variables, DIRECT)
  const [code, output, errors] = await Promise.all([
    child.exited,
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ])
  return { code, output, errors }
}

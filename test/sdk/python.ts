// The official libraries for Python, driven by a small program of ours in a Python of their own, which stands beside the
// packages: a line of JSON in, a line of JSON out.
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CLIENTS_FOLDER } from './claude-code.ts'

const root = join(import.meta.dir, '../..')

/** Pinned, each by its hash. */
export const REQUIREMENTS = join(root, 'tools/clients/requirements.txt')
export const PYTHON_FOLDER = join(CLIENTS_FOLDER, '../clients-python')
/** What is installed there, as it was wanted; written last. */
export const INSTALLED = join(PYTHON_FOLDER, 'installed.txt')

/** The Python that has what is wanted, if there is one. */
export function findPython(): string | undefined {
  const names = process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']
  const python = join(PYTHON_FOLDER, ...names)
  if (!existsSync(python) || !existsSync(INSTALLED)) return undefined
  const isWanted = readFileSync(INSTALLED, 'utf8') === readFileSync(REQUIREMENTS, 'utf8')
  return isWanted ? python : undefined
}

export interface Snake {
  /** Has it do one thing, and tells what came of it. */
  run(work: string, words: Readonly<Record<string, unknown>>): Promise<unknown>
  stop(): Promise<void>
}

/** A process for many things, since it takes a second to start. */
export function startPython(python: string): Snake {
  const child = Bun.spawn([python, '-I', join(import.meta.dir, 'drive.py')], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { PATH: process.env['PATH'] ?? '', NO_PROXY: '*' },
  })
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  const readLine = async (): Promise<string> => {
    while (!text.includes('\n')) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { done, value } = await reader.read()
      if (done) throw new Error('Python has ended')
      text += value
    }
    const end = text.indexOf('\n')
    const line = text.slice(0, end)
    text = text.slice(end + 1)
    return line
  }
  return {
    async run(work, words) {
      await child.stdin.write(`${JSON.stringify({ work, ...words })}\n`)
      await child.stdin.flush()
      return JSON.parse(await readLine()) as unknown
    },
    async stop() {
      // It may still wait for an answer that nobody has got.
      child.kill()
      await child.exited
    },
  }
}

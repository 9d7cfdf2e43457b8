// The terminal that this process was started at. A typed key is never shown, and a reader that has gone
// is no error.
import { processEnvironment } from '../config/process.ts'
import { CliFailure } from './failure.ts'
import type { Input, Terminal } from './terminal.ts'

const WIDTH_DEFAULT = 80

/** Touches a stream when it is needed: all of them together take as long as a start may not. */
export function openTerminal(): Terminal {
  return {
    stdout: (text) => void openOutput('stdout').write(text),
    stderr: (text) => void openOutput('stderr').write(text),
    stdin: new ProcessInput(),
    environment: processEnvironment(),
    isTerminal: {
      get stdin() {
        return process.stdin.isTTY
      },
      get stdout() {
        return process.stdout.isTTY
      },
      get stderr() {
        return process.stderr.isTTY
      },
    },
    get columns() {
      return process.stdout.columns || process.stderr.columns || WIDTH_DEFAULT
    },
  }
}

const opened = new Set<string>()

/** `gateway calls | head` closes the pipe on purpose. */
function openOutput(name: 'stdout' | 'stderr'): NodeJS.WriteStream {
  if (!opened.has(name)) process[name].on('error', () => {})
  opened.add(name)
  return process[name]
}

class ProcessInput implements Input {
  #rest = ''
  readonly #decoder = new TextDecoder()
  #chunks: AsyncIterator<Uint8Array> | undefined

  async line(): Promise<string | undefined> {
    while (!this.#rest.includes('\n')) {
      // oxlint-disable-next-line no-await-in-loop -- a line may come in pieces
      const more = await this.#read()
      if (more === undefined) return this.#take(this.#rest.length) || undefined
      this.#rest += more
    }
    return this.#take(this.#rest.indexOf('\n') + 1).replace(/\r?\n$/, '')
  }

  async hidden(): Promise<string | undefined> {
    process.stdin.setRawMode(true)
    try {
      return await this.#typed()
    } finally {
      process.stdin.setRawMode(false)
    }
  }

  async all(): Promise<string> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- until its end
      const more = await this.#read()
      if (more === undefined) return this.#take(this.#rest.length)
      this.#rest += more
    }
  }

  async close(): Promise<void> {
    await this.#chunks?.return?.()
  }

  /** In raw mode the terminal edits nothing, so the usual keys are minded here. */
  async #typed(): Promise<string | undefined> {
    let text = ''
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- key by key
      const keys = this.#take(this.#rest.length) || (await this.#read())
      if (keys === undefined) return text || undefined
      const [line = '', ...others] = keys.split(/[\r\n]/)
      for (const key of line) text = edit(text, key)
      if (others.length === 0) continue
      this.#rest = others.join('\n')
      return text
    }
  }

  #take(length: number): string {
    const taken = this.#rest.slice(0, length)
    this.#rest = this.#rest.slice(length)
    return taken
  }

  async #read(): Promise<string | undefined> {
    this.#chunks ??= Bun.stdin.stream()[Symbol.asyncIterator]()
    const { done, value } = await this.#chunks.next()
    return done === true ? undefined : this.#decoder.decode(value, { stream: true })
  }
}

const INTERRUPT = '\x03'
const END = '\x04'
const ERASE = ['\x7f', '\b']
const ERASE_ALL = '\x15'

function edit(text: string, key: string): string {
  if (key === INTERRUPT || key === END) throw new CliFailure('interrupted', 'Interrupted.')
  if (ERASE.includes(key)) return text.slice(0, -1)
  return key === ERASE_ALL ? '' : text + key
}

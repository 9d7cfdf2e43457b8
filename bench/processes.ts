// Every process of a run, and its scratch folder. Whatever is started here is ended here, by its id,
// however the run ends.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Launch {
  readonly name: string
  readonly command: readonly string[]
  /** The whole environment; without it, this process's own. */
  readonly environment?: Readonly<Record<string, string>>
  /** Where it will be reached, for a program that does not print its address. */
  readonly url?: string
  /** Gives it a terminal, because some programs behave otherwise without one. */
  readonly hasTerminal?: boolean
}

export interface Running {
  readonly name: string
  readonly pid: number
  readonly url: string
  /** Throws with the last of what it said when it has ended by itself. */
  assertRuns(): void
  /** Asks it to end, and makes it end when it does not. */
  stop(): Promise<void>
}

export interface Finished {
  readonly code: number
  readonly output: string
}

const START_MS = 20_000
const STOP_MS = 5_000
const TAIL_LENGTH = 16_384
const ADDRESS = /(http:\/\/127\.0\.0\.1:\d+)\D/

export class Processes {
  readonly folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  readonly #children = new Set<Child>()
  #isClosed = false

  /** Resolves when it can be reached. */
  async start(launch: Launch): Promise<Running> {
    const child = this.#spawn(launch)
    const url = await Promise.race([
      launch.url === undefined ? child.said(ADDRESS) : answers(launch.url),
      child.exited.then((code) => fail(`${launch.name} ended with ${code}: ${child.output()}`)),
      Bun.sleep(START_MS).then(() => fail(`${launch.name} did not start: ${child.output()}`)),
    ])
    const { name } = launch
    return {
      name,
      pid: child.pid,
      url,
      assertRuns: () => {
        if (child.hasEnded()) fail(`${name} has ended: ${child.output()}`)
      },
      stop: () => child.stop(),
    }
  }

  /** Runs it to its end, which must come in time. */
  async run(launch: Launch, limitMs: number): Promise<Finished> {
    const child = this.#spawn(launch)
    const timer = setTimeout(() => child.kill('SIGKILL'), limitMs)
    const code = await child.finished()
    clearTimeout(timer)
    return { code, output: child.output() }
  }

  /** A folder of its own for whoever needs one. */
  createFolder(name: string): string {
    return mkdtempSync(join(this.folder, `${name}-`))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    for (const child of this.#children) child.kill('SIGKILL')
    await Promise.all([...this.#children].map((child) => child.exited))
    rmSync(this.folder, { recursive: true, force: true })
  }

  #spawn(launch: Launch): Child {
    if (this.#isClosed) throw new Error('the run is over')
    const child = new Child(launch, this.folder)
    this.#children.add(child)
    void child.exited.then(() => this.#children.delete(child))
    return child
  }
}

class Child {
  readonly exited: Promise<number>
  readonly #process: Bun.Subprocess
  readonly #reads: Promise<unknown>
  readonly #decoder = new TextDecoder()
  #tail = ''
  #heard = (): void => {}

  constructor({ command, environment, hasTerminal }: Launch, folder: string) {
    const common = { cwd: folder, ...(environment === undefined ? {} : { env: environment }) }
    if (hasTerminal) {
      this.#process = Bun.spawn([...command], {
        ...common,
        terminal: { cols: 200, rows: 50, data: (_, chunk) => this.#hear(chunk) },
      })
      this.#reads = Promise.resolve()
    } else {
      const child = Bun.spawn([...command], {
        ...common,
        stdin: 'ignore',
        stdout: 'pipe',
        stderr: 'pipe',
      })
      this.#process = child
      this.#reads = Promise.all([this.#read(child.stdout), this.#read(child.stderr)])
    }
    this.exited = this.#process.exited
    void this.exited.then(() => this.#process.terminal?.close())
  }

  get pid(): number {
    return this.#process.pid
  }

  output(): string {
    return this.#tail
  }

  hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  /** The first capture of the pattern in what it says. */
  said(pattern: RegExp): Promise<string> {
    return new Promise((resolve) => {
      this.#heard = () => {
        const found = pattern.exec(this.#tail)?.[1]
        if (found !== undefined) resolve(found)
      }
      this.#heard()
    })
  }

  async finished(): Promise<number> {
    const code = await this.exited
    await this.#reads
    return code
  }

  async stop(): Promise<void> {
    this.kill('SIGINT')
    const timer = setTimeout(() => this.kill('SIGKILL'), STOP_MS)
    await this.exited
    clearTimeout(timer)
  }

  kill(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async #read(stream: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of stream) this.#hear(chunk)
  }

  #hear(chunk: Uint8Array): void {
    this.#tail = (this.#tail + this.#decoder.decode(chunk, { stream: true })).slice(-TAIL_LENGTH)
    this.#heard()
  }
}

/** Resolves with the address once anything answers there. */
async function answers(url: string): Promise<string> {
  const deadline = performance.now() + START_MS
  while (performance.now() < deadline) {
    try {
      await fetch(url)
      return url
    } catch {
      // Not yet; a program that never comes up runs into the limit.
      await Bun.sleep(50)
    }
  }
  return fail(`nothing answers at ${url}`)
}

/** A port that nobody uses, for programs that cannot pick one themselves. */
export function findFreePort(): number {
  const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

function fail(text: string): never {
  throw new Error(text)
}

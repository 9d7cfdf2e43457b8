// A gateway in a process of its own that may be killed at any moment, also while it starts.
import { join } from 'node:path'
import { ROOT, type Folder } from '../fakes/process.ts'

export interface Victim {
  /** Its address, once it says that it runs; undefined when it ended before. */
  readonly ready: Promise<string | undefined>
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): void
  /** What it had to say for itself. */
  readonly errors: Promise<string>
}

export function launchVictim(folder: Folder, variables: Readonly<Record<string, string>>): Victim {
  const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts')], {
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
  return {
    ready: addressIn(child.stdout),
    exited: child.exited,
    kill: (signal) => child.kill(signal),
    errors: new Response(child.stderr).text(),
  }
}

/** Reads on to the end, since nobody else would: a full pipe stops whoever writes into it. */
function addressIn(output: ReadableStream<Uint8Array>): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    let text = ''
    for await (const piece of output) {
      text = (text + decoder.decode(piece, { stream: true })).slice(-4096)
      const found = /on (http:\S+)/.exec(text)?.[1]
      if (found !== undefined) resolve(found)
    }
    resolve(undefined)
  }
  void read()
  return promise
}

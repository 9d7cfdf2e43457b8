// One JSON line for every request, to standard error. Lines hold names and figures, never a secret, a
// query string or content; they are collected and written together so that logging costs no call of its own.

export interface Log {
  request(line: RequestLine): void
  /** Something an operator should know. */
  note(
    level: 'info' | 'warn' | 'error',
    text: string,
    fields?: Readonly<Record<string, unknown>>,
  ): void
  flush(): void
}

export interface RequestLine {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly ms: number
}

export interface LogOptions {
  readonly write: (text: string) => void
  readonly now: () => number
  /** On a terminal a person reads: requests are left out, notes are plain. */
  readonly isTerminal: boolean
}

export function createLog({ write, now, isTerminal }: LogOptions): Log {
  let lines: string[] = []

  const flush = (): void => {
    if (lines.length === 0) return
    const text = lines.join('')
    lines = []
    write(text)
  }
  const push = (line: string): void => {
    if (lines.length === 0) setImmediate(flush)
    lines.push(line)
  }

  return {
    request({ id, method, path, status, ms }) {
      if (isTerminal) return
      // Assembled by hand: only the path can hold what JSON must escape.
      push(
        `{"time":${now()},"id":"${id}","method":"${method}","path":${JSON.stringify(path)},"status":${status},"ms":${Math.round(ms)}}\n`,
      )
    },
    note(level, text, fields = {}) {
      push(
        isTerminal
          ? `${level}: ${text}\n`
          : `${JSON.stringify({ time: now(), level, text, ...fields })}\n`,
      )
    },
    flush,
  }
}

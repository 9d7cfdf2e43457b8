// Callers in any number at once. They speak over bare sockets: a process may fetch only so much at a time,
// and the gateway under test, which is in the same one, needs that for its suppliers.
import type { FakeClock } from './clock.ts'
import type { Gateway } from './gateway.ts'
import { formatRequest, sendRaw } from './raw.ts'
import { DONE } from './supplier.ts'

export interface Said {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly text: string
  /** Undefined where there is none. */
  readonly code: string | undefined
  /** A whole answer: a body with a reason to stop, or a stream with its closing marker and no error. */
  readonly isWhole: boolean
}

export async function ask(url: string, key: string, body: object | string): Promise<Said> {
  const {
    status,
    headers,
    body: bytes,
  } = await sendRaw(
    url,
    formatRequest({
      method: 'POST',
      target: '/v1/chat/completions',
      headers: [
        ['authorization', `Bearer ${key}`],
        ['content-type', 'application/json'],
      ],
      body: typeof body === 'string' ? body : JSON.stringify(body),
    }),
  )
  const text = bytes.toString()
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true
  const code = /"code":"(\w+)"/.exec(text)?.[1]
  const isFinished = /"finish_reason":"\w+"/.test(text) && (!isStream || text.endsWith(DONE))
  return {
    status,
    headers,
    text,
    code,
    isWhole: status === 200 && isFinished && code === undefined,
  }
}

/** Comes back when it is told to, and as long as it is. */
export async function askUntilDecided(
  url: string,
  key: string,
  body: object | string,
): Promise<Said> {
  for (;;) {
    const said = await ask(url, key, body)
    const seconds = Number(said.headers.get('retry-after'))
    if (said.status !== 429 || !(seconds > 0)) return said
    await Bun.sleep(seconds * 1000)
  }
}

/** The details of a refusal, and all else in its envelope. */
export function errorOf({ text }: Said): Readonly<Record<string, unknown>> {
  return (JSON.parse(text) as { error: Record<string, unknown> }).error
}

/** Until so many wait for time to pass, and go on waiting: who stands in line is one of them. */
export async function untilInLine(
  gateway: Gateway,
  clock: FakeClock,
  listeners: number,
): Promise<void> {
  for (let seen = 0; seen < 3; seen = clock.listeners() >= listeners ? seen + 1 : 0)
    await gateway.manage('GET', '/keys')
}

// Speaks to a running gateway as any other client does. Redirects are not followed, a local gateway is never
// reached through a proxy, and no key is sent before a gateway has answered at the address: the root key goes
// where it was meant to go and nowhere else.
import { findAddress } from './address.ts'
import type { Desk, Words } from './command.ts'
import { findCredential } from './credential.ts'
import { CliFailure } from './failure.ts'
import { isRecord, parseJson, toRecord, type JsonRecord } from './json.ts'
import { toRefusal } from './refusal.ts'
import { isOwnHost } from './run-file.ts'

export interface Live {
  readonly url: string
  call(method: Method, path: string, body?: JsonRecord): Promise<Answer>
}

export interface Answer {
  /** As it was sent. */
  readonly text: string
  readonly value: unknown
}

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A reload may resolve names and read files; nothing else takes long. */
const TIMEOUT_MS = 60_000
const HEALTH_TIMEOUT_MS = 10_000

export async function reach(words: Words, desk: Desk): Promise<Live> {
  const url = await findAddress(words, desk)
  const credential = await findCredential(words, desk)
  await checkGateway(url)
  return liveAt(url, credential.reveal())
}

function liveAt(url: string, key: string): Live {
  const headers = { ...PLAIN_HEADERS, authorization: `Bearer ${key}` }
  return {
    url,
    async call(method, path, body) {
      const answer = await send(url, path, {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      return readAnswer(url, answer)
    },
  }
}

/** Any server may answer 200 with JSON, and would then have the root key. */
async function checkGateway(url: string): Promise<void> {
  const answer = await send(url, '/health', {
    headers: PLAIN_HEADERS,
    signal: AbortSignal.timeout(HEALTH_TIMEOUT_MS),
  })
  const { status, text, isOurs } = answer
  const { status: health, error } = toRecord(parseJson(text))
  const isHealth = status === 200 && health === 'ok'
  const isEnvelope = status >= 400 && isRecord(error) && typeof error['code'] === 'string'
  if (!isOurs || (!isHealth && !isEnvelope)) throw somethingElse(url, status)
}

interface Received {
  readonly status: number
  readonly text: string
  /** Marked as every answer of a gateway is. */
  readonly isOurs: boolean
}

const PLAIN_HEADERS = { accept: 'application/json', connection: 'close' }

async function send(url: string, path: string, init: BunFetchRequestInit): Promise<Received> {
  try {
    const response = await fetch(url + path, {
      ...init,
      redirect: 'manual',
      ...(isOwnHost(new URL(url).hostname) ? { proxy: false } : {}),
    })
    const isOurs = response.headers.get('x-request-id')?.startsWith('req_') === true
    return { status: response.status, text: await response.text(), isOurs }
  } catch (thrown) {
    // What the runtime says of a failed connection speaks of computers and not of the gateway.
    throw new CliFailure('unreachable', `Nothing answers at ${url} (${reasonOf(thrown)}).`, {
      advice: 'Check the address, and whether the gateway is running there.',
      cause: thrown,
    })
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ConnectionRefused: 'connection refused',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  ConnectionClosed: 'the connection was cut',
  FailedToOpenSocket: 'the name is unknown, or there is no way there',
  TimeoutError: 'no answer in time',
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const code = 'code' in thrown ? String(thrown.code) : ''
  return REASONS[code] ?? REASONS[thrown.name] ?? (code || thrown.message)
}

function readAnswer(url: string, { status, text, isOurs }: Received): Answer {
  const value = parseJson(text)
  const error = toRecord(value)['error']
  if (status >= 400 && isRecord(error)) throw toRefusal(status, error)
  const hasShape = isRecord(value) || Array.isArray(value)
  if (status !== 200 || !isOurs || !hasShape) throw somethingElse(url, status)
  return { text, value }
}

/** An answer that no gateway gives: another program, a login page, a proxy's own error. */
export function somethingElse(url: string, status?: number): CliFailure {
  const how = status === undefined ? 'its answer is none of a gateway' : `HTTP ${status}`
  return new CliFailure(
    'unreachable',
    `Something else than a gateway answers at ${url} (${how}).`,
    {
      advice: 'Check the address. It is the one without /v1.',
    },
  )
}

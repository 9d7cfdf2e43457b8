// Speaks to a running gateway as any other client does. Redirects are not followed and a local gateway is
// never reached through a proxy: the root key goes where it was meant to go and nowhere else.
import { findAddress, isLoopback } from './address.ts'
import type { Desk, Words } from './command.ts'
import { findCredential } from './credential.ts'
import { CliFailure, type FailureKind } from './failure.ts'
import { isRecord, parseJson, toRecord, toText, type JsonRecord } from './json.ts'

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

export async function reach(words: Words, desk: Desk): Promise<Live> {
  const url = await findAddress(words, desk)
  const credential = await findCredential(words, desk)
  const headers = {
    authorization: `Bearer ${credential.reveal()}`,
    accept: 'application/json',
    connection: 'close',
  }
  return {
    url,
    async call(method, path, body) {
      const init: BunFetchRequestInit = {
        method,
        headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
        ...(isLoopback(new URL(url).hostname) ? { proxy: false } : {}),
      }
      const { status, text } = await send(url, path, init)
      return readAnswer(url, status, text)
    },
  }
}

async function send(
  url: string,
  path: string,
  init: BunFetchRequestInit,
): Promise<{ readonly status: number; readonly text: string }> {
  try {
    const response = await fetch(url + path, init)
    return { status: response.status, text: await response.text() }
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

function readAnswer(url: string, status: number, text: string): Answer {
  const value = parseJson(text)
  const error = toRecord(value)['error']
  if (status >= 400 && isRecord(error)) throw refused(status, error)
  // An answer that no gateway gives: another program, a login page, a proxy's own error.
  if (status !== 200 || value === undefined)
    throw new CliFailure('unreachable', `${url} does not answer as a gateway (HTTP ${status}).`, {
      advice: 'Check the address. It is the one without /v1.',
    })
  return { text, value }
}

function refused(status: number, error: JsonRecord): CliFailure {
  const code = toText(error['code'])
  const text = toText(error['human_message']) || toText(error['message'])
  const param = toText(error['param'])
  const field = param === '' ? '' : ` [${param}]`
  return new CliFailure(kindOf(status, code), `${text} (HTTP ${status} ${code})${field}`, {
    error,
    details: { status },
    ...adviceOf(status),
  })
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'configuration_error') return 'configuration'
  if (status === 401 || status === 403) return 'credential'
  return status === 404 ? 'notFound' : 'refused'
}

function adviceOf(status: number): { readonly advice?: string } {
  if (status !== 401 && status !== 403) return {}
  return { advice: 'This needs the root key, in GATEWAY_KEY or a file named by --key-file.' }
}

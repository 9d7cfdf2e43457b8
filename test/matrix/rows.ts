// Every way in which a supplier can fail before its caller has anything, as one table: what it does, what that
// proves about money, and what a caller hears whose every supplier does it.
import { gzipSync } from 'node:zlib'
import type { Asks } from '../fakes/fault.ts'
import { good, refuse, ROLE, sendEvents } from '../fakes/street.ts'
import { completion, DONE, type FakeReply, type Script } from '../fakes/supplier.ts'

export interface Row {
  /** As docs/faults.md numbers them. */
  readonly id: string
  readonly name: string
  readonly script: Script
  /** Both when absent. */
  readonly asks?: Asks
  /** What the try proves. */
  readonly evidence: 'unsent' | 'refused' | 'unknown'
  /** Of the try, as the record has it. */
  readonly status: number
  readonly code: string
  readonly all: Heard
  /** No other supplier is asked. */
  readonly isFinal?: true
  /** It is still sending and must be stopped. */
  readonly isAbandoned?: true
  /** Nobody is there. */
  readonly isStopped?: true
  /** It is given up when its deadline has passed. */
  readonly isSilent?: true
}

/** What a caller hears when nobody does better. */
export interface Heard {
  readonly status: number
  readonly code: string
  /** Null where waiting cures nothing, or where enough was waited already. */
  readonly retryAfter: number | null
}

const MEBIBYTE = 1_048_576
const FAILED: Heard = { status: 503, code: 'all_providers_exhausted', retryAfter: 1 }
const BUSY: Heard = { status: 429, code: 'all_providers_exhausted', retryAfter: 1 }
const LATE: Heard = { status: 504, code: 'all_providers_exhausted', retryAfter: null }
const REFUSED_US: Heard = { status: 503, code: 'all_providers_exhausted', retryAfter: null }
const UNREACHED = { status: 503, code: 'upstream_unavailable', all: FAILED } as const

const precise = (code: string): Heard => ({ status: 502, code, retryAfter: null })
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

function encoded(encoding: string, bytes: Uint8Array): Script {
  return (_, reply) => {
    reply.raw(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: ${encoding}\r\n`,
    )
    reply.raw(`content-length: ${bytes.length}\r\n\r\n`)
    reply.raw(bytes)
  }
}

function page(status: number, text: string): Script {
  return (_, reply) => reply.json(status, text, { 'content-type': 'text/html' })
}

/** Sends without an end, as long as anybody listens. */
function flood(reply: FakeReply, type: string, start: string, mebibytes: number): void {
  const stream = reply.stream({ 'content-type': type })
  stream.send(start)
  for (let sent = 0; sent < mebibytes; sent++) stream.send(Buffer.alloc(MEBIBYTE, ' '))
}

const SILENCE: Script = () => {}

const UNREACHABLE: readonly Row[] = [
  {
    id: 'S1',
    name: 'a closed port',
    script: good,
    isStopped: true,
    evidence: 'unsent',
    ...UNREACHED,
  },
  {
    id: 'S18',
    name: 'a reset after the request',
    script: (_, reply) => reply.reset(),
    evidence: 'unknown',
    ...UNREACHED,
  },
  {
    id: 'S18',
    name: 'a close in the middle of the headers',
    script: (_, reply) => {
      reply.raw('HTTP/1.1 200 OK\r\ncontent-ty')
      reply.close()
    },
    evidence: 'unknown',
    ...UNREACHED,
  },
  {
    id: 'S19',
    name: 'silence after the request',
    script: SILENCE,
    isSilent: true,
    evidence: 'unknown',
    status: 504,
    code: 'provider_timeout',
    all: LATE,
  },
  {
    id: 'S20',
    name: 'headers and then silence',
    asks: 'stream',
    script: (_, reply) => void reply.stream(),
    isSilent: true,
    evidence: 'unknown',
    status: 504,
    code: 'provider_timeout',
    all: LATE,
  },
  {
    id: 'S20',
    name: 'the beginning of an answer and then silence',
    asks: 'unary',
    script: (_, reply) => reply.json(200, '{"choices":[', { 'content-length': '500' }),
    isSilent: true,
    evidence: 'unknown',
    status: 504,
    code: 'provider_timeout',
    all: LATE,
  },
  {
    id: 'S22',
    name: 'nothing but comments',
    asks: 'stream',
    script: (_, reply) => reply.stream().send(': working\n\n'),
    isSilent: true,
    evidence: 'unknown',
    status: 504,
    code: 'provider_timeout',
    all: LATE,
  },
]

const REFUSALS: readonly Row[] = [
  {
    id: 'S6',
    name: 'a 429 that names seven seconds',
    script: refuse(429, { message: 'slow' }, { 'retry-after': '7' }),
    evidence: 'refused',
    status: 429,
    code: 'provider_error',
    all: { ...BUSY, retryAfter: 7 },
  },
  {
    id: 'S7',
    name: 'a 429 without a time',
    script: refuse(429, { message: 'slow', code: 'rate_limit_exceeded' }),
    evidence: 'refused',
    status: 429,
    code: 'rate_limit_exceeded',
    all: BUSY,
  },
  {
    id: 'S8',
    name: 'a 429 of a spent account',
    script: refuse(429, { message: 'no money', code: 'insufficient_quota' }),
    evidence: 'refused',
    status: 429,
    code: 'insufficient_quota',
    all: BUSY,
  },
  ...[500, 502, 503, 529].map((status): Row => ({
    id: 'S10',
    name: `a ${status} with its reasons`,
    script: refuse(status, { message: 'broken', code: 'server_error' }),
    evidence: 'refused',
    status,
    code: 'server_error',
    all: FAILED,
  })),
  {
    id: 'S10',
    name: 'a 504 with its reasons',
    script: refuse(504, { message: 'late', code: 'timeout' }),
    evidence: 'refused',
    status: 504,
    code: 'timeout',
    all: LATE,
  },
  {
    id: 'S10',
    name: 'a 504 of a proxy in front of it',
    script: page(504, '<html>late</html>'),
    evidence: 'unknown',
    status: 504,
    code: 'provider_error',
    all: LATE,
  },
  {
    id: 'S10',
    name: 'a 500 without a word',
    script: (_, reply) => reply.json(500, ''),
    evidence: 'unknown',
    status: 500,
    code: 'provider_error',
    all: FAILED,
  },
  {
    id: 'S11',
    name: 'a 503 that names an hour',
    script: refuse(503, { message: 'down' }, { 'retry-after': '3600' }),
    evidence: 'refused',
    status: 503,
    code: 'provider_error',
    all: { ...FAILED, retryAfter: 60 },
  },
  ...[401, 402, 403].map((status): Row => ({
    id: 'S14',
    name: `a ${status} for our credential`,
    script: refuse(status, { message: 'who?', code: 'invalid_api_key' }),
    evidence: 'refused',
    status,
    code: 'invalid_api_key',
    all: REFUSED_US,
  })),
  {
    id: 'S15',
    name: 'a 404 for the model',
    script: refuse(404, { message: 'gone', code: 'model_not_found' }),
    evidence: 'refused',
    status: 404,
    code: 'model_not_found',
    all: { status: 503, code: 'model_unavailable', retryAfter: null },
  },
  {
    id: 'S17',
    name: 'a redirect',
    script: (_, reply) => reply.json(302, '', { location: 'http://127.0.0.1:1/elsewhere' }),
    evidence: 'refused',
    status: 502,
    code: 'provider_redirect_forbidden',
    all: precise('provider_redirect_forbidden'),
  },
]

/** The caller's own doing, which everybody else would refuse as well. */
const CALLERS: readonly Row[] = [
  {
    id: 'S12',
    name: 'a 400 in its own words',
    script: refuse(400, { message: 'No.', code: 'bad_prompt' }),
    isFinal: true,
    evidence: 'refused',
    status: 400,
    code: 'bad_prompt',
    all: { status: 400, code: 'bad_prompt', retryAfter: null },
  },
  {
    id: 'S12',
    name: 'a 400 without a code',
    script: refuse(400, { message: 'No.' }),
    isFinal: true,
    evidence: 'refused',
    status: 400,
    code: 'provider_error',
    all: { status: 400, code: 'provider_error', retryAfter: null },
  },
  {
    id: 'S12',
    name: 'a 400 inside of a 200',
    script: refuse(200, { message: 'No.', code: 400 }),
    isFinal: true,
    evidence: 'refused',
    status: 400,
    code: '400',
    all: { status: 400, code: '400', retryAfter: null },
  },
  {
    id: 'S12',
    name: 'a 400 as the first event',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [event({ error: { message: 'No.', code: 400 } })]),
    isFinal: true,
    evidence: 'refused',
    status: 400,
    code: '400',
    all: { status: 400, code: '400', retryAfter: null },
  },
  {
    id: 'S13',
    name: 'a 400 for the length',
    script: refuse(400, { message: 'Too long.', code: 'context_length_exceeded' }),
    isFinal: true,
    evidence: 'refused',
    status: 400,
    code: 'context_length_exceeded',
    all: { status: 400, code: 'context_length_exceeded', retryAfter: null },
  },
  {
    id: 'S16',
    name: 'a 413 of a server in front of it',
    script: page(413, '<html>too large</html>'),
    isFinal: true,
    evidence: 'refused',
    status: 413,
    code: 'request_too_large',
    all: { status: 413, code: 'request_too_large', retryAfter: null },
  },
  {
    id: 'S36',
    name: 'a body that says it has more than 32 MiB',
    asks: 'unary',
    script: (_, reply) => reply.json(200, ' ', { 'content-length': String(33 * MEBIBYTE) }),
    isFinal: true,
    isAbandoned: true,
    evidence: 'unknown',
    status: 502,
    code: 'provider_response_too_large',
    all: precise('provider_response_too_large'),
  },
  {
    id: 'S36',
    name: 'a body that grows past 32 MiB',
    asks: 'unary',
    script: (_, reply) => flood(reply, 'application/json', '{', 33),
    isFinal: true,
    isAbandoned: true,
    evidence: 'unknown',
    status: 502,
    code: 'provider_response_too_large',
    all: precise('provider_response_too_large'),
  },
]

const NONSENSE: readonly Row[] = [
  {
    id: 'S21',
    name: 'an error as the first event',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [event({ error: { message: 'sorry' } })]),
    evidence: 'refused',
    status: 502,
    code: 'provider_error',
    all: FAILED,
  },
  {
    id: 'S21',
    name: 'an error after the beginning of a stream',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [ROLE, event({ error: { message: 'sorry' } })]),
    evidence: 'unknown',
    status: 502,
    code: 'provider_error',
    all: FAILED,
  },
  {
    id: 'S21',
    name: 'an error inside of a 200',
    script: refuse(200, { message: 'sorry' }),
    evidence: 'refused',
    status: 502,
    code: 'provider_error',
    all: FAILED,
  },
  {
    id: 'S29',
    name: 'a stream without an event',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, []),
    evidence: 'unknown',
    status: 502,
    code: 'empty_stream',
    all: precise('empty_stream'),
  },
  {
    id: 'S29',
    name: 'a stream of nothing but its marker',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, [DONE]),
    evidence: 'unknown',
    status: 502,
    code: 'empty_stream',
    all: precise('empty_stream'),
  },
  {
    id: 'S30',
    name: 'an empty body',
    asks: 'unary',
    script: (_, reply) => reply.json(200, ''),
    evidence: 'unknown',
    status: 502,
    code: 'empty_response',
    all: precise('empty_response'),
  },
  {
    id: 'S31',
    name: 'a web page',
    script: page(200, '<html></html>'),
    evidence: 'unknown',
    status: 502,
    code: 'non_json_provider_response',
    all: precise('non_json_provider_response'),
  },
  {
    id: 'S32',
    name: 'half a JSON',
    asks: 'unary',
    script: (_, reply) => reply.json(200, '{"choices":[{"index":0'),
    evidence: 'unknown',
    status: 502,
    code: 'upstream_invalid_response',
    all: { status: 502, code: 'upstream_invalid_response', retryAfter: null },
  },
  {
    id: 'S32',
    name: 'a body that is shorter than its length',
    asks: 'unary',
    script: (_, reply) => {
      reply.json(200, '{"choices":[', { 'content-length': '500' })
      reply.close()
    },
    evidence: 'unknown',
    ...UNREACHED,
  },
  {
    id: 'S33',
    name: 'a first event that is no JSON',
    asks: 'stream',
    script: (_, reply) => sendEvents(reply, ['data: {"choices\n\n']),
    evidence: 'unknown',
    status: 502,
    code: 'stream_error',
    all: precise('stream_error'),
  },
  {
    id: 'S35',
    name: 'a first line of 17 MiB',
    asks: 'stream',
    script: (_, reply) => flood(reply, 'text/event-stream', 'data: ', 17),
    isAbandoned: true,
    evidence: 'unknown',
    status: 502,
    code: 'provider_response_too_large',
    all: precise('provider_response_too_large'),
  },
  {
    id: 'S41',
    name: 'an encoding on top of another',
    asks: 'unary',
    script: encoded('gzip, gzip', gzipSync(gzipSync(JSON.stringify(completion('Hi'))))),
    evidence: 'unknown',
    status: 502,
    code: 'non_json_provider_response',
    all: precise('non_json_provider_response'),
  },
  {
    id: 'S41',
    name: 'an encoding that it does not keep to',
    asks: 'unary',
    script: encoded('gzip', Buffer.from(JSON.stringify(completion('Hi')))),
    evidence: 'unknown',
    ...UNREACHED,
  },
]

export const ROWS: readonly Row[] = [...UNREACHABLE, ...REFUSALS, ...CALLERS, ...NONSENSE]

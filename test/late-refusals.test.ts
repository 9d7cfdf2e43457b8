// Refusals that come too late to be one: whoever has begun to answer, breaks off in the middle of his reasons or lets
// a proxy give up on him may have worked for the call. It is not run twice under one key, and never forgotten.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO } from './fakes/gateway.ts'
import { closeStreet, good, openStreet, ROLE, sendEvents } from './fakes/street.ts'
import type { Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...HELLO, stream: true }
const FAILURE = { error: { message: 'we are sorry', code: 'overloaded' } }
const USAGE = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 }
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

const answered: Script = (_, reply) =>
  reply.json(200, {
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
    ...FAILURE,
  })
const counted: Script = (_, reply) => reply.json(200, { usage: USAGE, ...FAILURE })
const silent: Script = (_, reply) => reply.json(500, '')
const cut: Script = (_, reply) => {
  reply.raw(
    'HTTP/1.1 500 Oops\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{"err',
  )
  reply.reset()
}
const proxied =
  (status: number): Script =>
  (_, reply) =>
    reply.json(status, '<html>timeout</html>')
const begun: Script = (_, reply) => sendEvents(reply, [ROLE, event(FAILURE)])
const told: Script = (_, reply) =>
  sendEvents(reply, [event({ choices: [], usage: USAGE }), event(FAILURE)])

async function askTwice(
  body: unknown,
  first: Script,
): Promise<[requests: number, evidence: unknown]> {
  const script: Script = (request, reply, index) =>
    (index === 0 ? first : good)(request, reply, index)
  const { gateway, suppliers } = await openStreet([script])
  const headers = { 'idempotency-key': 'once' }
  const response = await gateway.chat(body, { headers })
  await response.text()
  await (await gateway.chat(body, { headers })).text()
  const id = response.headers.get('x-request-id') ?? ''
  const call = (await (await gateway.manage('GET', `/calls/${id}`)).json()) as {
    tries: readonly { evidence: string; suspense_usd: number | null }[]
  }
  const [tried] = call.tries
  return [suppliers[0]!.requests.length, [tried?.evidence, (tried?.suspense_usd ?? 0) > 0]]
}

describe('a failure of a supplier that may have worked', () => {
  it.each<[string, object, Script]>([
    ['an error beside an answer', HELLO, answered],
    ['an error beside a usage', HELLO, counted],
    ['a failure without a word', HELLO, silent],
    ['a failure that breaks off', HELLO, cut],
    ['a proxy that gave up, 504', HELLO, proxied(504)],
    ['a proxy that gave up, 524', HELLO, proxied(524)],
    ['an error after the beginning of a stream', STREAM, begun],
    ['an error after the usage of a stream', STREAM, told],
    ['a failure without a word where a stream was asked for', STREAM, silent],
  ])('%s is not sent again, and stands in suspense', async (_, body, first) => {
    expect(await askTwice(body, first)).toEqual([1, ['unknown', true]])
  })

  it.each<[string, object, Script]>([
    ['a reason in its own words', HELLO, (_, reply) => reply.json(504, FAILURE)],
    ['a page of a server that is down', HELLO, (_, reply) => reply.json(503, '<html>down</html>')],
    ['an error as the first event', STREAM, (_, reply) => sendEvents(reply, [event(FAILURE)])],
    ['an error instead of an answer', HELLO, (_, reply) => reply.json(200, FAILURE)],
  ])('%s is a refusal, and may be asked again', async (_, body, first) => {
    expect(await askTwice(body, first)).toEqual([2, ['refused', false]])
  })
})

// Clients that would rather speak over a WebSocket are told at once, and for next to nothing, that it is plain HTTP
// here; everyone else who got the method wrong is told what they always are.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { connectRaw, formatRequest, sendRaw, type RawResponse } from './fakes/raw.ts'

let gateway: Gateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

type Header = readonly [string, string]

const PATHS = ['/v1/native/responses', '/v1/responses']
const UPGRADE: readonly Header[] = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
  ['OpenAI-Beta', 'responses_websockets=2026-02-06'],
]

function ask(target: string, headers: readonly Header[], method = 'GET'): Promise<RawResponse> {
  return sendRaw(gateway.url, formatRequest({ method, target, headers }), {
    isHead: method === 'HEAD',
  })
}

describe.each(PATHS)('a WebSocket at %s', (path) => {
  it('is refused without a credential, and with the name of what would do', async () => {
    const response = await ask(path, UPGRADE)
    expect(response.status).toBe(426)
    expect(response.headers.get('upgrade')).toBe('HTTP/1.1')
    expect(response.headers.get('connection')?.toLowerCase()).toContain('upgrade')
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(response.headers.has('allow')).toBe(false)
    const text = response.body.toString()
    expect(JSON.parse(text)).toMatchObject({
      error: { code: 'invalid_request', type: 'invalid_request_error', retryable: false },
    })
    expect(text.length).toBeLessThan(400)
  })

  it('is refused to a client that sends a body with it, before that has come', async () => {
    const client = await connectRaw(gateway.url)
    try {
      const headers: readonly Header[] = [...UPGRADE, ['Content-Length', '1000000']]
      await client.send(formatRequest({ target: path, headers }))
      expect((await client.response()).status).toBe(426)
    } finally {
      client.close()
    }
  })

  it('leaves the connection in order for the request that follows', async () => {
    const client = await connectRaw(gateway.url)
    try {
      await client.send(formatRequest({ target: path, headers: UPGRADE }))
      expect((await client.response()).status).toBe(426)
      await client.send(formatRequest({ target: '/health' }))
      expect((await client.response()).status).toBe(200)
    } finally {
      client.close()
    }
  })

  it('never opens for a client that asks for one', async () => {
    const socket = new WebSocket(gateway.url.replace('http:', 'ws:') + path)
    const end = await new Promise<string>((resolve) => {
      socket.addEventListener('open', () => resolve('opened'))
      socket.addEventListener('close', () => resolve('closed'))
    })
    expect(end).toBe('closed')
  })

  it.each<readonly [string, readonly Header[], string]>([
    ['GET', [], 'nothing'],
    ['GET', [['Upgrade', 'h2c']], 'another protocol'],
    ['GET', [['Upgrade', 'websockets']], 'what only sounds like it'],
    ['HEAD', UPGRADE, 'a WebSocket'],
    ['OPTIONS', UPGRADE, 'a WebSocket'],
    ['PUT', UPGRADE, 'a WebSocket'],
  ])('is not what %s %j asks for', async (method, headers) => {
    const response = await ask(path, headers, method)
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    expect(response.headers.has('upgrade')).toBe(false)
  })

  it.each(['WebSocket', 'h2c, websocket', 'websocket/13'])(
    'is known in any spelling: %s',
    async (name) => {
      const headers: readonly Header[] = [
        ['Connection', 'Upgrade'],
        ['Upgrade', name],
      ]
      expect((await ask(path, headers)).status).toBe(426)
    },
  )
})

it('is known nowhere else', async () => {
  const answers = await Promise.all(
    ['/v1/chat/completions', '/v1/messages', '/health', '/v1/native'].map(
      async (path) => (await ask(path, UPGRADE)).status,
    ),
  )
  expect(answers).toEqual([405, 405, 200, 404])
})

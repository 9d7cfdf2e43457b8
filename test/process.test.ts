// The gateway as people run it, as a process: its first words, its key, its data folder, a death without
// warning, an orderly end, and as many calls at once as come.
import { describe, expect, it } from 'bun:test'
import { statSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { readAudit, ROOT_KEY } from './fakes/gateway.ts'
import { BY_NPM, createFolder, runProcess, startProcess } from './fakes/process.ts'
import { createGate, good, readText } from './fakes/street.ts'
import { DONE, startFakeSupplier } from './fakes/supplier.ts'

const OWN_KEY = { GATEWAY_ROOT_KEY: ROOT_KEY }
const CALLS = 600

function chat(url: string, key: string, body: object): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

function ask(model: string, stream = false): object {
  return { model, stream, messages: [{ role: 'user', content: 'Hello' }] }
}

async function untilDraining(url: string): Promise<Response> {
  for (;;) {
    const response = await fetch(`${url}/health`)
    if (response.status !== 200) return response
  }
}

async function runShell(command: string, variables: Record<string, string> = {}): Promise<string> {
  const environment = { PATH: process.env['PATH'] ?? '', ...variables }
  const child = Bun.spawn(['sh', '-c', command], { env: environment, stderr: 'ignore' })
  return new Response(child.stdout).text()
}

describe('a process', () => {
  it('shows at its first start all that a first call needs, and the key never again', async () => {
    using folder = createFolder()
    let key = ''
    {
      await using first = await startProcess(folder, {}, BY_NPM)
      key = first.key ?? ''
      expect(key).toMatch(/^svc_/)
      expect(first.welcome).toContain('demo/chat')
      expect(statSync(join(folder.path, 'data')).mode & 0o777).toBe(0o700)
      const models = await fetch(`${first.url}/v1/models`, {
        headers: { authorization: `Bearer ${key}` },
      })
      expect(models.status).toBe(200)
      const command = first.welcome.slice(first.welcome.indexOf('curl '))
      if (Bun.which('curl') === null) console.warn('skipped the first command: there is no curl')
      else expect(JSON.parse(await runShell(command))).toMatchObject({ object: 'chat.completion' })
      first.kill('SIGTERM')
      await untilDraining(first.url)
      first.kill('SIGTERM')
      expect(await first.exited).toBe(0)
    }
    await using second = await startProcess(folder)
    expect(second.key).toBeUndefined()
    expect(second.welcome).toContain('set GATEWAY_ROOT_KEY to replace a lost one')
    expect((await chat(second.url, key, ask('demo/chat'))).status).toBe(200)
    const command = second.welcome.slice(second.welcome.indexOf('curl '))
    if (Bun.which('curl') !== null)
      expect(JSON.parse(await runShell(command, { KEY: key }))).toMatchObject({
        object: 'chat.completion',
      })
  })

  it('takes the root key of its environment in the place of the one it made', async () => {
    using folder = createFolder()
    const first = await startProcess(folder)
    first.kill('SIGINT')
    expect(await first.exited).toBe(0)
    await using second = await startProcess(folder, OWN_KEY)
    expect(second.key).toBeUndefined()
    expect(second.welcome).not.toContain(ROOT_KEY)
    expect((await chat(second.url, first.key ?? '', ask('demo/chat'))).status).toBe(401)
    expect((await chat(second.url, ROOT_KEY, ask('demo/chat'))).status).toBe(200)
  })

  it.each([
    [{ PORT: '99999' }, /^error: PORT must be a number from 0 to 65535[^\n]*\n$/],
    [{ PORT: 'http' }, /^error: PORT must be [^\n]*\n$/],
    [
      { GATEWAY_ROOT_KEY: 'secret-canary' },
      /^error: GATEWAY_ROOT_KEY must begin with svc_[^\n]*\n$/,
    ],
    [{ OLLAMA_HOST: 'http://user:canary@host' }, /^error: OLLAMA_HOST is not an address[^\n]*\n$/],
    [{ OPENAI_API_KEY: 'canary\u201d' }, /^error: OPENAI_API_KEY holds [^\n]*\n$/],
  ])('refuses %j with one line that says what to write', async (variables, line) => {
    using folder = createFolder()
    const { code, output, errors } = await runProcess(folder, variables)
    expect(code).toBe(6)
    expect(output).toBe('')
    expect(errors).toMatch(line)
    expect(errors).not.toContain('canary')
  })

  it('refuses a port that is taken with one line', async () => {
    using folder = createFolder()
    using other = createFolder()
    await using first = await startProcess(folder)
    const { port } = new URL(first.url)
    const { code, errors } = await runProcess(other, { PORT: port })
    expect(code).toBe(1)
    expect(errors).toMatch(/^error: [^\n]*\n$/)
    expect(errors).toContain(port)
  })

  it('refuses a data folder that another one has, and names it', async () => {
    using folder = createFolder()
    await using first = await startProcess(folder)
    const { code, errors } = await runProcess(folder, {})
    expect(code).toBe(1)
    expect(errors).toMatch(/^error: [^\n]*\n$/)
    expect(errors).toContain(`process ${first.pid} at ${first.url}`)
    expect((await fetch(`${first.url}/health`)).status).toBe(200)
  })

  it('comes back after a kill with all that it had written', async () => {
    using folder = createFolder()
    const first = await startProcess(folder, OWN_KEY)
    const ids: (string | null)[] = []
    for (let count = 0; count < 3; count++) {
      const response = await chat(first.url, ROOT_KEY, ask('demo/chat'))
      ids.push(response.headers.get('x-request-id'))
      await response.arrayBuffer()
    }
    const running = await chat(first.url, ROOT_KEY, ask('demo/slow', true))
    const reader = readText(running)
    await reader.until('data: ')
    first.kill('SIGKILL')
    expect(await reader.rest().catch((thrown: unknown) => thrown)).toBeInstanceOf(Error)
    await first.exited
    await using second = await startProcess(folder, OWN_KEY)
    expect((await chat(second.url, ROOT_KEY, ask('demo/chat'))).status).toBe(200)
    const rows = readAudit(join(folder.path, 'data')).map(({ request_id }) => request_id)
    expect(rows.slice(0, 3)).toEqual(ids as string[])
    expect(rows).toHaveLength(4)
  })

  it('finishes what it has begun after a signal, and takes nothing new', async () => {
    using folder = createFolder()
    await using gateway = await startProcess(folder, OWN_KEY)
    const reader = readText(await chat(gateway.url, ROOT_KEY, ask('demo/slow', true)))
    await reader.until('data: ')
    gateway.kill('SIGTERM')
    const health = await untilDraining(gateway.url)
    expect(health.status).toBe(503)
    expect(await health.json()).toMatchObject({ error: { code: 'pod_draining' } })
    expect((await fetch(`${gateway.url}/health/live`)).status).toBe(200)
    const refused = await chat(gateway.url, ROOT_KEY, ask('demo/chat'))
    expect(refused.status).toBe(503)
    expect(refused.headers.get('connection')).toBe('close')
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(refused.headers.get('x-should-retry')).toBe('true')
    expect(await refused.json()).toMatchObject({ error: { code: 'pod_draining' } })
    const text = await reader.rest()
    expect(text).toEndWith(DONE)
    expect(text).not.toContain('"error"')
    expect(await gateway.exited).toBe(0)
    expect(readAudit(join(folder.path, 'data'))).toMatchObject([{ status: 200, code: null }])
  }, 15_000)

  it('cuts what it has begun after a second signal, and says so', async () => {
    using folder = createFolder()
    await using gateway = await startProcess(folder, OWN_KEY)
    const reader = readText(await chat(gateway.url, ROOT_KEY, ask('demo/slow', true)))
    await reader.until('data: ')
    gateway.kill('SIGTERM')
    await untilDraining(gateway.url)
    gateway.kill('SIGTERM')
    const text = await reader.rest()
    expect(text).toContain('"code":"stream_interrupted"')
    expect(text).not.toContain('[DONE]')
    expect(await gateway.exited).toBe(0)
    expect(readAudit(join(folder.path, 'data'))).toMatchObject([
      { status: 200, code: 'stream_interrupted' },
    ])
  })

  it('serves a supplier that its environment names, and then no demo', async () => {
    using folder = createFolder()
    const supplier = await startFakeSupplier(good)
    try {
      await using gateway = await startProcess(folder, { ...OWN_KEY, OLLAMA_HOST: supplier.origin })
      expect(gateway.welcome).toMatch(/Suppliers +ollama\n/)
      expect(gateway.welcome).not.toContain('demo')
      const response = await chat(gateway.url, ROOT_KEY, ask('ollama/any:thing'))
      expect(response.status).toBe(200)
      expect(response.headers.get('x-svc-supplier')).toBe('ollama')
      expect(response.headers.get('x-svc-cost-usd')).toBe('0')
      const { body } = await supplier.request(0)
      expect(JSON.parse(body.toString())).toMatchObject({ model: 'any:thing' })
      expect((await chat(gateway.url, ROOT_KEY, ask('demo/chat'))).status).toBe(404)
    } finally {
      await supplier.stop()
    }
  })

  it('has six hundred calls under way at once', async () => {
    using folder = createFolder()
    const gate = createGate()
    const supplier = await startFakeSupplier(async (request, reply, index) => {
      await gate.opened
      await good(request, reply, index)
    })
    const callers: Socket[] = []
    try {
      await using gateway = await startProcess(folder, { ...OWN_KEY, OLLAMA_HOST: supplier.origin })
      const answers = Array.from({ length: CALLS }, () => callByHand(gateway.url, callers))
      await supplier.request(CALLS - 1)
      gate.open()
      const statuses = await Promise.all(answers)
      expect(new Set(statuses)).toEqual(new Set(['HTTP/1.1 200 OK']))
      gateway.kill('SIGINT')
      expect(await gateway.exited).toBe(0)
      expect(readAudit(join(folder.path, 'data'))).toHaveLength(CALLS)
    } finally {
      for (const caller of callers) caller.destroy()
      await supplier.stop()
    }
  }, 15_000)
})

/** The status line of an answer. Over a bare socket: this process may not fetch so much at once. */
function callByHand(url: string, callers: Socket[]): Promise<string> {
  const { hostname, port } = new URL(url)
  const body = JSON.stringify(ask('ollama/any'))
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: test\r\nauthorization: Bearer ${ROOT_KEY}\r\n` +
          `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      ),
    )
    callers.push(socket)
    socket.once('error', reject)
    socket.once('data', (data) => resolve(data.toString().split('\r\n', 1)[0] ?? ''))
  })
}

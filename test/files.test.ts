// Files that a running gateway goes by: the configuration of its start, which is the only one that is read
// again, and the address it has written down, which must not send the root key to anybody else.
import { afterEach, describe, expect, it } from 'bun:test'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROOT_KEY } from './fakes/gateway.ts'
import { createFolder, startProcess, type Folder } from './fakes/process.ts'
import { startFakeSupplier } from './fakes/supplier.ts'
import { tell, type Told } from './fakes/terminal.ts'

const ROOT = resolve(import.meta.dir, '..')
const AS_ROOT = { environment: { GATEWAY_KEY: ROOT_KEY } }

const stopped: { stop(): Promise<void> }[] = []

afterEach(async () => {
  for (const each of stopped.splice(0)) await each.stop()
})

describe('the file of the start', () => {
  const CONFIG =
    'suppliers:\n  own:\n    kind: openai-compatible\n    origin: http://127.0.0.1:1\n    allow_private: true\n    models: { one: { price: free } }\n'

  /** In the folder that is to have, or not to have, the file that is not named. */
  async function startIn(cwd: Folder): Promise<AsyncDisposable & { readonly url: string }> {
    const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), 'start', '--json'], {
      cwd: cwd.path,
      env: {
        PATH: process.env['PATH'] ?? '',
        PORT: '0',
        GATEWAY_ROOT_KEY: ROOT_KEY,
        GROQ_API_KEY: 'not-in-the-file',
      },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'ignore',
    })
    const { value } = await child.stdout.getReader().read()
    const { url } = JSON.parse(new TextDecoder().decode(value)) as { url: string }
    return {
      url,
      async [Symbol.asyncDispose]() {
        child.kill('SIGKILL')
        await child.exited
      },
    }
  }

  async function modelsAt(url: string): Promise<readonly string[]> {
    const { out } = await tell(['models', '--live', '--json', '--url', url], AS_ROOT)
    return [...out.matchAll(/"id": "([^"]+)"/g)].map(([, id = '']) => id)
  }

  it('is the one that is read again, and its absence changes nothing', async () => {
    using place = createFolder()
    const file = join(place.path, 'gateway.yaml')
    writeFileSync(file, CONFIG, { mode: 0o600 })
    await using running = await startIn(place)
    const before = await modelsAt(running.url)
    expect(before).toContain('one')
    rmSync(file)
    const { code, err } = await tell(['reload', '--url', running.url], AS_ROOT)
    expect(code).toBe(6)
    expect(err).toContain('gateway.yaml is gone; the one before stays in force')
    expect(await modelsAt(running.url)).toEqual(before)
    writeFileSync(file, CONFIG.replace('one:', 'two:'), { mode: 0o600 })
    expect((await tell(['reload', '--allow-drop', '--url', running.url], AS_ROOT)).code).toBe(0)
    expect(await modelsAt(running.url)).toContain('two')
  })

  it('is the first that appears, where there was none, and the demo makes room for it', async () => {
    using place = createFolder()
    const file = join(place.path, 'gateway.yaml')
    await using running = await startProcess(place, { GATEWAY_ROOT_KEY: ROOT_KEY })
    expect(await modelsAt(running.url)).toContain('demo/chat')
    expect((await tell(['reload', '--url', running.url], AS_ROOT)).code).toBe(0)
    writeFileSync(file, CONFIG, { mode: 0o600 })
    // By itself, within moments; whoever asks first is as good.
    while ((await modelsAt(running.url)).includes('demo/chat'))
      await tell(['reload', '--url', running.url], AS_ROOT)
    const own = await modelsAt(running.url)
    rmSync(file)
    const { code, err } = await tell(['reload', '--url', running.url], AS_ROOT)
    expect(code).toBe(6)
    expect(err).toContain('is gone; the one before stays in force')
    expect(await modelsAt(running.url)).toEqual(own)
  })

  it('says how long calls may go on after a signal, as it stands by then', async () => {
    using place = createFolder()
    const file = join(place.path, 'gateway.yaml')
    const asked = Promise.withResolvers<undefined>()
    const supplier = await startFakeSupplier(() => asked.resolve(undefined))
    stopped.push(supplier)
    const own = CONFIG.replace('http://127.0.0.1:1', supplier.origin)
    writeFileSync(file, `${own}limits: { drain: 600 }\n`, { mode: 0o600 })
    const variables = { GATEWAY_ROOT_KEY: ROOT_KEY, GATEWAY_CONFIG: file }
    await using running = await startProcess(place, variables)
    writeFileSync(file, `${own}limits: { drain: 0.01 }\n`, { mode: 0o600 })
    expect((await tell(['reload', '--url', running.url], AS_ROOT)).code).toBe(0)
    const call = fetch(`${running.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'one', messages: [{ role: 'user', content: 'Hello' }] }),
    })
    await asked.promise
    running.kill('SIGINT')
    expect((await call).status).toBe(503)
    expect(await running.exited).toBe(0)
  })
})

describe('the address that a gateway has written down', () => {
  it('is not believed where it is of another machine', async () => {
    using folder = createFolder()
    await using gateway = await startProcess(folder, { GATEWAY_ROOT_KEY: ROOT_KEY })
    const data = join(folder.path, 'forged')
    const file = join(data, 'run.json')
    mkdirSync(data)
    const at = (address: string): Promise<Told> => {
      writeFileSync(file, JSON.stringify({ pid: process.pid, address }))
      return tell(['keys', 'list', '--data', data], AS_ROOT)
    }
    for (const host of [
      'collect.example.com',
      '198.51.100.7',
      '127.0.0.1.example.com',
      '[2001:db8::1]',
    ]) {
      const { code, out, err } = await at(`http://${host}:8080`)
      expect({ code, out }).toEqual({ code: 3, out: '' })
      expect(err).toContain(`names ${host}:8080, which is no address of this machine`)
    }
    expect((await at(gateway.url.replace('http:', 'https:'))).err).toContain('is not believed')
    expect((await at(gateway.url.replace('127.0.0.1', '0.0.0.0'))).code).toBe(0)
    expect((await at(gateway.url)).code).toBe(0)
  })

  it('is not believed behind a link, nor in what no gateway has written', async () => {
    using folder = createFolder()
    const data = join(folder.path, 'linked')
    const file = join(data, 'run.json')
    mkdirSync(data)
    symlinkSync(join(folder.path, 'data', 'run.json'), file)
    const look = (): Promise<Told> => tell(['keys', 'list', '--data', data], AS_ROOT)
    const linked = await look()
    expect(linked.code).toBe(3)
    expect(linked.err).toContain(
      'run.json is a link, and a gateway writes a file: it is not believed',
    )
    rmSync(file)
    Bun.spawnSync(['mkfifo', file])
    expect((await look()).err).toContain('is nothing that a gateway has written')
  })
})

describe('the models of a file', () => {
  it('that cost nothing are called free', async () => {
    using place = createFolder()
    const file = join(place.path, 'gateway.yaml')
    const text = `suppliers:
  rack:
    kind: openai-compatible
    origin: http://127.0.0.1:1
    allow_private: true
    models: { our-model: { price: free } }
`
    writeFileSync(file, text, { mode: 0o600 })
    const { code, out } = await tell(['models', '--config', file])
    expect(code).toBe(0)
    expect(out).toMatch(/our-model +free +free +rack/)
  })
})

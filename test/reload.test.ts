// A configuration that changes under a running gateway: calls that run keep theirs, what is broken or
// would take away what somebody uses is not applied, and nobody notices any of it.
import { afterEach, describe, expect, it } from 'bun:test'
import { readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createLog } from '../src/observe/log.ts'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import {
  closeStreet,
  createGate,
  good,
  HI,
  readText,
  ROLE,
  STOP,
  tidy,
  until,
  type ErrorBody,
} from './fakes/street.ts'
import { DONE, startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const call = (model: string): object => ({ model, messages: MESSAGES })

interface Entry {
  readonly id: string
  readonly at: FakeSupplier
  readonly region?: string
  readonly models: readonly string[]
}

function configOf(...entries: readonly Entry[]): string {
  const lines = entries.flatMap(({ id, at, region = 'global', models }) => [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${at.origin}/v1`,
    '    allow_private: true',
    `    region: ${region}`,
    // oxlint-disable-next-line no-template-curly-in-string -- as a file names a variable
    '    credential: ${SUPPLIER_KEY}',
    `    models: { ${models.map((model) => `${model}: { price: { input: 1, output: 2 } }`).join(', ')} }`,
  ])
  return ['suppliers:', ...lines, ''].join('\n')
}

interface Scene {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  /** All that was logged so far. */
  readonly logged: () => string
}

async function openScene(script: Script, entry: Partial<Entry> = {}): Promise<Scene> {
  const supplier = tidy(await startFakeSupplier(script))
  let text = ''
  const log = createLog({ write: (more) => (text += more), now: () => 0, isTerminal: false })
  const config = configOf({ id: 'first', at: supplier, models: ['one', 'two'], ...entry })
  const environment = { SUPPLIER_KEY: SUPPLIER_CANARY }
  const gateway = tidy(await startGateway({ config, environment, log }))
  return { gateway, supplier, logged: () => text }
}

function write({ file }: Gateway, text: string): void {
  // As editors do it: whole, beside, and then in the place of the old one.
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

async function reload(gateway: Gateway, text: string, body?: object): Promise<Response> {
  write(gateway, text)
  return gateway.manage('POST', '/reload', body)
}

async function refusalOf(response: Response): Promise<ErrorBody['error'] & { problems: string[] }> {
  const { error } = (await response.json()) as {
    error: ErrorBody['error'] & { problems: string[] }
  }
  return error
}

describe('a changed configuration', () => {
  it('serves what is new and no longer serves what is gone, at once', async () => {
    const { gateway, supplier } = await openScene(good)
    const response = await reload(
      gateway,
      configOf({ id: 'second', at: supplier, models: ['one', 'three'] }),
    )
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({
      object: 'reload',
      applied: true,
      suppliers_added: ['second'],
      suppliers_removed: ['first'],
      models_added: ['three'],
      models_removed: ['two'],
    })
    const answer = await gateway.chat(call('three'))
    expect([answer.status, answer.headers.get('x-svc-supplier')]).toEqual([200, 'second'])
    expect((await gateway.chat(call('two'))).status).toBe(404)
  })

  it('is read by itself when the file changes', async () => {
    const { gateway, supplier, logged } = await openScene(good)
    write(gateway, configOf({ id: 'first', at: supplier, models: ['one', 'two', 'four'] }))
    await until(() => logged().includes('was reloaded'))
    expect((await gateway.chat(call('four'))).status).toBe(200)
  })

  it('leaves a stream that runs with the suppliers that it began with', async () => {
    const gate = createGate()
    const { gateway, supplier } = await openScene(async (_, reply) => {
      const stream = reply.stream()
      stream.send(ROLE)
      stream.send(HI)
      await gate.opened
      stream.send(STOP)
      stream.send(DONE)
      stream.end()
    })
    const other = tidy(await startFakeSupplier(good))
    const running = readText(await gateway.chat({ ...call('one'), stream: true }))
    await running.until('Hi')
    const response = await reload(gateway, configOf({ id: 'other', at: other, models: ['one'] }))
    expect(response.status).toBe(200)
    expect((await gateway.chat(call('one'))).headers.get('x-svc-supplier')).toBe('other')
    gate.open()
    expect(await running.rest()).toContain('[DONE]')
    expect([supplier.requests.length, other.requests.length]).toEqual([1, 1])
  })

  it('says which settings wait for a restart, for as long as they do', async () => {
    const { gateway, supplier } = await openScene(good)
    const text = configOf({ id: 'first', at: supplier, models: ['one', 'two'] })
    for (const settings of [
      'listen: { port: 9 }\n',
      'listen: { port: 9 }\nlimits: { attempts: 2 }\n',
    ])
      expect(await (await reload(gateway, text + settings)).json()).toMatchObject({
        need_restart: ['listen.port'],
      })
    expect(await (await reload(gateway, text)).json()).toMatchObject({ need_restart: [] })
  })

  it('says what has changed, prices and regions too', async () => {
    const { gateway, supplier } = await openScene(good)
    const text = configOf({ id: 'first', at: supplier, models: ['one', 'two'] })
    const same = (await (await reload(gateway, `${text}# said\n`)).json()) as object
    expect(same).toMatchObject({ suppliers_changed: [], settings_changed: [] })
    for (const changed of [
      text.replace('output: 2', 'output: 900'),
      text.replace('region: global', 'region: US'),
    ])
      expect(await (await reload(gateway, changed)).json()).toMatchObject({
        suppliers_changed: ['first'],
      })
    expect(await (await reload(gateway, `${text}limits: { attempts: 2 }\n`)).json()).toMatchObject({
      settings_changed: ['limits'],
    })
  })

  it('leaves nothing of the ones before in memory', async () => {
    const { gateway, supplier } = await openScene(good)
    const text = configOf({ id: 'first', at: supplier, models: ['one', 'two'] })
    const kept: WeakRef<object>[] = []
    for (let count = 0; count < 6; count++) {
      kept.push(new WeakRef(gateway.app.config()))
      expect((await reload(gateway, `${text}# ${count}\n`)).status).toBe(200)
    }
    // What a turn of the loop holds on its stack is let go of in the next one.
    for (let turn = 0; turn < 20; turn++) {
      await new Promise((resolve) => setImmediate(resolve))
      Bun.gc(true)
    }
    const alive = kept.filter((each) => each.deref() !== undefined)
    // The one of the start, for what waits for a restart, and at most one that a stack still names.
    expect(alive.length).toBeLessThanOrEqual(2)
  })
})

describe('a configuration that would take away what is used', () => {
  it('is not applied while a key names the model', async () => {
    const { gateway, supplier, logged } = await openScene(good)
    const { id, key } = await gateway.createKey({ name: 'k', allowed_models: ['two'] })
    const text = configOf({ id: 'first', at: supplier, models: ['one'] })
    const response = await reload(gateway, text)
    const { code, problems } = await refusalOf(response)
    expect([response.status, code]).toEqual([400, 'configuration_error'])
    expect(problems.join(' ')).toContain(
      `The model two is no longer served: it is on the list of the key ${id}`,
    )
    await until(() => logged().includes('stays in force'))
    const headers = { authorization: `Bearer ${key}` }
    expect((await gateway.chat(call('two'), { headers })).status).toBe(200)
  })

  it('is told problem by problem, with what to do about them apart', async () => {
    const { gateway, supplier } = await openScene(good)
    await gateway.createKey({ name: 'k', allowed_models: ['one', 'two'] })
    const told = async (...models: readonly string[]): Promise<ErrorBody['error']> => {
      const text = configOf({ id: 'first', at: supplier, models })
      return refusalOf(await reload(gateway, text))
    }
    const advice = expect.stringContaining('gateway reload --allow-drop')
    const one = await told('one')
    expect(one).toMatchObject({ problems: [expect.stringContaining('The model two')], advice })
    expect(one.message).not.toContain('more problem')
    expect(one.message).toContain('--allow-drop')
    const both = await told('three')
    expect(both).toMatchObject({ problems: [expect.any(String), expect.any(String)], advice })
    expect(both.message).toContain('There is one more problem. Keep what is used')
  })

  it('is not applied while calls use the model', async () => {
    const { gateway, supplier } = await openScene(good)
    await gateway.chat(call('two'))
    const response = await reload(gateway, configOf({ id: 'first', at: supplier, models: ['one'] }))
    expect((await refusalOf(response)).problems.join(' ')).toContain('it was called')
  })

  it('is not applied when a key would be left without its region', async () => {
    const { gateway, supplier } = await openScene(good, { region: 'EU' })
    await gateway.createKey({ name: 'k', allowed_regions: 'EU' })
    const moved = { id: 'first', at: supplier, models: ['one', 'two'], region: 'US' }
    const response = await reload(gateway, configOf(moved))
    expect((await refusalOf(response)).problems.join(' ')).toContain('Nothing is served in EU')
  })

  it('is not applied when a model that a key names would leave its region', async () => {
    const { gateway, supplier } = await openScene(good, { region: 'EU' })
    await gateway.createKey({ name: 'k', allowed_models: ['one'], allowed_regions: 'EU' })
    const response = await reload(
      gateway,
      configOf(
        { id: 'first', at: supplier, models: ['two'], region: 'EU' },
        { id: 'second', at: supplier, models: ['one'], region: 'US' },
      ),
    )
    const { problems } = await refusalOf(response)
    expect(problems[0]).toContain('The model one is no longer served in EU')
    expect(problems.join(' ')).not.toContain('two')
  })

  it('is not applied while a key names a model at one supplier alone', async () => {
    const { gateway, supplier } = await openScene(good)
    await gateway.createKey({ name: 'k', allowed_models: ['first/one'] })
    const renamed = configOf({ id: 'other', at: supplier, models: ['one', 'two'] })
    const response = await reload(gateway, renamed)
    expect((await refusalOf(response)).problems.join(' ')).toContain('The model first/one')
  })

  it('is not applied either after a reload that changed something else', async () => {
    const { gateway, supplier } = await openScene(good)
    await gateway.chat(call('two'))
    const more = configOf({ id: 'first', at: supplier, models: ['one', 'two', 'three'] })
    expect((await reload(gateway, more)).status).toBe(200)
    const less = configOf({ id: 'first', at: supplier, models: ['one', 'three'] })
    expect((await reload(gateway, less)).status).toBe(400)
  })

  it.each(['', 'suppliers:\n', '# emptied\n'])(
    'is not applied when no supplier would be left: %j',
    async (text) => {
      const { gateway } = await openScene(good)
      const response = await reload(gateway, text)
      expect((await refusalOf(response)).problems.join(' ')).toContain('No supplier would be left')
      expect((await gateway.chat(call('one'))).status).toBe(200)
    },
  )

  it('is applied when the operator insists, and says what went', async () => {
    const { gateway, supplier } = await openScene(good)
    await gateway.chat(call('two'))
    const text = configOf({ id: 'first', at: supplier, models: ['one'] })
    const response = await reload(gateway, text, { allow_drop: true })
    expect(response.status).toBe(200)
    expect(await response.json()).toMatchObject({ applied: true, models_removed: ['two'] })
    expect((await gateway.chat(call('two'))).status).toBe(404)
  })

  it('forgets keys that no longer work', async () => {
    const { gateway, supplier } = await openScene(good)
    const { id } = await gateway.createKey({ name: 'k', allowed_models: ['two'] })
    await gateway.manage('DELETE', `/keys/${id}`)
    const response = await reload(gateway, configOf({ id: 'first', at: supplier, models: ['one'] }))
    expect(response.status).toBe(200)
  })
})

const BROKEN = join(import.meta.dir, 'fixtures', 'config')

describe('a broken configuration', () => {
  it('never fails a call, whatever is wrong with it', async () => {
    const { gateway, logged } = await openScene(good)
    const names = readdirSync(BROKEN).filter((name) => name.endsWith('.yaml'))
    expect(names.length).toBeGreaterThan(29)
    const load = { isOver: false }
    const statuses: number[] = []
    const callers = Array.from({ length: 8 }, async () => {
      while (!load.isOver) {
        const response = await gateway.chat(call('one'))
        await response.text()
        statuses.push(response.status)
      }
    })
    for (const name of names) {
      const before = statuses.length
      const response = await reload(gateway, readFileSync(join(BROKEN, name), 'latin1'))
      const { code, message, problems } = await refusalOf(response)
      expect([name, response.status, code]).toEqual([name, 400, 'configuration_error'])
      expect(problems.length).toBeGreaterThan(0)
      expect(message).toContain('stays in force')
      // Calls went through while it was refused.
      await until(() => statuses.length > before)
    }
    load.isOver = true
    await Promise.all(callers)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(logged()).not.toContain(SUPPLIER_CANARY)
  })

  it('that has become a link to itself is told, and the process lives on', async () => {
    const { gateway, supplier, logged } = await openScene(good)
    symlinkSync(gateway.file, `${gateway.file}.new`)
    renameSync(`${gateway.file}.new`, gateway.file)
    await until(() => logged().includes('stays in force'))
    expect((await gateway.chat(call('one'))).status).toBe(200)
    write(gateway, configOf({ id: 'first', at: supplier, models: ['one', 'two', 'six'] }))
    await until(() => logged().includes('was reloaded'))
    expect((await gateway.chat(call('six'))).status).toBe(200)
  })

  it('is told by line and column, and a mended one is applied', async () => {
    const { gateway, supplier } = await openScene(good)
    const response = await reload(gateway, 'suppliers:\n  first:\n    kind: openapi\n')
    const { problems } = await refusalOf(response)
    expect(problems.join('\n')).toContain('gateway.yaml:3:')
    const mended = configOf({ id: 'first', at: supplier, models: ['one', 'two', 'five'] })
    expect((await reload(gateway, mended)).status).toBe(200)
    expect((await gateway.chat(call('five'))).status).toBe(200)
  })

  it.each<[unknown]>([[{ allow_drop: 'yes' }], [{ force: true }], [[]]])(
    'is not even looked at when the request itself is wrong: %j',
    async (body) => {
      const { gateway } = await openScene(good)
      expect((await gateway.manage('POST', '/reload', body)).status).toBe(400)
    },
  )

  it('can be reloaded by the root key alone', async () => {
    const { gateway } = await openScene(good)
    const { key } = await gateway.createKey({ name: 'k' })
    const response = await fetch(`${gateway.url}/v1/manage/reload`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.status).toBe(403)
  })
})

import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigurationError, defaultSettings, readSettings, type Settings } from './environment.ts'
import { ConfigFault } from './fault.ts'

const ROOT = `svc_${'r'.repeat(40)}`
const home = process.cwd()
let folder: string

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'settings-')))
  process.chdir(folder)
})

afterEach(() => {
  process.chdir(home)
  rmSync(folder, { recursive: true })
})

function write(name: string, text: string): string {
  const file = join(folder, name)
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

const read = (environment: Record<string, string> = {}, config?: string): Promise<Settings> =>
  readSettings({ config, environment })

async function refusalOf(environment: Record<string, string>, config?: string): Promise<string> {
  try {
    await read(environment, config)
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return thrown.message
    throw thrown
  }
  throw new Error('nothing was refused')
}

describe('the file', () => {
  it('is none when none is there, and suppliers are found by their variables then', async () => {
    const settings = await read({ SOME_KEY: 'x' })
    expect(settings.file).toBeUndefined()
    expect(settings.config.discover).toBe(true)
    expect(settings.dataFolder).toBe(join(folder, 'data'))
    expect(settings.lookup('SOME_KEY')).toBe('x')
    expect(settings.warnings).toEqual([])
  })

  it('is gateway.yaml of the working directory, or gateway.yml', async () => {
    const second = write('gateway.yml', 'listen: {port: 2}')
    expect(await read()).toMatchObject({ file: second, port: 2 })
    const first = write('gateway.yaml', 'listen: {port: 1}')
    expect(await read()).toMatchObject({ file: first, port: 1, config: { discover: false } })
  })

  it('is the one that is named on the command line, then the one of the environment', async () => {
    write('gateway.yaml', 'listen: {port: 1}')
    const other = write('other.yaml', 'listen: {port: 2}')
    const named = write('named.yaml', 'listen: {port: 3}')
    expect((await read({ GATEWAY_CONFIG: other })).port).toBe(2)
    expect((await read({ GATEWAY_CONFIG: other }, named)).port).toBe(3)
  })

  it('must exist when it is named', async () => {
    expect(await refusalOf({}, 'nowhere.yaml')).toStartWith(
      `There is no file ${join(folder, 'nowhere.yaml')}.`,
    )
    expect(await refusalOf({ GATEWAY_CONFIG: 'nowhere.yaml' })).toContain(
      'which GATEWAY_CONFIG names',
    )
  })

  it('must be a file that can be read', async () => {
    mkdirSync('folder.yaml')
    expect(await refusalOf({}, 'folder.yaml')).toContain('cannot be read: it is a folder.')
    const file = write('locked.yaml', '')
    chmodSync(file, 0o000)
    // Root may read everything.
    if (process.getuid?.() !== 0)
      expect(await refusalOf({}, file)).toContain('this user may not read it')
  })

  it('must be an ordinary file, so that nothing waits for it', async () => {
    expect(await refusalOf({}, '/dev/null')).toContain('it is a pipe or a device')
    Bun.spawnSync(['mkfifo', join(folder, 'pipe.yaml')])
    expect(await refusalOf({}, 'pipe.yaml')).toContain('it is a pipe or a device')
    symlinkSync('pipe.yaml', 'link.yaml')
    expect(await refusalOf({}, 'link.yaml')).toContain('it is a pipe or a device')
    const file = write('target.yaml', 'listen: {port: 7}')
    symlinkSync(file, 'good.yaml')
    expect((await read({}, 'good.yaml')).port).toBe(7)
  })

  it('is refused by its size before it is opened', async () => {
    const file = write('large.yaml', '')
    truncateSync(file, 3_000_000_000)
    expect(await refusalOf({}, file)).toContain(
      'has 2861.0 MiB, and a configuration may have 1 MiB',
    )
  })

  it('is missed where a link to it leads nowhere', async () => {
    symlinkSync('nowhere.yaml', 'gateway.yaml')
    expect(await refusalOf({})).toContain('gateway.yaml cannot be read: there is no such file')
  })

  it('is shown in problems as it was named', async () => {
    write('conf/gateway.yaml', 'port: 1')
    expect(await refusalOf({}, 'conf/gateway.yaml')).toStartWith('conf/gateway.yaml has a problem')
  })

  it('says which lines the faults of others stand in', async () => {
    write('gateway.yaml', 'demo: true\nsuppliers: {}\n')
    const fault = new ConfigFault(['suppliers'], 'are too few')
    expect((await read()).refuse([fault]).message).toContain(
      'gateway.yaml:2:1  suppliers  are too few',
    )
    rmSync('gateway.yaml')
    expect((await read()).refuse([fault]).message).toBe('suppliers  are too few')
  })

  it('is warned of when others can read a credential in it', async () => {
    const file = write('gateway.yaml', 'suppliers: {a: {kind: demo, credential: secret}}')
    expect((await read()).warnings).toHaveLength(1)
    chmodSync(file, 0o644)
    expect((await read()).warnings).toHaveLength(2)
  })
})

describe('the environment', () => {
  it('wins over the file', async () => {
    const other = `svc_${'o'.repeat(40)}`
    write('gateway.yaml', `listen: {host: 1.1.1.1, port: 1}\ndata: here\nroot_key: ${other}\n`)
    const plain = await read()
    expect([plain.host, plain.port, plain.rootKey?.reveal()]).toEqual(['1.1.1.1', 1, other])
    const over = { HOST: '::1', PORT: '2', GATEWAY_DATA: 'there', GATEWAY_ROOT_KEY: ROOT }
    const { host, port, dataFolder, rootKey } = await read(over)
    expect([host, port, dataFolder, rootKey?.reveal()]).toEqual([
      '::1',
      2,
      join(folder, 'there'),
      ROOT,
    ])
  })

  it('is told what is wrong with it', () => {
    expect(() => defaultSettings({ PORT: '70000' })).toThrow(
      'PORT must be a number from 0 to 65535',
    )
    expect(() => defaultSettings({ GATEWAY_ROOT_KEY: 'secret' })).toThrow(
      'GATEWAY_ROOT_KEY must begin with svc_',
    )
    expect(() => defaultSettings({ GATEWAY_ROOT_KEY: 'secret' })).not.toThrow('secret')
    expect(() => defaultSettings({ GATEWAY_SECRET_KEY: 's'.repeat(31) })).toThrow(
      'GATEWAY_SECRET_KEY must have at least 32 characters',
    )
  })

  it('may bring the key of what is kept encrypted', () => {
    const text = 's'.repeat(32)
    expect(defaultSettings({ GATEWAY_SECRET_KEY: text }).secretKey?.reveal()).toBe(text)
    expect(defaultSettings({ GATEWAY_SECRET_KEY: '' }).secretKey).toBeUndefined()
  })
})

describe('the data folder', () => {
  it('is relative to the file when the file names it, else to the working directory', async () => {
    write('conf/named.yaml', 'data: ../db')
    write('conf/silent.yaml', 'demo: true')
    expect((await read({}, 'conf/named.yaml')).dataFolder).toBe(join(folder, 'db'))
    expect((await read({}, 'conf/silent.yaml')).dataFolder).toBe(join(folder, 'data'))
    write('conf/absolute.yaml', 'data: /var/lib/gateway')
    expect((await read({}, 'conf/absolute.yaml')).dataFolder).toBe('/var/lib/gateway')
  })
})

// The commands about projects, wallets and payers, in front of a gateway that is a process of its own.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { ROOT_KEY } from './fakes/gateway.ts'
import { createFolder, startProcess, type Folder, type GatewayProcess } from './fakes/process.ts'
import { tell as tellAlone, type Told } from './fakes/terminal.ts'

let folder: Folder
let gateway: GatewayProcess

beforeAll(async () => {
  folder = createFolder()
  gateway = await startProcess(folder, { GATEWAY_ROOT_KEY: ROOT_KEY })
})

afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

function tell(...line: readonly string[]): Promise<Told> {
  const environment = { GATEWAY_DATA: join(folder.path, 'data'), GATEWAY_KEY: ROOT_KEY }
  return tellAlone(line, { environment })
}

async function manage(...line: readonly string[]): Promise<string> {
  const { code, out, err } = await tell(...line)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

async function quiet(...line: readonly string[]): Promise<string> {
  return (await manage(...line, '--quiet')).trim()
}

describe('projects', () => {
  it('are made, listed, changed and ended', async () => {
    const id = await quiet('projects', 'create', '--name', 'search', '--metadata', 'tier=gold')
    expect(id).toStartWith('prj_')
    expect(await manage('projects', 'show', id)).toContain('tier=gold')
    expect(await manage('projects', 'list', '--metadata', 'tier=gold')).toContain(id)
    expect(await quiet('projects', 'list', '--metadata', 'tier=tin')).toBe('')
    const changed = await manage('projects', 'update', id, '--pin', 'project', '--name', 'found')
    expect(changed).toMatch(/Payer +project alone/)
    expect(await manage('projects', 'update', id, '--pin', 'none')).not.toContain('alone')
    const shown = JSON.parse(await manage('projects', 'show', id, '--json')) as object
    expect(shown).toMatchObject({ id, name: 'found', payer: null, metadata: { tier: 'gold' } })
    expect((await tell('projects', 'end', id)).err).toContain('Write --yes')
    expect(await manage('projects', 'end', id, '--yes')).toBe(`${id} is ended.\n`)
    expect(await quiet('projects', 'list', '--status', 'ended')).toBe(id)
    expect((await tell('projects', 'update', id)).code).toBe(2)
    expect((await tell('projects', 'show', 'prj_none')).code).toBe(5)
  })
})

describe('wallets', () => {
  it('are opened, credited, shown and closed', async () => {
    const project = await quiet('projects', 'create', '--name', 'paid')
    const line = ['--project', project, '--spending-limit', '5', '--period', 'daily']
    const id = await quiet('wallets', 'create', ...line)
    expect(id).toStartWith('wal_')
    const credit = ['wallets', 'credit', id, '--reason', 'March']
    expect(await quiet(...credit, '--amount', '$12.50', '--reference', 'INV-1')).toBe('12.5')
    expect(await quiet(...credit, '--amount=-2.000000001')).toBe('10.499999999')
    const twice = await tell(...credit, '--amount', '12.50', '--reference', 'INV-1')
    expect([twice.code, twice.out]).toEqual([1, ''])
    const shown = await manage('wallets', 'show', id)
    expect(shown).toMatch(/Balance +10\.499999999 USD/)
    expect(shown).toMatch(/Spending limit +5\/day/)
    const entries = await manage('wallets', 'entries', id)
    expect(entries).toContain('INV-1')
    expect(entries).toContain('-2.000000001')
    expect(await quiet('wallets', 'list', '--project', project)).toBe(id)
    const opened = await manage('wallets', 'update', id, '--credit-line', 'none', '--json')
    expect(JSON.parse(opened)).toMatchObject({ credit_line: null, spending_limit: 5 })
    expect((await tell('wallets', 'close', id, '--yes')).code).toBe(1)
    await quiet(...credit, '--amount=-10.499999999')
    expect(await manage('wallets', 'close', id, '--yes')).toBe(`${id} is closed.\n`)
  })

  it('are told what is missing or wrongly written before anything is sent', async () => {
    const wrong: readonly (readonly [readonly string[], string])[] = [
      [['wallets', 'credit', 'wal_x', '--amount', '5'], '--reason is missing'],
      [['wallets', 'credit', 'wal_x', '--reason', 'x'], '--amount is missing'],
      [['wallets', 'credit', 'wal_x', '--reason', 'x', '--amount', '0'], '--amount takes dollars'],
      [['wallets', 'create', '--account', '--credit-line', 'much'], '--credit-line takes dollars'],
      [['wallets', 'create', '--user', 'usr_x', '--credit-line', 'none'], 'wallets update'],
      [['wallets', 'update', 'wal_x'], 'Nothing is named'],
    ]
    for (const [line, text] of wrong) {
      const { code, err } = await tell(...line)
      expect(code, line.join(' ')).toBe(2)
      expect(err.replaceAll(/\s+/g, ' ')).toContain(text)
    }
  })
})

describe('payers', () => {
  it('are told place by place, or the one that pays alone', async () => {
    const project = await quiet('projects', 'create', '--name', 'asked')
    const wallet = await quiet('wallets', 'create', '--project', project)
    const table = await manage('payers', '--project', project, '--estimate', '0.5')
    expect(table).toMatch(new RegExp(`project .*${wallet} +0 +funds`))
    expect(table).toMatch(/caller .* pays/)
    await quiet('wallets', 'credit', wallet, '--amount', '1', '--reason', 'x')
    expect(await quiet('payers', '--project', project, '--estimate', '0.5')).toBe(wallet)
    expect((await tell('payers', '--key-id', 'key_none')).code).toBe(5)
  })
})

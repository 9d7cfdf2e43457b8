// The commands about keys and tokens, in front of a gateway that is a process of its own.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { ROOT_KEY, startGateway } from './fakes/gateway.ts'
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

function tell(line: readonly string[], key = ROOT_KEY): Promise<Told> {
  const environment = { GATEWAY_DATA: join(folder.path, 'data'), GATEWAY_KEY: key }
  return tellAlone(line, { environment })
}

async function manage(...line: readonly string[]): Promise<string> {
  const { code, out, err } = await tell(line)
  expect({ code, errors: err.includes('error') }).toEqual({ code: 0, errors: false })
  return out
}

async function quiet(...line: readonly string[]): Promise<string> {
  return (await manage(...line, '--quiet')).trim()
}

async function make(
  ...line: readonly string[]
): Promise<{ readonly id: string; readonly key: string }> {
  return JSON.parse(await manage(...line, '--json')) as { id: string; key: string }
}

describe('gateway keys', () => {
  it('list finds keys by project, name, label and status', async () => {
    const project = await quiet('projects', 'create', '--name', 'search')
    const create = ['keys', 'create', '--metadata', 'tier=gold', '--metadata', 'stage=live']
    const { id } = await make(...create, '--name', 'crawler', '--project', project)
    const other = await make('keys', 'create', '--name', 'crawl', '--metadata', 'tier=gold')
    await manage('keys', 'revoke', other.id, '--yes')
    expect(await quiet('keys', 'list', '--project', project)).toBe(id)
    expect(await quiet('keys', 'list', '--name', 'CRAWLE')).toBe(id)
    expect(await quiet('keys', 'list', '--metadata', 'tier=gold', '--status', 'revoked')).toBe(
      other.id,
    )
    const both = ['--metadata', 'tier=gold', '--metadata', 'stage=live']
    expect(await quiet('keys', 'list', ...both)).toBe(id)
    expect(await quiet('keys', 'list', '--name', 'nothing-like-it')).toBe('')
    expect((await tell(['keys', 'list', '--status', 'busy'])).code).not.toBe(0)
    expect(await manage('keys', 'show', id)).toMatch(new RegExp(`Project +${project}`))
  })

  it('create looks models up without using the key', async () => {
    const { id } = await make('keys', 'create', '--name', 'idle', '--models', 'demo/chat')
    expect(JSON.parse(await manage('keys', 'show', id, '--json'))).toMatchObject({
      last_used_at: null,
    })
  })

  it('create doubts regions that nobody knows, without using the key', async () => {
    const doubted = await tell(['keys', 'create', '--name', 'typo', '--regions', 'eu-wets-1'])
    expect(doubted.err.replaceAll(/\s+/g, ' ')).toContain(
      'No supplier that lists models is in the region EU-WETS-1 here. Did you mean EU-WEST-1?',
    )
    const { id } = await make('keys', 'create', '--name', 'typo-2', '--regions', 'eu-wets-1')
    expect(JSON.parse(await manage('keys', 'show', id, '--json'))).toMatchObject({
      allowed_regions: ['EU-WETS-1'],
      last_used_at: null,
    })
    for (const region of ['eu', 'JP'])
      expect((await tell(['keys', 'create', '--name', 'a', '--regions', region, '-q'])).err).toBe(
        '',
      )
  })

  it('create believes in regions that suppliers are in, or that these lie in', async () => {
    const rack = 'kind: openai-compatible, origin: "https://127.0.0.1/v1", allow_private: true'
    const config = [
      'regions: { fra-dc: DE, hall: fra-dc }',
      `suppliers: { rack: { ${rack}, region: hall, models: { m: { price: free } } } }`,
    ].join('\n')
    const own = await startGateway({ config })
    try {
      const environment = { GATEWAY_URL: own.url, GATEWAY_KEY: ROOT_KEY }
      const create = async (region: string): Promise<string> => {
        const line = ['keys', 'create', '--name', 'a', '--regions', region, '--quiet']
        return (await tellAlone(line, { environment })).err.replaceAll(/\s+/g, ' ')
      }
      expect(await create('hall')).toBe('')
      expect(await create('fra-dc')).toBe('')
      expect(await create('halls')).toContain('in the region HALLS here. Did you mean HALL?')
    } finally {
      await own.stop()
    }
  })

  it('rotate shows a new secret once and says how long the old one goes on', async () => {
    const { id, key } = await make('keys', 'create', '--name', 'app')
    const shown = await manage('keys', 'rotate', id, '--overlap', '1h')
    const [secret] = /svc-sk-\S+/.exec(shown) ?? []
    expect(secret).not.toBe(key)
    expect(shown).toMatch(/Old secret +until .*\(in (1 hour|59 minutes)\)/)
    expect(await manage('keys', 'show', id)).toMatch(/Old secret +until .*last used: not seen/)
    expect((await tell(['models', '--live'], key)).code).toBe(0)
    expect(await manage('keys', 'show', id)).not.toContain('not seen')
    const last = await quiet('keys', 'rotate', id, '--overlap', 'none')
    expect((await tell(['models', '--live'], last)).code).toBe(0)
    for (const old of [key, String(secret)])
      expect((await tell(['models', '--live'], old)).code).not.toBe(0)
    const wrong = await tell(['keys', 'rotate', id, '--overlap', 'soon'])
    expect([wrong.code, wrong.err]).toEqual([2, expect.stringContaining('--overlap takes')])
  })
})

describe('gateway tokens', () => {
  it('makes, shows, changes, rotates and revokes them', async () => {
    const project = await quiet('projects', 'create', '--name', 'sales')
    const line = ['tokens', 'create', '--name', 'lead', '--project', project, '--manage']
    const { id, key } = await make(...line, '--rpm', '60')
    expect([id.slice(0, 4), key.slice(0, 4)]).toEqual(['tok_', 'svc_'])
    expect(await manage('tokens', 'show', id)).toContain('Manages')
    expect(await quiet('tokens', 'list', '--project', project)).toBe(id)
    expect(await manage('tokens', 'update', id, '--rpm', '30')).toMatch(/Rate +30 a minute/)
    const made = await tell(['keys', 'create', '--name', 'made', '--json'], key)
    expect(made.code).toBe(0)
    const { id: keyId } = JSON.parse(made.out) as { id: string }
    expect(JSON.parse(await manage('keys', 'show', keyId, '--json'))).toMatchObject({
      project_id: project,
      rate_limit_rpm: 30,
      created_by: id,
    })
    const beyond = await tell(['keys', 'create', '--name', 'more', '--rpm', '31'], key)
    expect(beyond.err).toContain('30 requests a minute')
    expect(await quiet('tokens', 'rotate', id)).toStartWith('svc_')
    expect((await tell(['tokens', 'revoke', id])).err).toContain('Write --yes')
    expect(await manage('tokens', 'revoke', id, '--yes')).toBe(`${id} is revoked.\n`)
    expect((await tell(['keys', 'list'], key)).code).not.toBe(0)
  })
})

// The commands about users, organisations, teams, accounts and actions, and what calls and usage tell of them, in
// front of a gateway that is a process of its own.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { join } from 'node:path'
import { ROOT_KEY } from './fakes/gateway.ts'
import { createFolder, startProcess, type Folder, type GatewayProcess } from './fakes/process.ts'
import { longest, tell as tellAlone, type Person, type Told } from './fakes/terminal.ts'

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

function tell(line: readonly string[], { key = ROOT_KEY, ...person }: Asked = {}): Promise<Told> {
  const environment = {
    GATEWAY_DATA: join(folder.path, 'data'),
    GATEWAY_KEY: key,
    NO_COLOR: '1',
  }
  return tellAlone(line, { ...person, environment })
}

type Asked = Omit<Person, 'environment'> & { readonly key?: string }

async function manage(...line: readonly string[]): Promise<string> {
  const { code, out, err } = await tell(line)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return out
}

async function quiet(...line: readonly string[]): Promise<string> {
  return (await manage(...line, '--quiet')).trim()
}

/** Resolves with the request id. */
async function chat(key: string, model = 'demo/chat'): Promise<string> {
  const answer = await fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  await answer.arrayBuffer()
  return answer.headers.get('x-request-id') ?? ''
}

describe('users, organisations and teams', () => {
  it('are made, listed, shown, changed and ended', async () => {
    const user = await quiet('users', 'create', '--name', 'Jo', '--email', 'jo@example.com')
    expect(await quiet('users', 'list', '--email', 'JO@example.com')).toBe(user)
    expect(await manage('users', 'update', user, '--email', 'none')).toMatch(/^Email +none$/m)
    const line = ['organisations', 'create', '--name', 'Research', '--billing-user', user]
    const organisation = await quiet(...line)
    expect(await manage('organisations', 'show', organisation)).toMatch(
      new RegExp(`^Billing user +${user}$`, 'm'),
    )
    const kept = await tell(['users', 'end', user, '--yes'])
    expect([kept.code, kept.err]).toEqual([1, expect.stringContaining('conflict')])
    const [one, two] = [
      await quiet('projects', 'create', '--name', 'one', '--organisation', organisation),
      await quiet('projects', 'create', '--name', 'two'),
    ]
    const team = await quiet('teams', 'create', '--name', 'apps', '--projects', `${one}, ${two}`)
    expect(await quiet('teams', 'list', '--project', two)).toBe(team)
    const shown = JSON.parse(await manage('teams', 'show', team, '--json')) as object
    expect(shown).toMatchObject({ id: team, project_ids: [one, two], status: 'active' })
    expect(await manage('teams', 'update', team, '--projects', 'none')).toMatch(/^Projects +none$/m)
    expect(await manage('teams', 'end', team, '--yes')).toBe(`${team} is ended.\n`)
    expect(await quiet('teams', 'list', '--status', 'ended')).toBe(team)
    expect((await tell(['teams', 'show', 'team_none'])).err).toContain('`gateway teams list`')
  })
})

describe('accounts', () => {
  it('are opened with a root key, given another one, and closed', async () => {
    const key = await quiet('accounts', 'create', '--name', 'Customer A')
    expect(key).toStartWith('svc_')
    const id = await quiet('accounts', 'list', '--name', 'customer')
    expect((await tell(['keys', 'list'], { key })).code).toBe(0)
    const rotated = await manage('accounts', 'rotate', id)
    expect(rotated).toMatch(/^Old secret +ended$/m)
    const [next = ''] = /svc_\S+/.exec(rotated) ?? []
    expect((await tell(['keys', 'list'], { key })).code).toBe(4)
    expect(await manage('accounts', 'update', id, '--name', 'A')).toMatch(/^Operator +no$/m)
    expect(await manage('actions', '--account-id', id)).toContain('name Customer A → A')
    const foreign = await tell(['accounts', 'list'], { key: next })
    expect([foreign.code, foreign.err]).toEqual([4, expect.stringContaining('GATEWAY_KEY')])
    expect(await manage('accounts', 'close', id, '--yes')).toBe(`${id} is closed.\n`)
    expect((await tell(['keys', 'list'], { key: next })).code).toBe(4)
  })
})

describe('actions', () => {
  it('tell what was changed, and are found by their target and their kind', async () => {
    const project = await quiet('projects', 'create', '--name', 'before')
    await manage('projects', 'update', project, '--name', 'after', '--pin', 'project')
    const lines = (await manage('actions', '--target', project)).trimEnd().split('\n')
    expect(lines).toHaveLength(3)
    expect(lines[1]).toContain('name before → after, payer project')
    const made = ['actions', '--target', project, '--action', 'project.create']
    const { data } = JSON.parse(await manage(...made, '--from', '1h', '--json')) as {
      data: object[]
    }
    expect(data).toMatchObject([{ target: project, action: 'project.create', before: null }])
    expect(await manage(...made, '--to', '1h', '--from', '2h')).toBe('')
  })
})

describe('a call', () => {
  it('is shown with its payer on one line and each that was passed on its own', async () => {
    const project = await quiet('projects', 'create', '--name', 'empty')
    const wallet = await quiet('wallets', 'create', '--project', project)
    const key = await quiet('keys', 'create', '--name', 'asker', '--project', project)
    const request = await chat(key)
    const shown = await manage('calls', 'show', request)
    expect(shown).toMatch(/^Payer +wal_\S+ \(caller\), open end$/m)
    expect(shown).toMatch(new RegExp(`^Passed +${wallet} \\(project\\): funds, too little`, 'm'))
    expect(shown).toMatch(/^Passed +organisation: none, no wallet$/m)
    expect(shown).not.toMatch(/Payer (wallet|link|passed)|\{|\[/)
    await manage('wallets', 'update', wallet, '--credit-line', '5', '--spending-limit', '1')
    expect(await manage('calls', 'show', await chat(key))).toMatch(
      new RegExp(`^Payer +${wallet} \\(project\\), credit line 5 USD, at most 1 USD a month$`, 'm'),
    )
    expect(await manage('calls', '--project', project)).toContain(request)
    expect(await manage('calls', '--project', project, '--model', 'other')).toBe('')
  })
})

describe('usage', () => {
  it('tells keys, projects and tokens by their names, with their ids in a pipe', async () => {
    const project = await quiet('projects', 'create', '--name', 'counted')
    const token = await quiet('tokens', 'create', '--name', 'counter', '--project', project)
    await chat(token)
    const line = ['usage', '--per', 'total', '--project', project, '--by', 'key,project']
    const piped = await manage(...line)
    expect(piped).toMatch(/^KEY +KEY ID +PROJECT +PROJECT ID +CALLS/)
    expect(piped).toMatch(new RegExp(`^counter +tok_\\S+ +counted +${project} +1 `, 'm'))
    expect(await manage('calls', '--project', project)).toMatch(/ counter +demo /)
    await chat(ROOT_KEY)
    expect(await manage('usage', '--by', 'key', '--per', 'total')).toMatch(/^\(root\) +key_/m)
  })

  it('fits the window, however much it is told apart', async () => {
    const project = await quiet('projects', 'create', '--name', 'a project with a long name')
    await quiet('teams', 'create', '--name', 'a team with a long name', '--projects', project)
    const key = await quiet('keys', 'create', '--name', 'a long name', '--project', project)
    await Promise.all([chat(key), chat(key, 'demo/error-400')])
    const every = 'team,key,project,payer,model,supplier,region,code'
    for (const by of ['key,project', 'key,payer,model,code', every.replace('team,', ''), every])
      for (const columns of [80, 100]) {
        const { code, out } = await tell(['usage', '--by', by], { columns })
        expect(code).toBe(0)
        expect(longest(out), by).toBeLessThanOrEqual(columns)
      }
  })

  it('shows refusals where there was nothing else', async () => {
    const key = await quiet('keys', 'create', '--name', 'turned away', '--models', 'demo/chat')
    const id = await quiet('keys', 'list', '--name', 'turned away')
    await chat(key, 'demo/failover')
    const line = ['usage', '--key-id', id, '--by', 'key,model,supplier,region,code']
    const { out } = await tell(line, { columns: 80 })
    expect(out).toContain('REFUSED')
    expect(longest(out)).toBeLessThanOrEqual(80)
  })
})

describe('what is refused', () => {
  it('is told by flags, and ends with code 2 where it is wrongly written', async () => {
    const wrong: readonly (readonly [line: string, text: string])[] = [
      ['usage --by foo', 'Give --by as a list of'],
      ['usage --per week', 'Give --per as one of hour, day, total'],
      ['usage --from 60d --per hour', 'Give a later --from'],
      ['tokens create --name x', 'Give --project or --team'],
      ['users create --name x --email nothing', 'Give --email as an address'],
      ['wallets list --status odd', 'Give --status as one of active, exhausted, closed'],
    ]
    for (const [line, text] of wrong) {
      const { code, err } = await tell(line.split(' '))
      expect([code, err]).toEqual([2, expect.stringContaining(text)])
    }
  })

  it('for a limit of the token that asks is no reason to use the root key', async () => {
    const project = await quiet('projects', 'create', '--name', 'limited')
    const line = ['tokens', 'create', '--name', 'lead', '--project', project, '--manage']
    const key = await quiet(...line, '--budget', '5')
    const beyond = await tell(['keys', 'create', '--name', 'more', '--budget', '6'], { key })
    expect(beyond.err).toContain('at most 5 USD')
    expect(beyond.err).not.toContain('GATEWAY_KEY')
    const role = await tell(['wallets', 'list'], { key })
    expect([role.code, role.err]).toEqual([4, expect.stringContaining('GATEWAY_KEY')])
  })
})

// The command line: what people read, what scripts rely on, and where the root key may go. Most of it runs
// in this process, in front of one gateway that is a process of its own.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { ROOT_KEY } from './fakes/gateway.ts'
import { createFolder, startProcess, type Folder, type GatewayProcess } from './fakes/process.ts'
import { longest, tell as tellAlone, type Person, type Told } from './fakes/terminal.ts'

const ROOT = resolve(import.meta.dir, '..')

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

/** On the data folder of the gateway, unless something else is said. */
function tell(line: readonly string[], person: Person = {}): Promise<Told> {
  const environment = { GATEWAY_DATA: join(folder.path, 'data'), ...person.environment }
  return tellAlone(line, { ...person, environment })
}

const AS_ROOT = { environment: { GATEWAY_KEY: ROOT_KEY } }

/** For steps on the way to what a test is about. */
async function manage(...line: readonly string[]): Promise<string> {
  const { code, out, err } = await tell(line, AS_ROOT)
  expect(err).toBe('')
  expect(code).toBe(0)
  return out
}

async function createKey(...flags: readonly string[]): Promise<{ id: string; key: string }> {
  const text = await manage('keys', 'create', '--name', 'test', ...flags, '--json')
  return JSON.parse(text) as { id: string; key: string }
}

function chat(key: string, model = 'demo/chat'): Promise<Response> {
  return fetch(`${gateway.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hello' }] }),
  })
}

describe('flags', () => {
  it('may stand before the command, carry their value behind =, and end at --', async () => {
    const { code, out } = await tell(['--json', 'keys', 'list', '--limit=1'], AS_ROOT)
    expect(code).toBe(0)
    expect(JSON.parse(out)).toMatchObject({ object: 'list' })
    const { err } = await tell(['keys', 'show', '--', '--help'], AS_ROOT)
    expect(err).toContain('(HTTP 404 not_found)')
  })

  it('tell the version in three ways', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      version: string
    }
    for (const line of [['version'], ['--version'], ['-v']])
      expect((await tell(line)).out).toStartWith(`gateway ${version} (bun `)
    expect(JSON.parse((await tell(['version', '--json'])).out)).toMatchObject({ version })
  })
})

describe('a key', () => {
  it('lives from its creation through its calls to its end', async () => {
    const secret = (
      await manage('keys', 'create', '--name', 'billing bot', '--models', 'demo/chat', '--quiet')
    ).trimEnd()
    expect(secret).toMatch(/^svc-sk-\S+$/)
    const listed = await manage('keys', 'list')
    const line = listed.split('\n').find((each) => each.includes('billing bot')) ?? ''
    const [id = ''] = line.split(' ')
    expect(id).toMatch(/^key_/)
    expect(line).toContain('active')
    expect(await manage('keys', 'show', id)).toMatch(/^Models +demo\/chat$/m)

    const answer = await chat(secret)
    expect(answer.status).toBe(200)
    const request = answer.headers.get('x-request-id') ?? ''
    const cost = answer.headers.get('x-svc-cost-usd') ?? ''
    await answer.arrayBuffer()
    const calls = await manage('calls', '--key-id', id)
    expect(calls.split('\n')).toHaveLength(3)
    for (const text of [request, 'demo/chat', cost, ' 200 ']) expect(calls).toContain(text)
    const call = await manage('calls', 'show', request)
    expect(call).toMatch(new RegExp(`^Key ID +${id}$`, 'm'))
    expect(call).toMatch(new RegExp(`^Cost USD +${cost.replace('.', '\\.')}$`, 'm'))
    expect(call).toMatch(/^State +settled$/m)
    expect(call).toMatch(/^Try 1 +supplier demo, region EU, evidence reported$/m)

    expect(await manage('keys', 'revoke', id, '--yes')).toBe(`${id} is revoked.\n`)
    expect((await chat(secret)).status).toBe(401)
    expect(await manage('keys', 'show', id)).toMatch(/^Status +revoked$/m)
  })

  it('gets the limits that the flags name, and loses them by the word none', async () => {
    const { id } = await createKey(
      ...'--regions eu --budget 0.000000001 --period daily --fit off --rpm 60'.split(' '),
      ...'--expires 2090-01-01 --metadata team=a=b --metadata cost=7'.split(' '),
    )
    expect(JSON.parse(await manage('keys', 'show', id, '--json'))).toMatchObject({
      allowed_regions: ['EU'],
      budget_limit: 1e-9,
      budget_period: 'daily',
      fit: 'off',
      rate_limit_rpm: 60,
      expires_at: '2090-01-01T00:00:00.000Z',
      metadata: { team: 'a=b', cost: '7' },
    })
    expect(await manage('keys', 'show', id)).toMatch(/^Budget +0\.000000001\/day, /m)
    await manage('keys', 'set', id, '--budget', '25', '--rpm', 'none', '--regions', 'none')
    await manage('keys', 'set', id, '--expires', 'none', '--metadata', 'none', '--name', 'other')
    expect(await manage('keys', 'set', id, '--fit', 'on')).toMatch(/^Fit +on: /m)
    expect(JSON.parse(await manage('keys', 'show', id, '--json'))).toMatchObject({
      name: 'other',
      allowed_regions: null,
      budget_limit: 25,
      rate_limit_rpm: null,
      expires_at: null,
      metadata: {},
    })
  })

  it('is told to programs with its amounts digit for digit', async () => {
    const { id } = await createKey('--budget', '0.0000001')
    expect(await manage('keys', 'show', id, '--json')).toContain('"budget_limit": 0.0000001,')
    expect(await manage('keys', 'list', '--json')).toContain('"budget_limit": 0.0000001,')
  })

  it('is revoked by a person only after a yes', async () => {
    const { id } = await createKey()
    const person = { ...AS_ROOT, columns: 80 }
    const asked = await tell(['keys', 'revoke', id], { ...person, answers: ['n'] })
    expect(asked.code).toBe(1)
    expect(asked.out).toMatch(/Name +.*test/)
    expect(asked.err).toContain('Revoke this key, at once and for good? [y/N]')
    expect(await manage('keys', 'show', id)).toMatch(/^Status +active$/m)
    const gone = await tell(['keys', 'revoke', id], { ...person, answers: ['y'] })
    expect(gone.code).toBe(0)
    expect(await manage('keys', 'show', id)).toMatch(/^Status +revoked$/m)
  })

  it('list walks every page, or stops where it is told and says how to go on', async () => {
    const made = await Promise.all(Array.from({ length: 120 }, () => createKey()))
    const all = (await manage('keys', 'list', '--quiet')).trimEnd().split('\n')
    expect(new Set(all).size).toBe(all.length)
    for (const { id } of made) expect(all).toContain(id)
    const first = JSON.parse(await manage('keys', 'list', '--limit', '105', '--json')) as {
      data: { id: string }[]
      has_more: boolean
      next_cursor: string
    }
    expect(first.data.map(({ id }) => id)).toEqual(all.slice(0, 105))
    expect(first.has_more).toBe(true)
    const rest = await manage('keys', 'list', '--cursor', first.next_cursor, '--quiet')
    expect(rest.trimEnd().split('\n')).toEqual(all.slice(105))
  })
})

describe('calls', () => {
  it('are filtered by what the flags say, and told whole to programs', async () => {
    const { id, key } = await createKey()
    await Promise.all([chat(key), chat(key), chat(key, 'demo/error-400')].map(drained))
    const read = async (...flags: readonly string[]): Promise<readonly unknown[]> => {
      const text = await manage('calls', '--key-id', id, '--json', ...flags)
      return (JSON.parse(text) as { data: unknown[] }).data
    }
    expect(await read()).toHaveLength(3)
    expect(await read('--model', 'demo/chat')).toHaveLength(2)
    expect(await read('--status', '200', '--from', '1h', '--all')).toHaveLength(2)
    expect(await read('--to', '2020-01-01')).toHaveLength(0)
    expect(await read('--state', 'settled')).toHaveLength(2)
    expect(await read('--state', 'voided')).toHaveLength(1)
    expect(await read('--limit', '1')).toHaveLength(1)
    expect(await manage('calls', '--key-id', id, '--ids')).toMatch(/^REQUEST +TIME +HTTP +MODEL$/m)
  })
})

async function drained(answer: Promise<Response>): Promise<void> {
  await (await answer).arrayBuffer()
}

describe('what a narrow window leaves out', () => {
  it('is tokens and times before names, codes and who called', async () => {
    const name = 'billing bot at night'
    const key = (await manage('keys', 'create', '--name', name, '--quiet')).trimEnd()
    await Promise.all([drained(chat(key)), drained(chat(key, 'demo/error-400'))])
    const person = { environment: { ...AS_ROOT.environment, NO_COLOR: '1' }, columns: 80 }
    const { out } = await tell(['calls', '--limit', '2'], person)
    expect(longest(out)).toBeLessThanOrEqual(80)
    expect(out).toContain('COST USD')
    expect(out).toMatch(/ demo\/error-400 +billing bot at night /)
    expect(out).not.toMatch(/REQUEST| MS /)
    const piped = await manage('calls', '--limit', '2')
    for (const title of ['KEY', 'KEY ID', 'IN', 'OUT', 'MS', 'CODE', 'REQUEST', 'SUPPLIER'])
      expect(piped.split('\n')[0]).toContain(title)
  })

  it('is in a pipe: every limit of every key', async () => {
    await createKey(...'--models demo/chat --regions EU --rpm 7 --expires 2090-01-01'.split(' '))
    const [head = '', first = ''] = (await manage('keys', 'list', '--limit', '1')).split('\n')
    for (const title of ['SPENT USD', 'MODELS', 'REGIONS', 'RPM', 'EXPIRES', 'CREATED'])
      expect(head).toContain(title)
    expect(first).toMatch(/ demo\/chat +EU +7 +2090-01-01T00:00:00Z /)
  })
})

describe('a new key', () => {
  it('says what its budget is', async () => {
    const told = await manage('keys', 'create', '--name', 'a', '--budget', '10')
    expect(told).toMatch(/^Budget +10 USD monthly$/m)
    expect(told).not.toMatch(/^Fit/m)
    const unfit = await manage('keys', 'create', '--name', 'a', '--budget', '10', '--fit', 'off')
    expect(unfit).toMatch(/^Fit +off: a call that the budget cannot pay whole is refused$/m)
  })

  it.each([
    ['--models nope/x,demo/chat', 'No supplier lists the model nope/x here.'],
    ['--models nope/x --regions EU', 'No supplier lists the model nope/x here.'],
  ])('with %s is made, with a warning', async (flags, warning) => {
    const line = ['keys', 'create', '--name', 'a', '--quiet', ...flags.split(' ')]
    const { code, out, err } = await tell(line, AS_ROOT)
    expect({ code, err }).toEqual({ code: 0, err: `warning: ${warning}\n` })
    expect(out).toStartWith('svc-sk-')
  })

  it('that gets models which nobody serves is changed, with a warning', async () => {
    const { id } = await createKey()
    const { code, err } = await tell(['keys', 'set', id, '--models', 'nope/x'], AS_ROOT)
    expect(code).toBe(0)
    expect(err).toBe('warning: No supplier lists the model nope/x here.\n')
  })
})

describe('a table', () => {
  it('fits the window of a person, and is whole and plain in a pipe', async () => {
    const name = 'a name that is much too long for a window of eighty columns, 日本語 and all of it'
    await createKey()
    await manage('keys', 'create', '--name', name)
    const seen = await tell(['keys', 'list'], { ...AS_ROOT, columns: 80 })
    expect(longest(seen.out)).toBeLessThanOrEqual(80)
    expect(seen.out).toContain('…')
    expect(seen.out).toContain('\x1b[')
    const piped = await manage('keys', 'list')
    expect(piped).toContain(name)
    expect(piped).not.toContain('\x1b[')
  })

  it('has no colours where nobody wants them', async () => {
    const environment = { ...AS_ROOT.environment, NO_COLOR: '1' }
    const { out, err } = await tell(['keys', 'list'], { environment, columns: 80 })
    expect(out + err).not.toContain('\x1b[')
  })

  it('does not let a name steer the terminal', async () => {
    await manage('keys', 'create', '--name', 'evil\x1b[2J\u202e\n\x07name')
    const environment = { ...AS_ROOT.environment, NO_COLOR: '1' }
    const { out } = await tell(['keys', 'list', '--limit', '1'], { environment, columns: 100 })
    expect(out).toContain('evil\\u001b[2J\\u202e↵\\u0007name')
  })
})

describe('the key that is shown', () => {
  it('comes from a file, from standard input, or from a person who is not overheard', async () => {
    const file = join(folder.path, 'root.key')
    writeFileSync(file, `${ROOT_KEY}\n`)
    expect((await tell(['keys', 'list', '--key-file', file])).code).toBe(0)
    expect((await tell(['keys', 'list', '--key-file', '-'], { input: `${ROOT_KEY}\n` })).code).toBe(
      0,
    )
    const typed = await tell(['keys', 'list'], { columns: 80, answers: [ROOT_KEY] })
    expect(typed.code).toBe(0)
    expect(typed.err).toStartWith('Root key (not shown): ')
    expect(typed.out + typed.err).not.toContain(ROOT_KEY)
  })

  it('works on the command line, with a warning', async () => {
    const { code, err } = await tell(['keys', 'list', '--key', ROOT_KEY])
    expect(code).toBe(0)
    expect(err).toContain('warning: A key on the command line shows in the list of processes')
    const machine = await tell(['keys', 'list', '--key', ROOT_KEY, '--json'])
    expect(JSON.parse(machine.err)).toEqual({ warning: expect.any(String) })
    expect(JSON.parse(machine.out)).toMatchObject({ object: 'list' })
  })

  it.each([
    ['is missing', {}, 'There is no key to show to the gateway.'],
    ['is wrong', { GATEWAY_KEY: 'svc_wrong' }, '(HTTP 401 invalid_api_key)'],
    ['has a line break inside', { GATEWAY_KEY: 'svc_a\nb' }, 'characters that no key has'],
  ])('and %s ends with code 4', async (_case, environment, reason) => {
    const { code, out, err } = await tell(['keys', 'list'], { environment })
    expect(code).toBe(4)
    expect(out).toBe('')
    expect(err).toContain(reason)
  })

  it('and may not manage ends with code 4', async () => {
    const { key } = await createKey()
    const { code, err } = await tell(['keys', 'list'], { environment: { GATEWAY_KEY: key } })
    expect(code).toBe(4)
    expect(err).toContain('Set GATEWAY_KEY to the root key')
  })

  it('follows no redirect', async () => {
    let stolen: string | null = null
    using thief = serve((request) => {
      stolen = request.headers.get('authorization')
      return new Response('{}')
    })
    using other = serve(() => Response.redirect(thief.url.href, 307))
    const { code, err } = await tell(['keys', 'list', '--url', other.url.href], AS_ROOT)
    expect(code).toBe(3)
    expect(err).toContain('Something else than a gateway answers at')
    expect(stolen).toBeNull()
  })
})

function serve(answer: (request: Request) => Response): Bun.Server<undefined> {
  return Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: answer })
}

describe('the gateway', () => {
  it('is found by its address in any usual spelling', async () => {
    for (const url of [gateway.url, `${gateway.url}/v1/`, gateway.url.replace('http://', '')]) {
      const environment = { ...AS_ROOT.environment, GATEWAY_DATA: '/nowhere', GATEWAY_URL: url }
      expect((await tell(['keys', 'list', '--limit', '1'], { environment })).code).toBe(0)
    }
  })

  it('that never ran, has died or is another program ends with code 3', async () => {
    const data = join(folder.path, 'other')
    const at = (path: string) => tell(['keys', 'list', '--data', path], AS_ROOT)
    const never = await at(data)
    expect(never.code).toBe(3)
    expect(never.err).toContain(`No gateway is running on the data folder ${data}.`)
    expect(never.err).toContain('`gateway start`')

    const child = Bun.spawn(['true'])
    await child.exited
    mkdirSync(data)
    const run = { pid: child.pid, address: 'http://127.0.0.1:1' }
    writeFileSync(join(data, 'run.json'), JSON.stringify(run))
    const dead = await at(data)
    expect(dead.code).toBe(3)
    expect(dead.err).toContain(`process ${child.pid}, which was at http://127.0.0.1:1, has ended`)

    writeFileSync(join(data, 'run.json'), JSON.stringify({ ...run, pid: process.pid }))
    const refused = await at(data)
    expect(refused.code).toBe(3)
    expect(refused.err).toContain('Nothing answers at http://127.0.0.1:1 (connection refused).')

    using page = serve(() => new Response('<html>', { headers: { 'content-type': 'text/html' } }))
    const other = await tell(['keys', 'list', '--url', page.url.href], AS_ROOT)
    expect(other.code).toBe(3)
    expect(other.err).toContain('Something else than a gateway answers at')
  })

  it('is told as npx runs it to whoever came by npx', async () => {
    const data = join(folder.path, 'never')
    const environment = { ...AS_ROOT.environment, npm_command: 'exec' }
    const { err } = await tell(['keys', 'list', '--data', data], { environment })
    expect(err).toContain('`npx gateway start`')
  })

  it.if(process.getuid?.() === 0)("on a stranger's folder is not said to be gone", async () => {
    const work = join(folder.path, 'foreign')
    const data = join(work, 'data')
    mkdirSync(data, { recursive: true })
    writeFileSync(join(data, 'run.json'), '{}')
    chmodSync(data, 0o700)
    const asNobody = (...line: readonly string[]) =>
      spawnGateway([...line, '--data', data], {
        environment: AS_ROOT.environment,
        cwd: work,
        uid: 65_534,
      })
    const { code, err } = await asNobody('keys', 'list')
    expect(code).toBe(3)
    expect(err).toContain('run.json cannot be read by you.')
    const start = await asNobody('start', '--port', '0')
    expect(start.code).toBe(1)
    expect(start.err).toContain(`The data folder ${data} cannot be written by this user`)
    expect(start.err).toContain('--data or GATEWAY_DATA')
  })

  it('has no page at its root, and says where paths begin', async () => {
    const page = await fetch(gateway.url)
    expect(page.status).toBe(404)
    expect(await page.text()).toContain('Paths begin with /v1')
    expect((await fetch(gateway.url, { method: 'HEAD' })).status).toBe(200)
  })

  it.if(process.getuid?.() === 0)("is not looked for at a stranger's word", async () => {
    const data = join(folder.path, 'work', 'data')
    mkdirSync(data, { recursive: true })
    const file = join(data, 'run.json')
    writeFileSync(file, JSON.stringify({ pid: process.pid, address: gateway.url }))
    chownSync(file, 12_345, 12_345)
    const spawn = (...flags: readonly string[]) =>
      spawnGateway(['keys', 'list', ...flags], {
        environment: AS_ROOT.environment,
        cwd: join(folder.path, 'work'),
      })
    const { code, err } = await spawn()
    expect(code).toBe(3)
    expect(err).toContain('belongs to another user (uid 12345)')
    expect((await spawn('--data', data)).code).toBe(0)
  })

  it('cannot steer the terminal by what it answers', async () => {
    const evil = 'key_\x1b[2J\x9b1m'
    using page = serve((request) =>
      Response.json(
        request.url.endsWith('/health')
          ? { status: 'ok' }
          : { id: evil, key: evil, data: [{ id: evil }] },
        { headers: { 'x-request-id': 'req_1' } },
      ),
    )
    for (const line of [
      ['keys', 'create', '--name', 'x', '--quiet'],
      ['keys', 'list', '--quiet'],
      ['keys', 'revoke', 'key_1', '--yes'],
    ]) {
      const { code, out } = await tell([...line, '--url', page.url.href], AS_ROOT)
      expect(code).toBe(0)
      expect(out).toStartWith('key_\\u001b[2J\\u009b1m')
    }
  })

  it('has refused a value, which is told by its flag and ends with code 2', async () => {
    const line = ['keys', 'create', '--name', 'a', '--regions', 'a b']
    const { code, err } = await tell(line, AS_ROOT)
    expect(code).toBe(2)
    expect(err).toStartWith('error: Give --regions as a region such as "EU"')
    expect(err).toContain('(HTTP 400 validation_error) [--regions]')
    expect(err).toContain('See `gateway keys create --help`.')
    const machine = await tell([...line, '--json'], AS_ROOT)
    expect(JSON.parse(machine.err)).toMatchObject({
      error: { code: 'validation_error', param: 'allowed_regions', retryable: false },
      status: 400,
      exit_code: 2,
    })
  })

  it.each([
    'keys show key_nope',
    'keys set key_nope --rpm 1',
    'keys update key_nope --rpm 1',
    'keys revoke key_nope --yes',
    'calls show req_nope',
  ])('does not know the id in `%s`, which ends with code 5', async (line) => {
    const { code, err } = await tell(line.split(' '), AS_ROOT)
    expect(code).toBe(5)
    expect(err).toContain('not_found')
    expect(err).not.toContain('/v1/')
    if (line.startsWith('keys')) expect(err).toContain('`gateway keys list`')
  })

  it('are those that a key may call when a running gateway is asked', async () => {
    const { key } = await createKey('--models', 'demo/chat')
    const environment = { GATEWAY_KEY: key }
    const { out } = await tell(['models', '--live'], { environment })
    expect(out).toMatch(/^MODEL +OWNER\ndemo\/chat +demo\n$/)
    const named = await tell(['models', '--url', gateway.url, '--json'], { environment })
    expect(JSON.parse(named.out)).toMatchObject({ object: 'list', data: [{ id: 'demo/chat' }] })
  })
  it('says where the data folder is, also while it has problems', async () => {
    const text = `data: ${join(folder.path, 'data')}\nroot_key: \${UNSET_IN_THIS_SHELL}\n`
    const file = join(folder.path, 'live.yaml')
    writeFileSync(file, text)
    const environment = { ...AS_ROOT.environment, GATEWAY_DATA: '' }
    const { code, err } = await tell(['keys', 'list', '--config', file], { environment })
    expect(err).toBe('')
    expect(code).toBe(0)
  })
  it('reads its configuration again when it is asked to', async () => {
    const { code, out } = await tell(['reload'], AS_ROOT)
    expect(code).toBe(0)
    expect(out).toContain('The configuration is in force.')
    expect(JSON.parse(await manage('reload', '--json'))).toMatchObject({ applied: true })
  })
})

describe('a reload', () => {
  it('is asked for by a signal or a command, and a broken file is told line by line', async () => {
    using other = createFolder()
    const file = join(other.path, 'gateway.yaml')
    writeFileSync(file, 'demo: true\n')
    const variables = { GATEWAY_ROOT_KEY: ROOT_KEY, GATEWAY_CONFIG: file }
    await using second = await startProcess(other, variables)
    second.kill('SIGHUP')
    const line = ['reload', '--url', second.url]
    expect((await tell(line, AS_ROOT)).code).toBe(0)
    writeFileSync(file, 'demo: perhaps\nnonsense: 1\n')
    const { code, out, err } = await tell(line, AS_ROOT)
    expect(code).toBe(6)
    expect(out).toBe('')
    expect(err).toContain('The configuration was not applied; the one before stays in force.')
    expect(err).toContain('gateway.yaml:1:')
    expect(err).toContain('gateway.yaml:2:')
    const machine = await tell([...line, '--json'], AS_ROOT)
    expect(JSON.parse(machine.err)).toMatchObject({
      error: { code: 'configuration_error', problems: expect.any(Array) },
      exit_code: 6,
    })
    expect((await fetch(`${second.url}/health`)).status).toBe(200)
    writeFileSync(file, 'demo: true\nlimits: {attempts: 2}\n')
    const changed = await tell(line, AS_ROOT)
    expect(changed.out).toMatch(/^Settings changed +limits$/m)
    expect((await tell(line, AS_ROOT)).out).toContain('Nothing has changed.')
  })
})

interface Spawn {
  readonly environment?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Another user than the one of this process. */
  readonly uid?: number
}

/** The command as a process of its own. */
async function spawnGateway(line: readonly string[], options: Spawn = {}): Promise<Told> {
  const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...line], {
    cwd: options.cwd ?? ROOT,
    ...(options.uid === undefined ? {} : { uid: options.uid }),
    env: { PATH: process.env['PATH'] ?? '', ...options.environment },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  return { code, out, err }
}

describe('as a process', () => {
  it('hands its exit code and its answer to the shell', async () => {
    const environment = { ...AS_ROOT.environment, GATEWAY_DATA: join(folder.path, 'data') }
    const made = await spawnGateway(['keys', 'create', '--name', 'shell', '-q'], { environment })
    expect(made).toMatchObject({ code: 0, err: '' })
    expect(made.out).toMatch(/^svc-sk-\S+\n$/)
    const wrong = await spawnGateway(['keys', 'show', 'key_nope', '--json'], { environment })
    expect(wrong.code).toBe(5)
    expect(JSON.parse(wrong.err)).toMatchObject({ exit_code: 5 })
  })

  it('reaches a gateway on the same machine past any proxy', async () => {
    let seen = 0
    using proxy = serve(() => {
      seen++
      return new Response('{}')
    })
    const environment = {
      ...AS_ROOT.environment,
      GATEWAY_URL: gateway.url,
      http_proxy: proxy.url.href,
      HTTP_PROXY: proxy.url.href,
    }
    const { code } = await spawnGateway(['keys', 'list', '--limit', '1'], { environment })
    expect({ code, seen }).toEqual({ code: 0, seen: 0 })
  })

  it('starts where the flags say, which outrank the environment, and says so as JSON', async () => {
    const data = join(folder.path, 'flags')
    const line = ['start', '--port', '0', '--host', '127.0.0.1', '--data', data, '--json']
    const child = Bun.spawn([process.execPath, join(ROOT, 'src/main.ts'), ...line], {
      env: { PATH: process.env['PATH'] ?? '', PORT: 'nonsense', GATEWAY_DATA: '/nowhere' },
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
    })
    try {
      const reader = child.stdout.getReader()
      const { value } = await reader.read()
      const told = JSON.parse(new TextDecoder().decode(value)) as Record<string, string>
      expect(told).toMatchObject({ object: 'gateway', data })
      expect(told['root_key']).toMatch(/^svc_/)
      expect((await fetch(`${told['url']}/health`)).status).toBe(200)
      child.kill('SIGINT')
      expect(await child.exited).toBe(0)
    } finally {
      child.kill('SIGKILL')
    }
  })
})

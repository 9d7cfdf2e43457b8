// The commands about sign-ins at native suppliers, in front of a gateway and an issuer that are both real servers: who
// signs in, what is told about it, and that no token is shown or kept on the way.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { chmodSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunCommand } from '../src/cli/command.ts'
import { CliFailure } from '../src/cli/failure.ts'
import { loginWith } from '../src/cli/native-login.ts'
import { nativeCommands } from '../src/cli/native-roster.ts'
import { Screen } from '../src/cli/screen.ts'
import { readWords } from '../src/cli/words.ts'
import type { OAuth, Supplier } from '../src/suppliers/supplier.ts'
import { startAuthorizer, type Authorizer, type AuthorizerOptions } from './fakes/authorizer.ts'
import { MARK } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { nativeSupplierAt } from './fakes/native-supplier.ts'
import { createFolder, type Folder } from './fakes/process.ts'
import { tell as tellAlone, type Person, type Told } from './fakes/terminal.ts'

let folder: Folder

beforeAll(() => {
  folder = createFolder()
})

afterAll(() => folder[Symbol.dispose]())

/** A gateway whose native suppliers are signed in at with one issuer. */
interface Town extends AsyncDisposable {
  readonly gateway: Gateway
  readonly issuer: Authorizer
  tell(line: string, person?: Omit<Person, 'environment'>): Promise<Told>
  /** With a clock that the test moves, and a browser that the test is. */
  login(line: string, visitor?: Visitor): Promise<Told>
}

interface Visitor {
  readonly clock?: FakeClock
  /** Goes where the address leads; without it a browser that follows redirects. */
  readonly browse?: (url: string) => Promise<unknown>
  readonly onError?: (text: string) => void
}

interface TownOptions extends AuthorizerOptions {
  readonly oauth?: Partial<OAuth>
  /** The suppliers; without it `rack` alone. */
  readonly ids?: readonly string[]
}

async function openTown({
  oauth = {},
  ids = ['rack'],
  ...options
}: TownOptions = {}): Promise<Town> {
  const issuer = startAuthorizer(options)
  const suppliers = ids.map((id) => rackAt(issuer.url, id, oauth))
  const gateway = await startGateway({ suppliers })
  const environment = { GATEWAY_URL: gateway.url, GATEWAY_KEY: ROOT_KEY, NO_COLOR: '1' }
  return {
    gateway,
    issuer,
    tell: (line, person = {}) =>
      tellAlone(['native', ...line.split(' ')], { ...person, environment }),
    login: (line, visitor = {}) => runLogin(line, environment, visitor),
    async [Symbol.asyncDispose]() {
      await gateway.stop()
      await issuer[Symbol.asyncDispose]()
    },
  }
}

function rackAt(url: string, id: string, oauth: Partial<OAuth>): Supplier {
  return nativeSupplierAt(
    url,
    { id, models: supplierAt(url).models },
    {
      tokenUrl: `${url}/token`,
      clientId: 'gateway-cli',
      clientSecret: undefined,
      scope: 'models offline',
      authorizeUrl: `${url}/authorize`,
      deviceUrl: `${url}/device`,
      ...oauth,
    },
  )
}

const follow = (url: string): Promise<unknown> => fetch(url).then((answer) => answer.text())

/** As `run` does it, with a login that has the parts of the test. */
async function runLogin(
  line: string,
  environment: Readonly<Record<string, string>>,
  { clock = createFakeClock(), browse = follow, onError }: Visitor,
): Promise<Told> {
  let [out, err] = ['', '']
  const isMachine = line.includes('--json')
  const terminal = {
    stdout: (text: string) => (out += text),
    stderr: (text: string) => {
      err += text
      onError?.(text)
    },
    stdin: {
      line: async () => undefined,
      hidden: async () => undefined,
      all: async () => '',
      close: async () => {},
    },
    environment,
    isTerminal: { stdin: false, stdout: false, stderr: false },
    columns: 80,
  }
  const screen = new Screen(terminal, isMachine)
  const openBrowser = (url: string): void => void browse(url)
  const run: RunCommand = loginWith({ clock, openBrowser })
  const command = nativeCommands.find(({ words }) => words[1] === 'login')!
  try {
    await run(await readWords(line.split(' '), command), {
      screen,
      terminal,
      input: terminal.stdin,
      lookup: (name) => environment[name],
      now: () => Date.now(),
    })
    return { code: 0, out, err }
  } catch (thrown) {
    if (!(thrown instanceof CliFailure)) throw thrown
    screen.fail(thrown)
    return { code: thrown.exitCode, out, err }
  }
}

async function identities({ gateway }: Town): Promise<readonly Record<string, unknown>[]> {
  const answer = await gateway.manage('GET', '/native/identities')
  return ((await answer.json()) as { data: Record<string, unknown>[] }).data
}

function write(name: string, value: unknown, mode = 0o600): string {
  const file = join(folder.path, name)
  writeFileSync(file, typeof value === 'string' ? value : JSON.stringify(value))
  chmodSync(file, mode)
  return file
}

/** Lets time pass while somebody pauses, and none while a question is on its way, until the promise is settled. */
async function letPass<T>(promise: Promise<T>, clock: FakeClock): Promise<T> {
  const state = { isDone: false }
  void promise.finally(() => (state.isDone = true)).catch(() => {})
  while (!state.isDone) {
    // One waits for the end of all patience alone.
    if (clock.listeners() > 1) clock.advance(1000)
    // A turn of the loop for what goes over the network.
    await new Promise((resolve) => setImmediate(resolve))
  }
  return promise
}

describe('a sign-in in a browser', () => {
  it('ends with an identity at the gateway and shows no token', async () => {
    await using town = await openTown()
    const { code, out, err } = await town.login('--name team --parallel-max 3')
    expect({ code, err }).toEqual({
      code: 0,
      err: expect.stringContaining('/authorize?prompt=login'),
    })
    expect(out).toMatch(/^Supplier +rack$/m)
    expect(out + err).not.toContain(MARK)
    const [made] = await identities(town)
    expect(made).toMatchObject({ name: 'team', supplier: 'rack', parallel_max: 3 })
    expect(made).toMatchObject({ status: 'active', has_refresh_token: true })
    expect(town.issuer.forms).toMatchObject([
      { grant_type: 'authorization_code', client_id: 'gateway-cli' },
    ])
  })

  it('turns a redirect with another state away, and waits on', async () => {
    await using town = await openTown()
    const seen: number[] = []
    const browse = async (url: string): Promise<void> => {
      const back = new URL(new URL(url).searchParams.get('redirect_uri')!)
      const status = async (path: string): Promise<number> =>
        (await fetch(new URL(path, back))).status
      seen.push(await status('?code=evil&state=guessed'), await status('?code=evil'))
      seen.push(await status('/elsewhere'), (await fetch(back, { method: 'POST' })).status)
      await follow(url)
    }
    expect(await town.login('--name team --quiet', { browse })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^nid_[\w-]+\n$/),
    })
    expect(seen).toEqual([400, 400, 404, 405])
    expect(town.issuer.forms).toHaveLength(1)
  })

  it('comes back to the port and path that the supplier demands', async () => {
    using taken = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response('') })
    const redirectUrl = `http://localhost:${taken.port}/auth/callback`
    await using town = await openTown({ oauth: { redirectUrl } })
    const busy = await town.login('--name team')
    expect([busy.code, busy.err]).toEqual([1, expect.stringContaining(`The port ${taken.port} of`)])
    await taken.stop(true)
    let asked = ''
    const browse = (url: string): Promise<unknown> => {
      asked = new URL(url).searchParams.get('redirect_uri') ?? ''
      return follow(url)
    }
    expect((await town.login('--name team', { browse })).code).toBe(0)
    expect(asked).toBe(redirectUrl)
  })

  it('that is turned down, or redeemed in vain, says so and what to do', async () => {
    const cases: readonly (readonly [TownOptions, string, string])[] = [
      [{ denial: 'access_denied' }, 'turned down', 'Allow it there'],
      [{ refusal: 'invalid_client' }, 'HTTP 400 invalid_client', 'oauth.client_id'],
      [
        { refusal: () => new Response('<html>', { status: 502 }) },
        'HTTP 502',
        'Try again in a few',
      ],
      [{ refusal: () => Response.redirect('http://127.0.0.1:1/') }, 'HTTP 302', 'Check `oauth`'],
      [{ refusal: () => Response.json({ access_token: 1 }) }, 'refused by', 'Check `oauth`'],
      [{ refusal: () => new Response('x'.repeat(70_000)) }, 'too long', 'oauth.token_url'],
      [{ oauth: { redirectUrl: 'https://app.example/cb' } }, 'not to this machine', 'redirect_url'],
      [{ oauth: { authorizeUrl: 'http://sign-in.example/' } }, 'none to sign in at', 'https'],
    ]
    for (const [options, text, advice] of cases) {
      await using town = await openTown(options)
      const { code, out, err } = await town.login('--name team')
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toContain(text)
      expect(err).toContain(advice)
      expect(await identities(town)).toEqual([])
    }
  })

  it('is waited for ten minutes, and until Ctrl-C', async () => {
    await using town = await openTown()
    const clock = createFakeClock()
    const browse = async (): Promise<void> => clock.advance(599_000)
    const onError = (text: string): void => {
      if (text.includes('/authorize')) setImmediate(() => clock.advance(1000))
    }
    expect(await town.login('--name team', { clock, browse, onError })).toMatchObject({
      code: 1,
      err: expect.stringContaining('Nobody signed in within 10 minutes'),
    })
    expect(clock.listeners()).toBe(0)
    const before = process.listenerCount('SIGINT')
    const interrupt = async (): Promise<unknown> => process.emit('SIGINT')
    expect(await town.login('--name team', { browse: interrupt })).toMatchObject({
      code: 130,
      err: expect.stringContaining('Interrupted'),
    })
    expect(process.listenerCount('SIGINT')).toBe(before)
  })

  it('tells a program where to go as one object a line', async () => {
    await using town = await openTown()
    const { out, err } = await town.login('--name team --json')
    expect(JSON.parse(err)).toEqual({ open: expect.stringContaining('code_challenge_method=S256') })
    expect(JSON.parse(out)).toMatchObject({ object: 'native_identity', name: 'team' })
  })

  it('for nobody that there is ends before anybody is sent away', async () => {
    await using town = await openTown()
    for (const scope of ['--organisation org_none', '--projects prj_none']) {
      const { code, err } = await town.login(`--name team ${scope}`)
      expect([code, err]).toEqual([5, expect.not.stringContaining('/authorize')])
    }
    expect(town.issuer.forms).toEqual([])
  })

  it('that nothing can renew is warned about', async () => {
    await using town = await openTown({ hasNoRefreshToken: true })
    const { code, err } = await town.login('--name team')
    expect([code, err]).toEqual([0, expect.stringContaining('gave nothing to renew')])
  })

  it('is done again by its id, where it was, whatever it is called', async () => {
    await using town = await openTown({ ids: ['rack', 'shelf'] })
    const several = await town.login('--name team')
    expect([several.code, several.err]).toEqual([2, expect.stringContaining('rack, shelf')])
    const unknown = await town.login('--name team --supplier tack')
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('one of rack, shelf')])
    const id = (await town.login('--name team --supplier shelf --quiet')).out.trim()
    expect(await town.login(`--id ${id} --supplier rack`)).toMatchObject({ code: 2 })
    expect((await town.login(`--id ${id} --quiet`)).out.trim()).toBe(id)
    expect(await identities(town)).toMatchObject([{ id, name: 'team', supplier: 'shelf' }])
    expect((await town.login('--id nid_none')).code).toBe(5)
    expect((await town.login('--quiet')).err).toContain('--name is missing')
  })
})

describe('a sign-in by a code', () => {
  it('is polled as slowly as the issuer wants, until somebody has entered the code', async () => {
    const busy = (): Response => new Response('busy', { status: 503 })
    const polls = ['authorization_pending', 'slow_down', busy, 'authorization_pending'] as const
    const clock = createFakeClock()
    const asked: number[] = []
    await using town = await openTown({
      polls: polls.map((poll) => () => {
        asked.push(clock.elapsed())
        return typeof poll === 'string' ? Response.json({ error: poll }, { status: 400 }) : poll()
      }),
    })
    const told = town.login('--name team --device', { clock })
    const { code, out, err } = await letPass(told, clock)
    expect({ code, err }).toEqual({ code: 0, err: expect.stringContaining('WDJB-MJHT') })
    expect(err).toContain('https://sign-in.example/device')
    expect(out + err).not.toContain(MARK)
    expect(asked).toEqual([5000, 10_000, 20_000, 35_000])
    expect(await identities(town)).toMatchObject([{ name: 'team', has_refresh_token: true }])
  })

  it('that is refused, or not entered in time, says so', async () => {
    const cases: readonly (readonly [TownOptions, string])[] = [
      [{ polls: ['access_denied'] }, 'turned down'],
      [{ polls: ['expired_token'] }, 'not entered in time'],
      [
        { polls: Array(9).fill('authorization_pending'), device: { expires_in: 20 } },
        'not entered',
      ],
      [{ device: { device_code: null } }, 'refused by'],
    ]
    for (const [options, text] of cases) {
      await using town = await openTown(options)
      const clock = createFakeClock()
      const { code, err } = await letPass(town.login('--name team --device', { clock }), clock)
      expect([code, err]).toEqual([1, expect.stringContaining(text)])
    }
  })

  it('is the way where a supplier has no other, and is not to be had where it has none', async () => {
    await using town = await openTown({ oauth: { authorizeUrl: undefined } })
    const clock = createFakeClock()
    expect((await letPass(town.login('--name team', { clock }), clock)).err).toContain('WDJB-MJHT')
    await using other = await openTown({ oauth: { deviceUrl: undefined } })
    expect(await other.login('--name team --device')).toMatchObject({ code: 2 })
  })
})

describe('a program that signs itself in', () => {
  it('has its secret asked for at a terminal, or piped in', async () => {
    await using town = await openTown({
      oauth: { grant: 'client_credentials', clientId: undefined },
    })
    const typed = await town.tell('login --name typed', {
      columns: 80,
      answers: ['the-client', `${MARK}-secret`],
    })
    expect([typed.code, typed.err]).toEqual([0, expect.stringContaining('not shown')])
    const input = JSON.stringify({ client_id: 'the-client', client_secret: `${MARK}-piped` })
    expect((await town.tell('login --name piped', { input })).code).toBe(0)
    const none = await town.tell('login --name none', { input: '{"client_id":"a"}' })
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('client_secret')])
    expect(await identities(town)).toMatchObject([{ name: 'piped' }, { name: 'typed' }])
    expect(typed.out + typed.err).not.toContain(MARK)
  })
})

describe('an import', () => {
  const KEPT = {
    OPENAI_API_KEY: `${MARK}-api-key`,
    tokens: {
      id_token: `${MARK}-id`,
      access_token: `${MARK}-access`,
      refresh_token: `${MARK}-refresh`,
      account_id: 'acct-1',
    },
    last_refresh: '2026-11-15T12:00:00Z',
  }

  it('takes what a native program keeps, and sends nothing else of it', async () => {
    await using town = await openTown()
    const file = write('auth.json', KEPT)
    const { code, out, err } = await town.tell(`import ${file} --name team --rpm 30`)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).not.toContain(MARK)
    expect(await identities(town)).toMatchObject([
      { name: 'team', supplier: 'rack', account_id: 'acct-1', requests_per_minute: 30 },
    ])
    const again = await town.tell(`import ${file} --name other`)
    const [{ id } = {}] = await identities(town)
    expect([again.code, again.err]).toEqual([1, expect.stringContaining(`--id ${String(id)}`)])
    const put = await town.tell(`import ${file} --name other`, { columns: 80, answers: ['y'] })
    expect(put.code).toBe(0)
    expect(await identities(town)).toMatchObject([{ id, name: 'other' }])
    expect((await town.tell(`import ${file} --id ${String(id)} --quiet`)).out).toBe(
      `${String(id)}\n`,
    )
  })

  it('warns of a file that others can read', async () => {
    await using town = await openTown()
    const file = write('open.json', KEPT, 0o644)
    const { code, err } = await town.tell(`import ${file} --name team`)
    expect([code, err]).toEqual([0, expect.stringContaining(`chmod 600 ${file}`)])
  })

  it('without a FILE offers by name what a program keeps here, and takes it only on a yes', async () => {
    await using town = await openTown()
    const file = write('auth.json', KEPT)
    const environment = {
      GATEWAY_URL: town.gateway.url,
      GATEWAY_KEY: ROOT_KEY,
      CODEX_HOME: folder.path,
    }
    const ask = (answer: string): Promise<Told> =>
      tellAlone(['native', 'import', '--name', 'team'], {
        environment,
        columns: 80,
        answers: [answer],
      })
    expect(await ask('n')).toMatchObject({ code: 1, err: expect.stringContaining(file) })
    expect(await identities(town)).toEqual([])
    expect((await ask('y')).err).toContain('the gateway renews this sign-in')
    expect(await identities(town)).toMatchObject([{ account_id: 'acct-1' }])
    const bare = { ...environment, CODEX_HOME: join(folder.path, 'nowhere') }
    const person = { environment: bare, columns: 80 }
    expect(await tellAlone(['native', 'import', '--name', 'team'], person)).toMatchObject({
      code: 2,
    })
  })

  it('takes the answer of an issuer from standard input, and the settings of a plain object', async () => {
    await using town = await openTown({ ids: ['rack', 'shelf'] })
    const answer = {
      access_token: `${MARK}-a`,
      token_type: 'Bearer',
      expires_in: '3600',
      scope: 'x',
    }
    const told = await town.tell('import --supplier rack --name answer --json', {
      input: JSON.stringify(answer),
    })
    expect(told).toMatchObject({ code: 0, err: '' })
    const left =
      Date.parse((JSON.parse(told.out) as { expires_at: string }).expires_at) - Date.now()
    expect(Math.round(left / 600_000)).toBe(6)
    const plain = { name: 'plain', supplier: 'shelf', refresh_token: `${MARK}-r`, parallel_max: 2 }
    const input = JSON.stringify(plain)
    expect((await town.tell('import - --name mine', { input })).code).toBe(0)
    expect(await identities(town)).toMatchObject([
      { name: 'mine', supplier: 'shelf', parallel_max: 2 },
      { name: 'answer', supplier: 'rack' },
    ])
  })

  it('counts the life of a token from when its file was written', async () => {
    await using town = await openTown()
    const ended = { access_token: `${MARK}-old`, expires_in: 60 }
    const file = write('old.json', ended)
    utimesSync(file, new Date(0), new Date(0))
    const alone = await town.tell(`import ${file} --name old`)
    expect([alone.code, alone.err]).toEqual([1, expect.stringContaining('nothing renews it')])
    const renewable = write('renewable.json', { ...ended, refresh_token: `${MARK}-r` })
    utimesSync(renewable, new Date(0), new Date(0))
    expect((await town.tell(`import ${renewable} --name new`)).code).toBe(0)
    expect(await identities(town)).toMatchObject([{ expires_at: null, has_refresh_token: true }])
  })

  it('says what is wrong with what is none, and repeats nothing of it', async () => {
    await using town = await openTown()
    const cases: readonly (readonly [unknown, string])[] = [
      [`${MARK} no json`, 'is no JSON object'],
      [[MARK], 'is no JSON object'],
      [{ OPENAI_API_KEY: MARK, tokens: null }, 'has no access_token'],
      [{ tokens: { id_token: MARK } }, 'has no access_token'],
      ['x'.repeat(300_000), 'too long'],
      [{ access_token: `${MARK} with a space` }, 'access_token'],
    ]
    for (const [value, text] of cases) {
      const { code, err } = await town.tell(`import ${write('odd.json', value)} --name odd`)
      expect([code, err]).toEqual([1, expect.stringContaining(text)])
      expect(err).not.toContain(MARK)
    }
    expect((await town.tell(`import ${join(folder.path, 'none')} --name odd`)).code).toBe(1)
    expect(await town.tell('import --key-file - --name odd', { input: '{}' })).toMatchObject({
      code: 2,
    })
    expect(readdirSync(folder.path).filter((name) => !name.endsWith('.json'))).toEqual([])
  })
})

describe('sign-ins', () => {
  it('are listed, shown, changed, disabled, enabled and removed', async () => {
    await using town = await openTown()
    const tell = async (line: string): Promise<string> => {
      const { code, out, err } = await town.tell(line)
      expect({ code, err }).toEqual({ code: 0, err: '' })
      return out
    }
    const organisation = await town.gateway.manage('POST', '/organisations', { name: 'Research' })
    const { id: owner } = (await organisation.json()) as { id: string }
    const id = (await town.login(`--name team --organisation ${owner} --quiet`)).out.trim()
    expect(await tell('list')).toMatch(new RegExp(`^${id} +team +rack +active `, 'm'))
    expect(await tell('list --supplier rack --status active -q')).toBe(`${id}\n`)
    expect(await tell('list --supplier shelf -q')).toBe('')
    expect(await tell(`show ${id}`)).toMatch(new RegExp(`^Organisation +${owner}$`, 'm'))
    expect(await tell(`update ${id} --organisation none --rpm 9`)).toMatch(/^Organisation +any$/m)
    expect(await tell(`disable ${id}`)).toBe(`${id} is disabled.\n`)
    expect(await tell('list --status disabled -q')).toBe(`${id}\n`)
    expect(JSON.parse(await tell(`enable ${id} --json`))).toMatchObject({ id, status: 'active' })
    expect((await town.tell(`remove ${id}`)).code).toBe(2)
    expect(await tell(`remove ${id} --yes`)).toBe(`${id} is removed.\n`)
    expect(await tell(`show ${id}`)).toMatch(/^Status +removed$/m)
  })

  it('are asked for in the words of flags and commands', async () => {
    await using town = await openTown()
    const cases: readonly (readonly [line: string, code: number, text: string])[] = [
      ['show nid_none', 5, '`gateway native list`'],
      ['update nid_none', 2, '--parallel-max 4'],
      ['update nid_none --rpm 0', 2, '--rpm takes a whole number'],
      ['list --status odd', 2, '--status'],
      ['login --id team', 2, 'nid_'],
    ]
    for (const [line, code, text] of cases) {
      const told = await town.tell(line)
      expect([told.code, told.err]).toEqual([code, expect.stringContaining(text)])
    }
    const none = await town.tell('list', { columns: 80 })
    expect(none.err.replaceAll(/\s+/g, ' ')).toContain('`gateway native login --help`')
  })

  it('are not used by an organisation that switches them off', async () => {
    await using town = await openTown()
    const environment = { GATEWAY_URL: town.gateway.url, GATEWAY_KEY: ROOT_KEY }
    const tell = (line: string): Promise<Told> =>
      tellAlone(['organisations', ...line.split(' ')], { environment })
    const id = (await tell('create --name Research -q')).out.trim()
    expect((await tell(`show ${id}`)).out).toMatch(/^Native +on$/m)
    expect((await tell(`update ${id} --native off`)).out).toMatch(/^Native +off$/m)
    expect(await tell(`update ${id} --native maybe`)).toMatchObject({ code: 2 })
    expect((await tell('create --name Other --native off')).out).toMatch(/^Native +off$/m)
  })

  it('are among those who would be asked, for as many tokens as are named', async () => {
    await using town = await openTown()
    const id = (await town.login('--name team --quiet')).out.trim()
    const environment = { GATEWAY_URL: town.gateway.url, GATEWAY_KEY: ROOT_KEY }
    const line = 'explain --model test-model --endpoint /v1/native/responses --tokens 7'
    const { code, out } = await tellAlone(line.split(' '), { environment })
    expect([code, out]).toEqual([0, expect.stringContaining(`It would be sent to rack#${id}, and`)])
  })
})

// A sign-in is used inside its scope and nowhere else: by whichever credential, for whichever project, and whatever has
// become of the sign-ins that a call may use. Every request is counted at the supplier by the token that it carries.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  HELLO_NATIVE,
  openAgency,
  refusalOf,
  sayHello,
  tokenOf,
  type Agency,
  type AgencyOptions,
} from './fakes/agency.ts'
import { closeStreet, createGate, tidy } from './fakes/street.ts'
import { openAccount, tenantAt, type Tenant } from './fakes/tenants.ts'

afterEach(closeStreet)

/** Where each project is; `loose` is in no organisation. */
const PROJECTS = { search: 'north', sales: 'north', labs: 'south', loose: undefined } as const
type Project = keyof typeof PROJECTS
type Organisation = 'north' | 'south'
const NAMES = Object.keys(PROJECTS) as readonly Project[]
const TEAM: readonly Project[] = ['search', 'labs']

interface Ids {
  readonly organisations: Readonly<Record<Organisation, string>>
  readonly projects: Readonly<Record<Project, string>>
}

/** An account with all of this, and what calls for it. */
interface Side extends Ids {
  readonly root: Tenant
  readonly keys: Readonly<Record<Project, string>>
  readonly tokens: Readonly<Record<Project, string>>
  readonly teamToken: string
}

interface Caller {
  readonly name: string
  readonly key: (side: Side) => string
  /** What it names with the header. */
  readonly names?: Project
  /** What it calls for. */
  readonly project: Project | undefined
}

const CALLERS: readonly Caller[] = [
  { name: 'the root key', key: ({ root }) => root.secret, project: undefined },
  ...NAMES.flatMap((project): readonly Caller[] => [
    {
      name: `the root key for ${project}`,
      key: ({ root }) => root.secret,
      names: project,
      project,
    },
    { name: `a key of ${project}`, key: ({ keys }) => keys[project], project },
    { name: `a token of ${project}`, key: ({ tokens }) => tokens[project], project },
  ]),
  ...TEAM.map((project): Caller => ({
    name: `a token of a team for ${project}`,
    key: ({ teamToken }) => teamToken,
    names: project,
    project,
  })),
  // The first that it has.
  { name: 'a token of a team', key: ({ teamToken }) => teamToken, project: 'search' },
]

interface Scope {
  readonly name: string
  readonly organisation?: Organisation
  readonly projects?: readonly Project[]
}

const SCOPES: readonly Scope[] = [
  { name: 'the account' },
  { name: 'north', organisation: 'north' },
  { name: 'south', organisation: 'south' },
  { name: 'search', projects: ['search'] },
  { name: 'sales and labs', projects: ['sales', 'labs'] },
  { name: 'loose', projects: ['loose'] },
  { name: 'sales of north', organisation: 'north', projects: ['sales'] },
]

/** By the words of the guide, and not by the code that it is about. */
function isFor({ organisation, projects }: Scope, { project }: Caller): boolean {
  const own = project === undefined ? undefined : PROJECTS[project]
  if (organisation !== undefined && own !== organisation) return false
  return projects === undefined || (project !== undefined && projects.includes(project))
}

function refusalFor({ organisation }: Scope, { project }: Caller): readonly [number, string] {
  const hasNone = project === undefined || PROJECTS[project] === undefined
  const needsOne = organisation !== undefined && hasNone
  return [403, needsOne ? 'native_org_context_required' : 'native_token_error']
}

function settingsOf({ name, organisation, projects }: Scope, side: Ids): object {
  return {
    name,
    ...(organisation !== undefined && { organisation_id: side.organisations[organisation] }),
    ...(projects !== undefined && { project_ids: projects.map((each) => side.projects[each]) }),
  }
}

async function eachProject<Value>(
  make: (project: Project) => Promise<Value>,
): Promise<Record<Project, Value>> {
  const made: Partial<Record<Project, Value>> = {}
  for (const project of NAMES) made[project] = await make(project)
  return made as Record<Project, Value>
}

async function furnish(root: Tenant): Promise<Side> {
  const found = async (name: string): Promise<string> =>
    (await root.make('/organisations', { name })).id
  const organisations = { north: await found('north'), south: await found('south') }
  const secretOf = async (path: string, body: object): Promise<string> =>
    String((await root.make(path, { name: 'one', ...body }))['key'])
  const projects = await eachProject(async (name) => {
    const place = PROJECTS[name]
    const organisation = place === undefined ? {} : { organisation_id: organisations[place] }
    return (await root.make('/projects', { name, ...organisation })).id
  })
  const ofTeam = TEAM.map((project) => projects[project])
  const { id: team } = await root.make('/teams', { name: 'team', project_ids: ofTeam })
  return {
    root,
    organisations,
    projects,
    keys: await eachProject((project) => secretOf('/keys', { project_id: projects[project] })),
    tokens: await eachProject((project) => secretOf('/tokens', { project_id: projects[project] })),
    teamToken: await secretOf('/tokens', { team_id: team }),
  }
}

interface Town extends Agency {
  readonly ours: Side
  readonly theirs: Side
  /** As somebody of our account, or of theirs. */
  call(caller: Caller, how?: CallOptions): Promise<Response>
}

interface CallOptions {
  readonly side?: Side
  readonly session?: string
}

async function openTown(options: AgencyOptions = {}): Promise<Town> {
  const agency = tidy(await openAgency(options))
  const { url } = agency.gateway
  const [ours, theirs] = [await furnish(tenantAt(url)), await furnish(await openAccount(url))]
  return {
    ...agency,
    ours,
    theirs,
    call: ({ key, names }, { side = ours, session } = {}) =>
      agency.ask(HELLO_NATIVE, {
        key: key(side),
        headers: {
          ...(names !== undefined && { 'x-svc-project': side.projects[names] }),
          ...(session !== undefined && { 'session-id': session }),
        },
      }),
  }
}

/** One for every scope, by name. */
async function signInAll({ signIn }: Town, side: Side): Promise<ReadonlyMap<string, string>> {
  const tokens = new Map<string, string>()
  for (const scope of SCOPES) {
    const { accessToken } = await signIn(settingsOf(scope, side), side.root.secret)
    tokens.set(scope.name, accessToken)
  }
  return tokens
}

function tokensFor(tokens: ReadonlyMap<string, string>, caller: Caller): readonly string[] {
  return SCOPES.filter((scope) => isFor(scope, caller)).map(({ name }) => tokens.get(name)!)
}

describe('a sign-in for', () => {
  it.each(SCOPES.map((scope) => [scope.name, scope] as const))(
    '%s serves whoever calls inside of that, and nobody else',
    async (_, scope) => {
      const town = await openTown()
      const { ours, theirs, signIn, tokens } = town
      const own = await signIn(settingsOf(scope, ours))
      // Glad to answer everybody of theirs.
      await signIn({ name: 'theirs' }, theirs.root.secret)
      const served: string[] = []
      for (const caller of CALLERS) {
        const before = tokens().length
        const response = await town.call(caller)
        if (isFor(scope, caller)) {
          expect([caller.name, response.status]).toEqual([caller.name, 200])
          await response.text()
          served.push(caller.name)
        } else
          expect([caller.name, ...(await refusalOf(response))]).toEqual([
            caller.name,
            ...refusalFor(scope, caller),
          ])
        expect(tokens().slice(before)).toEqual(isFor(scope, caller) ? [own.accessToken] : [])
      }
      expect(served).not.toEqual([])
    },
  )

  it('another account serves nobody of ours, and ours nobody of theirs', async () => {
    const town = await openTown()
    const { ours, theirs, tokens } = town
    await signInAll(town, theirs)
    for (const caller of CALLERS)
      expect(await refusalOf(await town.call(caller))).toEqual([403, 'native_token_error'])
    // What they have, named by whoever is no part of it.
    const foreign = await town.ask(HELLO_NATIVE, {
      headers: { 'x-svc-project': theirs.projects.search },
    })
    expect(foreign.status).toBe(404)
    expect(tokens()).toEqual([])
    const own = await signInAll(town, ours)
    for (const caller of CALLERS) await (await town.call(caller)).text()
    expect(tokens().length).toBe(CALLERS.length)
    expect(tokens().filter((token) => ![...own.values()].includes(token))).toEqual([])
  })

  it('each of them is chosen for none but those inside, where there are all of them', async () => {
    const town = await openTown()
    const own = await signInAll(town, town.ours)
    await signInAll(town, town.theirs)
    for (const caller of CALLERS) {
      const before = town.tokens().length
      for (const turn of [1, 2, 3, 4]) {
        const response = await town.call(caller, { session: `${caller.name} ${turn}` })
        expect([caller.name, response.status]).toEqual([caller.name, 200])
        await response.text()
      }
      const used = town.tokens().slice(before)
      const allowed = tokensFor(own, caller)
      expect(used.filter((token) => !allowed.includes(token))).toEqual([])
    }
  })

  it('one project is not to be had by the session of another', async () => {
    const town = await openTown()
    const { ours, theirs, signIn, tokens } = town
    const made: Partial<Record<Project, string>> = {}
    for (const project of ['search', 'sales'] as const) {
      const settings = settingsOf({ name: project, projects: [project] }, ours)
      made[project] = (await signIn(settings)).accessToken
    }
    const foreign = await signIn({ name: 'theirs' }, theirs.root.secret)
    const keyOf = (project: Project): Caller => ({
      name: project,
      key: ({ keys }) => keys[project],
      project,
    })
    const session = 'one-session'
    for (const caller of [keyOf('search'), keyOf('sales'), keyOf('search')])
      await (await town.call(caller, { session })).text()
    await (await town.call(keyOf('search'), { session, side: theirs })).text()
    expect(tokens()).toEqual([made.search!, made.sales!, made.search!, foreign.accessToken])
  })

  it('fewer than before serves fewer from that moment on', async () => {
    const town = await openTown()
    const { ours, signIn, tokens } = town
    const { id } = await signIn({ name: 'wide' })
    const forSales = CALLERS.find(({ name }) => name === 'a key of sales')!
    await (await town.call(forSales)).text()
    const narrow = async (change: object): Promise<void> => {
      const reply = await ours.root.ask('PATCH', `/native/identities/${id}`, change)
      expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    }
    await narrow({ project_ids: [ours.projects.labs] })
    expect(await refusalOf(await town.call(forSales))).toEqual([403, 'native_token_error'])
    await narrow({ project_ids: null, organisation_id: ours.organisations.south })
    expect(await refusalOf(await town.call(forSales))).toEqual([403, 'native_token_error'])
    expect(await refusalOf(await town.call(CALLERS[0]!))).toEqual([
      403,
      'native_org_context_required',
    ])
    expect(tokens().length).toBe(1)
    await narrow({ organisation_id: null })
    expect((await town.call(forSales)).status).toBe(200)
  })
})

describe('an organisation', () => {
  it('that does not call in this way has none of its projects served, by whichever credential', async () => {
    const town = await openTown()
    const { ours, theirs, tokens } = town
    await signInAll(town, ours)
    await signInAll(town, theirs)
    const path = `/organisations/${ours.organisations.north}`
    expect((await ours.root.ask('PATCH', path, { native: false })).status).toBe(200)
    for (const caller of CALLERS) {
      const before = tokens().length
      const isOff = caller.project !== undefined && PROJECTS[caller.project] === 'north'
      const response = await town.call(caller)
      const told = response.ok ? await response.text().then(() => 200) : await refusalOf(response)
      expect([caller.name, told]).toEqual([
        caller.name,
        isOff ? [403, 'native_org_lane_disabled'] : 200,
      ])
      expect(tokens().length - before).toBe(isOff ? 0 : 1)
      // One of the same name in another account is another one.
      expect((await town.call(caller, { side: theirs })).status).toBe(200)
    }
    expect((await ours.root.ask('PATCH', path, { native: true })).status).toBe(200)
    for (const caller of CALLERS) expect((await town.call(caller)).status).toBe(200)
  })
})

/** What becomes of a sign-in that a call may use, and what its caller hears. */
const TROUBLES = {
  'are down': [502, 'native_backend_error'],
  'are refused by their issuer': [403, 'native_token_error'],
  'are full': [429, 'identity_execution_capacity'],
  'were asked to pause': [429, 'identity_execution_capacity'],
  'are disabled': [403, 'native_token_error'],
  'are removed': [403, 'native_token_error'],
} as const
type Trouble = keyof typeof TROUBLES

/** Two for the caller's own project, and all that are for others. */
async function openTrouble(trouble: Trouble) {
  const bad = new Set<string>()
  const gate = createGate()
  const town = await openTown({
    async script(request, reply, index) {
      const isBad = bad.has(tokenOf(request))
      if (isBad && trouble === 'are down') return reply.json(500, { error: { message: 'No.' } })
      if (isBad && trouble === 'were asked to pause')
        return reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '30' })
      if (isBad && trouble === 'are full') await gate.opened
      return sayHello(request, reply, index)
    },
  })
  const { ours, theirs, signIn } = town
  for (const scope of SCOPES.filter(({ projects, organisation }) => projects ?? organisation))
    if (!isFor(scope, MEANT)) await signIn(settingsOf(scope, ours))
  await signInAll(town, theirs)
  const settings = settingsOf({ name: 'own', organisation: 'north', projects: ['search'] }, ours)
  const limit = trouble === 'are full' ? { parallel_max: 1 } : {}
  const own = [
    await signIn({ ...settings, ...limit }),
    await signIn({ ...settings, ...limit, name: 'own, too' }),
  ]
  for (const { accessToken } of own) bad.add(accessToken)
  return { town, own, bad, gate }
}

const MEANT = CALLERS.find(({ name }) => name === 'a key of search')!

describe('sign-ins that', () => {
  it.each(Object.keys(TROUBLES) as readonly Trouble[])(
    '%s leave their calls to nobody outside of their scope',
    async (trouble) => {
      const { town, own, bad, gate } = await openTrouble(trouble)
      const { issuer, ours, backend, tokens } = town
      for (const { id, accessToken, refreshToken } of own) {
        const path = `/native/identities/${id}`
        if (trouble === 'are disabled') await ours.root.ask('PATCH', path, { disabled: true })
        if (trouble === 'are removed') await ours.root.ask('DELETE', path)
        if (trouble !== 'are refused by their issuer') continue
        issuer.revoke(accessToken)
        issuer.revoke(refreshToken)
      }
      const isFull = trouble === 'are full'
      const running = isFull ? own.map((_, turn) => town.call(MEANT, { session: `${turn}` })) : []
      if (isFull) await backend.request(own.length - 1)
      for (let turn = 0; turn < 4; turn++)
        expect(await refusalOf(await town.call(MEANT, { session: `of ${turn}` }))).toEqual([
          ...TROUBLES[trouble],
        ])
      expect(tokens().filter((token) => !bad.has(token))).toEqual([])
      gate.open()
      for (const response of await Promise.all(running)) expect(response.status).toBe(200)
      // The others were there all the time.
      const forLabs = CALLERS.find(({ name }) => name === 'a key of labs')!
      expect((await town.call(forLabs)).status).toBe(200)
      expect((await town.call(MEANT, { side: town.theirs })).status).toBe(200)
    },
  )
})

// The wall between accounts, and the fences between the projects of one: every route that there is, asked by
// everyone for everything. What is expected follows from the role of the route and the reach of whoever asks.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import type { Endpoint } from '../src/endpoints/endpoint.ts'
import { endpoints } from '../src/endpoints/index.ts'
import {
  credentialsOf,
  expected,
  placeOf,
  reaches,
  ROLES,
  send,
  strangersAt,
  TARGETS,
  type Credential,
  type Parties,
  type Reply,
  type Target,
} from './fakes/crossing.ts'
import { addressOf, lessonOf, titleOf, type Lesson } from './fakes/lessons.ts'
import { connectRaw, formatRequest, sendRaw } from './fakes/raw.ts'
import type { Json } from './fakes/tenants.ts'
import {
  CALL,
  countTokens,
  makeFresh,
  readRows,
  setStage,
  SHARED_CLAIM,
  tracesOf,
  unknownId,
  type Stage,
  type Subject,
  type World,
} from './fakes/worlds.ts'

let stage: Stage

/** Each scene has one of its own: some of what one does is written only in the next. */
function onStage(): void {
  beforeAll(async () => {
    stage = await setStage()
  })
  afterAll(() => stage.stop())
}

function expectUnseen(reply: Reply, hidden: readonly string[], question: string): void {
  const seen = hidden.filter((trace) => reply.whole.includes(trace))
  expect(seen, question).toEqual([])
}

/** What is used up is made for the occasion; what nobody gets at need not be. */
async function idFor(
  endpoint: Endpoint,
  { subject, fixed = '' }: Lesson,
  { parties, target, isReached }: { parties: Parties; target: Target; isReached: boolean },
): Promise<string> {
  if (subject === undefined) return fixed
  if (target === 'unknown') return unknownId(subject)
  const place = placeOf(parties, target)
  if (endpoint.method === 'GET' || !isReached) return place.ids[subject]
  return makeFresh(stage, parties.world, place, subject)
}

async function bodyFor(lesson: Lesson, { world }: Parties): Promise<Json | FormData | undefined> {
  const { body, form, fresh = {} } = lesson
  if (body === undefined) return form?.()
  const made = Object.entries(fresh).map(
    async ([field, subject]) => [field, await makeFresh(stage, world, world.one, subject)] as const,
  )
  return { ...body(world.one, world), ...Object.fromEntries(await Promise.all(made)) }
}

/** Asks one route as one credential for whatever there is. */
async function askAll(endpoint: Endpoint, credential: Credential, parties: Parties): Promise<void> {
  const { subject, others = [], ...lesson } = lessonOf(endpoint)
  const refusals = new Set<string>()
  if (subject === undefined)
    await askFor(endpoint, lesson, { credential, parties, target: 'own', refusals })
  else
    for (const each of [subject, ...others])
      for (const target of TARGETS)
        await askFor(
          endpoint,
          { ...lesson, subject: each },
          { credential, parties, target, refusals },
        )
  // Not even by a word does what is another's differ from what there is not.
  expect([...refusals].slice(1), `${titleOf(endpoint)} by ${credential.title}`).toEqual([])
}

interface Asked {
  readonly credential: Credential
  readonly parties: Parties
  readonly target: Target
  /** What is said to whoever gets nothing. */
  readonly refusals: Set<string>
}

async function askFor(endpoint: Endpoint, lesson: Lesson, asked: Asked): Promise<void> {
  const { credential, parties, target, refusals } = asked
  const { method, role } = endpoint
  const { secret, rank, title } = credential
  const hidden = role === 'operate' && rank === 'operator' ? [] : credential.hidden
  const want = expected(endpoint, lesson, credential, target)
  const isReached = want.status === 200
  const id = await idFor(endpoint, lesson, { parties, target, isReached })
  const body = isReached
    ? await bodyFor(lesson, parties)
    : (lesson.form?.() ?? lesson.body?.(parties.world.one, parties.world))
  const address = addressOf(endpoint, id)
  const reply = await send(stage, { method, address, secret, body })
  const question = `${method} ${address} (${target}) by ${title}: ${reply.body.slice(0, 300)}`
  const code = method === 'HEAD' ? want.code : reply.code
  expect([reply.status, code], question).toEqual([want.status, want.code])
  expectUnseen(reply, hidden, question)
  if (!isReached) refusals.add(reply.whole)
  for (const query of isReached ? (lesson.queries ?? []) : []) {
    const other = await send(stage, { method, address: address + query, secret })
    expect([other.status, other.code], question + query).toEqual([200, undefined])
    expectUnseen(other, hidden, question + query)
  }
}

/** An id of one kind is none of any other, whoever has it. */
async function askAcross(endpoint: Endpoint, { world, foreign }: Parties): Promise<void> {
  const { subject, others = [], body } = lessonOf(endpoint)
  if (subject === undefined || endpoint.role === 'operate') return
  const { method } = endpoint
  const own = Object.entries(world.one.ids).filter(
    ([kind]) => ![subject, ...others].includes(kind as Subject),
  )
  const ids = [...own, ...Object.entries(foreign.one.ids)].map(([, id]) => id)
  const told = new Set<string>()
  for (const id of [unknownId(subject), ...ids]) {
    const address = addressOf(endpoint, id)
    const asked = { method, address, secret: world.root, body: body?.(world.one, world) }
    const reply = await send(stage, asked)
    expect([reply.status, reply.code], `${method} ${address}`).toEqual([404, 'not_found'])
    told.add(reply.whole)
  }
  expect(told.size).toBe(1)
}

/** As the database has it: whatever mentions the account or anything of it, in any table. */
function rowsOf(world: World): readonly string[] {
  const traces = tracesOf(world)
  return readRows(stage.folder, world.accountId, (text) =>
    traces.some((trace) => text.includes(trace)),
  )
}

const LISTS = endpoints.filter(
  ({ method, path, role }) =>
    method === 'GET' && !path.includes('{') && (role === 'manage' || role === 'administer'),
)

/** As its own root key sees it. */
async function viewOf({ root }: World): Promise<readonly string[]> {
  const replies = LISTS.map(({ method, path }) =>
    send(stage, { method, address: path, secret: root }),
  )
  return (await Promise.all(replies)).map(({ whole }) => whole)
}

const ROUTES = endpoints.map((endpoint) => [titleOf(endpoint), endpoint] as const)

describe.each([
  ['alpha', 'beta'],
  ['beta', 'alpha'],
] as const)('%s beside %s', (own, other) => {
  onStage()
  let before: { readonly rows: readonly string[]; readonly view: readonly string[] }
  const parties = (): Parties => ({ world: stage[own], foreign: stage[other] })

  beforeAll(async () => {
    before = { view: await viewOf(stage[other]), rows: rowsOf(stage[other]) }
  })

  it.each(ROUTES)('%s answers each by its role and its reach', async (_title, endpoint) => {
    for (const credential of [...strangersAt(stage), ...credentialsOf(stage, stage[own])])
      await askAll(endpoint, credential, parties())
  })

  it.each(ROUTES)('%s is not misled by an id of another kind', (_title, endpoint) =>
    askAcross(endpoint, parties()),
  )

  it.each(ROUTES)(
    '%s takes nothing of another account or project for its own',
    (_title, endpoint) => smuggle(endpoint, parties()),
  )

  it('calls for its own projects alone', async () => {
    for (const credential of credentialsOf(stage, stage[own])) await callFor(credential, parties())
  })

  it('gets no answer of another under the same Idempotency-Key', async () => {
    const { world } = parties()
    for (const { secret, hidden } of credentialsOf(stage, world)) {
      const headers = { 'idempotency-key': SHARED_CLAIM }
      const call = { method: 'POST', address: '/v1/chat/completions', secret, body: CALL, headers }
      const reply = await send(stage, call)
      const isRepeated = secret === world.one.key
      const isOther = secret === world.one.teamToken
      if (!isOther) expect([reply.status, reply.body.includes('Hi')]).toEqual([200, true])
      expect(reply.whole.includes('idempotency-replayed')).toBe(isRepeated)
      expect(reply.whole.includes(world.one.ids.call)).toBe(isRepeated)
      expectUnseen(reply, hidden, 'a call under a key that others use')
    }
  })

  it.each(LISTS.map((endpoint) => [endpoint.path, endpoint] as const))(
    'finds nothing of the other by a word or by a place in its list at %s',
    async (address, { method }) => {
      const { world, foreign } = parties()
      const { mark } = foreign.one
      for (const filter of ['name', 'email', 'model', `metadata.${mark}`]) {
        const query = `${address}?${filter}=${mark}`
        const reply = await send(stage, { method, address: query, secret: world.root })
        // A refusal names the parameter that it is about.
        if (reply.status !== 200) expect(reply.code, query).toBe('unsupported_parameter')
        else expectUnseen(reply, tracesOf(foreign), query)
        if (reply.body.startsWith('{"object":"list"')) expectNothing(reply, query)
      }
      const theirs = await send(stage, {
        method,
        address: `${address}?limit=1`,
        secret: foreign.root,
      })
      const cursor = /"next_cursor":"([^"]+)"/.exec(theirs.body)?.[1]
      if (cursor === undefined) return
      for (const { secret, hidden } of credentialsOf(stage, world)) {
        const reply = await send(stage, { method, address: `${address}?cursor=${cursor}`, secret })
        expectUnseen(reply, hidden, address)
      }
    },
  )

  it('counts its own calls alone, and a token that manages those of its project', async () => {
    const { world } = parties()
    const { one, root, accountId } = world
    for (const [secret, projectId] of [
      [root, undefined],
      [one.manager, one.ids.project],
      [one.teamManager, one.ids.project],
    ] as const) {
      const address = '/v1/manage/usage?per=total'
      const { body } = await send(stage, { method: 'GET', address, secret })
      const { totals } = JSON.parse(body) as { totals: { input_tokens: number } }
      expect(totals.input_tokens).toBe(countTokens(stage.folder, accountId, projectId))
    }
  })

  it('has changed nothing there, and everybody there can go on', async () => {
    const { foreign } = parties()
    expect(rowsOf(foreign)).toEqual([...before.rows])
    expect(before.rows.length).toBeGreaterThan(50)
    expect(await viewOf(foreign)).toEqual([...before.view])
    const { one, two, root } = foreign
    for (const secret of [root, one.key, one.token, one.manager, two.teamToken, two.teamManager]) {
      const reply = await send(stage, { method: 'GET', address: '/v1/models', secret })
      expect(reply.status).toBe(200)
    }
  })
})

/** Names records of others wherever a record can be named. */
async function smuggle(endpoint: Endpoint, parties: Parties): Promise<void> {
  const lesson = lessonOf(endpoint)
  const may = credentialsOf(stage, parties.world).filter(({ rank }) =>
    ROLES[rank].includes(endpoint.role),
  )
  for (const credential of may)
    for (const [field, subject] of Object.entries(lesson.references ?? {}))
      await smuggleIn(endpoint, subject, { credential, field, parties })
}

async function smuggleIn(
  endpoint: Endpoint,
  subject: Subject,
  smuggled: Omit<Smuggled, 'id'>,
): Promise<void> {
  const { credential, field, parties } = smuggled
  const nothing = await askWith(endpoint, { ...smuggled, id: unknownId(subject) })
  for (const target of ['foreign', 'sibling', 'own'] as const) {
    // What is shown of a credential or a project may be asked for.
    const isShown = endpoint.method === 'GET' && target === 'own' && field !== 'team_id'
    const isOwn = subject === 'account' && target === 'sibling'
    if (isShown || isOwn || reaches(credential.rank, subject, target)) continue
    const id = placeOf(parties, target).ids[subject]
    const reply = await askWith(endpoint, { ...smuggled, id })
    const question = `${titleOf(endpoint)} ${field} (${target}) by ${credential.title}: ${reply.body}`
    expect(reply.whole, question).toBe(nothing.whole)
    expectUnseen(reply, credential.hidden, question)
    expectNothing(reply, question)
  }
}

interface Smuggled {
  readonly credential: Credential
  readonly field: string
  readonly parties: Parties
  readonly id: string
}

async function askWith(
  endpoint: Endpoint,
  { credential, field, parties, id }: Smuggled,
): Promise<Reply> {
  const lesson = lessonOf(endpoint)
  const { method } = endpoint
  const { secret } = credential
  const { world } = parties
  const own = lesson.subject === undefined ? '' : world.one.ids[lesson.subject]
  const address = addressOf(endpoint, own)
  if (method === 'GET') return send(stage, { method, address: `${address}?${field}=${id}`, secret })
  const { project_id: project, ...body } = lesson.body?.(world.one, world) ?? {}
  const isTie = field === 'project_id' || field === 'team_id'
  const kept = isTie || project === undefined ? body : { ...body, project_id: project }
  const value = field.endsWith('_ids') ? [world.one.ids.project, id] : id
  return send(stage, { method, address, secret, body: { ...kept, [field]: value } })
}

/** Refused, or found nothing: an answer in which there is something is an answer too many. */
function expectNothing({ status, body }: Reply, question: string): void {
  if (status !== 200) {
    expect([403, 404], question).toContain(status)
    return
  }
  expect((JSON.parse(body) as { data: unknown }).data, question).toEqual([])
}

async function callFor({ rank, secret, title }: Credential, parties: Parties): Promise<void> {
  const refusals = new Set<string>()
  // Who may see all projects of an account is told that this is none of them.
  const outOfReach = ROLES[rank].includes('administer')
    ? [404, 'not_found']
    : [403, 'permission_denied']
  for (const target of TARGETS) {
    const isReached =
      target === 'own' || (target === 'sibling' && ROLES[rank].includes('administer'))
    const project =
      target === 'unknown' ? unknownId('project') : placeOf(parties, target).ids.project
    const headers = { 'x-svc-project': project }
    const address = '/v1/chat/completions'
    const reply = await send(stage, { method: 'POST', address, secret, body: CALL, headers })
    expect([reply.status, reply.code], `${title} for ${target}`).toEqual(
      isReached ? [200, undefined] : outOfReach,
    )
    if (!isReached) refusals.add(reply.whole)
  }
  expect(refusals.size).toBe(1)
}

describe('the operator', () => {
  onStage()

  it.each(ROUTES)('%s answers by role and reach as well', async (_title, endpoint) => {
    const parties = { world: stage.operator, foreign: stage.alpha }
    for (const credential of credentialsOf(stage, stage.operator))
      await askAll(endpoint, credential, parties)
  })

  it('finds nothing of the accounts that it has opened, but what they are called', async () => {
    const [root] = credentialsOf(stage, stage.operator).slice(-1)
    const { body } = await send(stage, {
      method: 'GET',
      address: '/v1/manage/accounts',
      secret: root!.secret,
    })
    expect(body).toContain(stage.alpha.accountId)
    for (const { one, two, root: secret } of [stage.alpha, stage.beta])
      expect(
        [...one.traces, ...two.traces, secret].filter((trace) => body.includes(trace)),
      ).toEqual([])
  })
})

/** Whatever a refusal of an unknown name says that there is. */
function namesIn({ body }: Reply): readonly string[] {
  const { error } = JSON.parse(body) as { error: { human_message: string } }
  const [, list = ''] = /(?:Send|takes) only (.*)\./.exec(error.human_message) ?? []
  return list.includes('`')
    ? [...list.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)
    : list.split(', ')
}

describe('an account that is closed', () => {
  onStage()

  it('changes nothing any more, whatever was on its way', async () => {
    const { alpha, gateway } = stage
    const { ids } = alpha.one
    const late = await Promise.all(
      [
        ['POST', '/users'],
        ['POST', '/keys'],
        ['PATCH', `/projects/${ids.project}`],
        ['PATCH', `/keys/${ids.key}`],
        ['PATCH', `/wallets/${ids.wallet}`],
        ['PATCH', `/native/identities/${ids.identity}`],
      ].map(async ([method = '', path = '']) => {
        const headers = [
          ['Authorization', `Bearer ${alpha.root}`],
          ['Content-Type', 'application/json'],
        ] as const
        const body = '{"name":"late"}'
        const bytes = formatRequest({ method, target: `/v1/manage${path}`, headers, body })
        const client = await connectRaw(gateway.url)
        await client.send(bytes.subarray(0, -5))
        return { client, rest: bytes.subarray(-5), path }
      }),
    )
    // Once this is answered, so far they have all come.
    await send(stage, { method: 'GET', address: '/health', secret: undefined })
    await gateway.manage('DELETE', `/accounts/${alpha.accountId}`)
    const before = rowsOf(alpha)
    const answers = late.map(async ({ client, rest, path }) => {
      await client.send(rest)
      const { status, body } = await client.response()
      client.close()
      return [path, status, body.includes('account_status')] as const
    })
    for (const answer of await Promise.all(answers)) expect(answer).toEqual([answer[0], 403, true])
    expect(rowsOf(alpha)).toEqual([...before])
  })
})

describe('this test', () => {
  onStage()

  const root = (): string => stage.operator.root

  it.each(ROUTES)('knows what %s takes', async (_title, endpoint) => {
    const { method } = endpoint
    const lesson = lessonOf(endpoint)
    const id = lesson.fixed ?? stage.operator.two.ids[lesson.subject ?? 'key']
    const address = addressOf(endpoint, id)
    if (method === 'GET') {
      const reply = await send(stage, { method, address: `${address}?nonsense=1`, secret: root() })
      if (reply.code !== 'unsupported_parameter') return
      const ids = namesIn(reply).filter((name) => /_ids?$/.test(name))
      expect(Object.keys(lesson.references ?? {})).toEqual(expect.arrayContaining(ids))
    } else if (lesson.writes !== undefined) {
      const reply = await send(stage, { method, address, secret: root(), body: { nonsense: 1 } })
      expect(namesIn(reply).toSorted(), reply.body).toEqual(lesson.writes.toSorted())
      const ids = lesson.writes.filter(
        (name) => /_ids?$/.test(name) && lesson.free?.includes(name) !== true,
      )
      expect(Object.keys(lesson.references ?? {}).toSorted()).toEqual(ids.toSorted())
    } else expect(['HEAD', 'DELETE', 'POST'], 'say what it takes').toContain(method)
  })
})

/** Ways to write an address that somebody might take for the same, and somebody else not. */
function spellingsOf(address: string): readonly string[] {
  const below = address.slice('/v1/manage/'.length)
  return [
    address.toUpperCase(),
    address.replace('manage', 'Manage'),
    `/${address}`,
    address.replace('/manage/', '//manage/'),
    address.replace('/manage/', '/manage//'),
    `${address}/`,
    `${address}/.`,
    `${address}%2f`,
    `${address}%20`,
    `${address};x=1`,
    `${address}#`,
    address.replace('/manage/', '%2fmanage/'),
    address.replace('/manage/', '/manage%2F'),
    address.replace('manage', '%6danage'),
    address.replace('/manage/', '/./manage/'),
    `/v1/models/../manage/${below}`,
    `/v1/models/..%2fmanage%2f${below}`,
    `/v1/models/%2e%2e/manage/${below}`,
    `/v1/errors/../manage/${below}`,
    `/health/../v1/manage/${below}`,
    `http://elsewhere.test${address}`,
    `\\v1\\manage\\${below}`,
  ]
}

describe('however an address is written', () => {
  onStage()

  const keyed = ROUTES.filter(([, { path }]) => path.startsWith('/v1/manage/'))

  it.each(keyed)('%s opens to nobody of a lesser role', async (_title, endpoint) => {
    const lesson = lessonOf(endpoint)
    const { alpha, beta } = stage
    const address = addressOf(endpoint, beta.one.ids[lesson.subject ?? 'key'])
    const body = lesson.body && JSON.stringify(lesson.body(alpha.one, alpha))
    const secret = endpoint.role === 'operate' ? alpha.root : alpha.one.key
    const isRead = endpoint.method === 'GET'
    for (const target of [address, ...spellingsOf(address)]) {
      const headers = [
        ['Authorization', `Bearer ${secret}`],
        ['Content-Type', 'application/json'],
      ] as const
      const request = {
        method: endpoint.method,
        target,
        headers,
        ...(body !== undefined && { body }),
      }
      const response = await sendRaw(stage.gateway.url, formatRequest(request))
      const text = response.body.toString()
      expect([400, 403, 404, 405], `${target}: ${text}`).toContain(response.status)
      expect(tracesOf(beta).filter((trace) => text.includes(trace))).toEqual([])
    }
    if (!isRead) return
    expect((await send(stage, { method: 'HEAD', address, secret })).status).toBe(403)
  })
})

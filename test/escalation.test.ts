// What only the gateway writes, for everyone who may write anything: each field of each record is sent to each route
// that makes or changes something, and what is not on the list of that route is refused by name.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import type { Endpoint } from '../src/endpoints/endpoint.ts'
import { endpoints } from '../src/endpoints/index.ts'
import { credentialsOf, reaches, ROLES, send, type Credential } from './fakes/crossing.ts'
import { addressOf, lessonOf, titleOf } from './fakes/lessons.ts'
import type { Json } from './fakes/tenants.ts'
import { pathOf, readRows, setStage, type Stage, type Subject, type World } from './fakes/worlds.ts'

let stage: Stage
/** Every field that is shown of anything, with a value that it has somewhere. */
let shown: ReadonlyMap<string, unknown>

beforeAll(async () => {
  stage = await setStage()
  shown = new Map([...GUESSED, ...(await readShown())])
})

afterAll(() => stage.stop())

/** What somebody might try who knows other gateways, or this one's database. */
const GUESSED: readonly (readonly [string, unknown])[] = [
  ['role', 'root'],
  ['roles', ['operator']],
  ['scopes', ['*']],
  ['scope', 'manage'],
  ['permissions', ['*']],
  ['is_admin', true],
  ['is_operator', true],
  ['operator', true],
  ['admin', true],
  ['manages', true],
  ['kind', 'root'],
  ['type', 'root'],
  ['hash', 'A'.repeat(44)],
  ['key', `svc_${'B'.repeat(43)}`],
  ['secret', `svc_${'B'.repeat(43)}`],
  ['root_key', `svc_${'B'.repeat(43)}`],
  ['previous_hash', 'A'.repeat(44)],
  ['owner', 'account'],
  ['balance', 1000],
  ['credited', 1000],
  ['used', 0],
  ['spent', 0],
  ['budget_used', 0],
  ['revoked_at', null],
  ['ended_at', null],
  ['endedAt', null],
  ['created_by', 'key_someone'],
  ['createdBy', 'key_someone'],
  ['accountId', 'acc_someone'],
  ['account_id', 'acc_someone'],
  ['projectId', 'prj_someone'],
  ['budgetLimit', 1000],
  ['Name', 'capital'],
  ['NAME', 'capital'],
  ['name ', 'space'],
  ['constructor', { prototype: {} }],
  ['__proto__', { manages: true }],
  ['toString', 'x'],
  ['', 'x'],
]

const READS: readonly Subject[] = [
  'account',
  'organisation',
  'user',
  'project',
  'team',
  'wallet',
  'key',
  'token',
  'identity',
  'call',
  'review',
]

async function readShown(): Promise<readonly (readonly [string, unknown])[]> {
  const { operator } = stage
  const entries = READS.map(async (subject) => {
    const address = `/v1/manage${pathOf(subject)}/${operator.one.ids[subject]}`
    const { status, body } = await send(stage, { method: 'GET', address, secret: operator.root })
    expect(status, address).toBe(200)
    return Object.entries(JSON.parse(body) as Json).map(
      ([name, value]) => [name, value ?? 'something'] as const,
    )
  })
  return (await Promise.all(entries)).flat()
}

/** Such a name would be lost if it were put into an object. */
function bodyWith(body: Json, name: string, value: unknown): string {
  const { [name]: _same, ...others } = body
  const members = Object.entries({ ...others }).map(
    ([each, given]) => `${JSON.stringify(each)}:${JSON.stringify(given)}`,
  )
  return `{${[...members, `${JSON.stringify(name)}:${JSON.stringify(value)}`].join(',')}}`
}

const WRITERS = endpoints
  .filter((endpoint) => lessonOf(endpoint).writes !== undefined)
  .map((endpoint) => [titleOf(endpoint), endpoint] as const)

function everything(): readonly string[] {
  return readRows(stage.folder, '', () => true)
}

/** Whoever may use the route on what it is pointed at. */
function writersOf({ role }: Endpoint, subject: Subject | undefined): readonly Writer[] {
  return [stage.operator, stage.alpha].flatMap((world) =>
    credentialsOf(stage, world)
      .filter(({ rank }) => ROLES[rank].includes(role))
      .filter(({ rank }) => subject === undefined || reaches(rank, subject, 'own'))
      .map((credential) => ({ credential, world })),
  )
}

interface Writer {
  readonly credential: Credential
  readonly world: World
}

describe('what is not to be written', () => {
  it.each(WRITERS)('is refused by name at %s, and nothing is changed', async (_title, endpoint) => {
    const { subject, writes = [], body } = lessonOf(endpoint)
    const { method } = endpoint
    const before = everything()
    const names = [...shown.keys()].filter((name) => !writes.includes(name))
    expect(names.length).toBeGreaterThan(60)
    const writers = writersOf(endpoint, subject)
    expect(writers).not.toEqual([])
    for (const { credential, world } of writers) {
      const { one } = world
      const address = addressOf(endpoint, subject === undefined ? '' : one.ids[subject])
      const plain = body?.(one, world) ?? {}
      for (const name of names) {
        const given = bodyWith(plain, name, shown.get(name))
        const { secret, title } = credential
        const reply = await send(stage, { method, address, secret, body: given })
        expect(reply.status, `${title} ${method} ${address} ${given}`).toBe(400)
        const { error } = JSON.parse(reply.body) as { error: Json }
        expect(['unsupported_parameter', 'raw_secret_field_rejected']).toContain(reply.code ?? '')
        expect(error['param'], given).toBe(name)
      }
    }
    expect(everything()).toEqual([...before])
  })
})

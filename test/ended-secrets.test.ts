// A secret that has ended opens nothing any more: not for a request whose body was still on its way either, however
// slowly it comes. Whoever took a key cannot hold a door open with it.
import { afterEach, describe, expect, it } from 'bun:test'
import { ROOT_KEY, type Gateway, HELLO } from './fakes/gateway.ts'
import { connectRaw, type RawClient } from './fakes/raw.ts'
import { closeStreet, good, openStreet } from './fakes/street.ts'
import { tenantAt, type Json, type Tenant } from './fakes/tenants.ts'

afterEach(closeStreet)

interface Asked {
  readonly path: string
  readonly body: object
  readonly headers?: Readonly<Record<string, string>>
}

const CHAT = '/v1/chat/completions'

/** A request of which all but the last bytes are sent. */
class Half {
  readonly #client: RawClient
  readonly #rest: string

  constructor(client: RawClient, rest: string) {
    this.#client = client
    this.#rest = rest
  }

  static async send(gateway: Gateway, secret: string, asked: Asked): Promise<Half> {
    const { path, body, headers = {} } = asked
    const text = JSON.stringify(body)
    const more = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const client = await connectRaw(gateway.url)
    await client.send(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${secret}\r\n` +
        `content-type: application/json\r\ncontent-length: ${text.length}\r\n${more.join('')}\r\n` +
        text.slice(0, 1),
    )
    return new Half(client, text.slice(1))
  }

  async finish(): Promise<number> {
    await this.#client.send(this.#rest)
    const { status } = await this.#client.response()
    this.#client.close()
    return status
  }
}

/** Until the gateway has seen a credential: its half of a request is let in. */
async function untilSeen(root: Tenant, path: string): Promise<void> {
  while ((await root.get(path))['last_used_at'] === null);
}

async function makeToken(root: Tenant): Promise<Json & { readonly id: string }> {
  const project = await root.make('/projects', { name: 'shop' })
  return root.make('/tokens', { name: 'boss', project_id: project.id, manage: true })
}

describe('a request whose secret ends before its body does', () => {
  it('is not sent to a supplier', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const { id, key } = await gateway.createKey({ name: 'app' })
    const half = await Half.send(gateway, key, { path: CHAT, body: HELLO })
    await untilSeen(root, `/keys/${id}`)
    await root.make(`/keys/${id}/rotate`, { overlap_seconds: 0 })
    expect(await half.finish()).toBe(401)
    expect(suppliers[0]!.requests).toHaveLength(0)
  })

  it('gets no kept answer either', async () => {
    const { gateway } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const { id, key } = await gateway.createKey({ name: 'app' })
    const headers = { 'idempotency-key': 'once' }
    const auth = { authorization: `Bearer ${key}` }
    await (await gateway.chat(HELLO, { headers: { ...headers, ...auth } })).text()
    const half = await Half.send(gateway, key, { path: CHAT, body: HELLO, headers })
    await gateway.manage('GET', `/keys/${id}`)
    await root.make(`/keys/${id}/rotate`, { overlap_seconds: 0 })
    expect(await half.finish()).toBe(401)
  })

  it.each([
    ['makes no other', '/v1/manage/tokens', { name: 'more', manage: true }],
    ['makes no key', '/v1/manage/keys', { name: 'more' }],
  ])('%s', async (_, path, body) => {
    const { gateway } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const token = await makeToken(root)
    const half = await Half.send(gateway, String(token['key']), { path, body })
    await untilSeen(root, `/tokens/${token.id}`)
    await root.make(`/tokens/${token.id}/rotate`, { overlap_seconds: 0 })
    expect(await half.finish()).toBe(401)
    expect((await root.ask('GET', '/keys')).data).toHaveLength(0)
    expect((await root.ask('GET', '/tokens')).data).toHaveLength(1)
  })

  it('does not take its place back from the new one', async () => {
    const { gateway } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const token = await makeToken(root)
    const path = `/v1/manage/tokens/${token.id}/rotate`
    const half = await Half.send(gateway, String(token['key']), {
      path,
      body: { overlap_seconds: 0 },
    })
    await untilSeen(root, `/tokens/${token.id}`)
    const renewed = await root.make(`/tokens/${token.id}/rotate`, { overlap_seconds: 0 })
    expect(await half.finish()).toBe(401)
    const rightful = tenantAt(gateway.url, String(renewed['key']))
    expect((await rightful.ask('GET', '/projects')).status).toBe(200)
  })

  it('opens, credits and reloads nothing as the root key', async () => {
    const { gateway } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const { id, wallet_id: wallet } = await root.get('/account')
    const asked: readonly (readonly [path: string, body: object])[] = [
      ['/accounts', { name: 'thief' }],
      [`/accounts/${String(id)}/rotate`, {}],
      [`/wallets/${String(wallet)}/credits`, { amount_usd: 1, reason: 'mine' }],
      ['/users', { name: 'thief' }],
      ['/reload', { allow_drop: true }],
      ['/ledger/archive', { before: '2020-01' }],
    ]
    const halves = await Promise.all(
      asked.map(([path, body]) =>
        Half.send(gateway, ROOT_KEY, { path: `/v1/manage${path}`, body }),
      ),
    )
    // Requests are looked at in the order in which they come.
    await fetch(`${gateway.url}/health`)
    const { root_key: secret } = await root.make(`/accounts/${String(id)}/rotate`, {})
    const statuses = await Promise.all(halves.map((half) => half.finish()))
    expect(statuses).toEqual(asked.map(() => 401))
    const rightful = tenantAt(gateway.url, String(secret))
    expect((await rightful.ask('GET', '/accounts')).data).toHaveLength(1)
    expect((await rightful.ask('GET', '/users')).data).toHaveLength(0)
    expect((await rightful.get(`/wallets/${String(wallet)}`))['balance_usd']).toBe(0)
  })

  it('goes on within the overlap', async () => {
    const { gateway } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const { id, key } = await gateway.createKey({ name: 'app' })
    const half = await Half.send(gateway, key, { path: CHAT, body: HELLO })
    await untilSeen(root, `/keys/${id}`)
    await root.make(`/keys/${id}/rotate`, { overlap_seconds: 60 })
    expect(await half.finish()).toBe(200)
  })
})

describe('a call whose key is changed before its body has come', () => {
  it('obeys what the key is by then', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const { id, key } = await gateway.createKey({ name: 'app' })
    const half = await Half.send(gateway, key, { path: CHAT, body: HELLO })
    await untilSeen(root, `/keys/${id}`)
    const change = { allowed_models: ['another'] }
    expect((await root.ask('PATCH', `/keys/${id}`, change)).status).toBe(200)
    expect(await half.finish()).toBe(403)
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

describe('a call for a project that leaves its team before the body has come', () => {
  it('is refused', async () => {
    const { gateway, suppliers } = await openStreet([good])
    const root = tenantAt(gateway.url)
    const [one, two] = [
      await root.make('/projects', { name: 'one' }),
      await root.make('/projects', { name: 'two' }),
    ]
    const team = await root.make('/teams', { name: 'both', project_ids: [one.id, two.id] })
    const token = await root.make('/tokens', { name: 't', team_id: team.id })
    const headers = { 'x-svc-project': two.id }
    const asked = { path: CHAT, body: HELLO, headers }
    const half = await Half.send(gateway, String(token['key']), asked)
    await untilSeen(root, `/tokens/${token.id}`)
    expect((await root.ask('PATCH', `/teams/${team.id}`, { project_ids: [one.id] })).status).toBe(
      200,
    )
    expect(await half.finish()).toBe(403)
    expect(suppliers[0]!.requests).toHaveLength(0)
  })
})

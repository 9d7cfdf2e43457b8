// Who changed what, through a real gateway: every change leaves an action with before and after, and no secret.
import { afterAll, beforeAll, describe, expect, it } from 'bun:test'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { openAccount, tenantAt, type Json, type Tenant } from './fakes/tenants.ts'

let gateway: Gateway
let root: Tenant

beforeAll(async () => {
  gateway = await startGateway()
  root = tenantAt(gateway.url)
})

afterAll(() => gateway.stop())

async function actionsOn(target: string, tenant = root): Promise<readonly Json[]> {
  return (await tenant.ask('GET', `/actions?target=${target}`)).data
}

describe('actions', () => {
  it('say who did what, and what was before and after', async () => {
    const { id } = await root.make('/projects', { name: 'first', metadata: { a: 'b' } })
    const patched = await fetch(`${gateway.url}/v1/manage/projects/${id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${root.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'second', payer: 'caller' }),
    })
    await root.ask('DELETE', `/projects/${id}`)
    const actions = await actionsOn(id)
    expect(actions.map(({ action }) => action)).toEqual([
      'project.end',
      'project.update',
      'project.create',
    ])
    const [ended, updated, created] = actions
    const first = { name: 'first', payer: null, metadata: { a: 'b' } }
    const second = { name: 'second', payer: 'caller', metadata: { a: 'b' } }
    expect(created).toMatchObject({ before: null, after: first })
    expect(updated).toMatchObject({ before: first, after: second })
    expect(ended).toMatchObject({ before: second, after: null })
    expect(updated?.['request_id']).toBe(patched.headers.get('x-request-id'))
    expect(String(updated?.['by'])).toStartWith('key_')
    expect(Object.keys(updated ?? {}).toSorted()).toEqual(
      ['action', 'after', 'at', 'before', 'by', 'request_id', 'target'].toSorted(),
    )
  })

  it('of a wallet tell its credits, to the last digit', async () => {
    const { id: user } = await root.make('/users', { name: 'u' })
    const { id } = await root.make('/wallets', { user_id: user, credit_line: 0.000000001 })
    const paid = { amount_usd: 0.000000002, reason: 'paid', reference: 'R1' }
    await root.make(`/wallets/${id}/credits`, paid)
    const response = await gateway.manage('GET', `/actions?target=${id}`)
    const text = await response.text()
    expect(text).toContain('"amount_usd":0.000000002,')
    expect(text).toContain('"credit_line":0.000000001,')
    const [credited] = (JSON.parse(text) as { data: Json[] }).data
    expect(credited).toMatchObject({
      action: 'wallet.credit',
      target: id,
      before: null,
      after: paid,
    })
    const found = await root.ask('GET', `/actions?action=wallet.credit&target=${id}`)
    expect(found.data).toHaveLength(1)
  })

  it('that were refused leave nothing', async () => {
    const { id } = await root.make('/users', { name: 'u', email: 'u@example.com' })
    await root.ask('PATCH', `/users/${id}`, { email: 'wrong' })
    await root.ask('PATCH', `/users/${id}`, { role: 'admin' })
    await root.make('/wallets', { user_id: id })
    await root.ask('DELETE', `/users/${id}`)
    expect((await actionsOn(id)).map(({ action }) => action)).toEqual(['user.create'])
  })

  it('hold no secret, whatever was made', async () => {
    const account = await openAccount(gateway.url, 'secretive')
    const rotated = await root.ask('POST', `/accounts/${account.id}/rotate`, {})
    const secret = String(rotated.body['root_key'])
    const tenant = tenantAt(gateway.url, secret)
    const key = await tenant.make('/keys', { name: 'k' })
    const text = JSON.stringify((await tenant.ask('GET', '/actions')).data)
    expect(text).toContain('account.rotate')
    expect(text).toContain('key.create')
    const hashes = [secret, account.secret, String(key['key'])].flatMap((each) => [
      each,
      Bun.SHA256.hash(each, 'base64'),
    ])
    for (const hidden of hashes) expect(text).not.toContain(hidden)
  })

  it('on an account are seen by that account and by the operator, and by nobody else', async () => {
    const account = await openAccount(gateway.url, 'watched')
    const another = await openAccount(gateway.url, 'another')
    await account.make('/users', { name: 'u' })
    const own = (await account.ask('GET', '/actions')).data
    expect(own.map(({ action }) => action)).toEqual(['user.create', 'account.create'])
    expect((await root.ask('GET', `/actions?account_id=${account.id}`)).data).toEqual(own)
    expect((await account.ask('GET', `/actions?account_id=${account.id}`)).data).toEqual(own)
    const { status, error } = await another.ask('GET', `/actions?account_id=${account.id}`)
    expect([status, error['code']]).toEqual([403, 'permission_denied'])
    expect((await root.ask('GET', '/actions?account_id=acc_none')).status).toBe(404)
    const ids = (await another.ask('GET', '/actions')).data.map(({ target }) => target)
    expect(ids).toEqual([another.id])
  })

  it('are found by who, what and when, page by page', async () => {
    const account = await openAccount(gateway.url, 'busy')
    const ids: string[] = []
    for (const name of ['a', 'b', 'c']) ids.unshift((await account.make('/teams', { name })).id)
    const targets = async (query: string): Promise<unknown> =>
      (await account.ask('GET', `/actions?${query}`)).data.map(({ target }) => target)
    expect(await targets('action=team.create')).toEqual(ids)
    const [first] = (await account.ask('GET', '/actions?limit=1')).data
    expect(await targets(`by=${String(first?.['by'])}`)).toEqual(ids)
    expect(await targets('to=2020-01-01')).toEqual([])
    expect(await targets('from=2020-01-01&action=team.create')).toEqual(ids)
    const page = await account.get('/actions?limit=2&action=team.create')
    expect(page['has_more']).toBe(true)
    expect(await targets(`action=team.create&cursor=${String(page['next_cursor'])}`)).toEqual(
      ids.slice(2),
    )
    for (const query of [
      'from=soon',
      'from=2026-01-02&to=2026-01-01',
      'limit=0',
      'cursor=x',
      'by=',
    ])
      expect((await account.ask('GET', `/actions?${query}`)).error['code'], query).toBe(
        'validation_error',
      )
    expect((await account.ask('GET', '/actions?who=x')).error['code']).toBe('unsupported_parameter')
  })
})

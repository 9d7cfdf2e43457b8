// What a native call is refused for although it is well-formed: by its key, its payer, its region, its organisation and
// what was asked before. None of it reaches the supplier, and none of it costs anything.
import { afterEach, describe, expect, it } from 'bun:test'
import { HELLO_NATIVE, openAgency, type Agency, type AgencyOptions } from './fakes/agency.ts'
import { tenantAt, type Json } from './fakes/tenants.ts'

let all: Agency

/** Somebody is signed in. */
async function begin(options?: AgencyOptions): Promise<Agency> {
  all = await openAgency(options)
  await all.signIn()
  return all
}

afterEach(async () => {
  for (const { cost } of all.gateway.audit().filter(({ status }) => status >= 400))
    expect(cost).toBe(0)
  await all.stop()
})

interface Refusal {
  readonly status: number
  readonly error: Json
  readonly retryAfter: string | null
}

async function readRefusal(response: Response): Promise<Refusal> {
  const { error } = (await response.json()) as { readonly error: Json }
  expect(response.headers.get('x-request-id')).toMatch(/^req_/)
  return { status: response.status, error, retryAfter: response.headers.get('retry-after') }
}

async function refuse(settings: object, body: object = HELLO_NATIVE): Promise<Refusal> {
  const { key } = await all.gateway.createKey({ name: 'k', ...settings })
  return readRefusal(await all.ask(body, { key }))
}

describe('a native call is refused', () => {
  it('for a model that is not on the list of its key', async () => {
    const { backend } = await begin()
    expect(await refuse({ allowed_models: ['other'] })).toMatchObject({
      status: 403,
      error: { code: 'model_not_allowed', type: 'permission_error', param: 'model' },
    })
    expect(backend.requests.length).toBe(0)
  })

  it('where everybody in the region of its key is unwell, with the time to come back', async () => {
    const { backend } = await begin({
      script: (_request, reply) => reply.json(500, { error: { message: 'Oh no.' } }),
    })
    const refused = await refuse({ allowed_regions: ['EU'] })
    expect(refused).toMatchObject({
      status: 503,
      error: { code: 'sovereign_route_unavailable', regions: ['EU'] },
    })
    expect(Number(refused.retryAfter)).toBeGreaterThan(0)
    expect(backend.requests.length).toBe(1)
  })

  it('where everybody in the region of its key has asked for a pause', async () => {
    await begin({
      script: (_request, reply) =>
        reply.json(503, { error: { message: 'Later.' } }, { 'retry-after': '9' }),
    })
    const settings = { allowed_regions: ['EU'] }
    for (const _ of [1, 2])
      expect(await refuse(settings)).toMatchObject({
        status: 503,
        error: { code: 'sovereign_route_unavailable' },
        retryAfter: '9',
      })
    expect(all.backend.requests.length).toBe(1)
  })

  it('for a region that is none', async () => {
    await begin()
    expect(await refuse({}, { ...HELLO_NATIVE, region: 7 })).toMatchObject({
      status: 400,
      error: { code: 'validation_error', param: 'region' },
    })
  })

  it.each([
    ['by itself', {}],
    ['for what a search at the supplier might find', { tools: [{ type: 'web_search' }] }],
  ])('for a budget that is too small %s, and nothing is held', async (_, more) => {
    const { backend, gateway } = await begin()
    const { id, key } = await gateway.createKey({ name: 'poor', budget_limit: 0.000001 })
    const refused = await readRefusal(await all.ask({ ...HELLO_NATIVE, ...more }, { key }))
    expect([refused.status, refused.error['code']]).toEqual([402, 'budget_exceeded'])
    expect(backend.requests.length).toBe(0)
    const shown = await tenantAt(gateway.url).get(`/keys/${id}`)
    expect(JSON.stringify(shown)).not.toMatch(/"(?:held|used)[a-z_]*":0\.0*[1-9]/)
    expect(gateway.audit()).toMatchObject([{ attempts: 0, supplier: null }])
  })

  it('where its payer has spent what it may', async () => {
    const { backend, gateway, ask } = await begin()
    const root = tenantAt(gateway.url)
    const { id } = await root.make('/projects', { name: 'p', payer: 'project' })
    const wallet = await root.make('/wallets', { project_id: id, spending_limit: 0 })
    await root.make(`/wallets/${wallet.id}/credits`, { amount_usd: 1, reason: 'test' })
    const headers = { 'x-svc-project': id }
    expect(await readRefusal(await ask(HELLO_NATIVE, { headers }))).toMatchObject({
      status: 403,
      error: { code: 'billing_limit_reached', type: 'permission_error' },
    })
    expect(backend.requests.length).toBe(0)
  })

  it('for another body under the same Idempotency-Key; the same one gets the same answer', async () => {
    const { backend, ask } = await begin()
    const headers = { 'idempotency-key': 'once' }
    const first = await ask(HELLO_NATIVE, { headers })
    const text = await first.text()
    const other = await ask({ ...HELLO_NATIVE, store: true }, { headers })
    expect(await readRefusal(other)).toMatchObject({
      status: 422,
      error: { code: 'idempotency_conflict' },
    })
    const again = await ask(HELLO_NATIVE, { headers })
    expect(await again.text()).toBe(text)
    expect(again.headers.get('x-svc-original-request-id')).toBe(first.headers.get('x-request-id'))
    expect(backend.requests.length).toBe(1)
  })

  it('where its organisation does not call in this way, until it does', async () => {
    const { backend, gateway, ask } = await begin()
    const root = tenantAt(gateway.url)
    const organisation = await root.make('/organisations', { name: 'o', native: false })
    const project = await root.make('/projects', { name: 'p', organisation_id: organisation.id })
    const headers = { 'x-svc-project': project.id }
    expect(await readRefusal(await ask(HELLO_NATIVE, { headers }))).toMatchObject({
      status: 403,
      error: { code: 'native_org_lane_disabled' },
    })
    expect(backend.requests.length).toBe(0)
    await root.ask('PATCH', `/organisations/${organisation.id}`, { native: true })
    expect((await ask(HELLO_NATIVE, { headers })).status).toBe(200)
  })
})

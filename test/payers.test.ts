// Who pays for a call, through the real server: the chain is walked in its order, the first that can pay does, and
// whoever is refused is told by whom, why and what to do about it. No number of callers empties a wallet below its line.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { ask, askUntilDecided, errorOf, untilInLine, type Said } from './fakes/crowd.ts'
import { HELLO, ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { createMaximal, pricedAt, toNano, TOKEN_COST, toUsd } from './fakes/prices.ts'
import { dataOf, expectSoundBooks, openHolds, readRecords } from './fakes/records.ts'
import { closeStreet, createGate, tidy } from './fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { tenantAt, type Json, type Tenant } from './fakes/tenants.ts'

afterEach(closeStreet)

const LONG_TEST_MS = 30_000
const TOKENS = 100
/** What every call below costs: its maximum, all of it. */
const PRICE = TOKENS * TOKEN_COST
const CALL = { ...HELLO, max_tokens: TOKENS }

interface Shop {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly root: Tenant
  readonly clock: FakeClock
  /** The wallet that a fresh install has. */
  readonly account: string
}

async function openShop(script: Script = createMaximal().script): Promise<Shop> {
  const supplier = tidy(await startFakeSupplier(script))
  const suppliers = [pricedAt(supplier.origin)]
  const clock = createFakeClock()
  const gateway = tidy(await startGateway({ suppliers, clock }))
  const root = tenantAt(gateway.url)
  const { wallet_id: account } = await root.get('/account')
  return { gateway, supplier, root, clock, account: String(account) }
}

interface Owners {
  readonly project: string
  readonly user: string
  readonly boss: string
  /** The secret of a key of the project and of the user. */
  readonly key: string
}

/** A project of an organisation that `boss` pays for, with a delegate, called for by a key of `user`. */
async function furnish({ root }: Pick<Shop, 'root'>, settings: object = {}): Promise<Owners> {
  const { id: boss } = await root.make('/users', { name: 'boss' })
  const { id: user } = await root.make('/users', { name: 'user' })
  const { id: delegate } = await root.make('/users', { name: 'delegate' })
  const { id: organisation } = await root.make('/organisations', {
    name: 'org',
    billing_user_id: boss,
  })
  const { id: project } = await root.make('/projects', {
    name: 'project',
    organisation_id: organisation,
    delegate_user_id: delegate,
    ...settings,
  })
  const made = await root.make('/keys', {
    name: 'k',
    project_id: project,
    user_id: user,
    fit: 'off',
  })
  return { project, user, boss, key: String(made['key']) }
}

/** A wallet with so many calls' worth in it. */
async function fund(
  { root }: Pick<Shop, 'root'>,
  owner: object,
  calls: number,
  settings: object = {},
) {
  const { id } = await root.make('/wallets', { ...owner, ...settings })
  if (calls > 0) await credit(root, id, calls)
  return id
}

async function credit(root: Tenant, id: string, calls: number): Promise<void> {
  const amount = { amount_usd: toUsd(calls * PRICE), reason: 'test' }
  expect((await root.ask('POST', `/wallets/${id}/credits`, amount)).status).toBe(200)
}

async function balanceOf({ root }: Shop, id: string): Promise<number> {
  return toNano((await root.get(`/wallets/${id}`))['balance_usd'])
}

async function payerOf({ root }: Shop, { headers }: Said): Promise<Json> {
  const { payer } = await root.get(`/calls/${headers.get('x-request-id')}`)
  return payer as Json
}

describe('a call of a fresh install', () => {
  it('is paid by the wallet of the account, which has no end', async () => {
    const shop = await openShop()
    const said = await ask(shop.gateway.url, ROOT_KEY, CALL)
    expect(said.status).toBe(200)
    expect(await payerOf(shop, said)).toEqual({
      wallet_id: shop.account,
      link: 'caller',
      credit_line_usd: null,
      spending_limit_usd: null,
      spending_period: null,
      passed: [],
    })
    expect(await balanceOf(shop, shop.account)).toBe(-PRICE)
    const { data } = await shop.root.ask('GET', '/audit')
    expect(data[0]).toMatchObject({ payer_wallet_id: shop.account, payer_link: 'caller' })
    await shop.gateway.drain()
    await expectSoundBooks(dataOf(shop.gateway))
  })
})

describe('a payer chain', () => {
  it('is walked from the project over its organisation and its delegate to the caller', async () => {
    const shop = await openShop()
    const { project, user, boss, key } = await furnish(shop)
    const wallets = {
      project: await fund(shop, { project_id: project }, 1),
      organisation: await fund(shop, { user_id: boss }, 1),
      caller: await fund(shop, { user_id: user }, 1),
    }
    const seen: unknown[] = []
    for (let index = 0; index < 3; index++) {
      const said = await ask(shop.gateway.url, key, CALL)
      expect(said.status).toBe(200)
      seen.push(await payerOf(shop, said))
    }
    const passedProject = { link: 'project', wallet_id: wallets.project, why: 'funds' }
    const passedBoss = { link: 'organisation', wallet_id: wallets.organisation, why: 'funds' }
    const passedDelegate = { link: 'delegate', wallet_id: null, why: 'none' }
    expect(seen).toMatchObject([
      { wallet_id: wallets.project, link: 'project', credit_line_usd: 0, passed: [] },
      { wallet_id: wallets.organisation, link: 'organisation', passed: [passedProject] },
      {
        wallet_id: wallets.caller,
        link: 'caller',
        passed: [passedProject, passedBoss, passedDelegate],
      },
    ])
    for (const id of Object.values(wallets)) expect(await balanceOf(shop, id)).toBe(0)
    expect(await balanceOf(shop, shop.account)).toBe(0)
    await shop.gateway.drain()
    await expectSoundBooks(dataOf(shop.gateway))
  })

  it('has one place where the project pins it', async () => {
    const shop = await openShop()
    const { project, key } = await furnish(shop, { payer: 'organisation' })
    const own = await fund(shop, { project_id: project }, 5)
    const refused = await ask(shop.gateway.url, key, CALL)
    expect(refused).toMatchObject({ status: 402, code: 'payment_required' })
    expect(errorOf(refused)).toMatchObject({
      payers: [{ link: 'organisation', wallet_id: null, why: 'none', available_usd: null }],
      raise: expect.stringMatching(/^the holder of the root key: .* POST \/v1\/manage\/wallets$/),
    })
    expect(
      (await shop.root.ask('PATCH', `/projects/${project}`, { payer: 'project' })).status,
    ).toBe(200)
    const said = await ask(shop.gateway.url, key, CALL)
    expect(await payerOf(shop, said)).toMatchObject({ wallet_id: own, link: 'project', passed: [] })
  })

  it('passes over a wallet whose spending limit is reached, whatever is in it', async () => {
    const shop = await openShop()
    const { project, key } = await furnish(shop)
    const spending = { spending_limit: toUsd(PRICE), spending_period: 'daily' }
    const own = await fund(shop, { project_id: project }, 10, spending)
    await ask(shop.gateway.url, key, CALL)
    const said = await ask(shop.gateway.url, key, CALL)
    expect(await payerOf(shop, said)).toMatchObject({
      wallet_id: shop.account,
      passed: [{ link: 'project', wallet_id: own, why: 'limit' }, {}, {}],
    })
  })

  it('tells of a wallet that was closed, until there is another', async () => {
    const shop = await openShop()
    const { project, key } = await furnish(shop)
    const closed = await fund(shop, { project_id: project }, 0)
    expect((await shop.root.ask('DELETE', `/wallets/${closed}`)).status).toBe(200)
    const last = await fund(shop, { project_id: project }, 0)
    expect((await shop.root.ask('DELETE', `/wallets/${last}`)).status).toBe(200)
    const said = await ask(shop.gateway.url, key, CALL)
    expect(await payerOf(shop, said)).toMatchObject({
      wallet_id: shop.account,
      passed: [{ link: 'project', wallet_id: last, why: 'closed' }, {}, {}],
    })
    await shop.root.ask('PATCH', `/projects/${project}`, { payer: 'project' })
    const refused = await ask(shop.gateway.url, key, CALL)
    expect(refused).toMatchObject({ status: 402, code: 'payment_required' })
    expect(errorOf(refused)).toMatchObject({ payers: [{ wallet_id: last, why: 'closed' }] })
    const open = await fund(shop, { project_id: project }, 1)
    expect(await payerOf(shop, await ask(shop.gateway.url, key, CALL))).toMatchObject({
      wallet_id: open,
      passed: [],
    })
  })

  it('is none where the root key names a project that there is not, or that is ended', async () => {
    const shop = await openShop()
    const { id: ended } = await shop.root.make('/projects', { name: 'ended' })
    expect((await shop.root.ask('DELETE', `/projects/${ended}`)).status).toBe(200)
    for (const project of [ended, 'prj_nope']) {
      const headers = { authorization: `Bearer ${ROOT_KEY}`, 'x-svc-project': project }
      const said = await shop.gateway.chat(CALL, { headers })
      const { error } = (await said.json()) as { error: Json }
      expect([said.status, error['code'], error['param']]).toEqual([
        404,
        'not_found',
        'x-svc-project',
      ])
    }
    expect(shop.supplier.requests).toHaveLength(0)
  })

  it('is that of the project which a call of the root key names', async () => {
    const shop = await openShop()
    const { project } = await furnish(shop)
    const own = await fund(shop, { project_id: project }, 1)
    const headers = { authorization: `Bearer ${ROOT_KEY}`, 'x-svc-project': project }
    const said = await shop.gateway.chat(CALL, { headers })
    expect(said.status).toBe(200)
    const call = await shop.root.get(`/calls/${said.headers.get('x-request-id')}`)
    expect(call).toMatchObject({ project_id: project, payer: { wallet_id: own, link: 'project' } })
  })
})

describe('a call that nobody can pay for', () => {
  it('is told whom it asked, what each of them has and who can mend it', async () => {
    const shop = await openShop()
    const { project, key } = await furnish(shop, { payer: 'project' })
    const own = await fund(shop, { project_id: project }, 1)
    expect((await ask(shop.gateway.url, key, CALL)).status).toBe(200)
    const refused = await ask(shop.gateway.url, key, CALL)
    expect(refused).toMatchObject({ status: 403, code: 'billing_limit_reached' })
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect(errorOf(refused)).toMatchObject({
      wallet_id: own,
      balance_usd: 0,
      credit_line_usd: 0,
      limit_usd: null,
      held_usd: 0,
      estimate_usd: toUsd(PRICE),
      payers: [
        {
          link: 'project',
          wallet_id: own,
          why: 'funds',
          available_usd: 0,
          needed_usd: toUsd(PRICE),
          mend: expect.stringContaining(`POST /v1/manage/wallets/${own}/credits`),
        },
      ],
      raise: expect.stringContaining(`POST /v1/manage/wallets/${own}/credits`),
    })
    expect(shop.supplier.requests).toHaveLength(1)
    await credit(shop.root, own, 1)
    expect((await ask(shop.gateway.url, key, CALL)).status).toBe(200)
  })

  it('waits while only running calls are in the way, and goes on when they end', async () => {
    const gate = createGate()
    const { script } = createMaximal()
    const shop = await openShop(async (request, reply, index) => {
      if (index === 0) await gate.opened
      return script({ ...request, body: halved(request.body, index) }, reply, index)
    })
    const { project, key } = await furnish(shop, { payer: 'project' })
    const own = await fund(shop, { project_id: project }, 1.5)
    const first = ask(shop.gateway.url, key, CALL)
    await shop.supplier.request(0)
    expect(await shop.root.get(`/wallets/${own}`)).toMatchObject({ held_usd: toUsd(PRICE) })
    const before = shop.clock.listeners()
    const second = ask(shop.gateway.url, key, CALL)
    await untilInLine(shop.gateway, shop.clock, before + 1)
    gate.open()
    expect((await first).status).toBe(200)
    expect((await second).status).toBe(200)
    expect(await balanceOf(shop, own)).toBe(0)
  })

  it('is told to come back when it has waited for a second', async () => {
    const shop = await openShop(() => {})
    const { project, key } = await furnish(shop, { payer: 'project' })
    const own = await fund(shop, { project_id: project }, 1.5)
    void ask(shop.gateway.url, key, CALL).catch(() => {})
    await shop.supplier.request(0)
    const before = shop.clock.listeners()
    const second = ask(shop.gateway.url, key, CALL)
    await untilInLine(shop.gateway, shop.clock, before + 1)
    shop.clock.advance(1000)
    const refused = await second
    expect(refused).toMatchObject({ status: 429, code: 'capacity_exceeded' })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(errorOf(refused)).toMatchObject({
      held_usd: toUsd(PRICE),
      payers: [
        {
          wallet_id: own,
          why: 'busy',
          available_usd: toUsd(PRICE / 2),
          mend: expect.stringContaining('wait'),
        },
      ],
      raise: expect.not.stringContaining('root key'),
    })
  })

  it('is cut short where its key lets it be, and only by the first who can pay for so much', async () => {
    const shop = await openShop()
    const { project } = await furnish(shop, { payer: 'project' })
    await fund(shop, { project_id: project }, 1100 / TOKENS)
    const { key } = await shop.root.make('/keys', { name: 'fits', project_id: project })
    const said = await ask(shop.gateway.url, String(key), { ...HELLO, max_tokens: 2000 })
    expect(said.status).toBe(200)
    expect(said.headers.get('x-svc-max-tokens')).toBe('1024')
  })

  it('is refused where nothing bounds it and whoever pays can run out', async () => {
    const shop = await openShop()
    const { project, key } = await furnish(shop)
    await fund(shop, { project_id: project }, 5)
    const { max_tokens: _, ...endless } = CALL
    const refused = await ask(shop.gateway.url, key, endless)
    expect(refused).toMatchObject({ status: 400, code: 'missing_fields' })
  })

  it('keeps the code of its key where that is what refuses it', async () => {
    const shop = await openShop()
    const { project } = await furnish(shop, { payer: 'project' })
    const settings = { project_id: project, budget_limit: toUsd(PRICE - 1), fit: 'off' }
    const { key } = await shop.root.make('/keys', { name: 'poor', ...settings })
    const refused = await ask(shop.gateway.url, String(key), CALL)
    expect(refused).toMatchObject({ status: 402, code: 'budget_exceeded' })
  })

  it.each(['keys', 'tokens'])(
    'names the place where the budget of %s can be raised',
    async (path) => {
      const shop = await openShop()
      const { project } = await furnish(shop)
      const settings = { project_id: project, budget_limit: toUsd(PRICE - 1), fit: 'off' }
      const made = await shop.root.make(`/${path}`, { name: 'poor', ...settings })
      const refused = await ask(shop.gateway.url, String(made['key']), CALL)
      const { raise } = errorOf(refused)
      expect(raise).toBe(
        `the holder of the root key, or of a token that manages its project, by PATCH /v1/manage/${path}/${made.id}`,
      )
      const manager = await shop.root.make('/tokens', {
        name: 'm',
        project_id: project,
        manage: true,
      })
      const place = String(raise).split('PATCH /v1/manage')[1]!
      const holder = tenantAt(shop.gateway.url, String(manager['key']))
      expect((await holder.ask('PATCH', place, { budget_limit: toUsd(PRICE) })).status).toBe(200)
      expect((await ask(shop.gateway.url, String(made['key']), CALL)).status).toBe(200)
    },
  )
})

/** The first answer costs half of what it could. */
function halved(body: Buffer, index: number): Buffer {
  if (index > 0) return body
  const asked = JSON.parse(Buffer.from(body).toString()) as { max_tokens: number }
  return Buffer.from(JSON.stringify({ ...asked, max_tokens: asked.max_tokens / 2 }))
}

describe('a wallet with two hundred callers at once', () => {
  it(
    'pays for the thirty-seven that it can, and for none besides',
    async () => {
      const { script } = createMaximal()
      const supplier = tidy(await startFakeSupplier(script))
      const gateway = tidy(await startGateway({ suppliers: [pricedAt(supplier.origin)] }))
      const root = tenantAt(gateway.url)
      const { project, key } = await furnish({ root }, { payer: 'project' })
      const own = await fund({ root }, { project_id: project }, 37.5)
      const { key: other } = await root.make('/keys', {
        name: 'o',
        project_id: project,
        fit: 'off',
      })
      const answers = await Promise.all(
        Array.from({ length: 200 }, (_, index) =>
          askUntilDecided(gateway.url, index % 2 === 0 ? key : String(other), {
            ...CALL,
            stream: index % 3 === 0,
          }),
        ),
      )
      expect(answers.filter(({ isWhole }) => isWhole)).toHaveLength(37)
      const refused = answers.filter(({ isWhole }) => !isWhole)
      expect(new Set(refused.map(({ status, code }) => `${status} ${code}`))).toEqual(
        new Set(['403 billing_limit_reached']),
      )
      expect(supplier.requests).toHaveLength(37)
      expect(await root.get(`/wallets/${own}`)).toMatchObject({
        balance_usd: toUsd(PRICE / 2),
        held_usd: 0,
      })
      await gateway.drain()
      expect(openHolds(readRecords(dataOf(gateway)))).toEqual([])
      await expectSoundBooks(dataOf(gateway))
    },
    LONG_TEST_MS,
  )
})

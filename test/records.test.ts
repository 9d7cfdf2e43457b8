// What the record of a call tells of what was asked for and of who was asked, where that is not simply the model that
// answered; and the same of a refusal that stands for all of them.
import { afterEach, describe, expect, it } from 'bun:test'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { dataOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import { closeStreet, good, openStreet, refuse, tidy } from './fakes/street.ts'
import { startFakeSupplier, type Script } from './fakes/supplier.ts'
import { tell } from './fakes/terminal.ts'

afterEach(closeStreet)

type Json = Readonly<Record<string, unknown>>

const HELLO = { messages: [{ role: 'user', content: 'Hello' }] }
const TOOLS = [{ type: 'function', function: { name: 'look', parameters: {} } }]
const down = refuse(503, { message: 'down', code: 'overloaded' })
const busy = refuse(429, { message: 'slow', code: 'slow_down' })

interface Scene {
  /** Of `one`, which serves `large`, and of `two`, which serves `small`. */
  readonly scripts: readonly [Script, Script]
  readonly rest?: string
  /** Of `one`. */
  readonly credentials?: number
}

async function openScene({ scripts, rest = '', credentials = 1 }: Scene): Promise<Gateway> {
  const [one, two] = await Promise.all(
    scripts.map(async (script) => tidy(await startFakeSupplier(script))),
  )
  const line = (id: string, origin: string, model: string, keys: readonly string[]): string =>
    `  ${id}: { kind: openai-compatible, origin: "${origin}/v1", region: EU, allow_private: true, credentials: [${keys.join(', ')}], models: { ${model}: { price: { input: 1, output: 2 } } } }`
  const keys = Array.from({ length: credentials }, (_, at) => `"\${KEY}-${at + 1}"`)
  const config = [
    'suppliers:',
    line('one', one!.origin, 'large', keys),
    line('two', two!.origin, 'small', ['"${KEY}"']),
    rest,
  ].join('\n')
  return tidy(await startGateway({ config, environment: { KEY: SUPPLIER_CANARY } }))
}

const STANDS_IN = 'models: { large: { fallbacks: [small] } }'
const NO_TOOLS = 'models: { large: { fallbacks: [small], capabilities: [json] } }'

async function manage(gateway: Gateway, path: string): Promise<Json> {
  return (await (await gateway.manage('GET', path)).json()) as Json
}

async function recordOf(gateway: Gateway, body: Json): Promise<Json> {
  const response = await gateway.chat({ ...HELLO, ...body })
  await response.text()
  return manage(gateway, `/calls/${response.headers.get('x-request-id')}`)
}

function detailsIn(gateway: Gateway): readonly unknown[] {
  return readRecords(dataOf(gateway)).ends.map(({ details }) => details)
}

describe('a call that came to nothing', () => {
  it('is found under the model that it asked for, whoever was asked last', async () => {
    const gateway = await openScene({ scripts: [down, down], rest: STANDS_IN })
    const record = await recordOf(gateway, { model: 'large' })
    expect(record).toMatchObject({
      status: 503,
      model: 'large',
      asked: null,
      supplier: 'two',
      tries: [
        { supplier: 'one', model: null, status: 503, code: 'overloaded' },
        { supplier: 'two', model: 'small', status: 503, code: 'overloaded' },
      ],
    })
    const found = await manage(gateway, '/audit?model=large')
    expect(found['data']).toHaveLength(1)
    expect((await manage(gateway, '/usage?by=model'))['data']).toMatchObject([
      { model: 'large', calls: 1 },
    ])
  })

  it('is found under what its name means', async () => {
    const rest = `aliases: { nick: large }\n${STANDS_IN}`
    const gateway = await openScene({ scripts: [down, down], rest })
    const record = await recordOf(gateway, { model: 'nick' })
    expect(record).toMatchObject({ model: 'large', asked: 'nick', supplier: 'two' })
  })
})

describe('what was asked for', () => {
  it('is told where another model answered', async () => {
    const gateway = await openScene({ scripts: [down, good], rest: STANDS_IN })
    const record = await recordOf(gateway, { model: 'large' })
    expect(record).toMatchObject({ status: 200, model: 'small', asked: 'large', attempts: 2 })
  })

  it('is told where it was another name, or a model at one supplier', async () => {
    const gateway = await openScene({ scripts: [good, good], rest: 'aliases: { nick: large }' })
    for (const asked of ['nick', 'one/large'])
      expect(await recordOf(gateway, { model: asked })).toMatchObject({ model: 'large', asked })
  })

  it('changes nothing in the books, which are sound whoever answered', async () => {
    const rest = `aliases: { nick: large }\n${STANDS_IN}`
    const gateway = await openScene({ scripts: [down, good], rest, credentials: 2 })
    for (const model of ['large', 'nick', 'one/large', 'small'])
      await (await gateway.chat({ ...HELLO, model })).text()
    await gateway.drain()
    await expectSoundBooks(dataOf(gateway))
  })

  it('is told by the command line', async () => {
    const gateway = await openScene({ scripts: [good, good], rest: 'aliases: { nick: large }' })
    const { request_id: id } = await recordOf(gateway, { model: 'nick' })
    const environment = { GATEWAY_KEY: ROOT_KEY, GATEWAY_URL: gateway.url }
    const { out } = await tell(['calls', 'show', String(id)], { environment })
    expect(out).toMatch(/^Model +large$/m)
    expect(out).toMatch(/^Asked +nick$/m)
  })

  it('is not written down where it is the model that answered', async () => {
    const gateway = await openScene({ scripts: [good, good] })
    expect(await recordOf(gateway, { model: 'large' })).toMatchObject({ asked: null })
    expect(detailsIn(gateway)).toEqual([null])
  })
})

describe('the only try of a call', () => {
  it('is told exactly where a model stood in', async () => {
    const gateway = await openScene({ scripts: [good, good], rest: NO_TOOLS })
    const record = await recordOf(gateway, { model: 'large', tools: TOOLS })
    expect(record).toMatchObject({
      model: 'small',
      asked: 'large',
      attempts: 1,
      tries: [{ supplier: 'two', model: 'small', credential: null, status: 200 }],
    })
  })

  it('is told exactly where its supplier has several credentials', async () => {
    const gateway = await openScene({ scripts: [good, good], credentials: 2 })
    const { tries } = await recordOf(gateway, { model: 'large' })
    expect(tries).toMatchObject([{ supplier: 'one', model: null, credential: 1, status: 200 }])
    expect((tries as readonly Json[])[0]!['ms']).toBeGreaterThanOrEqual(0)
  })
})

describe('a refusal that stands for all who were asked', () => {
  async function errorOf(gateway: Gateway, body: Json): Promise<Json> {
    const response = await gateway.chat({ ...HELLO, ...body })
    return ((await response.json()) as { readonly error: Json }).error
  }

  it('counts who was asked, and names credentials and models that stood in', async () => {
    const scripts = [busy, down] as const
    const gateway = await openScene({ scripts, rest: STANDS_IN, credentials: 2 })
    const error = await errorOf(gateway, { model: 'large' })
    expect(error['message']).toContain('Each of 2 suppliers that were asked failed.')
    expect(error['attempts']).toEqual([
      { supplier: 'one', credential: 1, status: 429, code: 'slow_down' },
      { supplier: 'one', credential: 2, status: 429, code: 'slow_down' },
      { supplier: 'two', model: 'small', status: 503, code: 'overloaded' },
    ])
    expect(error['regions']).toBeUndefined()
  })

  it('does not call one supplier the only one', async () => {
    const gateway = await openScene({ scripts: [down, good] })
    const { message } = await errorOf(gateway, { model: 'large' })
    expect(message).toContain('The supplier that was asked failed.')
  })

  it('tells the region that it had to stay in', async () => {
    const gateway = await openScene({ scripts: [down, down], rest: STANDS_IN })
    const error = await errorOf(gateway, { model: 'large', region: 'EU' })
    expect(error).toMatchObject({ code: 'sovereign_route_unavailable', regions: ['EU'] })
    expect(error['message']).toContain('Each of 2 suppliers that were asked in EU failed.')
  })
})

it('tells of each try how long it took, and not what the others did', async () => {
  const { gateway, clock } = await openStreet([
    (_, reply) => {
      clock.sleep(2000)
      reply.json(503, { error: { message: 'down' } })
    },
    (...asked) => {
      clock.sleep(3000)
      return good(...asked)
    },
  ])
  const response = await gateway.chat({ ...HELLO, model: 'test-model' })
  const record = await manage(gateway, `/calls/${response.headers.get('x-request-id')}`)
  expect(record['tries']).toMatchObject([
    { supplier: 'fake', ms: 2000 },
    { supplier: 'fake-2', ms: 3000 },
  ])
})

// A configuration that changes under native sign-ins: what an id comes to mean, and who is gone while calls run. No token
// goes to anybody but those that it was made for.
import { afterEach, expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { HELLO_NATIVE, refusalOf, sayHello, tokenOf, askNative } from './fakes/agency.ts'
import { startGateway, type Gateway } from './fakes/gateway.ts'
import { startIssuer, type FakeIssuer } from './fakes/issuer.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from './fakes/supplier.ts'
import { tenantAt } from './fakes/tenants.ts'

/** Who stands at an address, as the file has it. */
interface House {
  readonly backend: FakeSupplier
  readonly issuer: FakeIssuer
  readonly host: string
}

const opened: { stop(): unknown }[] = []

afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.stop()
})

async function openHouse(host: string, script: Script = sayHello): Promise<House> {
  const issuer = startIssuer()
  const backend = await startFakeSupplier(script)
  opened.push(issuer, backend)
  return { issuer, backend, host }
}

function configOf(suppliers: Readonly<Record<string, House>>): string {
  const lines = Object.entries(suppliers).flatMap(([id, { backend, issuer, host }]) => [
    `  ${id}:`,
    '    kind: native-compatible',
    `    origin: ${backend.origin.replace('127.0.0.1', host)}`,
    '    allow_private: true',
    '    region: EU',
    `    oauth: { token_url: '${issuer.url}', client_id: program }`,
    '    models: { agent: { price: { input: 1, output: 2 } } }',
  ])
  return ['suppliers:', ...lines, ''].join('\n')
}

async function start(suppliers: Readonly<Record<string, House>>): Promise<Gateway> {
  const gateway = await startGateway({ config: configOf(suppliers) })
  opened.push(gateway)
  return gateway
}

async function change(
  gateway: Gateway,
  suppliers: Readonly<Record<string, House>>,
): Promise<unknown> {
  writeFileSync(gateway.file, configOf(suppliers))
  const response = await gateway.manage('POST', '/reload', { allow_drop: true })
  expect(response.status).toBe(200)
  return response.json()
}

async function signIn(gateway: Gateway, supplier: string, { issuer }: House): Promise<string> {
  const { accessToken, refreshToken } = issuer.issue()
  const tokens = { access_token: accessToken, refresh_token: refreshToken }
  await tenantAt(gateway.url).make('/native/identities', { name: 'n', supplier, ...tokens })
  return accessToken
}

const HELLO = { ...HELLO_NATIVE, model: 'agent' }

it('where an id comes to mean another supplier, it sees no token of the one before', async () => {
  const [ours, theirs] = [await openHouse('127.0.0.1'), await openHouse('localhost')]
  const gateway = await start({ agents: ours })
  const token = await signIn(gateway, 'agents', ours)
  await change(gateway, { agents: theirs })
  expect(await refusalOf(await askNative(gateway, HELLO))).toEqual([403, 'native_token_error'])
  expect([theirs.backend.requests.length, theirs.issuer.requests.length]).toEqual([0, 0])
  await change(gateway, { agents: ours })
  expect(await (await askNative(gateway, HELLO)).text()).toContain('Hello to you')
  expect(ours.backend.requests.map(tokenOf)).toEqual([token])
})

it('where a supplier goes while it answers, it answers to the end, and is there again with its sign-ins', async () => {
  const begun = Promise.withResolvers<void>()
  const end = Promise.withResolvers<void>()
  const [ours, others] = [
    await openHouse('127.0.0.1', async (request, reply, index) => {
      begun.resolve()
      await end.promise
      return sayHello(request, reply, index)
    }),
    await openHouse('127.0.0.1'),
  ]
  const gateway = await start({ agents: ours, others })
  await signIn(gateway, 'agents', ours)
  const running = askNative(gateway, HELLO)
  await begun.promise
  await change(gateway, { others })
  end.resolve()
  expect(await (await running).text()).toContain('Hello to you')
  expect(await refusalOf(await askNative(gateway, HELLO))).toEqual([403, 'native_token_error'])
  // Under another name it is somebody else.
  await change(gateway, { renamed: ours })
  expect(await refusalOf(await askNative(gateway, HELLO))).toEqual([403, 'native_token_error'])
  await change(gateway, { agents: ours, others })
  expect(await (await askNative(gateway, HELLO)).text()).toContain('Hello to you')
})

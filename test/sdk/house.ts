// Both versions of the official SDK in front of a gateway of their own, with every request that leaves
// them counted. Nothing of the SDK is changed but the address that it is given.
import OpenAI, { type ClientOptions } from 'openai'
import OpenAI6 from 'openai-6'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from '../fakes/gateway.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from '../fakes/supplier.ts'

export type Sdk = typeof OpenAI

/** The older version is driven through the newer one's types: their calls are spelled alike. */
export const SDKS: readonly (readonly [string, Sdk])[] = [
  ['openai 7', OpenAI],
  ['openai 6', OpenAI6 as unknown as Sdk],
]

export interface Connection {
  readonly client: OpenAI
  /** The retry count that each request carried, in the order in which they left. */
  readonly tries: readonly string[]
}

export function connect(Client: Sdk, url: string, options: ClientOptions = {}): Connection {
  const tries: string[] = []
  const client = new Client({
    apiKey: ROOT_KEY,
    baseURL: `${url}/v1`,
    logLevel: 'off',
    fetch: (input, init) => {
      tries.push(new Headers(init?.headers).get('x-stainless-retry-count') ?? 'none')
      return fetch(input, init)
    },
    ...options,
  })
  return { client, tries }
}

export interface House {
  readonly gateway: Gateway
  /** A client of the gateway with the root key. */
  readonly client: OpenAI
  connect(options?: ClientOptions): Connection
}

const open: { stop(): Promise<void> }[] = []

export async function closeHouses(): Promise<void> {
  for (const each of open.splice(0).toReversed()) await each.stop()
}

/** The gateway as it comes, with the demo suppliers behind it. */
export async function demoHouse(Client: Sdk): Promise<House> {
  const gateway = await startGateway()
  open.push(gateway)
  const connectHere = (options?: ClientOptions) => connect(Client, gateway.url, options)
  return { gateway, client: connectHere().client, connect: connectHere }
}

/** The gateway in front of one supplier that does as it is told. */
export async function scriptedHouse(
  Client: Sdk,
  script: Script,
): Promise<House & { readonly supplier: FakeSupplier; readonly direct: OpenAI }> {
  const supplier = await startFakeSupplier(script)
  const gateway = await startGateway({ suppliers: [supplierAt(supplier.origin)] })
  open.push(supplier, gateway)
  const connectHere = (options?: ClientOptions) => connect(Client, gateway.url, options)
  return {
    gateway,
    supplier,
    client: connectHere().client,
    direct: connect(Client, supplier.origin).client,
    connect: connectHere,
  }
}

/** What a promise is rejected with. */
export async function rejection(work: PromiseLike<unknown>): Promise<unknown> {
  try {
    await work
  } catch (thrown) {
    return thrown
  }
  throw new Error('nothing was thrown')
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const collected: Item[] = []
  for await (const item of items) collected.push(item)
  return collected
}

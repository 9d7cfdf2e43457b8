// A native supplier that serves whoever has a good token, its issuer, and a gateway in front of both. It counts who was
// asked by which sign-in: the token of every request is in its book.
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway, type GatewayOptions } from './gateway.ts'
import { startIssuer, type FakeIssuer, type IssuerOptions, type SignIn } from './issuer.ts'
import { nativeSupplierAt } from './native-supplier.ts'
import { printEvents, textEvents } from './response-supplier.ts'
import { startFakeSupplier, type FakeRequest, type FakeSupplier, type Script } from './supplier.ts'

export const NATIVE_PATH = '/v1/native/responses'

export const HELLO_NATIVE = {
  model: 'test-model',
  stream: true,
  store: false,
  input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
}

/** Its own names for figures: 11 tokens in, of them 6 cached and 2 written, and 7 out. */
export const sayHello: Script = (_request, reply) => {
  const stream = reply.stream()
  stream.send(printEvents(textEvents('Hello to you', ['Hello ', 'to you'])))
  stream.end()
}

const UNAUTHORIZED = {
  error: {
    message: 'Your sign-in has ended.',
    type: 'invalid_request_error',
    code: 'token_expired',
  },
}

export interface Agency {
  readonly gateway: Gateway
  readonly backend: FakeSupplier
  readonly issuer: FakeIssuer
  /** Somebody signs in at the issuer, and the gateway is told; with the root key unless another is named. */
  readonly signIn: (settings?: object, key?: string) => Promise<SignedIn>
  /** Asks, with the root key unless another is named. */
  readonly ask: (body?: object, init?: AskOptions) => Promise<Response>
  /** The tokens of all requests that came so far. */
  readonly tokens: () => readonly string[]
  stop(): Promise<void>
}

export interface SignedIn extends SignIn {
  readonly id: string
}

export interface AskOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

export interface AgencyOptions extends GatewayOptions {
  readonly issuer?: IssuerOptions
  /** What whoever has a good token gets. */
  readonly script?: Script
  readonly supplier?: Partial<Supplier>
  /** Suppliers beside the native one. */
  readonly others?: readonly Supplier[]
}

const limits = { contextWindow: 100_000, outputCeiling: 4096 }

export async function openAgency(options: AgencyOptions = {}): Promise<Agency> {
  const { issuer: tokens = {}, script = sayHello, supplier = {}, others = [], ...rest } = options
  const issuer = startIssuer(tokens)
  const backend = await startFakeSupplier((request, reply, index) => {
    if (issuer.accepts(request.headers.get('authorization'))) return script(request, reply, index)
    reply.json(401, UNAUTHORIZED)
  })
  const native = nativeAt(backend.origin, issuer, supplier)
  const gateway = await startGateway({ ...rest, suppliers: [native, ...others] })
  return {
    gateway,
    backend,
    issuer,
    signIn: (settings, key) => signIn(gateway, issuer, settings, key),
    ask: (body, init) => askNative(gateway, body, init),
    tokens: () => backend.requests.map(tokenOf),
    async stop() {
      await gateway.stop()
      await backend.stop()
      await issuer.stop()
    },
  }
}

export function nativeAt(
  origin: string,
  issuer: FakeIssuer,
  changes: Partial<Supplier> = {},
): Supplier {
  const [route] = supplierAt(origin).models.values()
  const models = new Map([['test-model', { ...route!, limits }]])
  return nativeSupplierAt(origin, { models, ...changes }, issuer.oauth())
}

async function signIn(
  { url }: Gateway,
  issuer: FakeIssuer,
  settings: object = {},
  key = ROOT_KEY,
): Promise<SignedIn> {
  const made = issuer.issue()
  const response = await fetch(`${url}/v1/manage/native/identities`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'a sign-in',
      supplier: 'native',
      access_token: made.accessToken,
      refresh_token: made.refreshToken,
      account_id: made.accessToken,
      ...settings,
    }),
  })
  const body = (await response.json()) as { readonly id: string }
  if (!response.ok) throw new Error(`no sign-in: ${JSON.stringify(body)}`)
  return { ...made, id: body.id }
}

export function askNative(
  { url }: Pick<Gateway, 'url'>,
  body: object = HELLO_NATIVE,
  { key = ROOT_KEY, headers = {}, signal }: AskOptions = {},
): Promise<Response> {
  return fetch(url + NATIVE_PATH, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal !== undefined && { signal }),
  })
}

export function tokenOf({ headers }: FakeRequest): string {
  return headers.get('authorization')?.replace(/^Bearer /, '') ?? ''
}

/** The code of a refusal, and its status. */
export async function refusalOf(response: Response): Promise<readonly [number, string]> {
  const { error } = (await response.json()) as { readonly error: { readonly code: string } }
  return [response.status, error.code]
}

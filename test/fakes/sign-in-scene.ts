// The management of sign-ins as a test uses it: a gateway with native suppliers that nobody calls, and an ear for every
// token. Whatever is answered, logged or written is searched for them when a test ends.
import { expect } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog, type Log } from '../../src/observe/log.ts'
import { findSecrets, SEAL_CANARY } from './canary.ts'
import { createFakeClock, type FakeClock } from './clock.ts'
import { ROOT_KEY, startGateway, supplierAt, type Gateway } from './gateway.ts'
import { CLIENT_CANARY, createJwt, createToken, nativeSupplierAt } from './native-supplier.ts'
import type { Json } from './tenants.ts'

/** Nobody is called in these tests. */
export const NOWHERE = 'http://127.0.0.1:9'
export const PLACE = '/native/identities'
/** The claim of a token that names the account at the supplier. */
export const ACCOUNT_CLAIM = 'https://api.openai.com/auth'

const SUPPLIERS = [
  supplierAt(NOWHERE),
  nativeSupplierAt(NOWHERE),
  nativeSupplierAt(NOWHERE, { id: 'robots' }, { grant: 'client_credentials', clientId: undefined }),
  nativeSupplierAt(
    NOWHERE,
    { id: 'known-robot' },
    { grant: 'client_credentials', clientId: 'robot' },
  ),
]

type Made = Json & { readonly id: string }

export interface Told {
  readonly status: number
  readonly body: Json
  readonly error: Json
  readonly headers: Headers
}

export class SignInScene {
  readonly folder = mkdtempSync(join(tmpdir(), 'identities-'))
  readonly clock: FakeClock = createFakeClock(Date.parse('2026-11-01T12:00:00Z'))
  /** Whatever was answered and whatever was logged. */
  readonly #said: string[] = []
  readonly #secrets = [CLIENT_CANARY]
  readonly #log: Log = createLog({
    write: (text) => this.#said.push(text),
    now: () => this.clock.now(),
    isTerminal: false,
  })
  #gateway: Gateway | undefined

  static async open(): Promise<SignInScene> {
    const scene = new SignInScene()
    await scene.start()
    return scene
  }

  /** Again with the same data, once it was drained. */
  async start(secretKey: string = SEAL_CANARY): Promise<void> {
    await this.#gateway?.drain()
    const environment = { GATEWAY_DATA: join(this.folder, 'data'), GATEWAY_SECRET_KEY: secretKey }
    const { clock } = this
    const log = this.#log
    this.#gateway = await startGateway({ clock, log, suppliers: SUPPLIERS, environment })
  }

  async close(): Promise<void> {
    // Once with the log of the database as it is under way, and once when all is in its place.
    this.#expectNoSecrets()
    await this.#gateway?.stop()
    this.#expectNoSecrets()
    rmSync(this.folder, { recursive: true, force: true })
  }

  said(): string {
    this.#log.flush()
    return this.#said.join('\n')
  }

  /** From here on it must be seen nowhere. */
  hide(secret: string): string {
    this.#secrets.push(secret)
    return secret
  }

  token(word = 'token'): string {
    return this.hide(createToken(word))
  }

  jwt(claims: object): string {
    return this.hide(createJwt(claims))
  }

  async ask(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Told> {
    const response = await fetch(`${this.#gateway!.url}/v1/manage${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ROOT_KEY}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    this.#said.push(text, JSON.stringify(response.headers))
    const parsed = JSON.parse(text) as Json
    const error = (parsed['error'] ?? {}) as Json
    return { status: response.status, body: parsed, error, headers: response.headers }
  }

  async make(path: string, body: object): Promise<Made> {
    const told = await this.ask('POST', path, body)
    expect(told.status, JSON.stringify(told.body)).toBe(200)
    return told.body as Made
  }

  signIn(changes: object = {}): Promise<Made> {
    return this.make(PLACE, {
      name: 'Jo',
      supplier: 'native',
      access_token: this.token('access'),
      refresh_token: this.token('refresh'),
      ...changes,
    })
  }

  /** Status, code and param. */
  async refusal(
    method: string,
    path: string,
    body: object,
  ): Promise<readonly [number, unknown, unknown]> {
    const { status, error } = await this.ask(method, path, body)
    // Whoever is refused is told what to do: by a sentence that ends.
    expect(String(error['human_message'])).toMatch(/\.$/)
    return [status, error['code'], error['param']]
  }

  async listed(query = ''): Promise<readonly Json[]> {
    const { status, body } = await this.ask('GET', `${PLACE}${query}`)
    expect(status, JSON.stringify(body)).toBe(200)
    return body['data'] as readonly Json[]
  }

  #expectNoSecrets(): void {
    const said = this.said()
    expect(this.#secrets.filter((secret) => said.includes(secret))).toEqual([])
    expect(findSecrets(this.folder, this.#secrets)).toEqual([])
  }
}

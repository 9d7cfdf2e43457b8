// The real gateway on a free port with a data folder of its own, in front of whatever suppliers a test
// brings along.
import { Database } from 'bun:sqlite'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startApp, type App, type AppOptions } from '../../src/app.ts'
import { defaultSettings, readSettings, type Settings } from '../../src/config/environment.ts'
import { toPicoUsd } from '../../src/core/money.ts'
import { Secret } from '../../src/core/secret.ts'
import { openaiChat } from '../../src/dialects/openai-chat/index.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { FakeClock } from './clock.ts'
import { findSecrets, ROOT_CANARY, SEAL_CANARY, SUPPLIER_CANARY } from './canary.ts'

export const ROOT_KEY = ROOT_CANARY

export interface Gateway {
  readonly app: App
  readonly url: string
  /** Posts a chat request with the root key; a string is sent as it is. */
  chat(body: unknown, init?: RequestInit): Promise<Response>
  /** Makes a managed key and returns its secret. */
  createKey(settings: object): Promise<{ readonly id: string; readonly key: string }>
  /** Calls the management interface with the root key. */
  manage(method: string, path: string, body?: unknown): Promise<Response>
  /** Where its configuration stands, if it has one. */
  readonly file: string
  /** The audit as it stands in the database, oldest first. */
  audit(): readonly AuditLine[]
  /** Ends the gateway and keeps its data folder until `stop`. */
  drain(): Promise<void>
  stop(): Promise<void>
}

/** What tests ask of an audit row. */
export interface AuditLine {
  readonly request_id: string
  readonly status: number
  readonly code: string | null
  readonly supplier: string | null
  readonly attempts: number
  readonly stream: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number
}

export type GatewayOptions = Omit<AppOptions, 'settings' | 'readSettings'> & {
  readonly environment?: Readonly<Record<string, string>>
  /** The text of the configuration file; without it there is none. */
  readonly config?: string
}

export async function startGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  const environment = {
    PORT: '0',
    GATEWAY_DATA: join(folder, 'data'),
    GATEWAY_ROOT_KEY: ROOT_KEY,
    ...secretFor(options.environment?.['GATEWAY_DATA']),
    ...options.environment,
  }
  const file = join(folder, 'gateway.yaml')
  if (options.config !== undefined) writeFileSync(file, options.config, { mode: 0o600 })
  const read = (): Promise<Settings> => readSettings({ config: file, environment })
  const hasFile = options.config !== undefined
  const start = async (): Promise<App> => {
    const settings = hasFile ? await read() : defaultSettings(environment)
    return startApp({ ...options, settings, ...(hasFile ? { readSettings: read } : {}) })
  }
  const app = await start().catch((thrown: unknown) => {
    // Nobody stops what has not started.
    rmSync(folder, { recursive: true, force: true })
    throw thrown
  })
  if (isFakeClock(options.clock)) options.clock.settle()
  const secrets = [ROOT_CANARY, SEAL_CANARY, SUPPLIER_CANARY]
  const call = (method: string, path: string, body: unknown, init: RequestInit = {}) =>
    fetch(app.url + path, {
      method,
      ...init,
      headers: {
        authorization: `Bearer ${ROOT_KEY}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(init.headers as Record<string, string> | undefined),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  return {
    app,
    url: app.url,
    chat: (body, init) => call('POST', '/v1/chat/completions', body, init),
    manage: (method, path, body) => call(method, `/v1/manage${path}`, body),
    async createKey(settings) {
      const response = await call('POST', '/v1/manage/keys', settings)
      const created = (await response.json()) as { id: string; key: string }
      if (created.key !== undefined) secrets.push(created.key)
      return created
    },
    file,
    audit: () => readAudit(environment.GATEWAY_DATA),
    drain: () => app.drain({ noticeMs: 0, limitMs: 0 }),
    async stop() {
      await app.drain({ noticeMs: 0, limitMs: 0 })
      const leaks = findSecrets(environment.GATEWAY_DATA, secrets)
      if (leaks.length > 0) throw new Error(`a secret is written in ${leaks.join(', ')}`)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Beside a data folder that lies among everyone's temporary files there is no place for a key of its own. */
function secretFor(data: string | undefined): { readonly GATEWAY_SECRET_KEY?: string } {
  const isCommon = data !== undefined && dirname(data) === tmpdir()
  return isCommon ? { GATEWAY_SECRET_KEY: SEAL_CANARY } : {}
}

function isFakeClock(clock: Clock | undefined): clock is FakeClock {
  return clock !== undefined && 'settle' in clock
}

export function readAudit(folder: string): readonly AuditLine[] {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    return database
      .query<AuditLine, []>(
        `SELECT request_id, status, code, supplier, attempts, stream, input_tokens, output_tokens, cost
         FROM audit ORDER BY sequence`,
      )
      .all()
  } finally {
    database.close(true)
  }
}

/** A supplier as the configuration would describe it, at a fake's address. */
export function supplierAt(origin: string, changes: Partial<Supplier> = {}): Supplier {
  const price = { input: toPicoUsd(150_000), output: toPicoUsd(600_000) }
  const route = { as: 'upstream-model', prices: [{ from: 0, price }], ownedBy: 'maker' } as const
  return {
    id: 'fake',
    origin,
    region: 'EU',
    credential: new Secret(SUPPLIER_CANARY),
    signature: 'bearer',
    services: [{ dialect: openaiChat, path: '/v1/chat/completions' }],
    quirks: { usage: 'ask' },
    timeouts: {},
    models: new Map([['test-model', route]]),
    anyModel: undefined,
    allowPrivate: true,
    ...changes,
  }
}

export const HELLO = { model: 'test-model', messages: [{ role: 'user', content: 'Hello' }] }

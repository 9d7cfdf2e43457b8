// Speaks to the management interface as somebody in particular: an operator, another account, a token.
import { expect } from 'bun:test'
import { ROOT_KEY } from './gateway.ts'

export type Json = Readonly<Record<string, unknown>>

export interface Reply {
  readonly status: number
  readonly body: Json
  /** Of a refusal. */
  readonly error: Json
  /** Of a list. */
  readonly data: readonly Json[]
}

export interface Tenant {
  readonly secret: string
  ask(method: string, path: string, body?: unknown): Promise<Reply>
  /** The same, where it must go well. */
  get(path: string): Promise<Json>
  make(path: string, body: unknown): Promise<Json & { readonly id: string }>
}

export function tenantAt(url: string, secret: string = ROOT_KEY): Tenant {
  const ask = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const response = await fetch(`${url}/v1/manage${path}`, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const parsed = (await response.json()) as Json
    return {
      status: response.status,
      body: parsed,
      error: (parsed['error'] ?? {}) as Json,
      data: (parsed['data'] ?? []) as readonly Json[],
    }
  }
  return {
    secret,
    ask,
    async get(path) {
      const { status, body } = await ask('GET', path)
      expect(status, JSON.stringify(body)).toBe(200)
      return body
    },
    async make(path, given) {
      const { status, body } = await ask('POST', path, given)
      expect(status, JSON.stringify(body)).toBe(200)
      return body as Json & { readonly id: string }
    },
  }
}

/** Opens another account and speaks as its root key. */
export async function openAccount(url: string, name = 'other'): Promise<Tenant & { id: string }> {
  const { id, root_key: secret } = await tenantAt(url).make('/accounts', { name })
  return { ...tenantAt(url, String(secret)), id }
}

// The contract of an endpoint: a method, a path, who may use it, and what it answers. One without a role
// does not compile; an inference endpoint says only which language it speaks.
import type { Keyring, Role } from '../access/keyring.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Exchange } from '../http/server.ts'
import type { Plant } from '../pipeline/call.ts'

export type Endpoint = OpenEndpoint | KeyedEndpoint | InferenceEndpoint

interface Place {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE' | 'HEAD'
  readonly path: string
}

/** Answers anyone. */
export interface OpenEndpoint extends Place {
  readonly role: Extract<Role, 'open'>
  answer(exchange: Exchange, house: House): Response | Promise<Response>
}

/** Answers whoever presents a key of the role. */
export interface KeyedEndpoint extends Place {
  readonly role: Exclude<Role, 'open'>
  answer(exchange: Exchange, key: KeyRecord, house: House): Response | Promise<Response>
}

/** Sends what it is asked through the data plane. */
export interface InferenceEndpoint extends Place {
  readonly role: 'infer'
  readonly dialect: Dialect
}

/** What endpoints may use. */
export interface House {
  readonly plant: Plant
  readonly keyring: Keyring
  readonly state: ServiceState
}

/** What the health endpoints tell, from memory. */
export interface ServiceState {
  phase: 'starting' | 'ready' | 'draining'
}

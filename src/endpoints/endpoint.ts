// The contract of an endpoint: a method, a path, who may use it, and what it answers. One without a role
// does not compile; an inference endpoint says only which language it speaks.
import type { Guesses } from '../access/guesses.ts'
import type { Directory } from '../access/directory.ts'
import type { Identities } from '../access/identities.ts'
import type { Keyring, Role } from '../access/keyring.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Places } from '../core/places.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { FormLimits } from '../http/form.ts'
import type { Exchange } from '../http/server.ts'
import type { Archive } from '../ledger/months/archive.ts'
import type { Plant } from '../pipeline/call.ts'
import type { Supplier } from '../suppliers/supplier.ts'

export type Endpoint = OpenEndpoint | KeyedEndpoint | InferenceEndpoint | CountEndpoint

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
  /** The field of its answer that holds a new secret: shown once, and null where the answer is shown again. */
  readonly secretField?: string
  /** It only asks, whatever its method: an Idempotency-Key has nothing to be kept for. */
  readonly isQuestion?: true
  answer(exchange: Exchange, key: KeyRecord, house: House): Response | Promise<Response>
}

/** Sends what it is asked through the data plane. */
export interface InferenceEndpoint extends Place {
  readonly role: 'infer'
  readonly dialect: Dialect
  /** It is sent a form, and not JSON. */
  readonly takesForm?: true
}

/** Counts what a call would make a model read, and makes none. */
export interface CountEndpoint extends Place {
  readonly role: 'infer'
  /** The language that it is asked in. */
  readonly counts: Dialect
}

/** What endpoints may use. */
export interface House {
  /** Replaced by every reload; whoever waits for something takes it once. */
  plant: Plant
  readonly keyring: Keyring
  readonly directory: Directory
  /** The sign-ins of all accounts at native suppliers. */
  readonly identities: Identities
  /** Where one can sign in, by the configuration in force. */
  nativeSuppliers(): readonly Supplier[]
  readonly guesses: Guesses
  readonly formLimits: FormLimits
  /** Of forms that are coming in or waiting for their answer. */
  readonly uploads: Places
  readonly state: ServiceState
  /** Where the records of closed months go. */
  readonly archive: Archive
  /** Reads the configuration again; `allowDrop` also takes away what somebody uses. */
  reload(allowDrop: boolean): Promise<ReloadOutcome>
}

/** What the health endpoints tell, from memory. */
export interface ServiceState {
  phase: 'starting' | 'ready' | 'draining'
}

/** What came of reading the configuration again. */
export type ReloadOutcome =
  /** The problems are models and regions that were dropped although somebody uses them. */
  | {
      readonly applied: true
      readonly changes: ConfigChanges
      readonly problems: readonly string[]
    }
  /** The problems are the reasons. */
  | {
      readonly applied: false
      readonly changes: undefined
      readonly problems: readonly string[]
      /** What can be done about all of them, where that is one thing. */
      readonly advice: string | undefined
    }

export interface ConfigChanges {
  readonly suppliersAdded: readonly string[]
  readonly suppliersRemoved: readonly string[]
  /** Their address, region, credential, prices or quirks. */
  readonly suppliersChanged: readonly string[]
  readonly modelsAdded: readonly string[]
  readonly modelsRemoved: readonly string[]
  /** Sections of the file. */
  readonly settingsChanged: readonly string[]
  /** Settings that only a restart can change. */
  readonly needRestart: readonly string[]
}

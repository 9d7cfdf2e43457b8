// The contract of the data plane: what is known of a call after each stop. Types only grow, so a stage
// cannot use what an earlier one has not established.
import type { Clock } from '../core/clock.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Price, Usage } from '../core/usage.ts'
import type { Dialect, Facts } from '../dialects/dialect.ts'
import type { Log } from '../observe/log.ts'
import type { Store } from '../store/store.ts'
import type { Candidate, Routes } from '../suppliers/routes.ts'
import type { ModelRoute, Service, Supplier } from '../suppliers/supplier.ts'
import type { Upstream } from '../upstream/client.ts'
import type { AttemptFailure } from '../upstream/failure.ts'
import type { CallerLine, Lifeline } from '../upstream/lifeline.ts'

/** What the stages share for the life of the process. */
export interface Plant {
  readonly clock: Clock
  readonly store: Store
  readonly routes: Routes
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly limits: Limits
  readonly log: Log
  /** Every attempt under way, so that a shutdown can end them. */
  readonly lifelines: Set<Lifeline>
}

export interface Limits {
  /** One total for a unary call; never cut into shares, because reasoning models think for minutes. */
  readonly unaryMs: number
  readonly firstByteMs: number
  readonly firstContentMs: number
  readonly idleMs: number
  /** How long a caller may refuse to read before it counts as gone. */
  readonly stallMs: number
  /** Silence after which a waiting caller gets a comment line. */
  readonly keepAliveMs: number
  readonly answerBytesMax: number
  readonly frameBytesMax: number
  readonly attemptsMax: number
}

export const DEFAULT_LIMITS: Limits = {
  unaryMs: 600_000,
  firstByteMs: 30_000,
  firstContentMs: 300_000,
  idleMs: 120_000,
  stallMs: 60_000,
  keepAliveMs: 15_000,
  answerBytesMax: 32 * 1_048_576,
  frameBytesMax: 16 * 1_048_576,
  attemptsMax: 3,
}

/** A request whose credential is known and whose body is read. */
export interface Received {
  readonly id: string
  readonly path: string
  readonly dialect: Dialect
  readonly key: KeyRecord
  readonly body: Uint8Array
  readonly sessionHeader: string | undefined
  readonly caller: CallerLine
  /** Wall time of arrival. */
  readonly at: number
  /** The clock's elapsed time at arrival. */
  readonly startedMs: number
}

/** The caller may ask this of this model. */
export interface Admitted extends Received {
  readonly facts: Facts
  /** Everyone who serves the model, allowed or not. */
  readonly candidates: readonly Candidate[]
  /** Regions that the call must stay in; undefined when any will do. */
  readonly regions: readonly string[] | undefined
  readonly sessionId: string | undefined
}

export interface Attempt {
  readonly modelId: string
  readonly supplier: Supplier
  readonly service: Service
  readonly route: ModelRoute
  readonly upstream: Upstream
}

/** The one list of who may answer, in order. Failover, region and price all read it. */
export interface Planned extends Admitted {
  readonly attempts: readonly Attempt[]
}

/** Its prices are fixed; from here on the call must be settled exactly once. */
export interface Held extends Planned {
  /** Prices at this moment, one for each attempt; a later change of prices does not touch this call. */
  readonly prices: readonly Price[]
  /** What became of each attempt so far, the running one last. */
  readonly tries: Try[]
}

export interface Try {
  readonly attempt: Attempt
  readonly price: Price
  failure?: AttemptFailure
}

/** How a call ended, as far as the books care. */
export interface Outcome {
  readonly status: number
  readonly code: string | undefined
  readonly usage: Usage | undefined
  readonly firstTokenMs: number | undefined
}

// The contract of the data plane: what is known of a call after each stop. Types only grow, so a stage
// cannot use what an earlier one has not established.
import type { Claims, Ticket } from '../access/claims.ts'
import type { Keyring } from '../access/keyring.ts'
import type { Directory } from '../access/directory.ts'
import type { Rates, RateState } from '../access/rate.ts'
import type { Evidence } from '../core/audit.ts'
import type { Chain } from '../core/chain.ts'
import type { Places } from '../core/places.ts'
import type { Clock } from '../core/clock.ts'
import type { Form } from '../core/form.ts'
import type { KeyRecord } from '../core/key.ts'
import type { Price, Usage } from '../core/usage.ts'
import type { Dialect, Facts } from '../dialects/dialect.ts'
import type { Operation } from '../ledger/book.ts'
import type { Bound, Fit } from '../ledger/cost/bound.ts'
import type { Calibration } from '../ledger/cost/calibration.ts'
import type { Counter } from '../ledger/cost/counter.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { LedgerPolicy } from '../ledger/policy.ts'
import type { Log } from '../observe/log.ts'
import type { Trouble } from '../observe/trouble.ts'
import type { Store } from '../store/store.ts'
import type { Auto } from '../routing/auto.ts'
import type { CallPlace } from '../routing/choose.ts'
import type { NativeRoutes } from '../routing/native.ts'
import type { Retries } from '../routing/retries.ts'
import type { Attempt, Route, Routes, Verdict } from '../routing/routes.ts'
import type { Visit } from '../routing/lane.ts'
import type { Session, Sessions } from '../routing/sessions.ts'
import type { Timeouts } from '../suppliers/supplier.ts'
import type { AttemptFailure } from '../upstream/failure.ts'
import type { CallerLine, Lifeline } from '../upstream/lifeline.ts'
import type { Request } from './request.ts'
import type { Gate, GateLimits, Slot } from './gate.ts'

/**
 * What the stages share. A change of the configuration makes another one; a call that runs keeps the one
 * it began with to its end.
 */
export interface Plant {
  readonly clock: Clock
  readonly store: Store
  readonly routes: Routes
  /** By the sign-ins of each account. */
  readonly natives: NativeRoutes
  /** Chooses a model for calls that leave it to the gateway. */
  readonly auto: Auto
  /** Names the configuration in force: the same one has the same name. */
  readonly snapshotId: string
  readonly sessions: Sessions
  readonly retries: Retries
  /** From 0 inclusive to 1 exclusive: chance, where it has a say. */
  readonly draw: () => number
  readonly limits: Limits
  /** What another language cannot say is refused, and not only told. */
  readonly refusesLosses: boolean
  /** The model of a transcription that names none; undefined where there is none. */
  readonly transcriptionModel: string | undefined
  /** How the models are listed: as an array, as a list object, or as the client at hand reads them. */
  readonly modelsShape: 'auto' | 'array' | 'list'
  readonly keyring: Keyring
  readonly directory: Directory
  readonly claims: Claims
  readonly rates: Rates
  readonly gate: Gate
  readonly ledger: Ledger
  /** Counts tokens where a guess would refuse a call. */
  readonly counter: Counter
  /** What it is to be multiplied with for a fair guess. */
  readonly calibration: Calibration
  /** Of requests that are only counted. */
  readonly counts: Places
  readonly policy: LedgerPolicy
  readonly log: Log
  readonly trouble: Trouble
  /** Every attempt under way, so that a shutdown can end them. */
  readonly lifelines: Chain<Lifeline>
  /** Every answer that is read to its end for the books alone. */
  readonly drains: Places
  /** Of questions what a call would meet, which take time and cost nobody anything. */
  readonly questions: Places
}

/** The timeouts are those of suppliers and models that have none of their own. */
export interface Limits extends Timeouts, GateLimits {
  /** How long a caller may refuse to read before it counts as gone. */
  readonly stallMs: number
  /** Silence after which a waiting caller gets a comment line. */
  readonly keepAliveMs: number
  readonly bodyBytesMax: number
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
  bodyBytesMax: 32 * 1_048_576,
  answerBytesMax: 32 * 1_048_576,
  frameBytesMax: 16 * 1_048_576,
  attemptsMax: 3,
  inFlightMax: 4096,
  inFlightKeyMax: 2048,
}

/** A request whose credential is known and whose body is read. */
export interface Received {
  readonly id: string
  readonly path: string
  readonly dialect: Dialect
  readonly key: KeyRecord
  /** What the call is made for; undefined where the key belongs to no project and the call names none. */
  readonly projectId: string | undefined
  /** Of a form nothing. */
  readonly body: Uint8Array
  readonly form: SentForm | undefined
  /** The right to the Idempotency-Key that it is asked under: written with the hold, and over with its end. */
  readonly claim: Ticket | undefined
  readonly headers: Headers
  readonly sessionHeader: string | undefined
  readonly caller: CallerLine
  /** Wall time of arrival. */
  readonly at: number
  /** The clock's elapsed time at arrival. */
  readonly startedMs: number
  /** What is known of it should it be refused. */
  readonly asked: Asked
}

/** A form, and what was read from it while it was at hand. */
export interface SentForm {
  readonly form: Form
  readonly facts: Facts
}

/** Filled in as the body is read. */
export interface Asked {
  model: string
  stream: boolean
  /** Who could have answered, once the model is known. */
  route?: Route
  /** How its list came about, once there is one. */
  verdict?: Verdict
  /** Regions that it must stay in. */
  regions?: readonly string[] | undefined
}

/** The caller may ask this of this model. */
export interface Admitted extends Received {
  readonly facts: Facts
  /** Of the caller's headers those that a supplier has to see; undefined where the language has none. */
  readonly passed: Readonly<Record<string, string>> | undefined
  /** Everyone who serves the model, allowed or not. */
  readonly route: Route
  /** What it is made for; undefined where no sign-ins are asked. */
  readonly place: CallPlace | undefined
  /** Regions that the call must stay in; undefined when any will do. */
  readonly regions: readonly string[] | undefined
  /** Undefined where the key has no rate. */
  readonly rate: RateState | undefined
}

/** The one list of who may answer, in order. Failover, region and price all read it. */
export interface Planned extends Admitted {
  readonly verdict: Verdict
  /** Undefined where the call belongs to none. */
  readonly session: Session | undefined
  readonly attempts: readonly Attempt[]
  /** For those on the list who speak another language; undefined where nobody does. */
  readonly request: Request | undefined
}

/** The money is set aside, durably; from here on the call must be settled exactly once. */
export interface Held extends Planned {
  /** Prices at this moment, one for each attempt; a later change of prices does not touch this call. */
  readonly prices: readonly Price[]
  readonly operation: Operation
  readonly bound: Bound
  readonly fit: Fit
  /** Elapsed time at which the hold was durable. */
  readonly heldAtMs: number
  /** What became of each attempt so far, the running one last. */
  readonly tries: Try[]
  /** Left when the call is settled. */
  readonly slot: Slot
}

export interface Try {
  readonly attempt: Attempt
  /** Its place on the list of attempts. */
  readonly index: number
  readonly price: Price
  readonly visit: Visit
  /** Elapsed time at which it was asked. */
  readonly askedMs: number
  /** Once it streams: how much it has put out, also what is not content. */
  stream?: { readonly outputBytes: number }
  /** What it was not told, in the caller's own words: it speaks another language. */
  losses?: readonly string[]
  /** Names of tools that it was told by others: as they were sent, to the caller's own. */
  names?: ReadonlyMap<string, string>
  /** It has refused to be handed back what was thought before. */
  dropsThoughts?: true
  failure?: AttemptFailure
  /** The caller has left, and the supplier is not at work: all that it has seen of the call. */
  seen?: 'unsent' | 'refused'
  /** Elapsed time at which it failed. */
  endedMs?: number
}

/** How a call ended, as far as the books care. */
export interface Outcome {
  readonly status: number
  readonly code: string | undefined
  readonly evidence: Evidence
  /** What the supplier told, or what was counted for want of that. */
  readonly usage: Usage | undefined
  readonly firstTokenMs: number | undefined
}

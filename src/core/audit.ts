// The record that every call leaves behind: figures and names, never content. It is also the record that
// ends the call's operation in the books, so there can be neither one without the other.
import type { NanoUsd } from './money.ts'
import type { Units } from './usage.ts'

/**
 * `settled` the key paid what was used, `voided` it paid nothing, `refused` nothing was held or sent.
 */
export type CallState = 'settled' | 'voided' | 'refused'

/**
 * What the end of a call, or of one attempt, proves about money: `unsent` no byte left, `refused` a complete
 * refusal before any output, `unknown` it was sent and may have been billed, `broken` it ended after output,
 * `reported` the supplier told the usage, `counted` it finished and told none, `crashed` this process died.
 */
export type Evidence =
  | 'unsent'
  | 'refused'
  | 'unknown'
  | 'broken'
  | 'reported'
  | 'counted'
  | 'crashed'

export interface AuditRow {
  /** Wall time at which the call arrived. */
  readonly at: number
  readonly requestId: string
  readonly accountId: string
  readonly projectId: string | undefined
  readonly keyId: string
  readonly endpoint: string
  /**
   * The model that answered; of a call that came to nothing the one that was asked for, by its id. Of a refused
   * request the name that it asked for, empty where it named none.
   */
  readonly model: string
  /** Who answered, or the last that was tried; undefined when nothing was sent. */
  readonly supplier: string | undefined
  readonly region: string | undefined
  /** Undefined when the supplier told no usage and nothing was counted. */
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  /** What the key pays. */
  readonly cost: NanoUsd
  readonly latencyMs: number
  readonly firstTokenMs: number | undefined
  readonly status: number
  /** The problem's code; undefined when the call went well. */
  readonly code: string | undefined
  readonly stream: boolean
  readonly attempts: number
  readonly state: CallState
  /** Undefined for what was refused. */
  readonly evidence: Evidence | undefined
  /** What was set aside and is free again; undefined for what was refused. */
  readonly held: NanoUsd | undefined
  /** The hour of the hold, which the cost is charged to; undefined for what was refused. */
  readonly hour: number | undefined
  /** What the call cost beyond what was held: the operator's. */
  readonly overrun: NanoUsd
  /** How long the hold took to be durable, waiting in line included. */
  readonly heldMs: number | undefined
  /** How many alike refusals this row stands for. */
  readonly count: number
  /** The JSON of `PayerTerms`; undefined for what was refused, and in rows from before there were payers. */
  readonly payer: string | undefined
  /** The JSON of `RouteTrace`; undefined where no list was made, and in rows from before there were any. */
  readonly route: string | undefined
  /** What is worth keeping of a call that did not simply go well; undefined where it did. */
  readonly details: CallDetails | undefined
}

/** Who was to be asked in which order, and why nobody else was. By names: these outlive whoever bore them. */
export interface RouteTrace {
  /** Names the configuration that the list was made by. */
  readonly snapshot: string
  readonly listed: readonly string[]
  /** A word for each that is on the list and came behind the others for its state. */
  readonly resting?: Readonly<Record<string, string>>
  /** A word for each that is not on the list. */
  readonly excluded?: Readonly<Record<string, string>>
  /** The first is who answered the session before. */
  readonly pinned?: true
  /** Everybody rested, and was asked all the same for want of anyone else. */
  readonly last_resort?: true
  /** Candidates beyond those that are told. */
  readonly more?: number
}

export interface CallDetails {
  /** What was asked for, where that is another name than the row's model. */
  readonly asked?: string
  /** Each that was asked, in order; absent where the first one answered and the row says all there is to say of it. */
  readonly tries?: readonly TryDetails[]
  /** The output limit that was sent in place of the caller's. */
  readonly maxTokens?: number
  /** Parts of the usage that have prices of their own. */
  readonly cachedTokens?: number
  readonly cacheWriteTokens?: number
  /** The part of them that is kept for an hour; absent where there is none. */
  readonly cacheWriteLongTokens?: number
  readonly reasoningTokens?: number
  /** What was counted in something else than tokens. */
  readonly units?: Units
  /** What could not be said in the language of who answered, by where it stood in the request or in the answer. */
  readonly losses?: readonly string[]
  /** Another than who answered the session before has answered. */
  readonly session?: 'moved'
  /** For people: how the list came about, where not simply the first of it has answered. */
  readonly explanation?: string
  /** How an operation left its review. */
  readonly resolved?: { readonly by: string; readonly reason: string }
}

export interface TryDetails {
  readonly supplier: string
  /** The sign-in that it was asked by, where that is how it is asked. */
  readonly identity?: string
  /** Which of its supplier's credentials it was, from 1; absent where there is but one. */
  readonly credential?: number
  /** Where another model stood in for the one that was asked for. */
  readonly model?: string
  readonly region: string
  readonly evidence: Evidence
  readonly status?: number
  readonly code?: string
  /** How long it took, in milliseconds; absent in rows from before that was noted. */
  readonly ms?: number
  /** The most that this attempt may have cost, for the operator to find out. */
  readonly suspense?: NanoUsd
}

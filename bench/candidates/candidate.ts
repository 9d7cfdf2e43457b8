// The contract of a candidate: a program between the callers and the supplier, in a process of its own.
// All of them get the same calls in the same run.
import type { Processes, Running } from '../processes.ts'

export interface Site {
  readonly processes: Processes
  /** The supplier's origin. */
  readonly supplier: string
  /** Whether the gateway writes its request log. */
  readonly hasLog: boolean
}

export interface Candidate {
  readonly id: string
  /** What keeps it from being measured here; undefined when nothing does. */
  obstacle?(): string | undefined
  open(site: Site): Promise<Contender>
}

/** A candidate that runs. */
export interface Contender {
  readonly id: string
  readonly running: Running
  /** What it calls the supplier's model. */
  readonly model: string
  readonly headers: Readonly<Record<string, string>>
  /** Somebody else's gateway: it may print answers anew, and its failures are not ours. */
  readonly isPeer: boolean
  /** Where it keeps its books, if it keeps any. */
  readonly dataFolder?: string
  /** Writes another configuration, which a reload takes into force. */
  readonly changeConfiguration?: () => void
}

/** What every caller sends; a credential is passed on by those who do not read it. */
export const ROOT_KEY = `svc_${'b'.repeat(40)}`
export const HEADERS = {
  authorization: `Bearer ${ROOT_KEY}`,
  'content-type': 'application/json',
  'user-agent': 'bench',
}

// The record that every call leaves behind: figures and names, never content.
import type { NanoUsd } from './money.ts'

export interface AuditRow {
  /** Wall time at which the call arrived. */
  readonly at: number
  readonly requestId: string
  readonly accountId: string
  readonly projectId: string | undefined
  readonly keyId: string
  readonly endpoint: string
  readonly model: string
  /** Who answered, or the last that was tried; undefined when nothing was sent. */
  readonly supplier: string | undefined
  readonly region: string | undefined
  /** Undefined when the supplier told no usage. */
  readonly inputTokens: number | undefined
  readonly outputTokens: number | undefined
  readonly cost: NanoUsd
  readonly latencyMs: number
  readonly firstTokenMs: number | undefined
  readonly status: number
  /** The problem's code; undefined when the call went well. */
  readonly code: string | undefined
  readonly stream: boolean
  readonly attempts: number
}

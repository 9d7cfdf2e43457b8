// What stores are tested with: a key, a call, and the moments and amounts that all of it agrees on.
import type { AuditRow } from '../../src/core/audit.ts'
import { createKeyId, createRequestId, hashSecret } from '../../src/core/ids.ts'
import type { KeyRecord, KeySettings } from '../../src/core/key.ts'
import { toNanoUsd } from '../../src/core/money.ts'
import type { Page, StoreRecord } from '../../src/store/store.ts'

export const NOW = Date.UTC(2026, 0, 15, 12)
export const LARGEST = toNanoUsd(Number.MAX_SAFE_INTEGER)

export const BARE_SETTINGS: KeySettings = {
  name: 'plain',
  allowedModels: undefined,
  allowedRegions: undefined,
  budgetLimit: undefined,
  budgetPeriod: undefined,
  rateLimitRpm: undefined,
  metadata: {},
  expiresAt: undefined,
}

export function sampleKey(accountId: string, change: Partial<KeyRecord> = {}): KeyRecord {
  const id = createKeyId()
  return {
    ...BARE_SETTINGS,
    id,
    accountId,
    projectId: undefined,
    kind: 'managed',
    hash: hashSecret(id),
    createdAt: NOW,
    revokedAt: undefined,
    ...change,
  }
}

export function sampleRow(change: Partial<AuditRow> = {}): AuditRow {
  return {
    at: NOW,
    requestId: createRequestId(),
    accountId: 'acc_a',
    projectId: undefined,
    keyId: 'key_a',
    endpoint: '/v1/chat/completions',
    model: 'a-model',
    supplier: 'a-supplier',
    region: 'EU',
    inputTokens: 12,
    outputTokens: 34,
    cost: toNanoUsd(0),
    latencyMs: 1234,
    firstTokenMs: 56,
    status: 200,
    code: undefined,
    stream: true,
    attempts: 1,
    ...change,
  }
}

/** The id of a call that arrived at this time. */
export function requestIdAt(at: number): string {
  return `req_${at.toString(16).padStart(12, '0')}${createRequestId().slice(16)}`
}

export function asRecord(row: AuditRow): StoreRecord {
  return { type: 'audit', row }
}

/** All pages of a list. */
export async function readAll<Item>(
  read: (cursor: string | undefined) => Promise<Page<Item>>,
): Promise<readonly Item[]> {
  const items: Item[] = []
  let cursor: string | undefined
  do {
    // oxlint-disable-next-line no-await-in-loop -- a page names its successor
    const page = await read(cursor)
    items.push(...page.items)
    cursor = page.next
  } while (cursor !== undefined)
  return items
}

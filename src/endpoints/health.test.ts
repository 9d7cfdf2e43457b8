// Readiness is open to everyone, so asking for it must never be a way to shut others out.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../core/clock.ts'
import type { Exchange } from '../http/server.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import type { House } from './endpoint.ts'
import { healthReady } from './health.ts'

let folder: string
let store: Store

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'health-'))
  store = await openSqliteStore({ folder, clock: createSystemClock() })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function askReady(): Promise<number> {
  const house = { plant: { store }, state: { phase: 'ready' } } as unknown as House
  const { status } = await healthReady.answer({ id: 'req_x' } as Exchange, house)
  return status
}

const read = (): Promise<unknown> => store.audit.list('acc_a', { limit: 1, cursor: undefined })

describe('readiness', () => {
  it('is told to any number of askers, and management reads beside them', async () => {
    const askers = Array.from({ length: 1500 }, askReady)
    const readers = Array.from({ length: 20 }, read)
    expect(new Set(await Promise.all(askers))).toEqual(new Set([200]))
    expect(await Promise.all(readers)).toHaveLength(20)
  })

  it('is told while management wants to read more than it can', async () => {
    const readers = Promise.allSettled(Array.from({ length: 400 }, read))
    expect(await askReady()).toBe(200)
    const refused = (await readers).filter(({ status }) => status === 'rejected')
    expect(refused.length).toBeGreaterThan(0)
  })

  it('ends with the store', async () => {
    expect(await askReady()).toBe(200)
    await store.close()
    expect(askReady()).rejects.toMatchObject({ code: 'service_unavailable' })
  })
})

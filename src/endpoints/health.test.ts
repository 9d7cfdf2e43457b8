// Readiness is open to everyone, so asking for it must never be a way to shut others out.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSystemClock } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'
import type { Exchange } from '../http/server.ts'
import { openSqliteStore } from '../store/sqlite/open.ts'
import type { Store } from '../store/store.ts'
import type { House } from './endpoint.ts'
import { healthReady } from './health.ts'
import { renderProblem } from './index.ts'

let folder: string
let store: Store
/** Since when the books cannot be written. */
let downSince: number | undefined

beforeEach(async () => {
  downSince = undefined
  folder = mkdtempSync(join(tmpdir(), 'health-'))
  store = await openSqliteStore({ folder, clock: createSystemClock() })
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

async function askReady(): Promise<number> {
  const plant = { store, ledger: { downSince } }
  const house = { plant, state: { phase: 'ready' } } as unknown as House
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

  it('ends with the books, and comes back with them', async () => {
    downSince = 0
    expect(askReady()).rejects.toMatchObject({ code: 'billing_unavailable', status: 503 })
    downSince = undefined
    expect(await askReady()).toBe(200)
  })

  it('is refused without a line in the log, which has told of the books already', async () => {
    const told: string[] = []
    const note = (_level: string, text: string): void => void told.push(text)
    const trouble = { unbooked: (id: string): void => void told.push(id) }
    const house = { plant: { log: { note }, trouble } } as unknown as House
    const exchange = {
      id: 'req_x',
      request: new Request('http://localhost/health'),
    } as unknown as Exchange
    downSince = 0
    const refusal: unknown = await askReady().catch((thrown: unknown) => thrown)
    expect(renderProblem(refusal, exchange, house).status).toBe(503)
    expect(told).toEqual([])
    const cause = new Error('disk full')
    renderProblem(new GatewayError('billing_unavailable', 'no', { cause }), exchange, house)
    renderProblem(new GatewayError('internal_error', 'no'), exchange, house)
    expect(told).toEqual(['req_x', 'internal_error'])
  })

  it('ends with the store', async () => {
    expect(await askReady()).toBe(200)
    await store.close()
    expect(askReady()).rejects.toMatchObject({ code: 'service_unavailable' })
  })
})

// Whatever a supplier does wrong before its caller has anything: another one answers and nobody notices, or, where
// nobody can, the caller hears why. Either way the key pays for an answer and for nothing else.
import { afterEach, describe, expect, it } from 'bun:test'
import {
  BODY,
  EXACT,
  expectTry,
  openScene,
  readOnly,
  SECOND,
  waitAt,
  type Asks,
  type Scene,
} from '../fakes/fault.ts'
import { toNano } from '../fakes/prices.ts'
import { closeStreet, good, type ErrorBody } from '../fakes/street.ts'
import { ROWS, type Row } from './rows.ts'

afterEach(closeStreet)

const CASES = ROWS.flatMap((row) =>
  (row.asks === undefined ? (['unary', 'stream'] as const) : [row.asks]).map(
    (asks) => [row.id, row.name, asks, row] as const,
  ),
)

/** Past every deadline before content. */
const LONG_MS = 7 * SECOND

/** The first supplier fails, or both do. */
async function ask(row: Row, asks: Asks, faults: 1 | 2): Promise<[Scene, Response]> {
  const scene = await openScene([row.script, faults === 1 ? good : row.script])
  const faulty = scene.suppliers.slice(0, faults)
  if (row.isStopped) for (const each of faulty) await each.stop()
  const asking = scene.ask({ ...BODY, stream: asks === 'stream' })
  if (row.isSilent) for (const each of faulty) await waitAt(scene, each, LONG_MS)
  return [scene, await asking]
}

describe('the next supplier answers, and the key pays for that alone, after', () => {
  it.each(CASES.filter(([, , , { isFinal }]) => isFinal !== true))(
    '%s: %s (%s)',
    async (_, __, asks, row) => {
      const [scene, response] = await ask(row, asks, 1)
      const text = await response.text()
      expect(response.status).toBe(200)
      expect(text).toContain('"Hi"')
      expect(text).not.toContain('"error"')
      expect(response.headers.get('x-svc-failover')).toBe('true')
      expect(response.headers.get('x-svc-supplier')).toBe('fake-2')
      expect(response.headers.get('x-svc-region')).toBe('US')
      const record = await readOnly(scene)
      expect(record).toMatchObject({ status: 200, code: null, state: 'settled', attempts: 2 })
      expect(toNano(record.cost_usd)).toBe(EXACT)
      expect(record.tries).toMatchObject([
        { supplier: 'fake', region: 'EU', status: row.status, code: row.code },
        { supplier: 'fake-2', region: 'US', evidence: 'reported', status: 200, code: null },
      ])
      expectTry(record.tries[0], row.evidence, record)
      expect(scene.suppliers[1]!.requests).toHaveLength(1)
    },
  )
})

describe('where every supplier does it the caller hears why and pays nothing:', () => {
  it.each(CASES)('%s: %s (%s)', async (_, __, asks, row) => {
    const [scene, response] = await ask(row, asks, 2)
    const { error } = (await response.json()) as ErrorBody
    expect([response.status, error.code]).toEqual([row.all.status, row.all.code])
    const retryAfter = response.headers.get('retry-after')
    expect(retryAfter).toBe(row.all.retryAfter === null ? null : String(row.all.retryAfter))
    expect(response.headers.get('x-should-retry')).toBe(String(error.retryable))
    const record = await readOnly(scene)
    const attempts = row.isFinal ? 1 : 2
    expect(record).toMatchObject({ state: 'voided', cost_usd: 0, attempts })
    expect([record.status, record.code]).toEqual([row.all.status, row.all.code])
    expect(record.tries).toHaveLength(attempts)
    for (const tried of record.tries) expectTry(tried, row.evidence, record)
    if (row.isFinal) expect(scene.suppliers[1]!.connections()).toBe(0)
    if (row.isAbandoned || row.isSilent) await scene.suppliers[0]!.requests[0]!.closed
  })
})

// A gateway in front of suppliers that fail in known ways, a key with a budget that asks, and all that one call leaves
// behind: what its caller got, what the record says of every try, and what became of the money.
import { expect } from 'bun:test'
import type { Log } from '../../src/observe/log.ts'
import type { Limits } from '../../src/pipeline/call.ts'
import type { Supplier } from '../../src/suppliers/supplier.ts'
import { createFakeClock, type FakeClock } from './clock.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './gateway.ts'
import { readKey, toNano } from './prices.ts'
import { dataOf, expectSoundBooks } from './records.ts'
import { tidy } from './street.ts'
import { startFakeSupplier, USAGE, type FakeSupplier, type Script } from './supplier.ts'

/** In nano-dollars a token, as `supplierAt` has them. */
export const IN = 150
export const OUT = 600
/** Of a good answer. */
export const EXACT = USAGE.prompt_tokens * IN + USAGE.completion_tokens * OUT
export const SECOND = 1000
/** Short enough that no headers leave before two of them have passed. */
export const DEADLINES = {
  firstByteMs: 4 * SECOND,
  firstContentMs: 6 * SECOND,
  unaryMs: 7 * SECOND,
}
export const BODY = { ...HELLO, max_tokens: 100 }

export type Asks = 'unary' | 'stream'

export interface Scene {
  readonly gateway: Gateway
  readonly clock: FakeClock
  readonly suppliers: readonly FakeSupplier[]
  readonly key: { readonly id: string; readonly key: string }
  /** What the operator was told. */
  readonly notes: readonly string[]
  /** With the key of the scene. */
  ask(body?: object, headers?: Readonly<Record<string, string>>): Promise<Response>
}

export interface SceneOptions {
  readonly limits?: Partial<Limits>
  /** What each supplier is beside its address; the second and all after it are in the US. */
  readonly changes?: readonly Partial<Supplier>[]
  /** Of the key, beside its budget. */
  readonly key?: object
  readonly config?: string
}

/** Suppliers `fake`, `fake-2`, … serve one model in this order; time stands still, and chance is always 0. */
export async function openScene(
  scripts: readonly Script[],
  options: SceneOptions = {},
): Promise<Scene> {
  const fakes = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  for (const fake of fakes) tidy(fake)
  const suppliers = fakes.map(({ origin }, index) =>
    supplierAt(origin, { ...standardChanges(index), ...options.changes?.[index] }),
  )
  return { ...(await openAt(suppliers, options)), suppliers: fakes }
}

export function standardChanges(index: number): Partial<Supplier> {
  return index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }
}

/** The same in front of whoever stands at these addresses. */
export async function openAt(
  suppliers: readonly Supplier[],
  { limits = {}, key: settings = {}, config }: SceneOptions = {},
): Promise<Omit<Scene, 'suppliers'>> {
  const clock = createFakeClock()
  const notes: string[] = []
  const log: Log = {
    note: (_, text) => void notes.push(text),
    request() {},
    flush() {},
  }
  const gateway = tidy(
    await startGateway({
      clock,
      log,
      suppliers,
      limits: { ...DEADLINES, ...limits },
      draw: () => 0,
      ...(config !== undefined && { config }),
    }),
  )
  const key = await gateway.createKey({ name: 'payer', budget_limit: 1, ...settings })
  return {
    gateway,
    clock,
    key,
    notes,
    ask: (body = BODY, headers = {}) =>
      gateway.chat(body, { headers: { authorization: `Bearer ${key.key}`, ...headers } }),
  }
}

/** One try as the record tells of it. */
export interface TryLine {
  readonly supplier: string
  readonly region: string
  readonly evidence: string
  readonly status: number | null
  readonly code: string | null
  readonly suspense_usd: number | null
}

export interface CallRecord {
  readonly status: number
  readonly code: string | null
  readonly state: string
  readonly evidence: string
  readonly supplier: string
  readonly attempts: number
  readonly cost_usd: number
  readonly held_usd: number
  readonly tries: readonly TryLine[]
}

/** What is written down of the only call, which must be one row and leave nothing held. */
export async function readOnly({ gateway, key }: Omit<Scene, 'suppliers'>): Promise<CallRecord> {
  const rows = gateway.audit()
  expect(rows).toHaveLength(1)
  const record = await readRecord(gateway, rows[0]!.request_id)
  expect(await readKey(gateway, key.id)).toMatchObject({ used: toNano(record.cost_usd), held: 0 })
  await expectSoundBooks(dataOf(gateway))
  return record
}

export async function readRecord(gateway: Gateway, requestId: string): Promise<CallRecord> {
  const response = await gateway.manage('GET', `/calls/${requestId}`)
  return (await response.json()) as CallRecord
}

/** What a try must look like that proves this: only what may have been billed is in suspense. */
export function expectTry(tried: TryLine | undefined, evidence: string, record: CallRecord): void {
  expect(tried?.evidence).toBe(evidence)
  expect(tried?.suspense_usd).toBe(evidence === 'unknown' ? record.held_usd : null)
}

/** The error that ends a stream, and that nothing ends it but the error. */
export function lastError(text: string): Readonly<Record<string, unknown>> {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
  expect(text).not.toContain('[DONE]')
  const { error } = JSON.parse(events.at(-1)!.slice(6)) as { error: Record<string, unknown> }
  return error
}

/** Lets time pass once somebody was asked. */
export async function waitAt({ clock }: Scene, fake: FakeSupplier, ms: number): Promise<void> {
  await fake.request(0)
  clock.advance(ms)
}

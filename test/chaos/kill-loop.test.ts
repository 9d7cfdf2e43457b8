// A real gateway is killed at random moments, again and again, under a load that never rests, with suppliers
// that keep bills of their own. Nothing that was billed may be missing in the books or stand there twice.
import { expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUPPLIER_CANARY } from '../fakes/canary.ts'
import { ROOT_KEY } from '../fakes/gateway.ts'
import { toNano } from '../fakes/prices.ts'
import { createFolder, ROOT, type Folder } from '../fakes/process.ts'
import { endsOf, openHolds, readRecords, type Records } from '../fakes/records.ts'
import { findUnreviewed, judge, lastOf } from './checks.ts'
import { gather, type Crowd } from './load.ts'
import { createRandom, type Random } from './random.ts'
import { startBilling, type Bill, type BillingSupplier } from './supplier.ts'
import { launchVictim, type Victim } from './victim.ts'

const KILLS = Number(process.env['GATEWAY_TEST_KILLS'] ?? 30)
const SEED = Number(process.env['GATEWAY_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))
const CALLERS = 20
const KEYS = 4
const VARIABLES = { GATEWAY_ROOT_KEY: ROOT_KEY, SUPPLIER_KEY: SUPPLIER_CANARY }
const NOTHING = { lost: [], double: [], unbooked: [], uncovered: [] }

function configure(folder: Folder, suppliers: Readonly<Record<string, BillingSupplier>>): void {
  const lines = Object.entries(suppliers).flatMap(([id, { origin }]) => [
    `  ${id}:`,
    '    kind: openai-compatible',
    `    origin: ${origin}/v1`,
    '    allow_private: true',
    '    credential: ${SUPPLIER_KEY}',
    '    models: { m: { price: { input: 0.15, output: 0.6 } } }',
  ])
  const text = [
    // The whole hold, so that no bill of a call that nobody saw end can exceed what is booked for it.
    'ledger: { recovery: charge_hold, recovery_after: 1 }',
    'models: { m: { context_window: 20000000, output_ceiling: 10000000 } }',
    'suppliers:',
    ...lines,
    '',
  ].join('\n')
  writeFileSync(join(folder.path, 'gateway.yaml'), text, { mode: 0o600 })
}

async function manage(url: string, method: string, path: string, body?: object): Promise<unknown> {
  const response = await fetch(`${url}/v1/manage${path}`, {
    method,
    headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(response.status).toBe(200)
  return response.json()
}

interface Key {
  readonly id: string
  readonly key: string
}

async function createKeys(url: string): Promise<readonly Key[]> {
  const names = Array.from({ length: KEYS }, (_, index) => `key ${index}`)
  const settings = { budget_limit: 1_000_000 }
  return Promise.all(
    names.map(async (name) => (await manage(url, 'POST', '/keys', { name, ...settings })) as Key),
  )
}

async function spentOf(url: string, keys: readonly Key[]): Promise<readonly number[]> {
  return Promise.all(
    keys.map(async ({ id }) => {
      const key = (await manage(url, 'GET', `/keys/${id}`)) as Record<string, unknown>
      return toNano(key['budget_used'])
    }),
  )
}

async function start(folder: Folder): Promise<{ readonly victim: Victim; readonly url: string }> {
  const victim = launchVictim(folder, VARIABLES)
  const url = await victim.ready
  if (url === undefined) throw new Error(`it did not start: ${await victim.errors}`)
  return { victim, url }
}

async function stop({ victim }: { readonly victim: Victim }): Promise<void> {
  victim.kill('SIGINT')
  expect(await victim.exited).toBe(0)
}

/** One life and death. Now and then it dies while it starts, or while its writes have to wait. */
async function kill(folder: Folder, crowd: Crowd, random: Random): Promise<void> {
  const victim = launchVictim(folder, VARIABLES)
  if (random.oneIn(8)) await Bun.sleep(random.between(50, 400))
  else {
    const url = await victim.ready
    if (url === undefined) throw new Error(`it did not start: ${await victim.errors}`)
    crowd.go(url)
    await Bun.sleep(random.oneIn(6) ? 1200 : random.between(20, 600))
  }
  crowd.wait()
  const lock = random.oneIn(3) ? new Database(join(folder.path, 'data/gateway.db')) : undefined
  try {
    lock?.run('PRAGMA busy_timeout = 1000')
    lock?.run('BEGIN IMMEDIATE')
    if (lock !== undefined) await Bun.sleep(random.between(0, 40))
    victim.kill('SIGKILL')
    await victim.exited
  } finally {
    lock?.close(true)
  }
}

/** As an operator would. */
function verify(data: string): { readonly code: number; readonly errors: string } {
  const command = [process.execPath, join(ROOT, 'src/main.ts'), 'ledger', 'verify', '--data', data]
  const { exitCode, stderr } = Bun.spawnSync(command)
  return { code: exitCode, errors: stderr.toString() }
}

interface Figures {
  kills: number
  reviews: number
}

function report(crowd: Crowd, bills: readonly Bill[], records: Records, figures: Figures): void {
  const refused = [...crowd.refusals].map(([what, count]) => `${count} × ${what}`).join(', ')
  console.log(
    `seed ${SEED}: ${figures.kills} kills, ${crowd.sent()} calls, ${bills.length} paid requests, ` +
      `${records.holds.length} operations, ${crowd.deliveries.length} answers delivered, ` +
      `${figures.reviews} reviews, 0 lost, 0 double; refused: ${refused || 'none'}`,
  )
}

it(
  `loses no bill and books none twice over ${KILLS} kills`,
  async () => {
    const random = createRandom(SEED)
    using folder = createFolder()
    const data = join(folder.path, 'data')
    const one = await startBilling(random, { dropsOneIn: 12 })
    const two = await startBilling(random, { dropsOneIn: 0 })
    const billed = (): readonly Bill[] => [...one.bills, ...two.bills]
    configure(folder, { one, two })
    const first = await start(folder)
    const keys = await createKeys(first.url)
    await stop(first)
    const crowd = gather({ callers: CALLERS, keys: keys.map(({ key }) => key), random })
    const figures = { kills: 0, reviews: 0 }
    try {
      const deaths: number[] = []
      for (; figures.kills < KILLS; figures.kills++) {
        await kill(folder, crowd, random)
        const records = readRecords(data)
        const evidence = { records, bills: billed(), deliveries: crowd.deliveries }
        expect({ seed: SEED, ...judge(evidence) }).toEqual({ seed: SEED, ...NOTHING })
        for (const last of deaths) expect(findUnreviewed(records, last)).toEqual([])
        deaths.splice(0, deaths.length, lastOf(records))
      }
      await crowd.end()
      const last = await start(folder)
      await untilResolved(last.url, keys)
      const spent = await spentOf(last.url, keys)
      await stop(last)
      const records = readRecords(data)
      figures.reviews = records.notes.filter(({ kind }) => kind === 'review').length
      const evidence = { records, bills: billed(), deliveries: crowd.deliveries }
      expect(judge(evidence)).toEqual(NOTHING)
      expect(openHolds(records)).toEqual([])
      expect(endsOf(records)).toHaveLength(records.holds.length)
      const paid = keys.map(({ id }) =>
        records.ends.reduce((sum, end) => sum + (end.key_id === id ? end.cost : 0), 0),
      )
      expect(spent).toEqual(paid)
      expect(verify(data)).toMatchObject({ code: 0, errors: '' })
      const again = await start(folder)
      expect(await spentOf(again.url, keys)).toEqual(spent)
      await stop(again)
      report(crowd, billed(), records, figures)
    } finally {
      await crowd.end()
      await Promise.all([one.stop(), two.stop()])
    }
  },
  60_000 + KILLS * 4_000,
)

/** What nobody saw the end of is charged a second after it was noticed. */
async function untilResolved(url: string, keys: readonly Key[]): Promise<void> {
  for (;;) {
    const read = keys.map(({ id }) => manage(url, 'GET', `/keys/${id}`))
    const states = (await Promise.all(read)) as readonly Record<string, unknown>[]
    if (states.every((state) => toNano(state['budget_held']) === 0)) return
    await Bun.sleep(50)
  }
}

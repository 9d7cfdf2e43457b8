// A real gateway is killed at random moments, again and again, while projects call, payers run out and are credited,
// and secrets change. Its suppliers keep bills of their own, and its callers remember what they were told: nothing of
// that may be missing in the books or stand there twice.
import { expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUPPLIER_CANARY } from '../fakes/canary.ts'
import { ROOT_KEY } from '../fakes/gateway.ts'
import { createFolder, ROOT, type Folder } from '../fakes/process.ts'
import { endsOf, expectSoundBooks, openHolds } from '../fakes/records.ts'
import { readBooks, type Books } from './books.ts'
import {
  findMisfits,
  findUnreviewed,
  findWrongPayments,
  findWrongSums,
  judge,
  lastOf,
  RIGHT_SUMS,
} from './checks.ts'
import { employ, type Clerk } from './clerk.ts'
import { createDoor, type Door } from './door.ts'
import { findExcess } from './grants.ts'
import { gather, type Crowd } from './load.ts'
import { createRandom, type Random } from './random.ts'
import { expectShown, type Shown } from './shown.ts'
import { awaitCommit, openGlance, WHOLE } from './strike.ts'
import { startBilling, type Bill, type BillingSupplier } from './supplier.ts'
import { foundTown, type Town } from './town.ts'
import { launchVictim, type Victim } from './victim.ts'

const KILLS = Number(process.env['GATEWAY_TEST_KILLS'] ?? 30)
const SEED = Number(process.env['GATEWAY_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))
const CALLERS = 20
const CLERKS = 2
const VERIFY_EVERY = 5
const VARIABLES = { GATEWAY_ROOT_KEY: ROOT_KEY, SUPPLIER_KEY: SUPPLIER_CANARY }
const NOTHING = {
  lost: [],
  double: [],
  unbooked: [],
  uncovered: [],
  repeated: [],
  phantom: [],
  missing: [],
  forgotten: [],
}
const NO_SURPRISE = { surprises: [], lockedOut: [] }

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

interface Stage {
  readonly folder: Folder
  readonly data: string
  readonly town: Town
  readonly door: Door
  readonly random: Random
}

/** One life and death: at any moment, while it starts, while its writes have to wait, or right behind one. */
async function kill(stage: Stage, meanwhile: () => void): Promise<void> {
  const { folder, data, door, random } = stage
  const victim = launchVictim(folder, VARIABLES)
  const die = async (): Promise<void> => {
    victim.kill('SIGKILL')
    await victim.exited
  }
  try {
    meanwhile()
    if (random.oneIn(8)) await Bun.sleep(random.between(50, 400))
    else await live(stage, victim)
    door.close()
    if (random.oneIn(3)) await block(data, random.between(0, 40), die)
    else if (random.oneIn(2)) awaitCommit(data)
  } finally {
    door.close()
    await die()
  }
}

/** Now and then its writes fail for a while and it lives on. After that, and at times, everybody rests and looks at it. */
async function live({ data, town, door, random }: Stage, victim: Victim): Promise<void> {
  const url = await victim.ready
  if (url === undefined) throw new Error(`it did not start: ${await victim.errors}`)
  await expectShown(url, data, town)
  door.open(url)
  await glance(data, random, random.oneIn(6) ? 1200 : random.between(20, 500))
  const isBlocked = random.oneIn(5)
  if (isBlocked) await block(data, random.between(60, 150))
  if (!isBlocked && !random.oneIn(8)) return
  door.close()
  await door.empty()
  await expectShown(url, data, town)
  door.open(url)
  await Bun.sleep(random.between(5, 50))
}

/** For so long, and looking at the books all the time. */
async function glance(data: string, random: Random, ms: number): Promise<void> {
  const end = performance.now() + ms
  using books = openGlance(data)
  while (performance.now() < end) {
    await Bun.sleep(random.between(5, 30))
    expect(books.look()).toEqual(WHOLE)
  }
}

/** Nobody else can write for a while, and then does. */
async function block(data: string, ms: number, then?: () => Promise<void>): Promise<void> {
  const lock = new Database(join(data, 'gateway.db'))
  try {
    lock.run('PRAGMA busy_timeout = 1000')
    lock.run('BEGIN IMMEDIATE')
    await Bun.sleep(ms)
    await then?.()
  } finally {
    lock.close(true)
  }
}

/** As an operator would. */
function verify(data: string): { readonly code: number; readonly errors: string } {
  const command = [process.execPath, join(ROOT, 'src/main.ts'), 'ledger', 'verify', '--data', data]
  const { exitCode, stderr } = Bun.spawnSync(command)
  return { code: exitCode, errors: stderr.toString() }
}

interface Findings {
  readonly books: Books
  readonly bills: readonly Bill[]
  readonly crowd: Crowd
  readonly clerk: Clerk
}

/** All that must hold at any moment, with a gateway or without. */
function expectSound({ books, bills, crowd, clerk }: Findings): void {
  const verdict = judge({ books, bills, crowd })
  expect({ seed: SEED, ...verdict }).toEqual({ seed: SEED, ...NOTHING })
  expect(findExcess(books)).toEqual([])
  expect(findMisfits(books)).toEqual([])
  expect(findWrongSums(books)).toEqual(RIGHT_SUMS)
  expect(findWrongPayments(books, clerk.payments)).toEqual([])
  expect({ surprises: clerk.surprises, lockedOut: crowd.lockedOut }).toEqual(NO_SURPRISE)
}

function report({ books, bills, crowd, clerk }: Findings): void {
  const list = (counts: ReadonlyMap<string, number>): string =>
    [...counts].map(([what, count]) => `${count} × ${what}`).join(', ') || 'none'
  const links = new Map<string, number>()
  for (const { payer } of books.holds) links.set(payer.link, (links.get(payer.link) ?? 0) + 1)
  const again = clerk.payments.filter(({ sent }) => sent > 1)
  const refused = clerk.payments.filter(({ state }) => state === 'refused')
  const { rotated, raised } = clerk.changes
  console.log(
    `seed ${SEED}: ${KILLS} kills, ${crowd.sent()} calls (${crowd.once.size} once), ${bills.length} paid requests, ` +
      `${books.holds.length} operations, ${crowd.deliveries.length} answers delivered, ` +
      `${books.notes.filter(({ kind }) => kind === 'review').length} reviews, 0 lost, 0 double\n` +
      `  paid by: ${list(links)}; told: ${list(crowd.told)}\n` +
      `  ${clerk.payments.length} payments, ${again.length} sent again, ${refused.length} refused; ` +
      `${rotated} secrets changed, ${raised} limits raised`,
  )
}

it(
  `loses no bill, no credit and no claim, and books none twice, over ${KILLS} kills from seed ${SEED}`,
  async () => {
    const random = createRandom(SEED)
    using folder = createFolder()
    const data = join(folder.path, 'data')
    const one = await startBilling(random, { name: 'one', dropsOneIn: 12 })
    const two = await startBilling(random, { name: 'two', dropsOneIn: 0 })
    configure(folder, { one, two })
    const first = await start(folder)
    const town = await foundTown(first.url)
    await stop(first)
    const door = createDoor()
    const crowd = gather({ size: CALLERS, callers: town.callers, random, door })
    const clerk = employ({ size: CLERKS, town, random, door })
    const find = (): Findings => ({
      books: readBooks(data),
      bills: [...one.bills, ...two.bills],
      crowd,
      clerk,
    })
    try {
      let deaths: readonly number[] = []
      let check = (): void => {}
      for (let kills = 0; kills < KILLS; kills++) {
        await kill({ folder, data, town, door, random }, check)
        await door.empty()
        const findings = find()
        for (const last of deaths) expect(findUnreviewed(findings.books, last)).toEqual([])
        deaths = [lastOf(findings.books)]
        // While the next one starts, which takes longer.
        check = () => expectSound(findings)
        if (kills % VERIFY_EVERY === 0) await expectSoundBooks(data)
      }
      check()
      await crowd.end()
      await clerk.end()
      const last = await start(folder)
      await clerk.settle(last.url)
      const shown = await untilResolved(() => expectShown(last.url, data, town))
      await stop(last)
      const findings = find()
      const { books } = findings
      expectSound(findings)
      expect(clerk.payments.filter(({ state }) => state === 'lost')).toEqual([])
      expect(openHolds(books)).toEqual([])
      expect(endsOf(books)).toHaveLength(books.holds.length)
      expect(sumOf(shown.costOfPayers)).toBe(sumOf(shown.spent))
      expect(verify(data)).toMatchObject({ code: 0, errors: '' })
      const again = await start(folder)
      const rebuilt = await expectShown(again.url, data, town)
      await stop(again)
      expect(rebuilt).toEqual(shown)
      report(findings)
    } finally {
      await crowd.end()
      await clerk.end()
      await Promise.all([one.stop(), two.stop()])
    }
  },
  60_000 + KILLS * 5_000,
)

function sumOf(amounts: Readonly<Record<string, number>>): number {
  return Object.values(amounts).reduce((sum, amount) => sum + amount, 0)
}

/** What nobody saw the end of is charged a second after it was noticed. */
async function untilResolved(look: () => Promise<Shown>): Promise<Shown> {
  for (;;) {
    const shown = await look()
    if (sumOf(shown.heldOfKeys) === 0) return shown
    await Bun.sleep(50)
  }
}

// A gateway that is killed while a sign-in is renewed: before the answer of an issuer that has already turned the
// refresh token over, and at any moment around the save. The next process calls by the same sign-in, asks its issuer
// once where it must and never where it need not, and nothing on disk holds a token that could be read.
import { afterEach, expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { askNative, HELLO_NATIVE, sayHello, tokenOf } from '../fakes/agency.ts'
import { findSecrets, MARK } from '../fakes/canary.ts'
import { ROOT_KEY } from '../fakes/gateway.ts'
import { startIssuer, type FakeIssuer } from '../fakes/issuer.ts'
import { createFolder, type Folder } from '../fakes/process.ts'
import { expectSoundBooks } from '../fakes/records.ts'
import { closeStreet, tidy } from '../fakes/street.ts'
import { startFakeSupplier, type FakeSupplier } from '../fakes/supplier.ts'
import { tenantAt } from '../fakes/tenants.ts'
import { createRandom, type Random } from './random.ts'
import { awaitCommit } from './strike.ts'
import { launchVictim, type Victim } from './victim.ts'

const KILLS = Number(process.env['GATEWAY_TEST_KILLS'] ?? 12)
const SEED = Number(process.env['GATEWAY_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))
const CALLERS = 5
/** Longer than an answer takes to be read and saved. */
const SAVE_MICROSECONDS = 6000
const TEST_MS = 10_000 + KILLS * 5000
const CALL = { ...HELLO_NATIVE, model: 'm' }

interface Life {
  readonly victim: Victim
  readonly url: string
}

interface Stage {
  readonly folder: Folder
  readonly data: string
  readonly issuer: FakeIssuer
  readonly backend: FakeSupplier
  /** Tokens that were served until somebody took them back. */
  readonly ended: Set<string>
  readonly lives: Life[]
}

const stages: Stage[] = []

afterEach(async () => {
  for (const { folder, lives } of stages.splice(0)) {
    for (const life of lives) await die(life)
    folder[Symbol.dispose]()
  }
  await closeStreet()
})

async function openStage(): Promise<Stage> {
  const issuer = tidy(startIssuer())
  const backend = tidy(
    await startFakeSupplier((request, reply, index) =>
      issuer.accepts(request.headers.get('authorization'))
        ? sayHello(request, reply, index)
        : reply.json(401, { error: { message: 'Your sign-in has ended.' } }),
    ),
  )
  const folder = createFolder()
  const stage = {
    folder,
    data: join(folder.path, 'data'),
    issuer,
    backend,
    ended: new Set<string>(),
    lives: [],
  }
  stages.push(stage)
  const lines = [
    'suppliers:',
    '  native:',
    '    kind: native-compatible',
    `    origin: ${backend.origin}`,
    '    allow_private: true',
    '    region: EU',
    `    oauth: { token_url: "${issuer.url}", client_id: program }`,
    '    models: { m: { price: { input: 0.15, output: 0.6 } } }',
    '',
  ]
  writeFileSync(join(folder.path, 'gateway.yaml'), lines.join('\n'), { mode: 0o600 })
  return stage
}

async function live({ folder, lives }: Stage): Promise<Life> {
  const victim = launchVictim(folder, { GATEWAY_ROOT_KEY: ROOT_KEY })
  const url = await victim.ready
  if (url === undefined) throw new Error(`it did not start: ${await victim.errors}`)
  const life = { victim, url }
  lives.push(life)
  return life
}

/** At once, with no time for anything. */
async function die({ victim }: Life): Promise<void> {
  victim.kill('SIGKILL')
  await victim.exited
}

async function signIn({ issuer }: Stage, { url }: Life): Promise<void> {
  const { accessToken, refreshToken } = issuer.issue()
  await tenantAt(url).make('/native/identities', {
    name: 'a sign-in',
    supplier: 'native',
    access_token: accessToken,
    refresh_token: refreshToken,
  })
}

/** A caller that notices nothing of all this, and how often the issuer was asked for it. */
async function expectService({ issuer, backend, ended }: Stage, life: Life): Promise<number> {
  const [asked, served] = [issuer.requests.length, backend.requests.length]
  const response = await askNative(life, CALL)
  const text = await response.text()
  expect([response.status, text.includes('Hello to you')], text).toEqual([200, true])
  const tokens = backend.requests.slice(served).map(tokenOf)
  // Whoever comes with a good one needs no other; whoever does not gets one, and no two.
  const needs = ended.has(tokens[0]!) ? 1 : 0
  expect([issuer.requests.length - asked, tokens.length]).toEqual([needs, needs + 1])
  return needs
}

/** The token that was served last is served no more. */
function endToken({ issuer, backend, ended }: Stage): void {
  const token = tokenOf(backend.requests.at(-1)!)
  expect(ended.has(token)).toBe(false)
  ended.add(token)
  issuer.revoke(token)
}

/** Several callers at once need another token; goes on once the issuer was asked for it, and nobody is left at the end. */
async function needAnother(
  stage: Stage,
  life: Life,
  then: () => void | Promise<void>,
): Promise<void> {
  const { issuer } = stage
  const asked = issuer.requests.length
  endToken(stage)
  // Whoever it dies under hears nothing.
  const calls = Array.from({ length: CALLERS }, () =>
    askNative(life, CALL)
      .then((response) => response.text())
      .catch(() => {}),
  )
  await issuer.request(asked)
  await then()
  await die(life)
  await Promise.all(calls)
  expect(issuer.requests.length - asked).toBe(1)
}

/** Lets no other work of this process come between: what is waited for takes less than a turn of the loop. */
function spin(microseconds: number): void {
  const end = performance.now() + microseconds / 1000
  while (performance.now() < end);
}

/** A moment near the save: any, the commit itself, or while somebody else keeps the database from being written. */
async function strike({ data }: Stage, life: Life, random: Random): Promise<void> {
  if (random.oneIn(4)) return awaitCommit(data)
  if (random.oneIn(4)) return block(data, random.between(5, 30), () => die(life))
  // The answer leaves with a turn of the loop.
  await Bun.sleep(random.between(0, 2))
  spin(random.between(0, SAVE_MICROSECONDS))
}

async function block(data: string, ms: number, then: () => Promise<void>): Promise<void> {
  const lock = new Database(join(data, 'gateway.db'))
  try {
    lock.run('PRAGMA busy_timeout = 1000')
    lock.run('BEGIN IMMEDIATE')
    await Bun.sleep(ms)
    await then()
  } finally {
    lock.close(true)
  }
}

/** Of all lives so far, in what was written and in what was said. */
async function expectNoToken({ folder, data, issuer, backend, lives }: Stage): Promise<void> {
  const refreshed = issuer.requests.map(({ fields }) => fields['refresh_token']!)
  const tokens = new Set([...refreshed, ...backend.requests.map(tokenOf)])
  expect(tokens.size).toBeGreaterThan(1)
  expect(findSecrets(folder.path, [...tokens, `${MARK}-issuer`])).toEqual([])
  for (const { victim } of lives) expect(await victim.errors).not.toContain(MARK)
  await expectSoundBooks(data)
}

it(
  'dies before the answer of an issuer that has turned its token over, twice in a row, and asks again with what it had',
  async () => {
    const stage = await openStage()
    const { issuer } = stage
    const first = await live(stage)
    await signIn(stage, first)
    expect(await expectService(stage, first)).toBe(0)
    const release = issuer.holdAnswers()
    await needAnother(stage, first, () => {})
    const second = await live(stage)
    const lost = askNative(second, CALL).catch(() => {})
    await issuer.request(1)
    await die(second)
    await lost
    release()
    const last = await live(stage)
    expect(await expectService(stage, last)).toBe(1)
    expect(await expectService(stage, last)).toBe(0)
    // Each life had nothing but the token that was brought along.
    const used = issuer.requests.map(({ fields }) => fields['refresh_token'])
    expect([used.length, new Set(used).size]).toEqual([3, 1])
    await die(last)
    await expectNoToken(stage)
  },
  TEST_MS,
)

it(
  `keeps its sign-in over ${KILLS} kills around the save, from seed ${SEED}`,
  async () => {
    const random = createRandom(SEED)
    const stage = await openStage()
    let life = await live(stage)
    await signIn(stage, life)
    await expectService(stage, life)
    let unsaved = 0
    for (let kills = 0; kills < KILLS; kills++) {
      await needAnother(stage, life, () => strike(stage, life, random))
      life = await live(stage)
      unsaved += await expectService(stage, life)
      // What it has now is good.
      expect(await expectService(stage, life)).toBe(0)
    }
    await die(life)
    await expectNoToken(stage)
    console.log(`seed ${SEED}: ${KILLS} kills, ${unsaved} of them before the new token was saved`)
  },
  TEST_MS,
)

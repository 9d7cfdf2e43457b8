// A real gateway is killed with calls under way that have an Idempotency-Key, and asked the same again by the next
// one. A supplier never sees a call twice, and nobody is told that nothing happened where something did.
import { expect, it } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SUPPLIER_CANARY } from '../fakes/canary.ts'
import { HELLO, ROOT_KEY } from '../fakes/gateway.ts'
import { readAsked } from '../fakes/prices.ts'
import { createFolder, type Folder } from '../fakes/process.ts'
import { good } from '../fakes/street.ts'
import { startFakeSupplier, type FakeSupplier, type Script } from '../fakes/supplier.ts'
import { createRandom, type Random } from './random.ts'
import { launchVictim, type Victim } from './victim.ts'

const ROUNDS = Number(process.env['GATEWAY_TEST_ROUNDS'] ?? 20)
const SEED = Number(process.env['GATEWAY_TEST_SEED'] ?? Math.floor(Math.random() * 1_000_000))
const TEST_MS = 60_000
const CALLS = 24
const FIRST_MARKER = 1000
const VARIABLES = { GATEWAY_ROOT_KEY: ROOT_KEY, SUPPLIER_KEY: SUPPLIER_CANARY }

function configure(folder: Folder, { origin }: FakeSupplier): void {
  const text = [
    'ledger: { recovery: keep }',
    'suppliers:',
    '  fake:',
    '    kind: openai-compatible',
    `    origin: ${origin}/v1`,
    '    allow_private: true',
    '    credential: ${SUPPLIER_KEY}',
    '    models: { m: { price: { input: 0.15, output: 0.6 } } }',
    '',
  ].join('\n')
  writeFileSync(join(folder.path, 'gateway.yaml'), text, { mode: 0o600 })
}

interface Life {
  readonly victim: Victim
  readonly url: string
}

async function start(folder: Folder): Promise<Life> {
  const victim = launchVictim(folder, VARIABLES)
  const url = await victim.ready
  if (url === undefined) throw new Error(`it did not start: ${await victim.errors}`)
  return { victim, url }
}

async function kill({ victim }: Life): Promise<void> {
  victim.kill('SIGKILL')
  await victim.exited
}

interface Told {
  readonly status: number
  readonly code: string | undefined
  readonly requestId: string | undefined
  readonly isReplayed: boolean
}

/** The same call under the same key, whenever it is asked with the same marker. */
async function ask(url: string, marker: number): Promise<Told> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${ROOT_KEY}`,
      'content-type': 'application/json',
      'idempotency-key': `call ${marker}`,
    },
    body: JSON.stringify({ ...HELLO, model: 'm', max_tokens: marker, stream: marker % 2 === 0 }),
  })
  const text = await response.text()
  return {
    status: response.status,
    code: /"code":"(\w+)"/.exec(text)?.[1],
    requestId: /"request_id":"(\w+)"/.exec(text)?.[1],
    isReplayed: response.headers.get('idempotency-replayed') === 'true',
  }
}

async function resolve(url: string, requestId: string, decision: object): Promise<void> {
  const response = await fetch(`${url}/v1/manage/reviews/${requestId}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${ROOT_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'the supplier was asked', ...decision }),
  })
  expect(response.status).toBe(200)
}

it(
  'a call that was sent when the process died waits for a decision, and is never sent by itself',
  async () => {
    using folder = createFolder()
    let isSilent = true
    const script: Script = (request, reply, index) =>
      isSilent ? undefined : good(request, reply, index)
    const supplier = await startFakeSupplier(script)
    configure(folder, supplier)
    const lives: Life[] = []
    const live = async (): Promise<Life> => {
      const life = await start(folder)
      lives.push(life)
      return life
    }
    try {
      const first = await live()
      const dying = [1000, 1001].map((marker) => ask(first.url, marker).catch(() => {}))
      await supplier.request(1)
      await kill(first)
      await Promise.all(dying)
      isSilent = false
      const next = await live()
      const unknown = await Promise.all([ask(next.url, 1000), ask(next.url, 1001)])
      for (const told of unknown)
        expect(told).toMatchObject({ status: 409, code: 'operation_unknown' })
      expect(supplier.requests).toHaveLength(2)
      await resolve(next.url, unknown[0].requestId!, { action: 'void' })
      await resolve(next.url, unknown[1].requestId!, { action: 'settle' })
      expect(await ask(next.url, 1000)).toMatchObject({ status: 200, isReplayed: false })
      expect(await ask(next.url, 1000)).toMatchObject({ status: 200, isReplayed: true })
      const charged = { status: 409, code: 'payload_not_durable', requestId: unknown[1].requestId }
      expect(await ask(next.url, 1001)).toMatchObject(charged)
      expect(supplier.requests).toHaveLength(3)
      await kill(next)
      const last = await live()
      expect(await ask(last.url, 1000)).toMatchObject({ status: 200, isReplayed: true })
      expect(await ask(last.url, 1001)).toMatchObject(charged)
      expect(supplier.requests).toHaveLength(3)
    } finally {
      for (const life of lives) await kill(life)
      await supplier.stop()
    }
  },
  TEST_MS,
)

/** How often each call was seen, by its marker. */
function countSeen({ requests }: FakeSupplier): Map<number, number> {
  const seen = new Map<number, number>()
  for (const { body } of requests) {
    const { max_tokens: marker = 0 } = readAsked(body)
    seen.set(marker, (seen.get(marker) ?? 0) + 1)
  }
  return seen
}

/** Asks everything again that the dead one was asked; what it was told must fit what the supplier had seen. */
async function askAgain(
  { url }: Life,
  markers: readonly number[],
  supplier: FakeSupplier,
): Promise<readonly string[]> {
  const before = countSeen(supplier)
  return Promise.all(
    markers.map(async (marker) => {
      const { status, code, isReplayed } = await ask(url, marker)
      const what = `${status} ${code ?? (isReplayed ? 'replayed' : 'new')}`
      const seen = before.get(marker) ?? 0
      // It runs for the first time only where nobody had seen it, and has an answer only where somebody had.
      if (what === '200 new') expect({ marker, seen }).toEqual({ marker, seen: 0 })
      if (what === '200 replayed') expect({ marker, seen }).toEqual({ marker, seen: 1 })
      expect(['200 new', '200 replayed', '409 operation_unknown']).toContain(what)
      return what
    }),
  )
}

async function killUnderLoad(
  life: Life,
  markers: readonly number[],
  random: Random,
): Promise<void> {
  const calls = markers.map(async (marker) => {
    await Bun.sleep(random.between(0, 20))
    await ask(life.url, marker)
  })
  const ends = Promise.allSettled(calls)
  await Bun.sleep(random.between(0, 30))
  await kill(life)
  await ends
}

it(
  `a supplier sees no call twice over ${ROUNDS} kills`,
  async () => {
    const random = createRandom(SEED)
    using folder = createFolder()
    const supplier = await startFakeSupplier(async (request, reply, index) => {
      await Bun.sleep(random.between(0, 12))
      return good(request, reply, index)
    })
    configure(folder, supplier)
    const told = new Map<string, number>()
    let life = await start(folder)
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const markers = Array.from(
          { length: CALLS },
          (_, index) => FIRST_MARKER + round * CALLS + index,
        )
        await killUnderLoad(life, markers, random)
        life = await start(folder)
        for (const what of await askAgain(life, markers, supplier))
          told.set(what, (told.get(what) ?? 0) + 1)
        const twice = [...countSeen(supplier)].filter(([, times]) => times > 1)
        expect({ seed: SEED, round, twice }).toEqual({ seed: SEED, round, twice: [] })
      }
    } finally {
      await kill(life)
      await supplier.stop()
    }
    const figures = [...told].map(([what, count]) => `${count} × ${what}`).join(', ')
    console.log(`seed ${SEED}: ${ROUNDS} kills, ${ROUNDS * CALLS} calls asked again: ${figures}`)
  },
  TEST_MS + ROUNDS * 4_000,
)

// Suppliers that go down under load, one after the other and each in its own way, and come back. Whoever had no content
// yet must not notice, every call leaves one row, and nobody is charged for what did not come.
import { afterEach, expect, it } from 'bun:test'
import { closeStreet, tidy } from '../fakes/street.ts'
import { createFakeClock } from '../fakes/clock.ts'
import { HELLO, startGateway, supplierAt } from '../fakes/gateway.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
} from '../fakes/supplier.ts'

afterEach(closeStreet)

const CALLERS = 24
const CALLS_A_PHASE = 240
const IDS = ['one', 'two', 'three'] as const

type Id = (typeof IDS)[number]
type Mood = 'good' | 'reset' | 'silent' | 'broken' | 'busy' | 'empty'

interface Fault {
  readonly id: Id
  readonly mood: Mood
}

/** What goes wrong, one after the other; everybody else is well meanwhile. */
const FAULTS: readonly Fault[] = [
  { id: 'one', mood: 'reset' },
  { id: 'two', mood: 'broken' },
  { id: 'three', mood: 'busy' },
  { id: 'one', mood: 'empty' },
  { id: 'two', mood: 'reset' },
]

class Town {
  readonly moods = new Map<Id, Mood>(IDS.map((id) => [id, 'good']))
  readonly silent: FakeReply[] = []

  async open(id: Id): Promise<FakeSupplier> {
    return tidy(await startFakeSupplier((request, reply) => this.#answer(id, request, reply)))
  }

  #answer(id: Id, request: FakeRequest, reply: FakeReply): void {
    const mood = this.moods.get(id)
    if (mood === 'reset') reply.reset()
    else if (mood === 'broken') reply.json(500, { error: { message: 'on fire' } })
    else if (mood === 'busy') reply.json(429, { error: { message: 'busy' } })
    else if (mood === 'empty') reply.json(200, '')
    else if (mood === 'silent') this.silent.push(reply)
    else answer(request, reply)
  }
}

function answer(request: FakeRequest, reply: FakeReply): void {
  if (!request.body.includes('"stream":true')) return reply.json(200, completion('Hi'))
  const stream = reply.stream()
  stream.send(chunk({ role: 'assistant', content: '' }) + chunk({ content: 'Hi' }))
  stream.send(chunk({}, 'stop') + USAGE_CHUNK + DONE)
  stream.end()
}

async function openTown(config: object = {}) {
  const town = new Town()
  const suppliers = await Promise.all(IDS.map((id) => town.open(id)))
  const clock = createFakeClock()
  const gateway = tidy(
    await startGateway({
      clock,
      suppliers: suppliers.map(({ origin }, index) => supplierAt(origin, { id: IDS[index]! })),
      ...config,
    }),
  )
  /** So many calls, so many at a time, every other one a stream; the texts of those that went wrong. */
  const load = async (calls: number): Promise<readonly string[]> => {
    const failures: string[] = []
    let left = calls
    const callOn = async (): Promise<void> => {
      while (left-- > 0) {
        const stream = left % 2 === 0
        // oxlint-disable-next-line no-await-in-loop -- each caller waits for its answer
        const response = await gateway.chat({ ...HELLO, stream })
        // oxlint-disable-next-line no-await-in-loop -- the same
        const text = await response.text()
        if (response.status !== 200 || !text.includes('Hi') || text.includes('"error"'))
          failures.push(`${response.status} ${text}`)
      }
    }
    await Promise.all(Array.from({ length: CALLERS }, callOn))
    return failures
  }
  return { town, gateway, clock, suppliers, load }
}

it('nobody notices that suppliers go down and come back, one after the other', async () => {
  const { town, gateway, clock, load } = await openTown()
  expect(await load(CALLS_A_PHASE)).toEqual([])
  for (const { id, mood } of FAULTS) {
    town.moods.set(id, mood)
    expect(await load(CALLS_A_PHASE), `${id} ${mood}`).toEqual([])
    town.moods.set(id, 'good')
    expect(await load(CALLS_A_PHASE), `${id} is back`).toEqual([])
    // Long enough for every rest: who was left alone is asked again, once and then by all.
    clock.advance(301_000)
    expect(await load(CALLS_A_PHASE), `after ${id} ${mood}`).toEqual([])
  }
  const rows = gateway.audit()
  expect(rows).toHaveLength(CALLS_A_PHASE * (1 + 3 * FAULTS.length))
  expect(rows.filter(({ status, code }) => status !== 200 || code !== null)).toEqual([])
  expect(rows.at(-1)).toMatchObject({ supplier: 'one', attempts: 1 })
})

it('nobody notices that a second one goes down while the first still is', async () => {
  const { town, load, suppliers } = await openTown()
  town.moods.set('one', 'reset')
  expect(await load(CALLS_A_PHASE)).toEqual([])
  town.moods.set('two', 'broken')
  expect(await load(CALLS_A_PHASE)).toEqual([])
  // Left alone after a few failures, and not asked by every call.
  const [first, , third] = suppliers.map(({ requests }) => requests.length)
  expect(first).toBeLessThan(CALLS_A_PHASE / 2)
  expect(third).toBe(CALLS_A_PHASE)
})

it('nobody notices that the last one goes down when those before it are back and still left alone', async () => {
  const { town, load } = await openTown()
  for (const id of IDS) {
    town.moods.set(id, 'broken')
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    expect(await load(CALLS_A_PHASE), id).toEqual([])
    town.moods.set(id, 'good')
  }
})

it('whoever waits for a supplier that fell silent is answered by another when its time is up', async () => {
  const { town, gateway, clock, suppliers } = await openTown({
    limits: { unaryMs: 10_000, firstByteMs: 10_000 },
  })
  town.moods.set('one', 'silent')
  const calls = Array.from({ length: 6 }, (_, index) =>
    gateway.chat({ ...HELLO, stream: index % 2 === 0 }),
  )
  await suppliers[0]!.request(5)
  clock.advance(11_000)
  const answers = await Promise.all(calls)
  for (const response of answers) {
    expect(response.status).toBe(200)
    expect(response.headers.get('x-svc-failover')).toBe('true')
    expect(await response.text()).toContain('Hi')
  }
  // From here on nobody waits for it.
  const next = await gateway.chat(HELLO)
  expect([next.headers.get('x-svc-supplier'), next.headers.get('x-svc-failover')]).toEqual([
    'two',
    'false',
  ])
})

// Native calls at random, one after the other and at once, that end in every way in which a call can end: each is held
// before it is sent and ends once in the books, pays what it must and never more than was held, and no key passes its
// budget.
import { afterAll, beforeAll, expect, it } from 'bun:test'
import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check'
import { HELLO_NATIVE, openAgency, sayHello, type Agency } from './fakes/agency.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { IN, OUT } from './fakes/fault.ts'
import { readKey, toUsd } from './fakes/prices.ts'
import {
  dataOf,
  expectSoundBooks,
  openHolds,
  readRecords,
  type EndLine,
  type HoldLine,
} from './fakes/records.ts'
import {
  beginText,
  completed,
  endText,
  failedEvent,
  messageItem,
  PREAMBLE,
  printEvents,
} from './fakes/response-supplier.ts'
import { createGate, readText } from './fakes/street.ts'
import type { FakeReply, FakeRequest } from './fakes/supplier.ts'

const RUNS = 60
const TEST_MS = 60_000
/** Longer than anybody is left alone for. */
const REST_MS = 600_000

const ENDINGS = [
  'tells its usage',
  'tells no usage',
  'breaks off',
  'fails in the middle',
  'fails at once',
  'is asked to pause',
  'needs another token',
  'is left before anything',
  'is left in the middle',
] as const
type Ending = (typeof ENDINGS)[number]

interface Plan {
  readonly ending: Ending
  readonly inputTokens: number
  readonly outputTokens: number
  readonly maxTokens: number
}

const plans = record({
  ending: constantFrom(...ENDINGS),
  inputTokens: integer({ min: 0, max: 200 }),
  // Now and then more than was agreed on, and more than all that was held.
  outputTokens: integer({ min: 0, max: 3000 }),
  maxTokens: integer({ min: 1, max: 2000 }),
})

/** Batches of calls that run at once, and what their key may spend. */
const histories = record({
  batches: array(array(plans, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
  limit: integer({ min: 50_000, max: 4_000_000 }),
})

/** A call on its way. */
interface Call extends Plan {
  readonly arrived: PromiseWithResolvers<FakeRequest>
  readonly broken: ReturnType<typeof createGate>
}

const clock: FakeClock = createFakeClock()
const calls = new Map<string, Call>()
let agency: Agency
let count = 0

const BEGUN = [...PREAMBLE, ...beginText(['Hello '])]
const ITEM = messageItem('Hello to you')

function usageOf({ ending, inputTokens, outputTokens }: Plan): object {
  if (ending === 'tells no usage') return { usage: null }
  const total_tokens = inputTokens + outputTokens
  return { usage: { input_tokens: inputTokens, output_tokens: outputTokens, total_tokens } }
}

function sendWhole(reply: FakeReply, plan: Plan): void {
  const events = [
    ...PREAMBLE,
    ...beginText(['Hello ', 'to you']),
    ...endText('Hello to you'),
    completed([ITEM], usageOf(plan)),
  ]
  const stream = reply.stream()
  stream.send(printEvents(events))
  stream.end()
}

async function act(call: Call, reply: FakeReply): Promise<void> {
  switch (call.ending) {
    case 'fails at once':
      return reply.json(500, { error: { message: 'Oh no.' } })
    case 'is asked to pause':
      return reply.json(429, { error: { message: 'Later.' } }, { 'retry-after': '1' })
    case 'is left before anything':
      return undefined
    case 'breaks off':
    case 'fails in the middle':
    case 'is left in the middle': {
      const stream = reply.stream()
      stream.send(printEvents(BEGUN))
      await call.broken.opened
      if (call.ending === 'breaks off') reply.reset()
      if (call.ending === 'fails in the middle')
        stream.send(printEvents([failedEvent('No.')], BEGUN.length))
      return undefined
    }
    default:
      return sendWhole(reply, call)
  }
}

beforeAll(async () => {
  agency = await openAgency({
    clock,
    script(request, reply, index) {
      const name = /"call-(\d+)"/.exec(request.body.toString())?.[1]
      const call = name === undefined ? undefined : calls.get(name)
      if (call === undefined) return sayHello(request, reply, index)
      call.arrived.resolve(request)
      return act(call, reply)
    },
  })
})

afterAll(async () => {
  await agency.stop()
})

/** What its caller has got; undefined of one that has left before it got anything. */
interface Told {
  readonly id: string
  readonly status: number
  readonly text: string
}

function bodyOf(name: string, maxTokens: number): object {
  const content = [{ type: 'input_text', text: `call-${name}` }]
  const input = [{ type: 'message', role: 'user', content }]
  return { ...HELLO_NATIVE, max_output_tokens: maxTokens, input }
}

async function perform(name: string, call: Call, key: string): Promise<Told | undefined> {
  const leaving = new AbortController()
  const asking = agency.ask(bodyOf(name, call.maxTokens), { key, signal: leaving.signal })
  if (call.ending === 'is left before anything') {
    // Who is refused is never there.
    const refused = asking.catch(() => undefined)
    await Promise.race([call.arrived.promise, refused])
    leaving.abort()
    return undefined
  }
  const response = await asking
  const reader = readText(response)
  const begun = await reader.until('Hello ')
  call.broken.open()
  const isLeft = call.ending === 'is left in the middle'
  const text = isLeft ? begun : await reader.rest()
  leaving.abort()
  return { id: response.headers.get('x-request-id')!, status: response.status, text }
}

/** By what the caller has got, and by the words of the guide. */
function expectCharge(plan: Plan, told: Told, hold: HoldLine, end: EndLine): void {
  const about = [plan, told.text.slice(-300)] as const
  if (told.status !== 200) {
    expect([...about, end.cost, end.overrun]).toEqual([...about, 0, 0])
    return
  }
  expect([...about, end.state]).toEqual([...about, 'settled'])
  const isTold = told.text.includes('response.completed') && plan.ending !== 'tells no usage'
  if (!isTold) expect(end.cost).toBeGreaterThan(0)
  const exact = plan.inputTokens * IN + plan.outputTokens * OUT
  const paid = Math.min(exact, hold.amount)
  if (isTold) expect([...about, end.cost, end.overrun]).toEqual([...about, paid, exact - paid])
}

interface Done {
  readonly plan: Plan
  readonly told: Told | undefined
}

/** Every call of this key, as it stands in the books. */
async function expectBooked(keyId: string, done: readonly Done[]): Promise<void> {
  const { gateway } = agency
  const own = ({ key_id: id }: { readonly key_id: string }): boolean => id === keyId
  // Whoever has left is not told when its call has ended.
  while (openHolds(readRecords(dataOf(gateway))).length > 0) await gateway.manage('GET', '/keys')
  const records = readRecords(dataOf(gateway))
  const [holds, ends] = [records.holds.filter(own), records.ends.filter(own)]
  for (const hold of holds) {
    const found = ends.filter((each) => each.hold === hold.number)
    expect(found.length).toBe(1)
    const [end] = found
    expect(end!.cost).toBeGreaterThanOrEqual(0)
    expect(end!.cost).toBeLessThanOrEqual(hold.amount)
    const call = done.find(({ told }) => told?.id === hold.request_id)
    if (call?.told !== undefined) expectCharge(call.plan, call.told, hold, end!)
  }
  // Nobody is served who was not held.
  const served = done.filter(({ told }) => told?.status === 200)
  const held = new Set(holds.map(({ request_id: id }) => id))
  expect(served.filter(({ told }) => !held.has(told!.id))).toEqual([])
  const used = ends.reduce((sum, { cost }) => sum + cost, 0)
  const key = await readKey(gateway, keyId)
  expect([key.used, key.held]).toEqual([used, 0])
  expect(used).toBeLessThanOrEqual(key.limit)
}

async function runBatch(batch: readonly Plan[], key: string): Promise<readonly Done[]> {
  if (batch.some(({ ending }) => ending === 'needs another token'))
    for (const token of new Set(agency.tokens())) agency.issuer.revoke(token)
  const done = await Promise.all(
    batch.map(async (plan) => {
      count += 1
      const name = String(count)
      const call = { ...plan, arrived: Promise.withResolvers<FakeRequest>(), broken: createGate() }
      calls.set(name, call)
      return { plan, told: await perform(name, call, key) }
    }),
  )
  return done
}

it(
  'native calls are held, charged and booked as what they were, whatever becomes of them',
  async () => {
    for (const name of ['one', 'two']) await agency.signIn({ name })
    const seen = new Map<string, number>()
    await assert(
      asyncProperty(histories, async ({ batches, limit }) => {
        const { id, key } = await agency.gateway.createKey({
          name: 'k',
          budget_limit: toUsd(limit),
        })
        const done: Done[] = []
        for (const batch of batches) {
          done.push(...(await runBatch(batch, key)))
          await expectBooked(id, done)
          clock.sleep(REST_MS)
        }
        for (const { plan, told } of done) {
          const what = told === undefined ? 'left' : `${told.status}`
          seen.set(`${plan.ending}: ${what}`, (seen.get(`${plan.ending}: ${what}`) ?? 0) + 1)
        }
      }),
      { numRuns: RUNS },
    )
    await expectSoundBooks(dataOf(agency.gateway))
    // It has not all been refused.
    for (const ending of ['tells its usage', 'needs another token', 'breaks off'])
      expect([...seen.keys()]).toContain(`${ending}: 200`)
  },
  TEST_MS,
)

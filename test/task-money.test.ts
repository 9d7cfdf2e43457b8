// Money over every endpoint at once: random calls of all tasks with random fates, and whatever became of them, keys have
// spent what the records say, every hold has one end, and units times prices are the cost to the last digit.
import { afterEach, describe, expect, it } from 'bun:test'
import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import fc from 'fast-check'
import { ROOT_KEY, startGateway, type Gateway } from './fakes/gateway.ts'
import { sayHello } from './fakes/agency.ts'
import { isNative, nativeSupplierAt } from './fakes/native-supplier.ts'
import { dataOf, expectSoundBooks, openHolds, readRecords } from './fakes/records.ts'
import { closeStreet, tidy, until } from './fakes/street.ts'
import { startFakeSupplier, type FakeReply, type Script } from './fakes/supplier.ts'
import {
  able,
  openWorkshop,
  PATHS,
  pathOf,
  RATES,
  soundOf,
  tasksAt,
  waveOf,
  type TaskModel,
} from './fakes/tasks.ts'

const RUNS = 40
const PATIENCE_MS = 120_000
/** The supplier embeds three texts at once, and there may be ten. */
const INPUTS_MAX = 3
const NATIVE_MODEL = 'native-model'
const KINDS = [
  'chat',
  'chat stream',
  'messages',
  'messages stream',
  'responses',
  'native',
  'embed',
  'rank',
  'hear',
  'speak',
] as const
type Kind = (typeof KINDS)[number]

/**
 * What a supplier does: `ok`; `untold` without a usage; `tokens` with tokens alone; `dear` with more than could be; `refused` by 400; `down` or
 * `broken` at the first of two; `torn` at both, of one piece alone where it comes in pieces; `cut` in the middle; `left`
 * while it works.
 */
const FATES = [
  'ok',
  'untold',
  'tokens',
  'dear',
  'refused',
  'down',
  'broken',
  'torn',
  'cut',
  'left',
] as const
type Fate = (typeof FATES)[number]
const AS_SENT: readonly Fate[] = ['ok', 'untold', 'tokens', 'down', 'broken']

interface Command {
  readonly kind: Kind
  readonly fate: Fate
  readonly size: number
  readonly key: number
}

const commands = fc.array(
  fc.array(
    fc.record<Command>({
      kind: fc.constantFrom(...KINDS),
      fate: fc.constantFrom(...FATES),
      size: fc.integer({ min: 1, max: 10 }),
      key: fc.integer({ min: 0, max: 2 }),
    }),
    { minLength: 1, maxLength: 5 },
  ),
  { minLength: 6, maxLength: 8 },
)

/** The second cannot pay for much; the third for nearly nothing. */
const LIMITS = [undefined, 0.01, 0.000_5]

afterEach(closeStreet)

interface Sent {
  readonly path: string
  readonly body: string | FormData
}

/** `mark` says in the text itself what is to become of it. */
function requestOf({ kind, size }: Command, mark: string): Sent {
  const json = (path: string, value: object): Sent => ({ path, body: JSON.stringify(value) })
  const text = `${mark} ${'word '.repeat(size)}`
  const messages = [{ role: 'user', content: text }]
  const chat = { model: 'test-model', max_tokens: 16 * size, messages }
  switch (kind) {
    case 'chat':
    case 'chat stream':
      return json('/v1/chat/completions', { ...chat, stream: kind === 'chat stream' })
    case 'messages':
    case 'messages stream':
      return json('/v1/messages', { ...chat, stream: kind === 'messages stream' })
    case 'responses':
      return json('/v1/responses', {
        model: 'test-model',
        max_output_tokens: 16 * size,
        input: text,
      })
    case 'native': {
      const input = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }]
      const limit = { max_output_tokens: 16 * size }
      return json('/v1/native/responses', { model: NATIVE_MODEL, stream: true, ...limit, input })
    }
    case 'embed': {
      const input = Array.from({ length: size }, (_, index) => `text ${index}`)
      return json('/v1/embeddings', { model: 'test-embed', input: [...input.slice(1), text] })
    }
    case 'rank': {
      const documents = Array.from({ length: size }, (_, index) => `document ${index}`)
      return json('/v1/rerank', { model: 'test-rank', query: text, documents })
    }
    case 'hear': {
      const form = new FormData()
      form.set('model', 'test-hear')
      form.set('prompt', text)
      form.set('file', new File([new Uint8Array(waveOf(size - 0.5))], 'talk.wav'))
      return { path: '/v1/audio/transcriptions', body: form }
    }
    default:
      return json('/v1/audio/speech', { model: 'test-speak', input: text, voice: 'alloy' })
  }
}

interface Told {
  readonly usage?: Readonly<Record<string, unknown>>
  readonly meta?: object
}

/** Its JSON answers with another usage. */
function altered(reply: FakeReply, change: (answer: Told) => object): FakeReply {
  return {
    ...reply,
    json: (status, value, headers) =>
      reply.json(status, typeof value === 'string' ? value : change(value as Told), headers),
  }
}

function untold({ usage: _usage, meta: _meta, ...rest }: Told): object {
  return rest
}

/** Of what is not paid by the token, too. */
function tokens({ usage, meta, ...rest }: Told): object {
  const isOther = meta !== undefined || usage?.['type'] === 'duration'
  const figures = { type: 'tokens', input_tokens: 3, output_tokens: 4, total_tokens: 7 }
  return { ...rest, usage: isOther ? figures : usage }
}

function dear({ usage, meta, ...rest }: Told): object {
  const figures = Object.keys(usage ?? {}).map((name) => [name, name === 'type' ? 'duration' : 9e6])
  return {
    ...rest,
    ...(usage !== undefined && { usage: Object.fromEntries(figures) as object }),
    ...(meta !== undefined && { meta: { billed_units: { search_units: 5000 } } }),
  }
}

/** Half of an answer, of the kind that was asked for, and the end of the connection. */
function cut(reply: FakeReply, isSound: boolean): void {
  const type = isSound ? 'audio/mpeg' : 'application/json'
  reply.raw(`HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 90000\r\n\r\n`)
  reply.raw(isSound ? soundOf('Hi') : '{"object":"list","data":[')
  reply.close()
}

/** Who has been asked for what, by the marks in what they were sent. */
class Witness {
  readonly #arrived = new Map<string, () => void>()
  readonly seen: string[] = []

  /** Resolves when the call has reached a supplier. */
  arrival(id: string): Promise<void> {
    return new Promise((resolve) => this.#arrived.set(id, resolve))
  }

  script(isFirst: boolean): Script {
    return (request, reply, index) => {
      const [, id = '', fate = 'ok'] =
        /call-(\w+) fate-(\w+)/.exec(request.body.toString('latin1')) ?? []
      this.seen.push(id)
      this.#arrived.get(id)?.()
      const answer = (to: FakeReply): void | Promise<void> =>
        isNative(request) ? sayHello(request, to, index) : able(request, to, index)
      const fails = isFirst || isNative(request)
      switch (fate as Fate) {
        case 'ok':
          return answer(reply)
        case 'untold':
          return answer(altered(reply, untold))
        case 'tokens':
          return answer(altered(reply, tokens))
        case 'dear':
          return answer(altered(reply, dear))
        case 'refused':
          return reply.json(400, { error: { message: 'No.', code: 'bad_thing' } })
        case 'down':
          return fails ? reply.json(500, { error: { message: 'out of order' } }) : answer(reply)
        case 'broken':
          return fails ? reply.json(200, '{"nonsense":') : answer(reply)
        case 'torn':
          return reply.json(500, { error: { message: 'out of order' } })
        case 'cut':
          return cut(reply, pathOf(request) === PATHS.speak)
        case 'left':
          return undefined
      }
    }
  }
}

interface Town {
  readonly gateway: Gateway
  readonly witness: Witness
  readonly keys: readonly { readonly id: string; readonly key: string }[]
}

async function openTown(): Promise<Town> {
  const witness = new Witness()
  const [first, second] = await Promise.all(
    [true, false].map(async (isFirst) => tidy(await startFakeSupplier(witness.script(isFirst)))),
  )
  const gateway = tidy(
    await startGateway({
      suppliers: [
        tasksAt(first!.origin, {}, INPUTS_MAX),
        tasksAt(second!.origin, { id: 'fake-2' }),
        nativeSupplierAt(second!.origin),
      ],
    }),
  )
  const signIn = { name: 'someone', supplier: 'native', access_token: crypto.randomUUID() }
  const signedIn = await gateway.manage('POST', '/native/identities', signIn)
  expect(signedIn.ok).toBe(true)
  const keys = await Promise.all(
    LIMITS.map((limit, index) =>
      gateway.createKey({
        name: `key ${index}`,
        ...(limit !== undefined && { budget_limit: limit }),
      }),
    ),
  )
  return { gateway, witness, keys }
}

interface Ended {
  readonly id: string
  readonly command: Command
  /** Undefined of a caller who has left. */
  readonly status: number | undefined
  readonly requestId: string | null
  readonly costUsd: string | null
}

async function perform(town: Town, command: Command, id: string): Promise<Ended> {
  const { gateway, witness, keys } = town
  const { path, body } = requestOf(command, `call-${id} fate-${command.fate}`)
  const control = new AbortController()
  if (command.fate === 'left') void witness.arrival(id).then(() => control.abort())
  try {
    const response = await fetch(gateway.url + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${keys[command.key]!.key}`,
        ...(typeof body === 'string' && { 'content-type': 'application/json' }),
      },
      body,
      signal: control.signal,
    })
    const told = {
      status: response.status,
      requestId: response.headers.get('x-request-id'),
      costUsd: response.headers.get('x-svc-cost-usd'),
    }
    // A sound that breaks off has begun with 200.
    await response.arrayBuffer().catch(() => {})
    return { id, command, ...told }
  } catch {
    return { id, command, status: undefined, requestId: null, costUsd: null }
  }
}

interface Row {
  readonly request_id: string
  readonly key: string
  readonly model: string
  readonly state: string
  readonly evidence: string | null
  readonly status: number
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost: number
  readonly overrun: number
  readonly held: number | null
  readonly hold: number | null
  readonly details: string | null
}

function readRows(gateway: Gateway): readonly Row[] {
  const database = new Database(join(dataOf(gateway), 'gateway.db'), { readonly: true })
  try {
    return database
      .query<Row, []>(
        `SELECT request_id, names.name AS key, model, state, evidence, status, input_tokens,
           output_tokens, cost, overrun, held, hold, details
         FROM audit JOIN names ON names.number = audit.key ORDER BY sequence`,
      )
      .all()
  } finally {
    database.close(true)
  }
}

interface Units {
  readonly searches?: number
  readonly characters?: number
  readonly seconds?: number
}

function unitsOf({ details }: Pick<Row, 'details'>): Units {
  return details === null ? {} : ((JSON.parse(details) as { units?: Units }).units ?? {})
}

/** Nano-dollars of all that a row tells, rounded once and up. */
function priceOf(row: Row): number {
  const id = row.model === NATIVE_MODEL ? 'test-model' : (row.model as TaskModel)
  const rates: Readonly<Record<string, number>> = RATES[id]
  const { searches = 0, characters = 0, seconds = 0 } = unitsOf(row)
  const parts: readonly (readonly [number, string])[] = [
    [row.input_tokens ?? 0, 'input'],
    [row.output_tokens ?? 0, 'output'],
    [searches, 'search'],
    [characters, 'character'],
    [seconds, 'second'],
  ]
  const pico = parts.reduce(
    (sum, [count, unit]) => sum + BigInt(count) * BigInt(rates[unit] ?? 0),
    0n,
  )
  return Number((pico + 999n) / 1000n)
}

function expectRow(row: Row): void {
  const { state, evidence, cost, overrun, held } = row
  if (state !== 'settled') {
    expect([cost, overrun], `${row.request_id} is ${state}`).toEqual([0, 0])
    return
  }
  expect(cost, `${row.request_id} is within its hold`).toBeLessThanOrEqual(held!)
  // What the supplier has told is paid to the last digit, by the operator what was not held for; a guess is cut.
  if (evidence === 'reported') expect(cost + overrun, JSON.stringify(row)).toBe(priceOf(row))
  else expect([cost, overrun], JSON.stringify(row)).toEqual([Math.min(priceOf(row), held!), 0])
  if (overrun > 0) expect(cost).toBe(held!)
}

async function expectSpent({ gateway, keys }: Town, rows: readonly Row[]): Promise<void> {
  for (const [index, { id }] of keys.entries()) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const shown = (await (await gateway.manage('GET', `/keys/${id}`)).json()) as {
      readonly budget_used: number
      readonly budget_held: number | null
    }
    const spent = rows.filter(({ key }) => key === id).reduce((sum, { cost }) => sum + cost, 0)
    expect(Math.round(shown.budget_used * 1e9), `what key ${index} has spent`).toBe(spent)
    // Without a budget there is none to be held from.
    expect(shown.budget_held ?? 0).toBe(0)
    expect(spent).toBeLessThanOrEqual((LIMITS[index] ?? Infinity) * 1e9)
  }
}

function expectEnds({ gateway }: Town, rows: readonly Row[]): void {
  const { holds } = readRecords(dataOf(gateway))
  const ends = rows.filter(({ hold }) => hold !== null)
  // One end for each hold, and what it says was held is what was.
  expect(ends.map(({ hold, held }) => `${hold} ${held}`).toSorted()).toEqual(
    holds.map(({ number, amount }) => `${number} ${amount}`).toSorted(),
  )
  for (const row of rows) expectRow(row)
}

/** What callers were told, against the records and what suppliers have seen. */
function expectTold({ witness }: Town, ended: readonly Ended[], rows: readonly Row[]): void {
  const byRequest = new Map(rows.map((row) => [row.request_id, row]))
  for (const { id, command, status, requestId, costUsd } of ended) {
    const row = byRequest.get(requestId ?? '')
    const what = `${JSON.stringify(command)}: ${status}`
    const isUnpaid = status === 402 || status === 429
    if (isUnpaid && row?.hold == null) expect(witness.seen, what).not.toContain(id)
    if (status === 200) expect(row?.state, what).toBe('settled')
    // A sound that breaks off was told a price at its beginning, and is free.
    const isBroken = command.kind === 'speak' && command.fate === 'cut'
    if (status === 200 && costUsd !== null && !isBroken)
      expect(Math.round(Number(costUsd) * 1e9), what).toBe(row!.cost)
    if (status === 200 && AS_SENT.includes(command.fate)) expectUnits(command, row!, what)
  }
}

/** Where nobody has told another figure, what was counted is what was sent. */
function expectUnits({ kind, size }: Command, row: Row, what: string): void {
  const { searches, characters, seconds } = unitsOf(row)
  if (kind === 'rank') expect(searches, what).toBe(1)
  // Half a second that has begun counts.
  if (kind === 'hear') expect(seconds, what).toBe(size)
  if (kind === 'speak') expect(characters, what).toBeGreaterThan(5 * size)
}

describe('money over all endpoints', () => {
  it(
    'adds up, whatever becomes of the calls',
    async () => {
      await fc.assert(
        fc.asyncProperty(commands, async (waves) => {
          const town = await openTown()
          const ended: Ended[] = []
          for (const [index, wave] of waves.entries())
            ended.push(
              // oxlint-disable-next-line no-await-in-loop -- one wave after the other
              ...(await Promise.all(
                wave.map((command, place) => perform(town, command, `${index}x${place}`)),
              )),
            )
          // Of who has left, the books are closed a moment later.
          await until(() => openHolds(readRecords(dataOf(town.gateway))).length === 0)
          const rows = readRows(town.gateway)
          expectEnds(town, rows)
          await expectSpent(town, rows)
          expectTold(town, ended, rows)
          await expectSoundBooks(dataOf(town.gateway))
          await closeStreet()
        }),
        { numRuns: RUNS, endOnFailure: true },
      )
    },
    PATIENCE_MS,
  )
})

/** The tasks whose most is known beforehand to the last unit, and what it is in nano-dollars. */
const EXACT: readonly (readonly [Kind, number, number])[] = [
  ['rank', 3, 2_000_000],
  ['hear', 3, 300_000],
  ['speak', 1, 15_000 * 'call-0 fate-ok word '.length],
]

function commandOf(kind: Kind, size: number): Sent {
  return requestOf({ kind, size, fate: 'ok', key: 0 }, 'call-0 fate-ok')
}

function send({ url }: Gateway, key: string, { path, body }: Sent): Promise<Response> {
  return fetch(url + path, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      ...(typeof body === 'string' && { 'content-type': 'application/json' }),
    },
    body,
  })
}

describe('what a call can cost', () => {
  it.each(EXACT)(
    'is held for %s to the last digit, or nobody is asked',
    async (kind, size, most) => {
      const { gateway, supplier } = await openWorkshop()
      const short = { name: 'short', budget_limit: (most - 1) / 1e9 }
      const refused = await send(
        gateway,
        (await gateway.createKey(short)).key,
        commandOf(kind, size),
      )
      expect(refused.status).toBe(402)
      expect(await refused.json()).toMatchObject({ error: { code: 'budget_exceeded' } })
      expect(supplier.requests).toEqual([])
      const enough = { name: 'enough', budget_limit: most / 1e9 }
      const { key } = await gateway.createKey(enough)
      const answer = await send(gateway, key, commandOf(kind, size))
      await answer.arrayBuffer()
      expect(answer.status).toBe(200)
      expect(readRecords(dataOf(gateway)).holds.map(({ amount }) => amount)).toEqual([most])
      // And then there is nothing left.
      expect((await send(gateway, key, commandOf(kind, size))).status).toBe(402)
      expect(supplier.requests).toHaveLength(1)
    },
  )

  it.each(['embed', 'rank', 'hear', 'speak'] as const)(
    'stands in the books of %s when the supplier is asked',
    async (kind) => {
      const held: number[] = []
      const { gateway } = await openWorkshop((request, reply, index) => {
        held.push(openHolds(readRecords(dataOf(gateway))).length)
        return able(request, reply, index)
      })
      const answer = await send(gateway, ROOT_KEY, commandOf(kind, 2))
      await answer.arrayBuffer()
      expect(answer.status).toBe(200)
      expect(held).toEqual([1])
    },
  )
})

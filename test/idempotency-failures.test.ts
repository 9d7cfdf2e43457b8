// Calls under an Idempotency-Key that fail: the key is free again where nobody has worked for it, and answers as
// before where somebody may have.
import { Database } from 'bun:sqlite'
import { afterEach, describe, expect, it, spyOn } from 'bun:test'
import { join } from 'node:path'
import { Ticket } from '../src/access/claims.ts'
import { HELLO, startGateway, supplierAt, type Gateway } from './fakes/gateway.ts'
import { dataOf, endsOf, expectSoundBooks, readRecords } from './fakes/records.ts'
import {
  closeStreet,
  createGate,
  good,
  HI,
  openStreet,
  readText,
  refuse,
  ROLE,
  sendEvents,
  tidy,
  until,
  type Street,
} from './fakes/street.ts'
import type { Script } from './fakes/supplier.ts'

afterEach(closeStreet)

const STREAM = { ...HELLO, stream: true }

interface Told {
  readonly status: number
  readonly text: string
  readonly code: string | undefined
  readonly isReplayed: boolean
  readonly retry: string | null
}

async function ask(gateway: Gateway, body: unknown = HELLO): Promise<Told> {
  const response = await gateway.chat(body, { headers: { 'idempotency-key': 'once' } })
  const { status, headers } = response
  const text = await response.text()
  return {
    status,
    text,
    code: /"code":"(\w+)"/.exec(text)?.[1],
    isReplayed: headers.get('idempotency-replayed') === 'true',
    retry: headers.get('x-should-retry'),
  }
}

const reset: Script = (_, reply) => reply.reset()

/** Does these in turn, the last one for ever. */
function inTurn(...scripts: readonly Script[]): Script {
  return (request, reply, index) =>
    scripts[Math.min(index, scripts.length - 1)]!(request, reply, index)
}

describe.each([
  ['whole', HELLO],
  ['streamed', STREAM],
])('a call that nobody has worked for, %s', (_, body) => {
  it.each([
    ['refused by its supplier', 400, refuse(400, { message: 'no', code: 'bad' })],
    ['out of luck', 503, refuse(503, { message: 'no' })],
    ['out of capacity', 429, refuse(429, { message: 'no' })],
  ])('%s is a clean retry', async (_name, status, first) => {
    const { gateway, suppliers } = await openStreet([inTurn(first, good)])
    expect(await ask(gateway, body)).toMatchObject({ status, isReplayed: false })
    expect(await ask(gateway, body)).toMatchObject({ status: 200, isReplayed: false })
    expect(await ask(gateway, body)).toMatchObject({ status: 200, isReplayed: true })
    expect(suppliers[0]!.requests).toHaveLength(2)
    await gateway.drain()
    await expectSoundBooks(dataOf(gateway))
  })

  it('because nobody was reached is a clean retry, also for another request', async () => {
    const { gateway, suppliers } = await openStreet([good])
    await suppliers[0]!.stop()
    expect(await ask(gateway, body)).toMatchObject({ status: 503, isReplayed: false })
    expect(await ask(gateway, { ...body, max_tokens: 7 })).toMatchObject({
      status: 503,
      code: 'all_providers_exhausted',
      isReplayed: false,
    })
  })

  it('because it was refused here is a clean retry, also for another request', async () => {
    const { gateway } = await openStreet([good])
    expect(await ask(gateway, { ...body, model: 'nobody-has-it' })).toMatchObject({ status: 404 })
    expect(await ask(gateway, body)).toMatchObject({ status: 200, isReplayed: false })
  })
})

describe.each([
  ['whole', HELLO],
  ['streamed', STREAM],
])('a call that somebody may have worked for, %s', (_, body) => {
  it('and that broke off is not sent again, and says so', async () => {
    const { gateway, suppliers } = await openStreet([inTurn(reset, good)])
    const first = await ask(gateway, body)
    expect(first).toMatchObject({
      status: 503,
      code: 'all_providers_exhausted',
      isReplayed: false,
      retry: 'false',
    })
    const again = await ask(gateway, body)
    expect(again).toEqual({ ...first, isReplayed: true })
    expect(again.text).toContain('"retryable":false')
    expect(again.text).toContain('use a new one')
    expect(again.text).toContain('The supplier that was asked failed. A supplier may have')
    expect(again.text).not.toMatch(/try again|retry it/i)
    expect(suppliers[0]!.requests).toHaveLength(1)
  })

  it('is not sent again either where the last one that was asked refused it', async () => {
    const { gateway, suppliers } = await openStreet([
      inTurn(reset, good),
      inTurn(refuse(503, { message: 'no' }), good),
    ])
    expect(await ask(gateway, body)).toMatchObject({ status: 503, isReplayed: false })
    expect(await ask(gateway, body)).toMatchObject({ status: 503, isReplayed: true })
    expect(suppliers.map(({ requests }) => requests.length)).toEqual([1, 1])
  })
})

it('a stream that broke after content is shown again as broken as it was', async () => {
  const { gateway, suppliers } = await openStreet([
    inTurn((_, reply) => sendEvents(reply, [ROLE, HI]), good),
  ])
  const first = await ask(gateway, STREAM)
  expect(first).toMatchObject({ status: 200, code: 'stream_interrupted', isReplayed: false })
  const again = await ask(gateway, STREAM)
  expect(again).toMatchObject({ status: 200, text: first.text, isReplayed: true })
  expect(suppliers[0]!.requests).toHaveLength(1)
})

it('a stream that failed after a sign of life frees its key where nobody has worked for it', async () => {
  let fail = (): void => {}
  const { gateway, suppliers, clock } = await openStreet([
    inTurn((_, reply) => {
      fail = () => reply.json(503, { error: { message: 'no' } })
    }, good),
  ])
  const first = ask(gateway, STREAM)
  await suppliers[0]!.request(0)
  clock.advance(15_000)
  fail()
  expect(await first).toMatchObject({ status: 200, code: 'all_providers_exhausted' })
  expect(await ask(gateway, STREAM)).toMatchObject({ status: 200, isReplayed: false })
  expect(suppliers[0]!.requests).toHaveLength(2)
})

it('a stream that failed after a sign of life is shown again where somebody may have', async () => {
  let fail = (): void => {}
  const { gateway, suppliers, clock } = await openStreet([
    inTurn((_, reply) => {
      fail = () => reply.reset()
    }, good),
  ])
  const first = ask(gateway, STREAM)
  await suppliers[0]!.request(0)
  clock.advance(15_000)
  fail()
  expect((await first).text).toStartWith(': keep-alive')
  const again = await ask(gateway, STREAM)
  expect(again).toMatchObject({ status: 200, code: 'all_providers_exhausted', isReplayed: true })
  expect(again.text).not.toContain('keep-alive')
  expect(suppliers[0]!.requests).toHaveLength(1)
})

const untilLeft = (gateway: Gateway): Promise<void> =>
  until(() => gateway.audit().some(({ status }) => status === 499))

it('a caller that hangs up after a sign of life finds the key free where nobody has worked', async () => {
  const gate = createGate()
  const { gateway, suppliers, clock } = await openStreet([
    inTurn(async (_, reply) => {
      await gate.opened
      return reply.json(503, { error: { message: 'no' } })
    }, good),
    good,
  ])
  const leaving = new AbortController()
  const init = { headers: { 'idempotency-key': 'once' }, signal: leaving.signal }
  const answering = gateway.chat(STREAM, init)
  await suppliers[0]!.request(0)
  clock.advance(15_000)
  await readText(await answering).until('keep-alive')
  leaving.abort()
  await until(() => gateway.app.pending() === 0)
  gate.open()
  await untilLeft(gateway)
  expect(await ask(gateway, STREAM)).toMatchObject({ status: 200, isReplayed: false })
  expect(suppliers.map(({ requests }) => requests.length)).toEqual([2, 0])
})

it.each([
  ['whole', HELLO],
  ['streamed', STREAM],
])('a fault of our own while an answer is kept lets go of its key, %s', async (_, body) => {
  const { gateway, suppliers } = await openStreet([good])
  const add = spyOn(Ticket.prototype, 'add').mockImplementation(() => {
    throw new Error('our own fault')
  })
  try {
    await ask(gateway, body).catch(() => {})
    await until(() => gateway.audit().length > 0)
  } finally {
    add.mockRestore()
  }
  expect(await ask(gateway, body)).toMatchObject({ status: 409, code: 'payload_not_durable' })
  expect(suppliers[0]!.requests).toHaveLength(1)
})

it('a failure is kept in one commit with the end of its call', async () => {
  const { gateway, suppliers, clock } = await openStreet([inTurn(reset, good)])
  const database = new Database(join(dataOf(gateway), 'gateway.db'))
  database.run(
    "CREATE TRIGGER full BEFORE UPDATE ON claims BEGIN SELECT RAISE(ABORT, 'no room'); END",
  )
  const first = await ask(gateway)
  expect(first).toMatchObject({ status: 503, isReplayed: false })
  expect(endsOf(readRecords(dataOf(gateway)))).toEqual([])
  expect(await ask(gateway)).toMatchObject({ code: 'operation_in_progress' })
  database.run('DROP TRIGGER full')
  database.close(true)
  clock.advance(1000)
  await until(() => endsOf(readRecords(dataOf(gateway))).length > 0)
  expect(await ask(gateway)).toEqual({ ...first, isReplayed: true })
  expect(suppliers[0]!.requests).toHaveLength(1)
})

describe('a caller that hangs up while the first supplier is about to fail', () => {
  const scene = async (failure: Script): Promise<Street> => {
    const gate = createGate()
    const street = await openStreet([
      inTurn(async (request, reply, index) => {
        await gate.opened
        return failure(request, reply, index)
      }, good),
      good,
    ])
    const { gateway, suppliers } = street
    const leaving = new AbortController()
    const answering = gateway.chat(HELLO, {
      headers: { 'idempotency-key': 'once' },
      signal: leaving.signal,
    })
    await suppliers[0]!.request(0)
    leaving.abort()
    await answering.catch(() => {})
    await until(() => gateway.app.pending() === 0)
    gate.open()
    await untilLeft(gateway)
    return street
  }
  const asked = ({ suppliers }: Street): readonly number[] =>
    suppliers.map(({ requests }) => requests.length)

  it('finds the key free where it has refused, and nobody else was asked', async () => {
    const street = await scene(refuse(503, { message: 'no' }))
    expect(asked(street)).toEqual([1, 0])
    expect(await ask(street.gateway)).toMatchObject({ status: 200, isReplayed: false })
    expect(asked(street)).toEqual([2, 0])
  })

  it('finds the answer of the next one where it may have worked', async () => {
    const street = await scene(reset)
    expect(asked(street)).toEqual([1, 1])
    expect(await ask(street.gateway)).toMatchObject({ status: 200, isReplayed: true })
    expect(asked(street)).toEqual([1, 1])
  })
})

describe.each([
  ['answered', good, { status: 200, isReplayed: true }, 1],
  ['refused', refuse(503, { message: 'no' }), { status: 200, isReplayed: false }, 2],
] as const)('a call that is %s while the books cannot be written', (_, script, later, times) => {
  it('keeps its key until they can, and then has it as it should be', async () => {
    let lock = (): void => {}
    const { gateway, suppliers, clock } = await openStreet([
      inTurn((request, reply, index) => {
        lock()
        return script(request, reply, index)
      }, good),
    ])
    const database = new Database(join(dataOf(gateway), 'gateway.db'))
    lock = () => void database.run('BEGIN IMMEDIATE')
    const first = await ask(gateway)
    expect(first.isReplayed).toBe(false)
    expect(await ask(gateway)).toMatchObject({ status: 409, code: 'operation_in_progress' })
    database.run('ROLLBACK')
    database.close(true)
    clock.advance(1000)
    await until(() => endsOf(readRecords(dataOf(gateway))).length > 0)
    expect(await ask(gateway)).toMatchObject(later)
    expect(suppliers[0]!.requests).toHaveLength(times)
    await gateway.drain()
    await expectSoundBooks(dataOf(gateway))
  })

  it('has it as it should be where only the end of the process can write it', async () => {
    let lock = (): void => {}
    const { gateway, suppliers, clock } = await openStreet([
      inTurn((request, reply, index) => {
        lock()
        return script(request, reply, index)
      }, good),
    ])
    const database = new Database(join(dataOf(gateway), 'gateway.db'))
    lock = () => void database.run('BEGIN IMMEDIATE')
    await ask(gateway)
    database.run('ROLLBACK')
    database.close(true)
    await gateway.drain()
    const next = tidy(
      await startGateway({
        clock,
        suppliers: [supplierAt(suppliers[0]!.origin)],
        environment: { GATEWAY_DATA: dataOf(gateway) },
      }),
    )
    expect(await ask(next)).toMatchObject(later)
    expect(suppliers[0]!.requests).toHaveLength(times)
  })
})

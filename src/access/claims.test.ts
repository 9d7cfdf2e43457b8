// The desk of Idempotency-Keys over a store that answers when it is told to: who goes on, who gets the answer of
// another, and who is refused.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import type { AuditRow } from '../core/audit.ts'
import type { ClaimRecord } from '../core/claim.ts'
import { NO_LIMITS, NO_TIES, type KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import { Secret } from '../core/secret.ts'
import type { ClaimRepository, KeptBytes, KeptClaim, SweptClaims } from '../store/store.ts'
import {
  Claims,
  readIdempotencyKey,
  Ticket,
  type ClaimedRequest,
  type ClaimPolicy,
  type Replay,
} from './claims.ts'
import { KEPT_ANSWERS, Vault } from './vault.ts'

const HOUR_MS = 3_600_000
const POLICY: ClaimPolicy = { keepMs: 24 * HOUR_MS, answerBytesMax: 100, totalBytesMax: 10_000 }
const HEAD = { status: 200, headers: { 'content-type': 'text/plain' } }

class FakeRepository implements ClaimRepository {
  readonly rows = new Map<string, ClaimRecord>()
  readonly answers = new Map<string, Uint8Array>()
  /** How many answers were read. */
  reads = 0
  isDown = false
  sweeps: number[] = []
  /** How many it removes in a sweep. */
  step = Number.POSITIVE_INFINITY

  async find(id: string): Promise<KeptClaim | undefined> {
    const row = this.rows.get(id)
    return row === undefined ? undefined : { ...row, hasAnswer: this.answers.has(id) }
  }

  async answer(id: string): Promise<Uint8Array | undefined> {
    this.reads += 1
    return this.answers.get(id)
  }

  async add(claim: ClaimRecord): Promise<void> {
    if (!this.rows.has(claim.id)) this.rows.set(claim.id, claim)
  }

  async keep(id: string, answer: Uint8Array): Promise<boolean> {
    if (this.isDown) throw new Error('the disk is full')
    if (this.rows.has(id)) this.answers.set(id, answer)
    return this.rows.has(id)
  }

  async drop(id: string): Promise<readonly KeptBytes[]> {
    if (this.isDown) throw new Error('the disk is full')
    const freed = this.#sizesOf([id])
    this.rows.delete(id)
    this.answers.delete(id)
    return freed
  }

  async sweep(before: number): Promise<SweptClaims> {
    this.sweeps.push(before)
    const old = [...this.rows.values()]
      .filter(({ at }) => at < before)
      .map(({ id }) => id)
      .slice(0, this.step)
    const freed = (await Promise.all(old.map((id) => this.drop(id)))).flat()
    return { count: old.length, freed }
  }

  async sizes(): Promise<readonly KeptBytes[]> {
    return this.#sizesOf([...this.answers.keys()])
  }

  #sizesOf(ids: readonly string[]): readonly KeptBytes[] {
    return ids
      .filter((id) => this.answers.has(id))
      .map((id) => ({
        accountId: this.rows.get(id)!.accountId,
        bytes: this.answers.get(id)!.length,
      }))
  }
}

function open(policy: Partial<ClaimPolicy> = {}, store = new FakeRepository()) {
  const clock = createFakeClock()
  const states = new Map<string, string>()
  const rows = new Map<string, AuditRow>()
  const resolvesAt: { ms: number | undefined } = { ms: undefined }
  const find = (id: string): { state: string } | undefined => {
    const state = states.get(id)
    return state === undefined ? undefined : { state }
  }
  const secret = new Secret('s'.repeat(32))
  const desk = new Claims({
    claims: store,
    audit: { find: async (_, id) => rows.get(id) },
    ledger: { now: () => clock.now(), find, resolvesAt: () => resolvesAt.ms },
    vault: new Vault({
      purpose: KEPT_ANSWERS,
      secret,
      file: '/nowhere/gateway.key',
      warn() {},
    }),
    clock,
    policy: { ...POLICY, ...policy },
    warn() {},
  })
  void desk.open()
  return { clock, store, states, rows, resolvesAt, desk }
}

const key: KeyRecord = {
  ...NO_LIMITS,
  ...NO_TIES,
  id: 'key_1',
  name: 'a key',
  accountId: 'acc_1',
  kind: 'managed',
  hash: '',
  createdAt: 0,
}

/** The store of these tests takes no time, so whatever was begun in this turn has ended after it. */
const settled = (): Promise<unknown> => new Promise((resolve) => setImmediate(resolve))

let count = 0

function ask(changes: Partial<ClaimedRequest> & { readonly text?: string } = {}): ClaimedRequest {
  const { text = 'body', ...others } = changes
  return {
    key,
    header: 'once',
    requestId: `req_${count++}`,
    request: new Request('http://gateway.test/v1/chat/completions', { method: 'POST' }),
    body: new TextEncoder().encode(text),
    work: 'call',
    ...others,
  }
}

async function begin(desk: Claims, asked = ask()): Promise<Ticket> {
  const begun = await desk.begin(asked)
  if (begun instanceof Ticket) return begun
  throw new Error('it was answered from before')
}

async function replay(desk: Claims, asked = ask()): Promise<Replay> {
  const begun = await desk.begin(asked)
  if (!(begun instanceof Ticket)) return begun
  throw new Error('it was let through')
}

/** As the hold would write it. */
async function hold({ store, clock }: ReturnType<typeof open>, ticket: Ticket): Promise<void> {
  const { record, requestId, accountId } = ticket
  await store.add({ ...record, requestId, accountId, at: clock.now() })
}

async function run(house: ReturnType<typeof open>, text = 'the answer'): Promise<Ticket> {
  const ticket = await begin(house.desk)
  await hold(house, ticket)
  ticket.add(new TextEncoder().encode(text))
  await ticket.keep(HEAD)
  return ticket
}

const thrownBy = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )

describe('many at once', () => {
  it('one goes on, whatever the store takes its time for', async () => {
    const { desk } = open()
    const all = await Promise.allSettled(Array.from({ length: 100 }, () => desk.begin(ask())))
    const through = all.filter(({ status }) => status === 'fulfilled')
    expect(through).toHaveLength(1)
    for (const each of all)
      if (each.status === 'rejected')
        expect(each.reason).toMatchObject({
          code: 'operation_in_progress',
          retryAfter: 1,
          details: { request_id: (through[0] as { value: Ticket }).value.requestId },
        })
  })

  it('all get the answer that is there already', async () => {
    const house = open()
    await run(house)
    const all = await Promise.all(Array.from({ length: 100 }, () => replay(house.desk)))
    for (const { body } of all) expect(new TextDecoder().decode(body)).toBe('the answer')
  })

  it('another request under the key of one that runs is in conflict', async () => {
    const { desk } = open()
    await begin(desk)
    expect(await thrownBy(desk.begin(ask({ text: 'other' })))).toMatchObject({
      code: 'idempotency_conflict',
      status: 422,
      retryable: false,
    })
  })

  it('are nothing to each other with other keys, or as other callers', async () => {
    const { desk } = open()
    await begin(desk)
    await begin(desk, ask({ header: 'twice' }))
    await begin(desk, ask({ key: { ...key, id: 'key_2' } }))
  })
})

describe('what has run', () => {
  it('is answered with status, headers and bytes as they were', async () => {
    const house = open()
    const { requestId } = await run(house)
    const found = await replay(house.desk)
    expect(found).toMatchObject({ ...HEAD, requestId })
    expect(Buffer.from([...house.store.answers.values()][0]!).includes('answer')).toBe(false)
  })

  it.each([
    ['body', ask({ text: 'other' })],
    ['query', ask({ request: new Request('http://gateway.test/v1/chat/completions?a=1') })],
    ['path', ask({ request: new Request('http://gateway.test/v1/other', { method: 'POST' }) })],
    [
      'method',
      ask({ request: new Request('http://gateway.test/v1/chat/completions', { method: 'PATCH' }) }),
    ],
    [
      'project',
      ask({
        request: new Request('http://gateway.test/v1/chat/completions', {
          method: 'POST',
          headers: { 'x-svc-project': 'prj_other' },
        }),
      }),
    ],
  ])('is in conflict with another %s', async (_, asked) => {
    const house = open()
    await run(house)
    expect(await thrownBy(house.desk.begin(asked))).toMatchObject({ code: 'idempotency_conflict' })
  })

  it('is answered as it was, whatever became of the buffers that it came in', async () => {
    const house = open()
    const ticket = await begin(house.desk)
    await hold(house, ticket)
    const buffer = new TextEncoder().encode('first ')
    ticket.add(buffer)
    ticket.add(new TextEncoder().encode('second'))
    buffer.fill(0)
    await ticket.keep(HEAD)
    expect(new TextDecoder().decode((await replay(house.desk)).body)).toBe('first second')
  })

  it('is told to have run where its answer was too large', async () => {
    const house = open()
    const { requestId } = await run(house, 'x'.repeat(101))
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({
      code: 'payload_not_durable',
      status: 409,
      retryable: false,
      details: { request_id: requestId },
    })
    expect(house.desk.gathered).toBe(0)
  })

  it('is told to have run where no answers are kept', async () => {
    const house = open({ answerBytesMax: 0 })
    const ticket = await run(house, '')
    expect(ticket.isKeeping).toBe(false)
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({ code: 'payload_not_durable' })
  })

  it('is told who can look it up, and whether anybody saw its end', async () => {
    const house = open({ answerBytesMax: 0 })
    const { requestId } = await run(house, '')
    const told = async (row?: Partial<AuditRow>): Promise<string> => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that is read of it
      if (row !== undefined) house.rows.set(requestId, row as AuditRow)
      const thrown = await thrownBy(house.desk.begin(ask()))
      return thrown instanceof GatewayError ? thrown.message : ''
    }
    const root = `The holder of the root key sees what it cost: GET /v1/manage/calls/${requestId}.`
    expect(await told()).toContain('was carried out')
    expect(await told()).toContain(root)
    expect(await told({ evidence: 'reported', state: 'settled', projectId: 'prj_1' })).toContain(
      'The holder of the root key or of a token that manages its project sees',
    )
    const rule = { resolved: { by: 'ledger.recovery: charge_estimate', reason: '' } }
    const lost = await told({ evidence: 'crashed', state: 'settled', details: rule })
    expect(lost).toContain('Nobody saw the end of this call')
    expect(lost).toContain("It was charged by the operator's rule")
    expect(lost).not.toContain('carried out')
    expect(await told({ evidence: 'crashed', state: 'voided', details: rule })).toContain(
      "It was not charged by the operator's rule",
    )
    const hand = { resolved: { by: 'key_root', reason: 'seen' } }
    expect(await told({ evidence: 'crashed', state: 'settled', details: hand })).toContain(
      'It was charged by a decision of the holder of the root key',
    )
  })

  it('is told to be in review, or to run, as the books have it', async () => {
    const house = open()
    const ticket = await begin(house.desk)
    await hold(house, ticket)
    ticket.release()
    house.states.set(ticket.requestId, 'review')
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({
      code: 'operation_unknown',
      status: 409,
      retryable: false,
      message: expect.stringContaining('Only the holder of the root key can resolve it.'),
      details: {
        request_id: ticket.requestId,
        resolves_at: null,
        resolve: `the holder of the root key, by POST /v1/manage/reviews/${ticket.requestId}`,
      },
    })
    house.resolvesAt.ms = Date.UTC(2026, 0, 15, 12)
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({
      message: expect.stringContaining('It is resolved by 2026-01-15T12:00:00.000Z, or earlier'),
      details: { resolves_at: '2026-01-15T12:00:00.000Z' },
    })
    house.states.set(ticket.requestId, 'held')
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({ code: 'operation_in_progress' })
  })

  it('is forgotten after its time, unless nobody knows its end', async () => {
    const house = open()
    const ticket = await run(house)
    house.clock.sleep(POLICY.keepMs - 1)
    await replay(house.desk)
    house.clock.sleep(1)
    house.states.set(ticket.requestId, 'review')
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({ code: 'operation_unknown' })
    house.states.clear()
    await begin(house.desk)
    expect(house.store.rows.size).toBe(0)
  })
})

describe('what has not run', () => {
  it('leaves its key free', async () => {
    const { desk } = open()
    const first = await begin(desk)
    first.release()
    await begin(desk, ask({ text: 'other' }))
    // Of an earlier holder of the key, who has no say in it any more.
    first.release()
    expect(await thrownBy(desk.begin(ask({ text: 'other' })))).toMatchObject({
      code: 'operation_in_progress',
    })
  })

  it('frees its key again where the hold was written', async () => {
    const house = open()
    const ticket = await begin(house.desk)
    await hold(house, ticket)
    ticket.drop()
    await settled()
    expect(house.store.rows.size).toBe(0)
    await begin(house.desk)
  })
})

it('writes the last word of a call as soon as the store can', async () => {
  const house = open()
  house.store.isDown = true
  await run(house)
  expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({ code: 'operation_in_progress' })
  house.clock.advance(1000)
  await settled()
  house.store.isDown = false
  house.clock.advance(1000)
  await settled()
  expect(new TextDecoder().decode((await replay(house.desk)).body)).toBe('the answer')
  expect(house.desk.gathered).toBe(0)
})

it('writes it at the end of the process, where nothing ticks any more', async () => {
  const house = open()
  house.store.isDown = true
  await run(house)
  house.store.isDown = false
  await house.desk.close()
  expect(new TextDecoder().decode((await replay(house.desk)).body)).toBe('the answer')
})

describe('the room for answers', () => {
  const other: KeyRecord = { ...key, id: 'key_2', accountId: 'acc_2' }
  let keys = 0

  /** Whether the answer of a new request was kept. */
  async function fill(house: ReturnType<typeof open>, bytes: number, by = key): Promise<boolean> {
    const asked = { key: by, header: `fill-${keys++}` }
    const ticket = await begin(house.desk, ask(asked))
    await hold(house, ticket)
    const kept = house.store.answers.size
    ticket.add(new Uint8Array(bytes))
    await ticket.keep(HEAD)
    return house.store.answers.size > kept
  }

  async function fillUp(house: ReturnType<typeof open>, by = key): Promise<number> {
    const kept = await fill(house, 900, by)
    return kept ? 1 + (await fillUp(house, by)) : 0
  }

  const POLICY_OF_TEN = { answerBytesMax: 1000, totalBytesMax: 10_000 }

  async function bytesOf(house: ReturnType<typeof open>, accountId: string): Promise<number> {
    const sizes = await house.store.sizes()
    return sizes.reduce((sum, each) => sum + (each.accountId === accountId ? each.bytes : 0), 0)
  }

  it('is never filled by one account: another finds as much as is left', async () => {
    const house = open(POLICY_OF_TEN)
    await fillUp(house)
    expect(await bytesOf(house, 'acc_1')).toBeWithin(4000, 5001)
    expect(await fillUp(house, other)).toBeGreaterThan(0)
    expect((await bytesOf(house, 'acc_1')) + (await bytesOf(house, 'acc_2'))).toBeLessThan(8000)
    expect(await fill(house, 900)).toBe(false)
  })

  it('leaves the claim where it is used up, and nobody waits for the answer', async () => {
    const house = open(POLICY_OF_TEN)
    await fillUp(house)
    const ticket = await begin(house.desk)
    await hold(house, ticket)
    ticket.add(new Uint8Array(999))
    expect(ticket.isKeeping).toBe(false)
    await ticket.keep(HEAD)
    expect(house.desk.gathered).toBe(0)
    expect(await thrownBy(house.desk.begin(ask()))).toMatchObject({ code: 'payload_not_durable' })
  })

  it('is bounded in memory for all together, and there again for whoever comes later', async () => {
    const house = open({ answerBytesMax: 1e9, totalBytesMax: 1e12 })
    const tickets = await Promise.all(
      ['one', 'two', 'three'].map((header) => begin(house.desk, ask({ header }))),
    )
    const [first, second, third] = tickets as [Ticket, Ticket, Ticket]
    const most = new Uint8Array(64 * 1_048_576)
    first.add(most)
    expect([first.isKeeping, house.desk.gathered]).toEqual([true, most.length])
    second.add(new Uint8Array(1))
    expect([second.isKeeping, house.desk.gathered]).toEqual([false, most.length])
    first.release()
    third.add(new Uint8Array(1))
    expect([third.isKeeping, house.desk.gathered]).toEqual([true, 1])
  })

  it('is none at zero', async () => {
    const house = open({ totalBytesMax: 0 })
    expect((await begin(house.desk)).isKeeping).toBe(false)
  })

  it('is there again for what is removed, freed or forgotten', async () => {
    const house = open(POLICY_OF_TEN)
    const count = await fillUp(house)
    house.clock.advance(POLICY.keepMs)
    await settled()
    house.clock.advance(61_000)
    await settled()
    expect(house.store.answers.size).toBe(0)
    expect(await fillUp(house)).toBe(count)
    for (const id of house.store.answers.keys())
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await house.desk.free(id)
    expect(await fillUp(house)).toBe(count)
    // Of a claim that somebody removed there is nothing to keep.
    await Promise.all([...house.store.rows.keys()].map((id) => house.desk.free(id)))
    for (let index = 0; index < 20; index++) {
      // oxlint-disable-next-line no-await-in-loop -- the same
      const ticket = await begin(house.desk, ask({ header: `gone-${index}` }))
      ticket.add(new Uint8Array(900))
      // oxlint-disable-next-line no-await-in-loop -- the same
      await ticket.keep(HEAD)
    }
    expect(await fillUp(house)).toBe(count)
  })

  it('is as full after a start as before it', async () => {
    const before = open(POLICY_OF_TEN)
    await fillUp(before)
    await before.desk.close()
    const house = open(POLICY_OF_TEN, before.store)
    await settled()
    expect(await fill(house, 900)).toBe(false)
    expect(await fill(house, 900, other)).toBe(true)
  })
})

describe('showing an answer again', () => {
  it('is counted before it is read, each time', async () => {
    const house = open()
    await run(house)
    let count = 0
    const meter = (): void => {
      if (++count > 3) throw new Error('too often')
    }
    const all = await Promise.allSettled(
      Array.from({ length: 5 }, () => house.desk.begin(ask({ meter }))),
    )
    expect(all.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
    const { reads } = house.store
    expect(await thrownBy(house.desk.begin(ask({ meter })))).toMatchObject({ message: 'too often' })
    expect(house.store.reads).toBe(reads)
  })

  it('is not counted where there is none', async () => {
    const house = open()
    let count = 0
    const meter = (): void => void count++
    await begin(house.desk, ask({ meter }))
    expect(await thrownBy(house.desk.begin(ask({ meter })))).toMatchObject({
      code: 'operation_in_progress',
    })
    expect(count).toBe(0)
  })
})

it('removes what is older than its time, once a minute', async () => {
  const { clock, store } = open()
  clock.advance(59_000)
  expect(store.sweeps).toEqual([])
  clock.advance(1000)
  await settled()
  expect(store.sweeps).toEqual([clock.now() - POLICY.keepMs])
  clock.advance(1000)
  expect(store.sweeps).toHaveLength(1)
})

it('goes on with the next tick where there may be more to remove', async () => {
  const house = open()
  for (const header of ['one', 'two', 'three'])
    // oxlint-disable-next-line no-await-in-loop -- one after another
    await hold(house, await begin(house.desk, ask({ header })))
  house.store.step = 2
  house.clock.sleep(POLICY.keepMs + 1)
  await settled()
  expect(house.store.rows.size).toBe(1)
  house.clock.advance(1000)
  await settled()
  expect(house.store.rows.size).toBe(0)
  // Only what finds nothing is the last for a minute.
  house.clock.advance(1000)
  await settled()
  expect(house.store.sweeps).toHaveLength(3)
  house.clock.advance(59_000)
  await settled()
  expect(house.store.sweeps).toHaveLength(3)
})

it.each(['', 'a,b', 'ä', 'a\tb', 'x'.repeat(256)])('takes no %p for a key', (text) => {
  expect(() => readIdempotencyKey(new Headers({ 'idempotency-key': text }))).toThrow(
    expect.objectContaining({ code: 'invalid_idempotency_key', status: 400 }),
  )
})

it.each(['x', 'a b', '~!"#$%&\'()*+-./:;<=>?@[]^_`{|}', 'x'.repeat(255)])(
  'takes %p for a key',
  (text) => {
    expect(readIdempotencyKey(new Headers({ 'idempotency-key': text }))).toBe(text)
  },
)

// What a failure closes, for how long and for whom: told by who is asked next. A pause that a supplier has named is
// kept, also when it was the last one; our own judgement gives way where nobody else is left.
import { afterEach, describe, expect, it } from 'bun:test'
import { Secret } from '../../src/core/secret.ts'
import { SUPPLIER_CANARY } from '../fakes/canary.ts'
import { untilInLine } from '../fakes/crowd.ts'
import { BODY, openScene, readRecord, SECOND, type Scene } from '../fakes/fault.ts'
import { supplierAt } from '../fakes/gateway.ts'
import { readKey } from '../fakes/prices.ts'
import { dataOf, expectSoundBooks } from '../fakes/records.ts'
import { closeStreet, createGate, good, refuse, type ErrorBody } from '../fakes/street.ts'
import type { Script } from '../fakes/supplier.ts'

afterEach(closeStreet)

/** Does this the first so many times, and then answers. */
function atFirst(times: number, fault: Script): Script {
  return (request, reply, index) => (index < times ? fault : good)(request, reply, index)
}

let asking = 0

/** Something new each time: who begins as another call did is taken for the same session. */
function askAnew(scene: Scene): Promise<Response> {
  asking += 1
  return scene.ask({ ...BODY, messages: [{ role: 'user', content: `Question ${asking}` }] })
}

/** Who answers now. */
async function answerer(scene: Scene): Promise<string | null> {
  const response = await askAnew(scene)
  await response.text()
  return response.headers.get('x-svc-supplier')
}

/** How often each was asked. */
function asked({ suppliers }: Scene): readonly number[] {
  return suppliers.map(({ requests }) => requests.length)
}

const busy = (seconds: string): Script =>
  refuse(429, { message: 'slow' }, { 'retry-after': seconds })

describe('a supplier that has named a time', () => {
  it('S6: is left alone for seven seconds, and asked again after them', async () => {
    const scene = await openScene([atFirst(1, busy('7')), good])
    expect(await answerer(scene)).toBe('fake-2')
    scene.clock.advance(7 * SECOND - 1)
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)).toEqual([1, 2])
    scene.clock.advance(1)
    expect(await answerer(scene)).toBe('fake')
    expect(asked(scene)).toEqual([2, 2])
  })

  it('S11: is left alone for five minutes where it named an hour', async () => {
    const down = refuse(503, { message: 'down' }, { 'retry-after': '3600' })
    const scene = await openScene([atFirst(1, down), good])
    expect(await answerer(scene)).toBe('fake-2')
    scene.clock.advance(300 * SECOND - 1)
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)).toEqual([1, 2])
    scene.clock.advance(1)
    expect(await answerer(scene)).toBe('fake')
  })

  it('S9: is not asked although nobody else is left, and the caller hears when', async () => {
    const scene = await openScene([busy('40'), busy('20')])
    const first = await askAnew(scene)
    expect([first.status, first.headers.get('retry-after')]).toEqual([429, '20'])
    await first.text()
    scene.clock.advance(5 * SECOND)
    const next = await askAnew(scene)
    expect([next.status, next.headers.get('retry-after')]).toEqual([429, '15'])
    expect(((await next.json()) as ErrorBody).error.code).toBe('all_providers_exhausted')
    expect(asked(scene)).toEqual([1, 1])
  })

  it('is not asked for a call that fails elsewhere, and its time is the shortest', async () => {
    const scene = await openScene([
      busy('20'),
      (request, reply, index) => (index === 0 ? good : busy('50'))(request, reply, index),
    ])
    expect(await answerer(scene)).toBe('fake-2')
    scene.clock.advance(5 * SECOND)
    const response = await askAnew(scene)
    await response.text()
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '15'])
    expect(asked(scene)).toEqual([1, 2])
  })
})

describe('a supplier that has named no time', () => {
  it('S7: is left alone for a moment, longer each time in a row', async () => {
    const scene = await openScene([atFirst(2, refuse(429, { message: 'slow' })), good])
    expect(await answerer(scene)).toBe('fake-2')
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)).toEqual([1, 2])
    scene.clock.advance(1 * SECOND)
    // Asked again, and still busy: now it is twice as long.
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)[0]).toBe(2)
    scene.clock.advance(SECOND - 1)
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)[0]).toBe(2)
    scene.clock.advance(SECOND + 1)
    expect(await answerer(scene)).toBe('fake')
  })

  it('S7: is asked all the same where nobody else is left', async () => {
    const scene = await openScene([atFirst(1, refuse(429, { message: 'slow' }))])
    expect((await askAnew(scene)).status).toBe(429)
    expect(await answerer(scene)).toBe('fake')
  })

  it.each([
    ['S8: has no money left', refuse(429, { message: 'no', code: 'insufficient_quota' })],
    ['S14: refuses our credential', refuse(401, { message: 'who?' })],
  ])('%s, is looked at again after five minutes and not before', async (_, fault) => {
    const scene = await openScene([atFirst(1, fault), good])
    expect(await answerer(scene)).toBe('fake-2')
    scene.clock.advance(299 * SECOND)
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)).toEqual([1, 2])
    scene.clock.advance(2 * SECOND)
    expect(await answerer(scene)).toBe('fake')
  })

  it.each<[string, Script, number]>([
    ['S10: fails', refuse(500, { message: 'broken' }), 30],
    ['S14: refuses the model to our account', refuse(403, { message: 'no' }), 300],
    ['S15: does not know the model', refuse(404, { message: 'gone' }), 300],
    ['S18: resets', (_, reply) => reply.reset(), 30],
    ['S29: sends an empty answer', (_, reply) => reply.json(200, ''), 30],
  ])('%s five times in a row, and then rests', async (_, fault, seconds) => {
    const scene = await openScene([atFirst(5, fault), good])
    for (let calls = 1; calls <= 5; calls++) {
      expect(await answerer(scene)).toBe('fake-2')
      expect(asked(scene)[0]).toBe(calls)
    }
    scene.clock.advance(seconds * SECOND - 1)
    expect(await answerer(scene)).toBe('fake-2')
    expect(asked(scene)[0]).toBe(5)
    scene.clock.advance(1)
    expect(await answerer(scene)).toBe('fake')
  })

  it('S12: is not held to what a caller did wrong, however often', async () => {
    const no = refuse(400, { message: 'No.' })
    const scene = await openScene([atFirst(7, no), good])
    for (let calls = 0; calls < 7; calls++) expect((await askAnew(scene)).status).toBe(400)
    expect(await answerer(scene)).toBe('fake')
    expect(asked(scene)).toEqual([8, 0])
  })

  it('S12: shows by a refusal of the request that it can be reached', async () => {
    const script: Script = (request, reply, index) => {
      if (index === 4) void refuse(400, { message: 'No.' })(request, reply, index)
      else if (index < 9) reply.reset()
      else void good(request, reply, index)
    }
    const scene = await openScene([script, good])
    for (let calls = 0; calls < 9; calls++)
      expect((await askAnew(scene)).status).toBe(calls === 4 ? 400 : 200)
    expect(await answerer(scene)).toBe('fake')
  })

  it('S12: is not held to it inside of a 200 either', async () => {
    const no = refuse(200, { message: 'No.', code: 400 })
    const scene = await openScene([atFirst(7, no), good])
    for (let calls = 0; calls < 7; calls++) expect((await askAnew(scene)).status).toBe(400)
    expect(await answerer(scene)).toBe('fake')
  })

  it('S36: is not held to an answer that was too large', async () => {
    const large: Script = (_, reply) => reply.json(200, ' ', { 'content-length': '40000000' })
    const scene = await openScene([atFirst(6, large), good])
    for (let calls = 0; calls < 6; calls++) expect((await askAnew(scene)).status).toBe(502)
    expect(await answerer(scene)).toBe('fake')
  })

  it('rests everywhere, and is asked all the same for want of anyone else', async () => {
    const fault = refuse(500, { message: 'broken' })
    const scene = await openScene([atFirst(5, fault), atFirst(5, fault)])
    for (let calls = 0; calls < 5; calls++) expect((await askAnew(scene)).status).toBe(503)
    expect(await answerer(scene)).toBe('fake')
  })
})

/** Answers the first so many times, and does this from then on. */
function atLast(times: number, fault: Script): Script {
  return (request, reply, index) => (index < times ? good : fault)(request, reply, index)
}

interface Heard {
  readonly status: number
  readonly code: string
  readonly retryable: boolean
  readonly retryAfter: string | null
}

async function hear(response: Response): Promise<Heard> {
  const { error } = (await response.json()) as ErrorBody
  const { code, retryable } = error
  return {
    status: response.status,
    code,
    retryable,
    retryAfter: response.headers.get('retry-after'),
  }
}

describe('a call is not told that waiting is no use', () => {
  const HOPEFUL = { status: 503, code: 'all_providers_exhausted', retryable: true }

  it.each([401, 402, 403, 404])(
    'while somebody has asked for a pause and the other answers %p',
    async (status) => {
      const scene = await openScene([
        atFirst(1, busy('5')),
        atLast(1, refuse(status, { message: 'no' })),
      ])
      expect(await answerer(scene)).toBe('fake-2')
      // What is refused for good is not mended in a second: the pause is what is waited for.
      expect(await hear(await askAnew(scene))).toEqual({ ...HOPEFUL, retryAfter: '5' })
      expect(asked(scene)).toEqual([1, 2])
      scene.clock.advance(5 * SECOND)
      expect(await answerer(scene)).toBe('fake')
    },
  )

  it('while somebody on its list asks for a pause in the middle of it', async () => {
    const gate = createGate()
    const no = refuse(404, { message: 'gone' })
    const scene = await openScene([
      async (request, reply, index) => {
        await gate.opened
        void no(request, reply, index)
      },
      atFirst(1, busy('5')),
    ])
    const asking = askAnew(scene)
    await scene.suppliers[0]!.request(0)
    expect((await scene.ask({ ...BODY, model: 'fake-2/test-model' })).status).toBe(429)
    gate.open()
    expect(await hear(await asking)).toEqual({ ...HOPEFUL, retryAfter: '5' })
    expect(asked(scene)).toEqual([1, 1])
  })

  it('while a resting one asks for a pause in the middle of it', async () => {
    const gate = createGate()
    const broken = refuse(500, { message: 'broken' })
    const scene = await openScene([
      async (request, reply, index) => {
        if (index > 0) await gate.opened
        void (index > 0 ? refuse(401, { message: 'who?' }) : good)(request, reply, index)
      },
      (request, reply, index) => (index < 5 ? broken : busy('5'))(request, reply, index),
    ])
    const ofSecond = { ...BODY, model: 'fake-2/test-model' }
    for (let calls = 0; calls < 5; calls++) expect((await scene.ask(ofSecond)).status).toBe(503)
    expect(await answerer(scene)).toBe('fake')
    const asking = askAnew(scene)
    await scene.suppliers[0]!.request(1)
    expect((await scene.ask(ofSecond)).status).toBe(429)
    gate.open()
    expect(await hear(await asking)).toEqual({ ...HOPEFUL, retryAfter: '5' })
    expect(asked(scene)).toEqual([2, 6])
  })

  it.each([401, 404])(
    'while as many as may be asked say %p and one more is well',
    async (status) => {
      const no = refuse(status, { message: 'no' })
      const scene = await openScene([no, no, good], { limits: { attemptsMax: 2 } })
      expect(await hear(await askAnew(scene))).toEqual({ ...HOPEFUL, retryAfter: '1' })
    },
  )

  it.each<[number, Heard]>([
    [401, { status: 503, code: 'all_providers_exhausted', retryable: false, retryAfter: null }],
    [404, { status: 503, code: 'model_unavailable', retryable: false, retryAfter: null }],
  ])('unless all say %p, be it of both of their accounts', async (status, told) => {
    const no = refuse(status, { message: 'no' })
    const second = { id: 'fake', region: 'EU', credential: new Secret(`${SUPPLIER_CANARY}-2`) }
    const scene = await openScene([no, no], { changes: [{}, second] })
    expect(await hear(await askAnew(scene))).toEqual(told)
    expect(asked(scene)).toEqual([1, 1])
  })

  it('unless who waits shares the account that is refused', async () => {
    const route = supplierAt('').models.get('test-model')!
    const scene = await openScene(
      [
        (request, reply, index) =>
          (index === 0 ? busy('5') : refuse(401, { message: 'who?' }))(request, reply, index),
      ],
      {
        changes: [
          {
            models: new Map([
              ['test-model', route],
              ['small-model', route],
            ]),
          },
        ],
        config: 'models: { test-model: { fallbacks: [small-model] } }\n',
      },
    )
    expect((await scene.ask({ ...BODY, model: 'small-model' })).status).toBe(429)
    expect(await hear(await askAnew(scene))).toMatchObject({ retryable: false, retryAfter: null })
    expect(asked(scene)).toEqual([2])
  })
})

describe.each([1, 2])('calls in line for money before %p who ask for a pause', (count) => {
  const body = (number: number, changes: object = {}): object => ({
    ...BODY,
    messages: [{ role: 'user', content: `Question ${number}` }],
    ...changes,
  })

  it.each([false, true])('are not sent into it: stream %p', async (stream) => {
    const gate = createGate()
    const slow: Script = async (request, reply, index) => {
      await gate.opened
      void (index === 0 ? busy('20') : good)(request, reply, index)
    }
    const scene = await openScene(
      Array.from({ length: count }, () => slow),
      {
        key: { budget_limit: 0.0001, fit: 'off' },
      },
    )
    const { gateway, clock, key } = scene
    const first = scene.ask(body(1))
    await scene.suppliers[0]!.request(0)
    const before = clock.listeners()
    const once = { 'idempotency-key': 'once' }
    const waiting = [scene.ask(body(2, { stream })), scene.ask(body(3, { stream }), once)]
    await untilInLine(gateway, clock, before + 2)
    gate.open()
    const told = await Promise.all([first, ...waiting].map(async (each) => hear(await each)))
    const WAITS = {
      status: 429,
      code: 'all_providers_exhausted',
      retryable: true,
      retryAfter: '20',
    }
    expect(told).toEqual([WAITS, WAITS, WAITS])
    expect(asked(scene)).toEqual(Array.from({ length: count }, () => 1))
    // Each has its row, and nothing is held any more.
    const rows = gateway.audit()
    expect(rows.map(({ attempts }) => attempts)).toEqual([count, 0, 0])
    for (const { request_id } of rows.slice(1))
      expect(await readRecord(gateway, request_id)).toMatchObject({
        status: 429,
        code: 'all_providers_exhausted',
        state: 'voided',
        evidence: 'unsent',
        supplier: null,
        cost_usd: 0,
      })
    expect(await readKey(gateway, key.id)).toMatchObject({ used: 0, held: 0 })
    await expectSoundBooks(dataOf(gateway))
    // Nothing ran under the Idempotency-Key, so it is free.
    clock.advance(20 * SECOND)
    const again = await scene.ask(body(3, { stream }), once)
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, null])
    await again.text()
  })
})

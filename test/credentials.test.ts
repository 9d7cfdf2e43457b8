// Several credentials of one supplier: who of them is asked, by how busy it is and by what is left to it, and that
// nothing of a call stays with a credential once the call is over.
import { afterEach, describe, expect, it } from 'bun:test'
import { SUPPLIER_CANARY } from './fakes/canary.ts'
import { createFakeClock, type FakeClock } from './fakes/clock.ts'
import { startGateway, type Gateway, type GatewayOptions } from './fakes/gateway.ts'
import { closeStreet, createGate, good, HI, readText, ROLE, tidy, until } from './fakes/street.ts'
import {
  completion,
  startFakeSupplier,
  type FakeReply,
  type FakeRequest,
  type FakeSupplier,
  type Script,
} from './fakes/supplier.ts'

afterEach(closeStreet)

type Told = Readonly<Record<string, string>>

function describeSupplier(id: string, at: FakeSupplier, keys: number): string {
  const credentials = Array.from({ length: keys }, (_, index) => `"\${KEY}-${index + 1}"`).join(
    ', ',
  )
  return `  ${id}:
    kind: openai-compatible
    origin: ${at.origin}/v1
    allow_private: true
    credentials: [${credentials}]
    models:
      m: { price: { input: 1, output: 1 } }
      n: { price: { input: 1, output: 1 } }
`
}

interface Scene {
  readonly gateway: Gateway
  readonly supplier: FakeSupplier
  readonly clock: FakeClock
}

/** A gateway with one supplier that has so many credentials; time stands still. */
async function open(keys: number, script: Script): Promise<Scene> {
  const clock = createFakeClock()
  const supplier = tidy(await startFakeSupplier(script))
  const gateway = await start([describeSupplier('one', supplier, keys)], { clock })
  return { gateway, supplier, clock }
}

async function start(
  suppliers: readonly string[],
  options: GatewayOptions = {},
  head = '',
): Promise<Gateway> {
  const config = `${head}suppliers:\n${suppliers.join('')}`
  const environment = { KEY: SUPPLIER_CANARY }
  return tidy(await startGateway({ config, environment, ...options }))
}

let asked = 0

/** Each says something else: what begins alike is taken for one session, which stays where it was. */
function request(changes: object = {}): object {
  return { model: 'm', messages: [{ role: 'user', content: `Hello ${++asked}` }], ...changes }
}

async function ask(gateway: Gateway, count = 1): Promise<readonly number[]> {
  const statuses: number[] = []
  for (let done = 0; done < count; done++) {
    const response = await gateway.chat(request())
    await response.text()
    statuses.push(response.status)
  }
  return statuses
}

const credentialOf = ({ headers }: FakeRequest): number =>
  Number(headers.get('authorization')?.split('-').at(-1))

const credentialsOf = ({ requests }: FakeSupplier): readonly number[] => requests.map(credentialOf)

/** Answers well and tells of its limits, to each credential of its own. */
function telling(tell: (credential: number) => Told): Script {
  return (each, reply) => reply.json(200, completion('Hi'), tell(credentialOf(each)))
}

function limits(remaining: number, reset: string): Told {
  return {
    'x-ratelimit-limit-requests': '100',
    'x-ratelimit-remaining-requests': String(remaining),
    'x-ratelimit-reset-requests': reset,
  }
}

describe('calls at the same time', () => {
  it('are shared out evenly, also those that come in the same moment', async () => {
    const gate = createGate()
    const { gateway, supplier } = await open(3, async (each, reply, index) => {
      await gate.opened
      void good(each, reply, index)
    })
    const answers = Array.from({ length: 30 }, () => gateway.chat(request()))
    await supplier.request(29)
    gate.open()
    for (const answer of answers) expect((await answer).status).toBe(200)
    const counts = [1, 2, 3].map((key) => credentialsOf(supplier).filter((each) => each === key))
    expect(counts.map(({ length }) => length)).toEqual([10, 10, 10])
  })

  it('are counted over all models of a credential', async () => {
    const gate = createGate()
    const { gateway, supplier } = await open(2, async (each, reply, index) => {
      await gate.opened
      void good(each, reply, index)
    })
    const first = gateway.chat(request({ model: 'm' }))
    await supplier.request(0)
    const second = gateway.chat(request({ model: 'n' }))
    await supplier.request(1)
    gate.open()
    await Promise.all([first, second])
    expect(credentialsOf(supplier)).toEqual([1, 2])
  })
})

describe('credentials that are busy or spent', () => {
  it('lose no call to the next supplier', async () => {
    const gate = createGate()
    const busy = tidy(
      await startFakeSupplier(async (each, reply, index) => {
        await gate.opened
        void good(each, reply, index)
      }),
    )
    const idle = tidy(await startFakeSupplier(good))
    const gateway = await start([
      describeSupplier('busy', busy, 2),
      describeSupplier('idle', idle, 2),
    ])
    const answers = Array.from({ length: 6 }, () => gateway.chat(request()))
    await busy.request(5)
    gate.open()
    await Promise.all(answers)
    expect(credentialsOf(busy).toSorted((one, other) => one - other)).toEqual([1, 1, 1, 2, 2, 2])
    expect(idle.requests).toHaveLength(0)
  })

  it('lose no call to the model that stands in', async () => {
    const spent = telling(() => limits(0, '60s'))
    const supplier = tidy(await startFakeSupplier(spent))
    const gateway = await start(
      [describeSupplier('one', supplier, 2)],
      { clock: createFakeClock() },
      'models: { m: { fallbacks: [n] } }\n',
    )
    await ask(gateway, 5)
    const models = supplier.requests.map(({ body }) => JSON.parse(body.toString()) as object)
    expect(models).toMatchObject(Array.from({ length: 5 }, () => ({ model: 'm' })))
  })
})

describe('calls one after the other', () => {
  it('stay with the first credential where the supplier tells nothing of its limits', async () => {
    const { gateway, supplier } = await open(3, good)
    await ask(gateway, 5)
    expect(credentialsOf(supplier)).toEqual([1, 1, 1, 1, 1])
  })

  it('go to the credential with more left', async () => {
    const { gateway, supplier } = await open(
      2,
      telling((credential) => limits(credential === 1 ? 10 : 90, '60s')),
    )
    await ask(gateway, 5)
    expect(credentialsOf(supplier)).toEqual([1, 2, 2, 2, 2])
  })

  it('use up both credentials evenly', async () => {
    const left = [0, 100, 100]
    const { gateway, supplier } = await open(
      2,
      telling((credential) => limits(--left[credential]!, '60s')),
    )
    await ask(gateway, 40)
    expect(left).toEqual([0, 80, 80])
    expect(supplier.requests).toHaveLength(40)
  })

  it('come back to a credential that was spent once its limit is whole again', async () => {
    const { gateway, supplier, clock } = await open(
      2,
      telling((credential) => (credential === 1 ? limits(0, '20s') : {})),
    )
    await ask(gateway, 3)
    clock.advance(19_999)
    await ask(gateway)
    clock.advance(1)
    await ask(gateway, 2)
    expect(credentialsOf(supplier)).toEqual([1, 2, 2, 2, 1, 2])
  })

  it('still go to a credential that is spent where no other takes them', async () => {
    const { gateway, supplier } = await open(2, (each, reply) => {
      const credential = credentialOf(each)
      if (credential === 2) reply.json(429, { error: {} }, { 'retry-after': '30' })
      else reply.json(200, completion('Hi'), limits(0, '20s'))
    })
    expect(await ask(gateway, 3)).toEqual([200, 200, 200])
    expect(credentialsOf(supplier)).toEqual([1, 2, 1, 1])
  })

  it('are answered whatever a supplier writes into its headers', async () => {
    const odd = [
      '-1',
      'NaN',
      '1e300',
      '9'.repeat(8000),
      ', ,;',
      '5, -5',
      '"',
      '2999-01-01T00:00:00Z',
    ]
    let index = 0
    const { gateway, supplier, clock } = await open(
      2,
      telling(() => {
        const value = odd[index++ % odd.length]!
        const names = ['limit-requests', 'remaining-requests', 'reset-requests', 'reset']
        const told = names.map((name) => [`x-ratelimit-${name}`, value])
        return Object.fromEntries([...told, ['ratelimit', value], ['retry-after', value]]) as Told
      }),
    )
    expect(new Set(await ask(gateway, odd.length * 2))).toEqual(new Set([200]))
    clock.advance(300_000)
    await ask(gateway)
    expect(credentialOf(supplier.requests.at(-1)!)).toBe(1)
  })
})

describe('a session', () => {
  it('keeps its credential, also where another has more left', async () => {
    const { gateway, supplier } = await open(
      2,
      telling((credential) => limits(credential === 1 ? 10 : 90, '60s')),
    )
    const init = { headers: { 'x-session-id': 'mine' } }
    const states: (string | null)[] = []
    for (let count = 0; count < 3; count++) {
      states.push((await gateway.chat(request(), init)).headers.get('x-svc-session'))
      await ask(gateway)
    }
    expect(states).toEqual(['new', 'kept', 'kept'])
    expect(credentialsOf(supplier)).toEqual([1, 2, 1, 2, 1, 2])
  })
})

describe('a credential that is refused', () => {
  it('is left alone for all models where it is unknown, and the others are not', async () => {
    const { gateway, supplier } = await open(2, (each, reply, index) =>
      credentialOf(each) === 1 ? reply.json(401, { error: {} }) : good(each, reply, index),
    )
    expect(await ask(gateway, 2)).toEqual([200, 200])
    expect((await gateway.chat(request({ model: 'n' }))).status).toBe(200)
    expect(credentialsOf(supplier)).toEqual([1, 2, 2, 2])
  })

  it('for want of capacity is left alone until its limit is whole again, as its headers tell', async () => {
    const { gateway, supplier, clock } = await open(2, (_, reply) =>
      reply.json(429, { error: {} }, limits(0, '20s')),
    )
    await ask(gateway)
    const second = await gateway.chat(request())
    expect([second.status, second.headers.get('retry-after')]).toEqual([429, '20'])
    expect(credentialsOf(supplier)).toEqual([1, 2])
    clock.advance(20_000)
    await ask(gateway)
    expect(credentialsOf(supplier)).toEqual([1, 2, 1, 2])
  })

  it('is left alone for milliseconds where that is what the supplier asks for', async () => {
    const { gateway, supplier, clock } = await open(2, (each, reply, index) =>
      index === 0
        ? reply.json(429, { error: {} }, { 'retry-after-ms': '1500', 'retry-after': '2' })
        : good(each, reply, index),
    )
    await ask(gateway, 2)
    clock.advance(1499)
    await ask(gateway)
    clock.advance(1)
    await ask(gateway)
    expect(credentialsOf(supplier)).toEqual([1, 2, 2, 2, 1])
  })

  it('is named by its number in the record of the call, and never by its secret', async () => {
    const { gateway } = await open(3, (each, reply, index) => {
      if (credentialOf(each) === 3) return good(each, reply, index)
      const message = `no: ${each.headers.get('authorization')}`
      reply.json(credentialOf(each) === 1 ? 401 : 429, { error: { message } })
    })
    const response = await gateway.chat(request())
    const id = response.headers.get('x-request-id')!
    const record = await (await gateway.manage('GET', `/calls/${id}`)).text()
    const { tries } = JSON.parse(record) as { tries: readonly Told[] }
    expect(tries.map(({ supplier, credential }) => `${supplier}#${credential}`)).toEqual([
      'one#1',
      'one#2',
      'one#3',
    ])
    const told = `${record}${await response.text()}${JSON.stringify([...response.headers])}`
    expect(told).not.toContain(SUPPLIER_CANARY)
  })
})

describe('a policy', () => {
  const beside = async (policy: string, draws: readonly number[]): Promise<readonly string[]> => {
    const clock = createFakeClock()
    const slow = tidy(
      await startFakeSupplier((each, reply, index) => {
        clock.advance(300)
        void good(each, reply, index)
      }),
    )
    const quick = tidy(
      await startFakeSupplier((each, reply, index) => {
        clock.advance(100)
        void good(each, reply, index)
      }),
    )
    let drawn = 0
    const gateway = await start(
      [describeSupplier('many', slow, 3), describeSupplier('single', quick, 1)],
      { clock, draw: () => draws[drawn] ?? 0 },
      `routing: { policy: ${policy} }\n`,
    )
    const answered: string[] = []
    for (; drawn < draws.length; drawn++) {
      const { headers } = await gateway.chat(request())
      answered.push(headers.get('x-svc-supplier')!)
    }
    return answered
  }

  it('of weight gives a supplier with three credentials no more than its share', async () => {
    const answered = await beside('weight', [0, 0.26, 0.49, 0.51, 0.74, 0.99])
    expect(answered).toEqual(['many', 'many', 'many', 'single', 'single', 'single'])
  })

  it('of speed does not try every credential of a supplier before the next one', async () => {
    expect(await beside('fastest', [0, 0, 0, 0])).toEqual(['many', 'single', 'single', 'single'])
  })
})

/** How a call can end, as its supplier and its caller have it. */
interface Ending {
  readonly name: string
  readonly script: (each: FakeRequest, reply: FakeReply) => void
  readonly call: (scene: Scene) => Promise<unknown>
}

const streamed = ({ gateway }: Scene): Promise<Response> => gateway.chat(request({ stream: true }))

async function leaveEarly({ gateway, supplier }: Scene, changes: object): Promise<void> {
  const before = supplier.requests.length
  const leaving = new AbortController()
  const answer = gateway.chat(request(changes), { signal: leaving.signal }).catch(() => undefined)
  const { closed } = await supplier.request(before)
  leaving.abort()
  await answer
  await closed
}

async function leaveMidway(scene: Scene): Promise<void> {
  const leaving = new AbortController()
  const body = request({ stream: true })
  const response = await scene.gateway.chat(body, { signal: leaving.signal })
  await readText(response).until('Hi')
  leaving.abort()
  await scene.supplier.requests.at(-1)!.closed
}

const ENDINGS: readonly Ending[] = [
  {
    name: 'a whole answer',
    script: (each, reply) => void good(each, reply, 0),
    call: async ({ gateway }) => (await gateway.chat(request())).text(),
  },
  {
    name: 'a whole stream',
    script: (each, reply) => void good(each, reply, 0),
    call: async (scene) => (await streamed(scene)).text(),
  },
  {
    name: 'a refusal of the request',
    script: (_, reply) => reply.json(400, { error: { message: 'no' } }),
    call: async ({ gateway }) => (await gateway.chat(request())).text(),
  },
  {
    name: 'a failure',
    script: (_, reply) => reply.json(500, { error: {} }),
    call: async ({ gateway }) => (await gateway.chat(request())).text(),
  },
  {
    name: 'a connection that is reset',
    script: (_, reply) => reply.reset(),
    call: async ({ gateway }) => (await gateway.chat(request())).text(),
  },
  {
    name: 'an answer that is none',
    script: (_, reply) => reply.json(200, '<html>'),
    call: async ({ gateway }) => (await gateway.chat(request())).text(),
  },
  {
    name: 'a stream that breaks',
    script: (_, reply) => {
      const stream = reply.stream()
      stream.send(ROLE)
      stream.send(HI)
      reply.reset()
    },
    call: async (scene) => (await streamed(scene)).text(),
  },
  {
    name: 'a caller that leaves before the answer',
    script: () => {},
    call: (scene) => leaveEarly(scene, {}),
  },
  {
    name: 'a caller that leaves before the stream',
    script: () => {},
    call: (scene) => leaveEarly(scene, { stream: true }),
  },
  {
    name: 'a caller that leaves amid the stream',
    script: (_, reply) => {
      const stream = reply.stream()
      stream.send(ROLE)
      stream.send(HI)
    },
    call: leaveMidway,
  },
  {
    name: 'a supplier that never answers',
    script: () => {},
    call: async (scene) => {
      const before = scene.supplier.requests.length
      const answer = streamed(scene)
      await scene.supplier.request(before)
      scene.clock.advance(31_000)
      return (await answer).text()
    },
  },
]

describe('a call that is over', () => {
  for (const { name, script, call } of ENDINGS)
    it(`leaves nothing with its credential: ${name}`, async () => {
      let isOver = false
      const scene = await open(2, (each, reply, index) =>
        isOver ? good(each, reply, index) : script(each, reply),
      )
      await call(scene)
      // The books of who has left are closed after it.
      await until(() => scene.gateway.audit().length > 0)
      isOver = true
      const before = scene.supplier.requests.length
      // With one call still counted for the first, the next would go to the second.
      expect(await ask(scene.gateway)).toEqual([200])
      expect(credentialOf(scene.supplier.requests[before]!)).toBe(1)
    })
})

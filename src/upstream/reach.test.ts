// A supplier that says nothing is looked for at the address that was called, once for everybody who waits; who
// cannot be reached is waited for no longer, and who can has all the time that it was given.
import { afterEach, describe, expect, it } from 'bun:test'
import type { Socket } from 'node:net'
import { createFakeClock } from '../../test/fakes/clock.ts'
import {
  issueCertificate,
  startEncrypted,
  startPlain,
  type Stranger,
} from '../../test/fakes/tls.ts'
import { Chain } from '../core/chain.ts'
import { CallerGone, Lifeline } from './lifeline.ts'
import { createKnock, Reach } from './reach.ts'

const ORIGIN = 'https://192.0.2.1'
const OTHER = 'https://192.0.2.2'
const SECOND = 1000

interface Knocked {
  readonly origin: string
  readonly at: number
  readonly signal: AbortSignal
  open(): Promise<void>
  refuse(): Promise<void>
}

/** Lets everything happen that waits for nothing but its turn. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function createScene() {
  const clock = createFakeClock()
  const knocks: Knocked[] = []
  const lost: string[] = []
  const reach = new Reach({
    knock(origin, signal) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      knocks.push({
        origin,
        at: clock.elapsed(),
        signal,
        open: () => (resolve(), settle()),
        refuse: () => (reject(new Error('refused')), settle()),
      })
      signal.addEventListener('abort', () => reject(new Error('ended')))
      return promise
    },
    onLost: (origin) => void lost.push(origin),
  })
  const send = (origin = ORIGIN, caller = new AbortController()): Lifeline => {
    const line = { signal: caller.signal, keepOpen: () => {}, letGo: () => {} }
    const lifeline = new Lifeline(clock, line, new Chain())
    lifeline.expect('answer', 600 * SECOND)
    lifeline.sentTo(reach, origin)
    return lifeline
  }
  return { clock, knocks, lost, reach, send }
}

function ended(lifeline: Lifeline): Promise<unknown> {
  return new Promise((resolve) => {
    lifeline.signal.addEventListener('abort', () => resolve(lifeline.signal.reason))
  })
}

describe('a supplier that says nothing', () => {
  it('is looked for after three seconds and not sooner, where the request went', () => {
    const { clock, knocks, send } = createScene()
    send().heard()
    send()
    clock.advance(2 * SECOND)
    expect(knocks).toHaveLength(0)
    clock.advance(SECOND)
    expect(knocks).toMatchObject([{ origin: ORIGIN, at: 3 * SECOND }])
  })

  it('is looked for where the request went last', () => {
    const { clock, knocks, reach, send } = createScene()
    const lifeline = send()
    clock.advance(2 * SECOND)
    lifeline.sentTo(reach, OTHER)
    clock.advance(SECOND)
    expect(knocks).toMatchObject([{ origin: OTHER }])
  })

  it('and refuses a connection ends everybody who waits, as a timeout', async () => {
    const { clock, knocks, lost, send } = createScene()
    const lifelines = [send(), send()]
    clock.advance(SECOND)
    lifelines.push(send())
    clock.advance(2 * SECOND)
    expect(knocks).toHaveLength(1)
    await knocks[0]!.refuse()
    for (const { signal } of lifelines)
      expect(signal.reason).toMatchObject({
        code: 'provider_timeout',
        message: 'The supplier was silent, and no new connection to it could be opened.',
      })
    expect(lost).toEqual([ORIGIN])
    expect(clock.listeners()).toBe(0)
  })

  it('and opens to nobody ends who waits after three seconds more', async () => {
    const { clock, knocks, send } = createScene()
    const lifeline = send()
    const ending = ended(lifeline)
    clock.advance(5 * SECOND)
    expect(knocks[0]?.signal.aborted).toBe(false)
    clock.advance(SECOND)
    expect(await ending).toMatchObject({ code: 'provider_timeout' })
    expect(knocks[0]?.signal.aborted).toBe(true)
    expect(knocks).toHaveLength(1)
    expect(clock.listeners()).toBe(0)
  })

  it('does not end who was sent after it was looked for, nor who went to another address', async () => {
    const { clock, knocks, lost, send } = createScene()
    const early = send()
    const elsewhere = send(OTHER)
    clock.advance(3.5 * SECOND)
    const late = send()
    clock.advance(SECOND)
    await knocks[0]!.refuse()
    expect(early.signal.aborted).toBe(true)
    expect(elsewhere.signal.aborted).toBe(false)
    expect(late.signal.aborted).toBe(false)
    clock.advance(SECOND)
    expect(knocks).toHaveLength(1)
    clock.advance(SECOND)
    expect(knocks.map(({ origin }) => origin)).toEqual([ORIGIN, OTHER])
    expect(lost).toEqual([ORIGIN])
  })

  it('and opens has all the time it was given, and is looked for again after half a minute', async () => {
    const { clock, knocks, send } = createScene()
    const lifeline = send()
    for (let turn = 0; turn < 18; turn++) {
      clock.advance(turn === 0 ? 3 * SECOND : 29 * SECOND)
      expect(knocks).toHaveLength(turn === 0 ? 1 : turn)
      if (turn > 0) clock.advance(SECOND)
      await knocks[turn]!.open()
    }
    expect(lifeline.signal.aborted).toBe(false)
    clock.advance(600 * SECOND)
    expect(lifeline.signal.reason).toMatchObject({
      message: 'The supplier sent no answer within 600 seconds.',
    })
    expect(clock.listeners()).toBe(0)
  })

  it('and opens in the moment in which that is noticed to be late is there', async () => {
    const { clock, knocks, send } = createScene()
    const lifeline = send()
    clock.advance(20 * SECOND)
    await knocks[0]!.open()
    clock.advance(29 * SECOND)
    expect(lifeline.signal.aborted).toBe(false)
    expect(knocks).toHaveLength(1)
  })
})

describe('a supplier that answers somebody else', () => {
  it('is there, and is looked for only after half a minute of silence', () => {
    const { clock, knocks, send } = createScene()
    const slow = send()
    for (let call = 0; call < 10; call++) {
      const quick = send()
      quick.heard()
      quick.release()
      clock.advance(SECOND)
    }
    clock.advance(29 * SECOND)
    expect(knocks).toHaveLength(0)
    clock.advance(SECOND)
    expect(knocks).toHaveLength(1)
    expect(slow.signal.aborted).toBe(false)
  })

  it('in the very first moment is there as well', () => {
    const { clock, knocks, send } = createScene()
    send()
    send().heard()
    clock.advance(20 * SECOND)
    expect(knocks).toHaveLength(0)
  })

  it('is there although it takes no new connection', async () => {
    const { clock, knocks, lost, send } = createScene()
    const slow = send()
    const quick = send()
    clock.advance(3 * SECOND)
    quick.heard()
    await knocks[0]!.refuse()
    expect(slow.signal.aborted).toBe(false)
    expect(lost).toEqual([])
  })
})

describe('looking for a supplier', () => {
  it('happens once at a time, and every three seconds at most, however many wait', async () => {
    const { clock, knocks, send } = createScene()
    for (let call = 0; call < 50; call++) send()
    clock.advance(4 * SECOND)
    expect(knocks).toHaveLength(1)
    for (let second = 0; second < 12; second++) {
      for (let call = 0; call < 5; call++) send()
      await knocks.at(-1)!.refuse()
      clock.advance(SECOND)
    }
    const times = knocks.map(({ at }) => at)
    const gaps = times.slice(1).map((at, index) => at - times[index]!)
    expect(gaps.length).toBeGreaterThan(2)
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(3 * SECOND)
  })

  it('ends when nobody waits any more', async () => {
    const { clock, knocks, send } = createScene()
    const lifelines = [send(), send()]
    clock.advance(3 * SECOND)
    lifelines[0]!.release()
    expect(knocks[0]?.signal.aborted).toBe(false)
    lifelines[1]!.heard()
    expect(knocks[0]?.signal.aborted).toBe(true)
    lifelines[1]!.release()
    await settle()
    expect(clock.listeners()).toBe(0)
  })

  it('does not happen once the answer has begun, however slowly it goes on', () => {
    const { clock, knocks, send } = createScene()
    const lifeline = send()
    clock.advance(2 * SECOND)
    lifeline.heard()
    clock.advance(500 * SECOND)
    expect(knocks).toHaveLength(0)
    expect(lifeline.signal.aborted).toBe(false)
  })

  it('in vain ends the books of a caller who has gone as those of one who has gone', async () => {
    const { clock, knocks, send } = createScene()
    const caller = new AbortController()
    const lifeline = send(ORIGIN, caller)
    lifeline.lingerWhile(() => true, 60 * SECOND)
    clock.advance(3 * SECOND)
    caller.abort()
    await knocks[0]!.refuse()
    expect(lifeline.signal.reason).toBeInstanceOf(CallerGone)
  })
})

const strangers: Stranger[] = []

afterEach(async () => {
  for (const each of strangers.splice(0)) await each.stop()
})

function tidy(stranger: Stranger): Stranger {
  strangers.push(stranger)
  return stranger
}

/** Says what came of it. */
async function knockAt(origin: string, name?: string, giveUp?: Promise<void>): Promise<string> {
  const controller = new AbortController()
  void giveUp?.then(() => controller.abort())
  try {
    await createKnock(name)(origin, controller.signal)
    return 'open'
  } catch {
    return 'closed'
  } finally {
    controller.abort()
  }
}

describe('a knock', () => {
  it('is heard where somebody listens, and says nothing there', async () => {
    const closed = Promise.withResolvers<void>()
    const stranger = tidy(await startPlain((socket) => socket.on('close', closed.resolve)))
    expect(await knockAt(`http://127.0.0.1:${stranger.port}`)).toBe('open')
    await closed.promise
    expect(stranger.heard()).toBe('')
    expect(stranger.connections()).toBe(1)
  })

  it('asks an encrypted supplier by its name, whoever vouches for it, and says nothing either', async () => {
    const stranger = tidy(
      await startEncrypted(issueCertificate({ name: 'supplier.example.com' }), 'hello'),
    )
    const origin = `https://127.0.0.1:${stranger.port}`
    expect(await knockAt(origin, 'supplier.example.com')).toBe('open')
    expect(await knockAt(origin)).toBe('open')
    expect(stranger.heard()).toBe('')
  })

  it('names the host in the greeting', async () => {
    const greeting = Promise.withResolvers<string>()
    const stranger = tidy(
      await startPlain((socket) => {
        socket.on('data', (chunk) => {
          greeting.resolve(chunk.toString('latin1'))
          socket.destroy()
        })
      }),
    )
    const origin = `https://127.0.0.1:${stranger.port}`
    expect(await knockAt(origin, 'supplier.example.com')).toBe('open')
    expect(await greeting.promise).toContain('supplier.example.com')
  })

  it.each([
    ['hangs up', (socket: Socket) => void socket.destroy()],
    ['speaks no TLS', (socket: Socket) => void socket.write('HTTP/1.1 400 Bad Request')],
  ])('is heard by an encrypted supplier that %s: somebody is there', async (_, greet) => {
    const stranger = tidy(await startPlain(greet))
    expect(await knockAt(`https://127.0.0.1:${stranger.port}`)).toBe('open')
  })

  it('ends when it is told to, and hangs up', async () => {
    const closed = Promise.withResolvers<void>()
    const stranger = tidy(await startPlain((socket) => socket.on('close', closed.resolve)))
    const origin = `https://127.0.0.1:${stranger.port}`
    expect(await knockAt(origin, undefined, stranger.connected(1))).toBe('closed')
    await closed.promise
  })

  it('at a closed port is heard by the machine, which refuses', async () => {
    const stranger = await startPlain(() => {})
    await stranger.stop()
    for (const scheme of ['http', 'https'])
      expect(await knockAt(`${scheme}://127.0.0.1:${stranger.port}`)).toBe('open')
  })
})

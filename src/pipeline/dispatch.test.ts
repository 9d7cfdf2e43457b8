// What is sent and what is not: a call that is held in the very moment in which the process cuts everything, or in which
// everybody asks for a pause, has no attempt; and an attempt that has failed is over for its supplier, too.
import { afterEach, describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { supplierAt } from '../../test/fakes/gateway.ts'
import { openRoom } from '../../test/fakes/ledger.ts'
import { routesOf } from '../../test/fakes/stalls.ts'
import { closeStreet, tidy } from '../../test/fakes/street.ts'
import { startFakeSupplier, type Script } from '../../test/fakes/supplier.ts'
import { Chain } from '../core/chain.ts'
import { openaiChat } from '../dialects/openai-chat/index.ts'
import { WAITING } from '../routing/reason.ts'
import type { Route } from '../routing/routes.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'
import { CallerGone } from '../upstream/lifeline.ts'
import { DEFAULT_LIMITS, type Held, type Plant } from './call.ts'
import { dispatchStream, dispatchUnary } from './dispatch.ts'

afterEach(closeStreet)

const clock = createFakeClock()
const WAYS = [dispatchUnary, dispatchStream]

/** A call that may go to whoever serves the model, as if it had waited in line until now. */
function heldFor(route: Route, stream: boolean, caller = new AbortController().signal): Held {
  const body = new TextEncoder().encode(
    JSON.stringify({ model: 'model', stream, messages: [{ role: 'user', content: 'Hello' }] }),
  )
  const attempts = route.candidates.map((candidate) => candidate.attempts[0]!)
  const reasons = attempts.map(() => 0)
  const call = {
    key: { id: 'key' },
    dialect: openaiChat,
    route,
    verdict: { attempts, reasons, isPinned: false, isLastResort: false },
    attempts,
    prices: attempts.map(() => ({})),
    tries: [],
    facts: openaiChat.peek(body),
    body,
    fit: {},
    bound: { maxTokensAt: () => undefined },
    caller: { signal: caller, letGo() {} },
    startedMs: 0,
    heldAtMs: 1000,
  }
  return call as unknown as Held
}

async function plantWith(isStopped: boolean): Promise<Plant> {
  const { ledger } = await openRoom()
  if (isStopped) ledger.stop()
  const plant = {
    ledger,
    clock,
    limits: DEFAULT_LIMITS,
    draw: () => 0,
    trouble: { failed() {} },
    lifelines: new Chain(),
    policy: {},
  }
  return plant as unknown as Plant
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.catch((thrown: unknown) => thrown)
}

describe.each(WAYS)('nobody is asked', (dispatch) => {
  const stream = dispatch === dispatchStream

  it('once the books are stopped', async () => {
    const call = heldFor(routesOf([{ id: 'one' }]).find('model')!, stream)
    const thrown = await failureOf(dispatch(call, await plantWith(true)))
    expect(thrown).toMatchObject({ code: 'pod_draining', status: 503 })
    expect(call.tries).toEqual([])
  })

  it.each([1, 2])(
    'where all of %p have asked for a pause since the list was made',
    async (count) => {
      const stalls = [{ id: 'one' }, { id: 'two' }].slice(0, count)
      const route = routesOf(stalls).find('model')!
      for (const [index, { lane }] of route.candidates.entries()) {
        lane.standing = () => WAITING
        lane.remaining = () => 20_000 + 5000 * index
      }
      const call = heldFor(route, stream)
      expect(await failureOf(dispatch(call, await plantWith(false)))).toMatchObject({
        code: 'all_providers_exhausted',
        status: 429,
        retryAfter: 20,
      })
      expect(call.tries).toEqual([])
      // Who has gone meanwhile is told nothing, and its books say that it has gone.
      const gone = heldFor(route, stream, AbortSignal.abort())
      const thrown = await failureOf(dispatch(gone, await plantWith(false)))
      expect(thrown).toBeInstanceOf(CallerGone)
    },
  )
})

describe.each(WAYS)('a supplier that has failed and goes on sending', (dispatch) => {
  const kept: Response[] = []

  /** Nobody lets go of what it answers: the runtime would hang up by itself, somewhen. */
  const keeping = (upstream: Upstream): Upstream => ({
    ...upstream,
    async post(...asked) {
      const response = await upstream.post(...asked)
      kept.push(response)
      return response
    },
  })

  const long = { 'content-length': '40000000' }

  it.each<[string, Script]>([
    ['a reason that is too long', (_, reply) => reply.json(500, ' ', long)],
    ['an answer that is too long', (_, reply) => reply.json(200, ' ', long)],
  ])('%s is hung up on', async (_, script) => {
    const supplier = tidy(await startFakeSupplier(script))
    const routes = routesOf(
      [],
      { upstreamOf: ({ origin }) => keeping(createUpstream({ origin, headers: {} })) },
      [supplierAt(supplier.origin)],
    )
    const call = heldFor(routes.find('test-model')!, dispatch === dispatchStream)
    await failureOf(dispatch(call, await plantWith(false)))
    await (
      await supplier.request(0)
    ).closed
    expect(kept.length).toBeGreaterThan(0)
  })
})

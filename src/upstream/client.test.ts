// What a failed request proves: whether anything was sent, whether the supplier refused, and whether
// another one may be asked.
import { describe, expect, it } from 'bun:test'
import { createFakeClock } from '../../test/fakes/clock.ts'
import { Chain } from '../core/chain.ts'
import { startFakeSupplier, type Script } from '../../test/fakes/supplier.ts'
import { GatewayError } from '../core/problem.ts'
import { asFailure, createUpstream } from './client.ts'
import { AttemptFailure } from './failure.ts'
import { CallerGone, Lifeline } from './lifeline.ts'

const RUNNING = new AbortController().signal

function withCode(code: string): Error {
  return Object.assign(new Error('it failed'), { code })
}

describe('what fetch throws', () => {
  it.each([
    ['ConnectionRefused', 'unsent'],
    ['ENOTFOUND', 'unsent'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'unsent'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'unsent'],
    ['EPROTO', 'unsent'],
    ['ECONNRESET', 'unknown'],
    ['ETIMEDOUT', 'unknown'],
    ['', 'unknown'],
  ] as const)('with %p proves %s', (code, evidence) => {
    expect(asFailure(withCode(code), RUNNING)).toMatchObject({
      evidence,
      isFinal: false,
      problem: { code: 'upstream_unavailable', status: 503 },
    })
  })

  it.each(['EPROTO', 'CERT_HAS_EXPIRED', 'ConnectionRefused'])(
    'with %p proves nothing once an answer has begun',
    (code) => {
      expect(asFailure(withCode(code), RUNNING, true)).toMatchObject({ evidence: 'unknown' })
    },
  )

  it.each([undefined, null, 'text', 7, {}])('may be anything, even %p', (thrown) => {
    expect(asFailure(thrown, RUNNING)).toMatchObject({ evidence: 'unknown', isFinal: false })
  })

  it('stays out of what the caller is told', () => {
    const failure = asFailure(new Error('secret canary'), RUNNING) as AttemptFailure
    expect(failure.message).not.toContain('canary')
    expect(failure.problem.message).not.toContain('canary')
  })
})

describe('what an attempt was ended for', () => {
  it('passes when it is the caller', () => {
    const reason = new CallerGone()
    expect(asFailure(withCode('ECONNRESET'), AbortSignal.abort(reason))).toBe(reason)
  })

  it.each([
    ['provider_timeout', false],
    ['stream_interrupted', true],
  ] as const)('with %s ends the whole call: %p', (code, isFinal) => {
    const signal = AbortSignal.abort(new GatewayError(code))
    expect(asFailure(new Error('aborted'), signal)).toMatchObject({ isFinal, problem: { code } })
  })
})

async function post(script: Script, origin?: string): Promise<unknown> {
  const supplier = await startFakeSupplier(script)
  const upstream = createUpstream({ origin: origin ?? supplier.origin, headers: { 'x-own': '1' } })
  const caller = { signal: RUNNING, keepOpen: () => {}, letGo: () => {} }
  const lifeline = new Lifeline(createFakeClock(), caller, new Chain())
  try {
    return await upstream.post('/path', new TextEncoder().encode('{}'), lifeline)
  } catch (thrown) {
    return asFailure(thrown, lifeline.signal)
  } finally {
    lifeline.release()
    upstream.close()
    await supplier.stop()
  }
}

describe('a request', () => {
  it('to a closed port has sent nothing', async () => {
    const supplier = await startFakeSupplier(() => {})
    await supplier.stop()
    expect(await post(() => {}, supplier.origin)).toMatchObject({ evidence: 'unsent' })
  })

  it('that is reset may have cost something', async () => {
    const failure = await post((_, reply) => reply.reset())
    expect(failure).toBeInstanceOf(AttemptFailure)
    expect(failure).toMatchObject({ evidence: 'unknown', isFinal: false })
  })

  it('is answered by a redirect as it is', async () => {
    const response = await post((_, reply) =>
      reply.json(307, '', { location: 'http://127.0.0.1:1/elsewhere' }),
    )
    expect(response).toMatchObject({ status: 307 })
  })
})

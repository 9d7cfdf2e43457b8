import { describe, expect, it } from 'bun:test'
import { GatewayError, type ProblemCode, type ProblemOptions } from '../core/problem.ts'
import { AttemptFailure, type FailureEvidence, type FailureOptions } from '../upstream/failure.ts'
import { judge, type Judgement } from './judge.ts'

interface Told extends FailureOptions, ProblemOptions {
  readonly code?: ProblemCode
  readonly evidence?: FailureEvidence
}

/** What a supplier said has an origin; what happened on the way to it has a cause. */
function judged({ code = 'provider_error', evidence = 'refused', ...options }: Told): Judgement {
  return judge(new AttemptFailure(new GatewayError(code, undefined, options), evidence, options))
}

const said = (status: number, more: Told = {}): Told => ({ status, origin: {}, ...more })
const unsent = (code: string): Told => ({
  code: 'upstream_unavailable',
  evidence: 'unsent',
  cause: { code },
})

describe('what a failure says about the way that it went', () => {
  const cases: readonly (readonly [name: string, told: Told, expected: object])[] = [
    ['a closed port', unsent('ConnectionRefused'), { kind: 'failure', side: 'local' }],
    ['a name that is unknown', unsent('ENOTFOUND'), { kind: 'failure', side: 'local' }],
    ['a handshake that fails', unsent('ERR_SSL_WRONG_VERSION'), { kind: 'failure', side: 'local' }],
    [
      'a reset before any word',
      { code: 'upstream_unavailable', evidence: 'unknown', cause: { code: 'ECONNRESET' } },
      { kind: 'failure', side: 'local' },
    ],
    [
      'no answer in time',
      { code: 'provider_timeout', evidence: 'unknown' },
      { kind: 'failure', side: 'local' },
    ],
    [
      'whatever else kept it from being sent',
      { code: 'non_json_provider_response', evidence: 'unsent' },
      { kind: 'failure', side: 'local' },
    ],
    ['a 500', said(500), { kind: 'failure', side: 'remote', blow: { restMs: 30_000 } }],
    ['a 529', said(529), { kind: 'failure', side: 'remote' }],
    [
      'a 503 that calls itself unreachable',
      said(503, { code: 'upstream_unavailable' }),
      { kind: 'failure', side: 'remote' },
    ],
    [
      'an answer that is no JSON',
      { code: 'non_json_provider_response', evidence: 'unknown' },
      { kind: 'failure', side: 'remote' },
    ],
    ['a 401', said(401), { kind: 'account', blow: { restMs: 300_000 } }],
    ['a 429 of a spent account', said(429, { isSpent: true }), { kind: 'account' }],
    ['a 402', said(402), { kind: 'failure', side: 'remote', blow: { restMs: 30_000 } }],
    ['a 403', said(403), { kind: 'failure', side: 'remote', blow: { restMs: 300_000 } }],
    ['a 404', said(404), { kind: 'failure', side: 'remote', blow: { restMs: 300_000 } }],
    ['a 429', said(429), { kind: 'busy' }],
    ['a 429 with a time', said(429, { waitMs: 7000 }), { kind: 'wait', waitMs: 7000 }],
    ['a 429 with no time at all', said(429, { waitMs: 0 }), { kind: 'busy' }],
    ['a 503 with a time', said(503, { waitMs: 7000 }), { kind: 'pause', waitMs: 7000 }],
    ['a 503 with no time at all', said(503, { waitMs: 0 }), { kind: 'failure', side: 'remote' }],
    ['a request that is refused', said(400, { isFinal: true }), { kind: 'nothing' }],
    [
      'the end of this process',
      { code: 'pod_draining', evidence: 'unknown', isFinal: true },
      { kind: 'nothing' },
    ],
    [
      'an answer that is too long',
      { code: 'provider_response_too_large', evidence: 'unknown' },
      { kind: 'nothing' },
    ],
  ]
  it.each(cases)('%s', (_name, told, expected) => {
    expect(judged(told)).toMatchObject(expected)
  })

  it('is nothing about the account where only the caller knows the model, but for the line to it', () => {
    const judgedOpen = (told: Told): Judgement => {
      const { code = 'provider_error', evidence = 'refused', ...options } = told
      const problem = new GatewayError(code, undefined, options)
      return judge(new AttemptFailure(problem, evidence, options), true)
    }
    const counted = { kind: 'failure', side: 'remote' }
    expect(judgedOpen(said(401))).toMatchObject({ ...counted, blow: { restMs: 300_000 } })
    expect(judgedOpen(said(402, { isSpent: true }))).toMatchObject(counted)
    expect(judgedOpen(unsent('CERT_HAS_EXPIRED'))).toMatchObject({ kind: 'account' })
  })

  it.each([
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  ])('of %s: nobody is asked there until somebody has seen to it', (code) => {
    const blow = { why: `certificate: ${code}`, restMs: 300_000 }
    expect(judged(unsent(code))).toEqual({ kind: 'account', blow })
  })
})

describe('the reason that is shown', () => {
  const whyOf = (told: Told): unknown => {
    const judgement = judged(told)
    return 'blow' in judgement ? judgement.blow.why : undefined
  }

  it('is what the supplier said, where that is a code', () => {
    expect(whyOf(said(500, { origin: { code: 'overloaded_error' } }))).toBe('500 overloaded_error')
    const words = { code: 'You wrote: "my password is…"' }
    expect(whyOf(said(500, { origin: words }))).toBe('500 provider_error')
  })

  it('is what happened on the way to it', () => {
    expect(whyOf(unsent('ConnectionRefused'))).toBe('unreachable: ConnectionRefused')
    expect(whyOf({ code: 'provider_timeout', evidence: 'unknown' })).toBe('provider_timeout')
  })
})

// Which of the two credential headers counts, for every pair of what they may hold.
import { describe, expect, it } from 'bun:test'
import { credentialOf } from './credential.ts'

type Pair = readonly [authorization: string | undefined, apiKey: string | undefined]

function headersOf([authorization, apiKey]: Pair): Headers {
  const headers = new Headers()
  if (authorization !== undefined) headers.set('authorization', authorization)
  if (apiKey !== undefined) headers.set('x-api-key', apiKey)
  return headers
}

describe('a credential', () => {
  const found: readonly (readonly [Pair, string])[] = [
    [['Bearer svc_a', undefined], 'svc_a'],
    [['bearer svc-sk-a', undefined], 'svc-sk-a'],
    [['BEARER svc_a', undefined], 'svc_a'],
    [[undefined, 'svc_a'], 'svc_a'],
    [['Bearer svc_a', 'svc_b'], 'svc_a'],
    [['Bearer svc_a', 'sk-other'], 'svc_a'],
    [['Bearer sk-other', 'svc_b'], 'svc_b'],
    [['Basic dTpw', 'svc_b'], 'svc_b'],
    [['svc_a', 'svc_b'], 'svc_b'],
    [['Bearer', 'svc_b'], 'svc_b'],
    [['Bearer svc_', undefined], 'svc_'],
  ]
  for (const [pair, secret] of found)
    it(`is ${secret} in ${JSON.stringify(pair)}`, () => {
      expect(credentialOf(headersOf(pair))).toBe(secret)
    })

  const missing: readonly Pair[] = [
    [undefined, undefined],
    [undefined, ''],
  ]
  for (const pair of missing)
    it(`is missing in ${JSON.stringify(pair)}`, () => {
      const refusal = expect.objectContaining({ code: 'missing_api_key', retryable: false })
      expect(() => credentialOf(headersOf(pair))).toThrow(refusal)
    })

  const invalid: readonly Pair[] = [
    ['Bearer sk-other', undefined],
    ['Bearer sk-other', 'sk-another'],
    ['Basic svc_a', undefined],
    ['svc_a', undefined],
    ['Bearer  svc_a', undefined],
    ['Bearer\tsvc_a', undefined],
    ['Bearer SVC_a', undefined],
    ['Bearer "svc_a"', undefined],
    [undefined, 'Bearer svc_a'],
    [undefined, 'sk-other'],
  ]
  for (const pair of invalid)
    it(`is not valid in ${JSON.stringify(pair)}`, () => {
      const refusal = expect.objectContaining({ code: 'invalid_api_key', retryable: false })
      expect(() => credentialOf(headersOf(pair))).toThrow(refusal)
    })
})

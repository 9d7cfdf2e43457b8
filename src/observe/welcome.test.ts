// The first screen: what fits the window of everybody, and what can be pasted from it.
import { describe, expect, it } from 'bun:test'
import { welcome } from './welcome.ts'

const FACTS = {
  url: 'http://127.0.0.1:8080',
  newRootKey: `svc_${'k'.repeat(43)}`,
  rootKeyFrom: undefined,
  models: Array.from({ length: 12 }, (_, index) => `family/model-of-some-length-${index}`),
  suppliers: Array.from({ length: 9 }, (_, index) => `supplier-number-${index}`),
  dataFolder: '/srv/gateway/data',
  file: '/srv/gateway/gateway.yaml',
}

describe('the first screen', () => {
  it.each([
    ['a new key', FACTS],
    ['a key of before', { ...FACTS, newRootKey: undefined }],
    ['no models', { ...FACTS, models: [] }],
  ])('fits 80 columns with %s', (_case, facts) => {
    const lines = welcome(facts).split('\n')
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
    expect(lines.join('\n')).toContain('supplier-number-8')
  })

  it('shows a body that is JSON, whichever way it is broken', () => {
    const [, body = ''] = /-d '(.*?)'/s.exec(welcome(FACTS)) ?? []
    expect(JSON.parse(body)).toMatchObject({ model: 'family/model-of-some-length-0' })
  })
})

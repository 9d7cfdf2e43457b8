// Headers and paths that mean more than one thing are refused, and honest ones of every kind pass.
import { describe, expect, it } from 'bun:test'
import { checkHeaders, checkPath, singleHeader } from './edge.ts'

function refusal(status: number, param?: string): unknown {
  return expect.objectContaining({ code: 'invalid_request', status, param })
}

describe('a header', () => {
  for (const name of ['authorization', 'x-api-key', 'idempotency-key', 'x-session-id', 'host'])
    it(`stands once: ${name}`, () => {
      expect(singleHeader(new Headers([[name, 'a']]), name)).toBe('a')
      expect(singleHeader(new Headers(), name)).toBeUndefined()
      const twice = new Headers([
        [name, 'a'],
        [name, 'b'],
      ])
      expect(() => singleHeader(twice, name)).toThrow(refusal(400, name))
    })

  it('may be repeated where a list is meant', () => {
    const headers = new Headers([
      ['accept', 'a'],
      ['accept', 'b'],
      ['anthropic-beta', 'a,b'],
    ])
    checkHeaders(headers)
  })

  for (const host of ['gateway.test', 'gateway.test:8080', '[::1]:8080', '10.0.0.1', 'a_b-c~d', ''])
    it(`names a host: ${host === '' ? 'none' : host}`, () => {
      checkHeaders(new Headers({ host }))
    })

  for (const host of ['a/b', 'a?b', 'a#b', 'a\\b', 'a b', 'a@b', '<a>', 'a"b', 'a|b', '\u00FC'])
    it(`names no host: ${host}`, () => {
      expect(() => checkHeaders(new Headers({ host }))).toThrow(refusal(400, 'host'))
    })

  it('may expect to be told to go on, and nothing else', () => {
    checkHeaders(new Headers({ expect: '100-Continue' }))
    for (const expectation of ['banana', '100-continue, banana', ''])
      expect(() => checkHeaders(new Headers({ expect: expectation }))).toThrow(refusal(417))
  })
})

describe('a path', () => {
  for (const path of ['/', '/v1/models/a%2Fb', '/%C3%A9', '/%25', '/a%20b'])
    it(`is sound: ${path}`, () => {
      checkPath(path)
    })

  for (const path of ['/%', '/%2', '/%zz', '/a%2', '/%%41', '/a%00b', '/%g0'])
    it(`holds a broken escape: ${path}`, () => {
      expect(() => checkPath(path)).toThrow(refusal(400))
    })
})

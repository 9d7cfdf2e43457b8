// Routes are data, and a wrong one must fail at the start, not at the first request that meets it.
import { describe, expect, it } from 'bun:test'
import { GatewayError } from '../core/problem.ts'
import { pathOf, Router, type Match, type Route } from './router.ts'

function routerOf(...places: readonly string[]): Router<string> {
  return new Router(places.map(toRoute))
}

function toRoute(place: string): Route<string> {
  const [method = '', path = ''] = place.split(' ')
  return { method, path, handler: place }
}

function refusalOf(work: () => unknown): GatewayError {
  try {
    work()
  } catch (thrown) {
    if (thrown instanceof GatewayError) return thrown
    throw thrown
  }
  throw new Error('nothing was refused')
}

const router = routerOf(
  'GET /v1/models/{id*}',
  'GET /v1/models',
  'POST /v1/keys',
  'GET /v1/keys',
  'GET /v1/keys/{id}',
  'PATCH /v1/keys/{id}',
  'GET /v1/keys/{id}/audit',
)

describe('router', () => {
  it.each<readonly [string, string, Match<string>]>([
    ['GET', '/v1/keys', { handler: 'GET /v1/keys', params: {} }],
    ['POST', '/v1/keys', { handler: 'POST /v1/keys', params: {} }],
    ['GET', '/v1/keys/a', { handler: 'GET /v1/keys/{id}', params: { id: 'a' } }],
    ['PATCH', '/v1/keys/a', { handler: 'PATCH /v1/keys/{id}', params: { id: 'a' } }],
    ['GET', '/v1/keys/a/audit', { handler: 'GET /v1/keys/{id}/audit', params: { id: 'a' } }],
    ['GET', '/v1/keys/audit', { handler: 'GET /v1/keys/{id}', params: { id: 'audit' } }],
    [
      'GET',
      '/v1/keys/audit/audit',
      { handler: 'GET /v1/keys/{id}/audit', params: { id: 'audit' } },
    ],
    ['GET', '/v1/models/a', { handler: 'GET /v1/models/{id*}', params: { id: 'a' } }],
    ['GET', '/v1/models/a/b/c', { handler: 'GET /v1/models/{id*}', params: { id: 'a/b/c' } }],
  ])('finds %s %s', (method, path, match) => {
    expect(router.match(method, path)).toEqual(match)
  })

  it('decodes a parameter once, after the path was cut into segments', () => {
    expect(router.match('GET', '/v1/keys/a%20b').params).toEqual({ id: 'a b' })
    expect(router.match('GET', '/v1/keys/a%2Fb').params).toEqual({ id: 'a/b' })
    expect(router.match('GET', '/v1/keys/a%2Faudit').params).toEqual({ id: 'a/audit' })
    expect(router.match('GET', '/v1/keys/a%2Fb/audit').params).toEqual({ id: 'a/b' })
    expect(router.match('GET', '/v1/keys/a%252Fb').params).toEqual({ id: 'a%2Fb' })
    expect(router.match('GET', '/v1/keys/%C3%A9').params).toEqual({ id: 'é' })
  })

  it.each(['/v1/keys/%zz', '/v1/keys/%zz/audit', '/v1/keys/%ff', '/v1/models/a/%'])(
    'refuses the broken escape in %s',
    (path) => {
      const error = refusalOf(() => router.match('GET', path))
      expect([error.code, error.status]).toEqual(['invalid_request', 400])
    },
  )

  it.each([
    '/v1/keys/',
    '/v1/keys/a/',
    '/v1/keys//audit',
    '/v1/keys/a/audit/',
    '/v1/keys/a/b/audit',
    '/v1/keys/a/other',
    '/v1/models/',
    '/v1',
    '/',
    '',
    '//v1/keys',
    '/V1/keys',
    'constructor',
    '__proto__',
    '/constructor',
    '/__proto__',
  ])('finds nothing at %p', (path) => {
    const error = refusalOf(() => router.match('GET', path))
    expect([error.code, error.status]).toEqual(['not_found', 404])
  })

  it('takes the name of an inherited property for an ordinary id', () => {
    expect(router.match('GET', '/v1/keys/constructor').params['id']).toBe('constructor')
    expect(router.match('GET', '/v1/keys/__proto__').params['id']).toBe('__proto__')
  })

  it.each<readonly [string, string, string]>([
    ['DELETE', '/v1/keys', 'POST, GET, HEAD'],
    ['PUT', '/v1/keys/a', 'GET, HEAD, PATCH'],
    ['POST', '/v1/keys/a/audit', 'GET, HEAD'],
    ['constructor', '/v1/keys', 'POST, GET, HEAD'],
  ])('answers %s %s with the methods that are allowed', (method, path, allowed) => {
    const error = refusalOf(() => router.match(method, path))
    expect([error.code, error.status]).toEqual(['method_not_allowed', 405])
    expect(error.headers).toEqual({ allow: allowed })
  })

  it('answers HEAD as GET unless it has a route of its own', () => {
    expect(router.match('HEAD', '/v1/keys').handler).toBe('GET /v1/keys')
    expect(router.match('HEAD', '/v1/keys/a/audit').handler).toBe('GET /v1/keys/{id}/audit')
    expect(routerOf('GET /a', 'HEAD /a').match('HEAD', '/a').handler).toBe('HEAD /a')
    const error = refusalOf(() => routerOf('POST /a').match('HEAD', '/a'))
    expect(error.code).toBe('method_not_allowed')
  })

  it('prefers any other pattern to one that takes the rest', () => {
    const both = routerOf('GET /a/{id*}', 'GET /a/b/{id}', 'GET /a/b')
    expect(both.match('GET', '/a/b/c').handler).toBe('GET /a/b/{id}')
    expect(both.match('GET', '/a/b').handler).toBe('GET /a/b')
    expect(both.match('GET', '/a/b/c/d').handler).toBe('GET /a/{id*}')
  })

  it.each<readonly [string, string]>([
    ['GET /a', 'GET /a'],
    ['GET /a/{id}', 'GET /a/{id}'],
    ['GET /a/{id}', 'GET /a/{name}'],
    ['GET /a/{id}', 'PATCH /a/{name}'],
    ['GET /a/{id}', 'PATCH /a/{id*}'],
    ['GET /a/{id}/b', 'GET /a/{name}/b'],
  ])('does not start with both %s and %s', (one, other) => {
    expect(() => routerOf(one, other)).toThrow(/two/)
  })

  it.each(['/a/{id}{name}', '/a/{id}/b/{name}', '/a/x{id}', '/a/{id*}/b', '/a/{id', '/a/{}'])(
    'does not start with the path %s',
    (path) => {
      expect(() => routerOf(`GET ${path}`)).toThrow(/one parameter/)
    },
  )
})

describe('path of an address', () => {
  it.each<readonly [string, string]>([
    ['http://host/v1/keys?limit=1', '/v1/keys'],
    ['http://host:8080/v1/keys', '/v1/keys'],
    ['http://host/?a=/b', '/'],
    ['http://host', '/'],
  ])('reads %s', (url, path) => {
    expect(pathOf(url)).toBe(path)
  })
})

// Which requests go through the operator's proxy: by scheme, and never to this machine.
import { describe, expect, it } from 'bun:test'
import { findProxy } from './proxy.ts'

const PROXIES = { https_proxy: 'http://secure:1', HTTP_PROXY: 'http://plain:2' }

function find(origin: string, variables: Readonly<Record<string, string>> = {}) {
  const all: Readonly<Record<string, string>> = { ...PROXIES, ...variables }
  return findProxy(origin, (name) => all[name])
}

describe('a proxy', () => {
  it('is chosen by the scheme of the origin', () => {
    expect(find('https://api.example.com')).toBe('http://secure:1/')
    expect(find('http://gpu.example.com')).toBe('http://plain:2/')
    expect(findProxy('https://api.example.com', () => undefined)).toBeUndefined()
    expect(find('https://api.example.com', { https_proxy: ' ' })).toBeUndefined()
  })

  it('may be written without its scheme', () => {
    expect(find('http://a.example.com', { HTTP_PROXY: 'proxy:3128' })).toBe('http://proxy:3128/')
  })

  it.each(['http://127.0.0.1:1', 'http://localhost:1', 'https://a.localhost', 'http://[::1]:1'])(
    'is never used for %s',
    (origin) => expect(find(origin)).toBeUndefined(),
  )

  it.each([
    ['*', true],
    ['example.com', true],
    ['.example.com', true],
    ['*.example.com', true],
    ['other.com, API.example.com', true],
    ['api.example.com:8443', true],
    ['api.example.com:443', false],
    ['ple.com', false],
    ['10.0.0.1', false],
    ['', false],
  ])('is passed by for a host of NO_PROXY=%s: %p', (list, isPassedBy) => {
    const proxy = find('https://api.example.com:8443', { NO_PROXY: list })
    expect(proxy === undefined).toBe(isPassedBy)
  })

  it('is passed by for addresses of NO_PROXY', () => {
    expect(find('http://10.0.0.1:80', { NO_PROXY: '10.0.0.1' })).toBeUndefined()
    expect(find('http://[2001:db8::1]:8000', { NO_PROXY: '2001:db8::1' })).toBeUndefined()
    expect(find('http://[2001:db8::1]:8000', { NO_PROXY: '[2001:db8::1]:80' })).toBeDefined()
  })
})

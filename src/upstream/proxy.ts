// Which proxy of the operator a request to an origin goes through, by the variables that all programs
// read. Decided here and handed to the runtime, so that what it does and what is checked are the same.

/** An address of this machine or of nobody's business but the operator's. */
const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

export type Lookup = (name: string) => string | undefined

/** A variable that should name a proxy and does not. Its value may hold a password and is never quoted. */
export class ProxyFault extends Error {
  override readonly name = 'ProxyFault'

  constructor(variable: string) {
    super(`${variable} is no address of a proxy: write one such as http://proxy.example.com:3128`)
  }
}

/** Undefined where the request goes straight to the origin. Throws a `ProxyFault`. */
export function findProxy(origin: string, lookup: Lookup): string | undefined {
  const url = new URL(origin)
  const names =
    url.protocol === 'https:' ? ['https_proxy', 'HTTPS_PROXY'] : ['http_proxy', 'HTTP_PROXY']
  const name = names.find((each) => lookup(each)?.trim())
  if (name === undefined || LOOPBACK.test(url.hostname) || isExempt(url, lookup)) return undefined
  const text = lookup(name)?.trim() ?? ''
  // The usual short form, which the runtime does not read.
  const proxy = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (proxy === null || !/^https?:$/.test(proxy.protocol)) throw new ProxyFault(name)
  return proxy.href
}

/** `example.com` and `.example.com` cover the names below as well; a port narrows an entry to itself. */
function isExempt(url: URL, lookup: Lookup): boolean {
  const list = lookup('no_proxy')?.trim() || lookup('NO_PROXY') || ''
  const port = url.port || (url.protocol === 'https:' ? '443' : '80')
  const host = url.hostname.replaceAll(/^\[|\]$/g, '')
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      if (entry === '') return false
      if (entry === '*') return true
      const [, bracketed, plain, own] =
        /^(?:\[([^\]]+)\]|([^:]+|.*:.*:.*))(?::(\d+))?$/.exec(entry) ?? []
      const name = (bracketed ?? plain ?? '').replace(/^\*?\./, '')
      if (name === '' || (own !== undefined && own !== port)) return false
      return host === name || host.endsWith(`.${name}`)
    })
}

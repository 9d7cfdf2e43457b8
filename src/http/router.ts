// Finds the route of a request. Routes are data; a path is matched whole and exactly, and a parameter
// takes one segment, or with `*` all that is left.
import { GatewayError } from '../core/problem.ts'

export interface Route<Handler> {
  readonly method: string
  /**
   * `/v1/keys/{id}` and `/v1/keys/{id}/audit` take one segment, `/v1/models/{id*}` everything that
   * follows.
   */
  readonly path: string
  readonly handler: Handler
}

export interface Match<Handler> {
  readonly handler: Handler
  readonly params: Readonly<Record<string, string>>
}

interface Pattern<Handler> {
  readonly prefix: string
  readonly name: string
  readonly takesRest: boolean
  /** What must follow the parameter: nothing, or a slash and more. */
  readonly suffix: string
  readonly methods: Map<string, Handler>
}

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({})
const PARAMETER = /^([^{]*\/)\{(\w+)(?:\}(\/[^{]*)?|\*\})$/

export class Router<Handler> {
  readonly #exact = new Map<string, Map<string, Handler>>()
  readonly #patterns: Pattern<Handler>[] = []

  constructor(routes: readonly Route<Handler>[]) {
    for (const { method, path, handler } of routes) {
      const methods = this.#methodsOf(path)
      if (methods.has(method)) throw new Error(`two routes for ${method} ${path}`)
      methods.set(method, handler)
    }
    // A rest takes what no other pattern wants, in whatever order the routes are listed.
    this.#patterns.sort((one, other) => Number(one.takesRest) - Number(other.takesRest))
  }

  /** Throws `not_found` or `method_not_allowed`. */
  match(method: string, path: string): Match<Handler> {
    const methods = this.#exact.get(path)
    if (methods !== undefined) return { handler: pick(methods, method), params: NO_PARAMS }
    for (const pattern of this.#patterns) {
      const value = valueOf(pattern, path)
      if (value === undefined) continue
      const handler = pick(pattern.methods, method)
      return { handler, params: { [pattern.name]: decode(value) } }
    }
    throw new GatewayError('not_found', this.#suggest(method, path))
  }

  /** The two slips of nearly everyone: a base address without its version, and a slash too many. */
  #suggest(method: string, path: string): string {
    for (const other of [`/v1${path}`, path.replace(/\/+$/, '')])
      if (this.#exact.get(other)?.has(method) === true)
        return `There is nothing at this path. Use ${other}.`
    return 'There is nothing at this path. Paths begin with /v1, such as /v1/chat/completions.'
  }

  #methodsOf(path: string): Map<string, Handler> {
    if (path.includes('{')) return this.#patternOf(path).methods
    const methods = this.#exact.get(path) ?? new Map<string, Handler>()
    this.#exact.set(path, methods)
    return methods
  }

  #patternOf(path: string): Pattern<Handler> {
    const [, prefix, name, suffix = ''] = PARAMETER.exec(path) ?? []
    if (prefix === undefined || name === undefined)
      throw new Error(`a path takes one parameter, as a whole segment: ${path}`)
    const takesRest = path.endsWith('*}')
    const known = this.#patterns.find((each) => each.prefix === prefix && each.suffix === suffix)
    if (known === undefined) {
      const pattern = { prefix, name, takesRest, suffix, methods: new Map<string, Handler>() }
      this.#patterns.push(pattern)
      return pattern
    }
    // A handler reads its parameter by name, so one place cannot have two names for it.
    if (known.name !== name || known.takesRest !== takesRest)
      throw new Error(`two ways to write the parameter of ${path}`)
    return known
  }
}

function valueOf(pattern: Pattern<unknown>, path: string): string | undefined {
  const { prefix, suffix } = pattern
  if (!path.startsWith(prefix) || !path.endsWith(suffix)) return undefined
  // Empty too where prefix and suffix overlap.
  const value = path.slice(prefix.length, path.length - suffix.length)
  if (value === '') return undefined
  return pattern.takesRest || !value.includes('/') ? value : undefined
}

function pick<Handler>(methods: ReadonlyMap<string, Handler>, method: string): Handler {
  // A GET route answers HEAD too; the server leaves the body out.
  const handler = methods.get(method) ?? (method === 'HEAD' ? methods.get('GET') : undefined)
  if (handler !== undefined) return handler
  const names = [...methods.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name]))
  const allowed = names.join(', ')
  throw new GatewayError('method_not_allowed', `This path answers ${allowed} only.`, {
    headers: { allow: allowed },
  })
}

/** Path parameters are percent-decoded once; broken escapes are the caller's mistake. */
function decode(value: string): string {
  try {
    return decodeURIComponent(value)
  } catch {
    throw new GatewayError('invalid_request', 'The path holds a broken percent escape.')
  }
}

/** The path of a request's address, without the work of parsing the whole of it. */
export function pathOf(url: string): string {
  // Without a host, as HTTP/1.0 allows, the address is the target alone.
  const start = url.startsWith('/') ? 0 : url.indexOf('/', url.indexOf('://') + 3)
  if (start < 0) return '/'
  const query = url.indexOf('?', start)
  return query < 0 ? url.slice(start) : url.slice(start, query)
}

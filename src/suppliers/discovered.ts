// Suppliers of the environment: whoever has the usual variable set has the supplier. Pure: what is set is
// looked up, never read here.
import type { CatalogueModel } from '../catalog/model.ts'
import { FREE } from '../catalog/price.ts'
import { ConfigurationError } from '../config/problem.ts'
import { NO_PLACE } from '../core/region.ts'
import { Secret } from '../core/secret.ts'
import { checkOrigin } from '../upstream/address.ts'
import { toServices, type Kind } from './kind.ts'
import { abilitiesOf, isServed, limitsOf, taskOf } from './models.ts'
import { isSendable } from './sign.ts'
import type { ModelRoute, Supplier } from './supplier.ts'

const LOCAL_PORT = 11_434

/** Suppliers whose variable is set. Throws a `ConfigurationError` on one that cannot be used, without quoting it. */
export function discoverSuppliers(
  kinds: readonly Kind[],
  lookup: (name: string) => string | undefined,
  catalogue: readonly CatalogueModel[],
): readonly Supplier[] {
  return kinds.flatMap((kind) => {
    const found = kind.origin === undefined ? undefined : findVariable(kind.environment, lookup)
    if (found === undefined) return []
    const isLocal = kind.isLocal === true
    const models = findRoutes(kind, catalogue)
    // Nothing is known to be served there, and the demo would be gone for nothing in return.
    if (models.size === 0 && !isLocal) return []
    const address = isLocal ? readLocalAddress(found) : undefined
    return {
      id: kind.id,
      origin: address?.origin ?? kind.origin!,
      region: NO_PLACE,
      credential: isLocal ? undefined : readCredential(found),
      ...toServices(kind.services, address?.prefix),
      timeouts: {},
      models,
      anyModel: isLocal ? FREE : undefined,
      allowPrivate: isLocal,
    }
  })
}

interface Variable {
  readonly name: string
  readonly value: string
}

/** Trimmed, because a key read from a file often ends in a line break that no header may carry. */
function findVariable(
  names: readonly string[],
  lookup: (name: string) => string | undefined,
): Variable | undefined {
  for (const name of names) {
    const value = lookup(name)?.trim()
    if (value) return { name, value }
  }
  return undefined
}

/** Refused before a header is made of it: the runtime would name the header and not the variable. */
function readCredential({ name, value }: Variable): Secret {
  if (isSendable(value)) return new Secret(value)
  throw new ConfigurationError(
    `${name} holds a space, a line break or a letter that no header can carry: copy the credential again, without quotes or \`Bearer\` in it.`,
  )
}

/** What the services of a supplier can serve. */
function findRoutes(
  { id, services }: Kind,
  catalogue: readonly CatalogueModel[],
): ReadonlyMap<string, ModelRoute> {
  const routes = new Map<string, ModelRoute>()
  for (const model of catalogue) {
    const route = model.suppliers.get(id)
    if (route === undefined || !isServed(model, services)) continue
    routes.set(model.id, {
      as: route.as,
      prices: route.prices,
      ownedBy: model.ownedBy,
      ...taskOf(model),
      limits: limitsOf(model),
      ...abilitiesOf(model, route, services),
    })
  }
  return routes
}

interface LocalAddress {
  readonly origin: string
  readonly prefix: string
}

/**
 * Reads `host`, `host:port`, `:port` or a URL. A URL without a port means its scheme's own, as the
 * server itself reads the variable.
 */
function readLocalAddress({ name, value: text }: Variable): LocalAddress {
  const url = text.includes('://') ? text : `http://${withPort(text.replace(/\/+$/, ''))}`
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (!address || !/^https?:$/.test(address.protocol) || address.username || address.password) {
    throw new ConfigurationError(
      `${name} is not an address: write a host, host:port or an http(s) URL`,
    )
  }
  // A server that listens on every interface is set to these, but nobody can call them.
  if (address.hostname === '0.0.0.0') address.hostname = '127.0.0.1'
  if (address.hostname === '[::]') address.hostname = '[::1]'
  const checked = checkOrigin(address.origin, { allowPrivate: true })
  if ('reason' in checked) throw new ConfigurationError(`${name} ${checked.reason}.`)
  return { origin: checked.origin, prefix: address.pathname.replace(/\/+$/, '') }
}

function withPort(host: string): string {
  if (/^:\d+$/.test(host)) return `127.0.0.1${host}`
  const isBareIpv6 = !host.startsWith('[') && host.split(':').length > 2
  if (isBareIpv6) return `[${host}]:${LOCAL_PORT}`
  return /:\d+$/.test(host) ? host : `${host}:${LOCAL_PORT}`
}

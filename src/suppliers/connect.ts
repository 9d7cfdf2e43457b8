// Opens the one way to a supplier: its signature on every request, and its name held to checked addresses.
import { ConfigurationError } from '../config/problem.ts'
import { checkOrigin, isIpAddress } from '../upstream/address.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'
import { findProxy, ProxyFault, type Lookup } from '../upstream/proxy.ts'
import { Pin, resolveHost, type Resolve } from '../upstream/pin.ts'
import { createKnock, hostOf, Reach, type Knock } from '../upstream/reach.ts'
import { signatureOf } from './sign.ts'
import type { Signature, Supplier } from './supplier.ts'

export interface ConnectParts {
  /** Milliseconds that never jump. */
  readonly now: () => number
  readonly resolve?: Resolve
  /** Looks up the variables that name the operator's proxies. */
  readonly lookup: Lookup
  /** Opens a connection to a supplier that is silent, and says nothing on it. */
  readonly knock?: Knock
}

/** Throws where the supplier's address may not be called at all. */
export function connect(
  supplier: Supplier,
  parts: ConnectParts,
  signature: Signature = supplier.signature,
): Upstream {
  const { origin } = supplier
  const headers = signatureOf(supplier, signature)
  const pin = pinOf(supplier, parts)
  const proxy = proxyOf(supplier, parts)
  // Whether somebody is there behind a proxy, only the proxy could tell.
  const reach = proxy === undefined ? reachOf(origin, pin, parts) : undefined
  return createUpstream({ origin, headers, proxy, reach, ...(pin !== undefined && { pin }) })
}

/** Of several addresses, the one at which nobody is comes last from then on. */
function reachOf(origin: string, pin: Pin | undefined, { knock }: ConnectParts): Reach {
  const serverName = pin === undefined ? undefined : new URL(origin).hostname
  return new Reach({
    knock: knock ?? createKnock(serverName),
    onLost: (lost) => pin?.demote(hostOf(lost)),
  })
}

/** What is wrong with where a supplier's name leads now, for whoever checks or starts; undefined: nothing. */
export async function findAddressTrouble(
  supplier: Supplier,
  parts: Pick<ConnectParts, 'lookup' | 'resolve'>,
): Promise<string | undefined> {
  try {
    await pinOf(supplier, { ...parts, now: () => 0 })?.ask()
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

/** An IP address needs no look-up: it is what was checked. A proxy looks names up itself. */
function pinOf(supplier: Supplier, parts: ConnectParts): Pin | undefined {
  const { id, origin, allowPrivate } = supplier
  const checked = checkOrigin(origin, { allowPrivate })
  if ('reason' in checked) throw new Error(`supplier ${id}: its origin ${checked.reason}`)
  const { host } = checked
  const { now, resolve = resolveHost } = parts
  const isElsewhere = isIpAddress(host) || proxyOf(supplier, parts) !== undefined
  return isElsewhere ? undefined : new Pin({ host, allowPrivate, resolve, now })
}

function proxyOf({ origin }: Supplier, { lookup }: ConnectParts): string | undefined {
  try {
    return findProxy(origin, lookup)
  } catch (thrown) {
    // The border to whoever wrote the variable: it stops a start as a wrong file does.
    throw thrown instanceof ProxyFault ? new ConfigurationError(thrown.message) : thrown
  }
}

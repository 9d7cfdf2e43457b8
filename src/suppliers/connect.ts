// Opens the one way to a supplier: its signature on every request, and its name held to checked addresses.
import { checkOrigin, isIpAddress } from '../upstream/address.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'
import { Pin, resolveHost, type Resolve } from '../upstream/pin.ts'
import { signatureOf } from './sign.ts'
import type { Supplier } from './supplier.ts'

export interface ConnectParts {
  /** Milliseconds that never jump. */
  readonly now: () => number
  readonly resolve?: Resolve
  /** Requests go through a proxy of the operator, which looks names up itself and must be told them. */
  readonly usesProxy?: boolean
}

/** Throws where the supplier's address may not be called at all. */
export function connect(supplier: Supplier, parts: ConnectParts): Upstream {
  const { origin } = supplier
  const headers = signatureOf(supplier)
  const pin = pinOf(supplier, parts)
  return createUpstream({ origin, headers, ...(pin !== undefined && { pin }) })
}

/** What is wrong with where a supplier's name leads now, for whoever checks or starts; undefined: nothing. */
export async function findAddressTrouble(
  supplier: Supplier,
  resolve: Resolve = resolveHost,
): Promise<string | undefined> {
  try {
    await pinOf(supplier, { now: () => 0, resolve })?.ask()
    return undefined
  } catch (thrown) {
    return thrown instanceof Error ? thrown.message : String(thrown)
  }
}

/** An IP address needs no look-up: it is what was checked. */
function pinOf({ id, origin, allowPrivate }: Supplier, parts: ConnectParts): Pin | undefined {
  const checked = checkOrigin(origin, { allowPrivate })
  if ('reason' in checked) throw new Error(`supplier ${id}: its origin ${checked.reason}`)
  const { host } = checked
  const { now, resolve = resolveHost, usesProxy = false } = parts
  return usesProxy || isIpAddress(host) ? undefined : new Pin({ host, allowPrivate, resolve, now })
}

// Whom the tokens of a sign-in are for. An id of the configuration may come to mean another supplier, and no token of
// the one may go to the other.
import type { Supplier } from '../supplier.ts'

/** The host of a supplier and that of its issuer, as one text. Ports may change with every start. */
export function hostsOf({ origin, oauth }: Pick<Supplier, 'origin' | 'oauth'>): string {
  const addresses = [origin, ...(oauth === undefined ? [] : [oauth.tokenUrl])]
  return addresses.map((address) => new URL(address).hostname).join(' ')
}

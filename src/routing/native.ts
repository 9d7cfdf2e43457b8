// Who serves which model by the sign-ins of an account. Each account has routes of its own, made of nothing but its own
// sign-ins: there is no way from one account to another's. A change of them makes other routes.
import type { Identities, Identity } from '../access/identities.ts'
import { hostsOf } from '../suppliers/oauth/hosts.ts'
import type { Supplier } from '../suppliers/supplier.ts'
import type { Upstream } from '../upstream/client.ts'
import { buildRoutes, type RouteParts, type Routes } from './routes.ts'

export interface NativeParts extends Omit<RouteParts, 'upstreamOf'> {
  readonly identities: Identities
  /** The way to a supplier by one sign-in. */
  readonly upstreamOf: (supplier: Supplier, identity: Identity) => Upstream
}

interface Known {
  readonly version: number
  readonly routes: Routes
}

export class NativeRoutes {
  readonly #parts: NativeParts
  readonly #known = new Map<string, Known>()
  /** Of every account that nobody is signed in for, which is most of them. */
  readonly #none: Routes

  constructor(parts: NativeParts) {
    this.#parts = parts
    this.#none = this.#lead([])
  }

  /** Those that calls may go to by a sign-in. */
  get suppliers(): readonly Supplier[] {
    return this.#parts.suppliers
  }

  /** As they are now; made once for each state of the account's sign-ins. */
  of(accountId: string): Routes {
    const version = this.#parts.identities.version(accountId)
    if (version === 0) return this.#none
    const known = this.#known.get(accountId)
    if (known?.version === version) return known.routes
    const routes = this.#build(accountId)
    this.#known.set(accountId, { version, routes })
    return routes
  }

  /** By whatever name, and whoever is signed in: the suppliers that it would be asked of; none where it is no native model. */
  serving(model: string): readonly Supplier[] {
    const target = this.#parts.aliases[model] ?? model
    const isMeant = ({ id, models }: Supplier): boolean =>
      models.has(target) || (target.startsWith(`${id}/`) && models.has(target.slice(id.length + 1)))
    return this.#parts.suppliers.filter(isMeant)
  }

  #build(accountId: string): Routes {
    const usable = [...this.#parts.identities.list(accountId)].filter(isUsable)
    return usable.length === 0 ? this.#none : this.#lead(usable)
  }

  #lead(usable: readonly Identity[]): Routes {
    const { suppliers, upstreamOf } = this.#parts
    const byId = new Map(usable.map((identity) => [identity.id, identity]))
    return buildRoutes({
      ...this.#parts,
      suppliers: suppliers.flatMap((supplier) =>
        usable
          .filter((identity) => isAt(identity, supplier))
          .map((identity) => ({ ...supplier, identity })),
      ),
      upstreamOf: (supplier) => upstreamOf(supplier, byId.get(supplier.identity?.id ?? '')!),
    })
  }
}

/** The same id may mean another supplier by now, who must not see what was meant for the one before. */
function isAt({ record, tokens }: Identity, supplier: Supplier): boolean {
  if (record.supplierId !== supplier.id) return false
  return tokens?.hosts === undefined || tokens.hosts === hostsOf(supplier)
}

/** One that is renewed no more works as long as its token does; whoever calls by it then is told. */
function isUsable({ state, tokens }: Identity): boolean {
  return state === 'active' || (state === 'refused' && tokens?.accessToken !== undefined)
}

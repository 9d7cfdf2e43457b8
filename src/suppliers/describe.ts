// Everything about a supplier as one text, to tell whether it is the same as before; of a secret only a digest.
import { hashSecret } from '../core/ids.ts'
import type { Secret } from '../core/secret.ts'
import type { Supplier } from './supplier.ts'

export function describeSupplier(supplier: Supplier): string {
  const { credential, services, models, oauth, ...others } = supplier
  const paths = services.map(({ dialect, ...service }) => [dialect.id, service])
  const signIn = oauth && [{ ...oauth, clientSecret: undefined }, digest(oauth.clientSecret)]
  const parts = [others, digest(credential), paths, [...models]]
  return JSON.stringify(signIn === undefined ? parts : [...parts, signIn])
}

function digest(secret: Secret | undefined): string {
  return secret === undefined ? '' : hashSecret(secret.reveal())
}

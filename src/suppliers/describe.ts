// Everything about a supplier as one text, to tell whether it is the same as before; of a secret only a digest.
import { hashSecret } from '../core/ids.ts'
import type { Supplier } from './supplier.ts'

export function describeSupplier({ credential, services, models, ...others }: Supplier): string {
  const secret = credential === undefined ? '' : hashSecret(credential.reveal())
  const paths = services.map(({ dialect, ...service }) => [dialect.id, service])
  return JSON.stringify([others, secret, paths, [...models]])
}

// How a supplier is told who we are.
import type { Supplier } from './supplier.ts'

export function signatureOf(supplier: Supplier): Readonly<Record<string, string>> {
  const { credential } = supplier
  return credential === undefined ? {} : { authorization: `Bearer ${credential.reveal()}` }
}

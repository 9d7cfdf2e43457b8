// How a supplier is told who we are.
import type { Supplier } from './supplier.ts'

export function signatureOf({ credential, signature }: Supplier): Readonly<Record<string, string>> {
  if (credential === undefined) return {}
  const secret = credential.reveal()
  return signature === 'bearer' ? { authorization: `Bearer ${secret}` } : { 'api-key': secret }
}

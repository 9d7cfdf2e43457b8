// How a supplier is told who we are.
import type { Signature, Supplier } from './supplier.ts'

/** What a header can carry, and a credential has. */
export function isSendable(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text)
}

export function signatureOf(
  { credential }: Supplier,
  signature: Signature,
): Readonly<Record<string, string>> {
  if (credential === undefined) return {}
  const secret = credential.reveal()
  return signature === 'bearer' ? { authorization: `Bearer ${secret}` } : { [signature]: secret }
}

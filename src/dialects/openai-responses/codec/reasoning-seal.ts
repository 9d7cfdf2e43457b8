// The `encrypted_content` that callers of this language hold for a supplier of another one. Reasoning items have one
// shape for a thought that is not shown and for one that is kept from everybody, so the seal itself says which it is.
import type { Seal } from '../../../core/chat.ts'
import { printSeal, readSeal } from '../../seal.ts'

/** No seal of a supplier begins so: they are JSON or base64. */
const HIDDEN = 'hidden:'

export interface Sealing {
  readonly seal: Seal
  readonly isHidden: boolean
}

export function printSealing(supplier: string, data: string, isHidden: boolean): string {
  return printSeal(supplier, isHidden ? HIDDEN + data : data)
}

export function readSealing(text: string): Sealing {
  const seal = readSeal(text)
  const isHidden = seal.supplier !== undefined && seal.data.startsWith(HIDDEN)
  return {
    seal: isHidden ? { ...seal, data: seal.data.slice(HIDDEN.length) } : seal,
    isHidden,
  }
}

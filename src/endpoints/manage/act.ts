// Who asks management for a change, when by the books' own time, and under which Idempotency-Key: all that a
// change is recorded with.
import type { Act } from '../../access/act.ts'
import type { KeyRecord } from '../../core/key.ts'
import type { Exchange } from '../../http/server.ts'
import type { House } from '../endpoint.ts'

export function actOf({ id, claim }: Exchange, caller: KeyRecord, { plant }: House): Act {
  return { caller, requestId: id, at: plant.ledger.now(), claim }
}

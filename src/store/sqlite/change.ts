// A rare change by management: tried again where another program has the database locked, in one commit with
// the record of who made it and the Idempotency-Key that it was asked under.
import type { Database } from 'bun:sqlite'
import type { ClaimRecord } from '../../core/claim.ts'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/problem.ts'
import { inProgress } from '../operations.ts'
import type { Deed } from '../store.ts'
import { codeOf, isBusy } from './failure.ts'
import { INSERT_CLAIM } from './inserts.ts'
import type { Writer } from './writer.ts'

export interface ChangeParts {
  readonly database: Database
  readonly writer: Writer
  readonly clock: Clock
}

/** A commit waits hardly at all, because calls wait with it; a change may be tried again. */
const TRIES = 20
const PAUSE_MS = 50

const FIND_CLAIM = 'SELECT 1 FROM claims WHERE id = ?'

export function isClaimed(database: Database, id: string): boolean {
  return database.query(FIND_CLAIM).get(id) !== null
}

/** Whoever asks has made sure that there is something to change: the deed is told whatever `work` finds. */
export async function persist<Result>(
  { database, writer, clock }: ChangeParts,
  deed: Partial<Deed> | undefined,
  work: () => Result,
): Promise<Result> {
  for (let tries = 1; ; tries += 1)
    try {
      if (deed === undefined) return writer.transact(work)
      const { note, claim } = deed
      return writer.commit(note === undefined ? [] : [{ type: 'note', note }], () => {
        if (claim !== undefined) insertClaim(database, claim)
        return work()
      })
    } catch (thrown) {
      if (!isBusy(thrown) || tries === TRIES) throw asProblem(thrown)
      // oxlint-disable-next-line no-await-in-loop -- a try after another is what it is
      await new Promise<void>((resolve) => clock.after(PAUSE_MS, { tick: resolve }))
    }
}

function insertClaim(database: Database, claim: ClaimRecord): void {
  const { id, fingerprint, requestId, accountId, at } = claim
  if (isClaimed(database, id)) throw inProgress()
  database.query(INSERT_CLAIM).run(id, fingerprint, requestId, accountId, at)
}

/** The border to the database: its own words stay in `cause`. */
function asProblem(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause
  const code = codeOf(cause)
  if (code === 'SQLITE_CONSTRAINT_UNIQUE')
    return new GatewayError('conflict', 'There is already one with this id, secret or owner.', {
      retryable: false,
      cause,
    })
  if (code.startsWith('SQLITE_CONSTRAINT'))
    return new GatewayError('internal_error', 'The change does not fit the store.', { cause })
  return new GatewayError('service_unavailable', unstored(cause), { retryAfter: 1, cause })
}

function unstored(cause: unknown): string {
  const why = isBusy(cause)
    ? 'another program has the database locked, such as a backup or a database tool. Let it end'
    : 'the database cannot be written. See that its disk has room and its files belong to this user'
  return `Nothing was changed: ${why}, then send the request again.`
}

// What may be asked of the lists of keys and tokens. All that is given must be met.
import type { MadeKind } from '../../access/ties.ts'
import type { KeyQuery } from '../../store/store.ts'
import { readChoice, readQuery } from './query.ts'

const NAMES = ['project_id', 'team_id', 'user_id', 'name', 'status']
/** Active are also those whose budget is used up: the next period mends that. */
const STATUSES = ['active', 'revoked', 'expired'] as const

export function readKeyQuery(request: Request, kind: MadeKind): Omit<KeyQuery, 'within' | 'now'> {
  const query = readQuery(request, { names: NAMES, hasLabels: true })
  const { limit, cursor, filters, labels } = query
  return {
    kind,
    limit,
    cursor,
    projectId: filters['project_id'],
    teamId: filters['team_id'],
    userId: filters['user_id'],
    name: filters['name'],
    status: readChoice('status', filters['status'], STATUSES),
    metadata: labels.length === 0 ? undefined : Object.fromEntries(labels),
  }
}

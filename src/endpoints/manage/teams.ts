// Teams: named sets of projects that tokens can be made for. A token that manages sees its own.
import { teamKind } from '../../access/kinds.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { resourceEndpoints } from './resource.ts'

export const teamEndpoints: readonly KeyedEndpoint[] = resourceEndpoints({
  kind: teamKind,
  reads: 'manage',
  filters: ['project_id'],
  matches: ({ projectIds }, { filters }) =>
    filters['project_id'] === undefined || projectIds.includes(filters['project_id']),
})

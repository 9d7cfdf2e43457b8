// Projects: what calls are made for, and who pays for them. A token that manages sees its own.
import { projectKind } from '../../access/kinds.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { resourceEndpoints } from './resource.ts'

export const projectEndpoints: readonly KeyedEndpoint[] = resourceEndpoints({
  kind: projectKind,
  reads: 'manage',
  filters: ['organisation_id'],
  hasLabels: true,
  matches: ({ organisationId, metadata }, { filters, labels }) =>
    (filters['organisation_id'] === undefined || organisationId === filters['organisation_id']) &&
    labels.every(([name, value]) => Object.hasOwn(metadata, name) && metadata[name] === value),
})

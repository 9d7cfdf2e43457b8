// Organisations: who is billed for several projects.
import { organisationKind } from '../../access/kinds.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { resourceEndpoints } from './resource.ts'

export const organisationEndpoints: readonly KeyedEndpoint[] = resourceEndpoints({
  kind: organisationKind,
  reads: 'administer',
})

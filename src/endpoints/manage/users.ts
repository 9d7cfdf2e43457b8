// Users: who calls, and who pays.
import { userKind } from '../../access/kinds.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { resourceEndpoints } from './resource.ts'

export const userEndpoints: readonly KeyedEndpoint[] = resourceEndpoints({
  kind: userKind,
  reads: 'administer',
  filters: ['email'],
  matches: ({ email }, { filters }) =>
    filters['email'] === undefined || email?.toLowerCase() === filters['email'].toLowerCase(),
})

// One call by its request id, which every answer carries in x-request-id: what support is asked about.
import { GatewayError } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { describeCall } from './audit-entry.ts'
import { checkOrigin } from './body.ts'

export const getCall: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/calls/{request_id}',
  role: 'manage',
  async answer(exchange, { accountId }, { plant }) {
    checkOrigin(exchange.request)
    const row = await plant.store.audit.find(accountId, exchange.params['request_id'] ?? '')
    if (row === undefined)
      throw new GatewayError(
        'not_found',
        'No call with this request id belongs to this account. A call is kept from the moment it ends; ' +
          'GET /v1/manage/audit lists them.',
      )
    return json(exchange.id, describeCall(row))
  },
}

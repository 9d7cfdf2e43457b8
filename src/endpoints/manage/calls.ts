// One call by its request id, which every answer carries in x-request-id: what support is asked about. It is
// found from the moment its money is held.
import { GatewayError } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin } from './body.ts'
import { describeEnded, describeOpen } from './call-entry.ts'

export const getCall: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/calls/{request_id}',
  role: 'manage',
  async answer(exchange, caller, { plant, directory }) {
    checkOrigin(exchange.request)
    const { accountId, projectIds } = directory.scopeOf(caller)
    const isInScope = (projectId = ''): boolean => projectIds?.includes(projectId) !== false
    const id = exchange.params['request_id'] ?? ''
    // Before the store: an operation leaves memory only after its row is there.
    const operation = plant.ledger.find(id)
    if (operation?.hold.accountId === accountId && isInScope(operation.hold.projectId))
      return json(exchange.id, describeOpen(operation, plant.policy))
    const row = await plant.store.audit.find(accountId, id)
    if (row !== undefined && isInScope(row.projectId)) return json(exchange.id, describeEnded(row))
    throw new GatewayError(
      'not_found',
      'No call with this request id belongs to this account. Many refusals of one kind share one entry; ' +
        'GET /v1/manage/audit lists what there is.',
    )
  },
}

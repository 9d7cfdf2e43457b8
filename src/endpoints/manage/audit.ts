// The audit of an account: what every call was, as a list in pages or as a file. Only the root key reads
// it, and only its own account's.
import { getKey } from '../../access/keys.ts'
import type { AuditRow } from '../../core/audit.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { CSV_HEAD, describeCall, toCsvLine, toJsonLine } from './audit-entry.ts'
import { readAuditRequest, toPageRequest, type AuditRequest, type Format } from './audit-query.ts'
import { checkOrigin } from './body.ts'
import { download, type FileForm } from './download.ts'

const listAudit: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/audit',
  role: 'manage',
  answer(exchange, { accountId }, house) {
    checkOrigin(exchange.request)
    return answer(exchange, accountId, readAuditRequest(exchange.request), house)
  },
}

const listKeyAudit: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/keys/{id}/audit',
  role: 'manage',
  async answer(exchange, { accountId }, house) {
    checkOrigin(exchange.request)
    const request = readAuditRequest(exchange.request, 'key_id')
    const address = { accountId, id: exchange.params['id'] ?? '' }
    const { id } = await getKey(house.plant.store, address)
    const filter = { ...request.filter, keyId: id }
    return answer(exchange, accountId, { ...request, filter }, house)
  },
}

export const auditEndpoints: readonly KeyedEndpoint[] = [listAudit, listKeyAudit]

async function answer(
  exchange: Exchange,
  accountId: string,
  request: AuditRequest,
  { plant }: House,
): Promise<Response> {
  const { filter, format, cursor, limit } = request
  const { audit } = plant.store
  if (format !== 'json')
    return download(
      exchange,
      { read: (page) => audit.list(accountId, { ...filter, ...page }), cursor, limit },
      formOf(format, exchange.at),
      plant.log,
    )
  const { items, next } = await audit.list(accountId, { ...filter, ...toPageRequest(request) })
  return json(exchange.id, {
    object: 'list',
    data: items.map(describeCall),
    has_more: next !== undefined,
    next_cursor: next ?? null,
  })
}

function formOf(format: Exclude<Format, 'json'>, at: number): FileForm<AuditRow> {
  const moment = new Date(at).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const name = `audit-${moment}.${format}`
  return format === 'csv'
    ? {
        name,
        contentType: 'text/csv; charset=utf-8; header=present',
        head: CSV_HEAD,
        toLine: toCsvLine,
      }
    : { name, contentType: 'application/x-ndjson; charset=utf-8', head: '', toLine: toJsonLine }
}

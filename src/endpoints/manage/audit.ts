// The audit of an account: what every call was, as a list in pages or as a file. The root key reads all of it;
// a token that manages reads that of its projects.
import { getKey } from '../../access/keys.ts'
import type { Scope } from '../../access/directory.ts'
import type { MadeKind } from '../../access/ties.ts'
import type { AuditRow } from '../../core/audit.ts'
import { json } from '../../http/reply.ts'
import type { Exchange } from '../../http/server.ts'
import type { AuditFilter } from '../../store/store.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { CSV_HEAD, describeCall, toCsvLine, toJsonLine } from './audit-entry.ts'
import { readAuditRequest, toPageRequest, type AuditRequest, type Format } from './audit-query.ts'
import { checkOrigin } from './body.ts'
import { download, type FileForm } from './download.ts'

const listAudit: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/audit',
  role: 'manage',
  answer(exchange, caller, house) {
    checkOrigin(exchange.request)
    const request = readAuditRequest(exchange.request)
    return answer(exchange, house.directory.scopeOf(caller), request, house)
  },
}

export const auditEndpoints: readonly KeyedEndpoint[] = [
  listAudit,
  ofCredential('managed', '/v1/manage/keys/{id}/audit'),
  ofCredential('token', '/v1/manage/tokens/{id}/audit'),
]

function ofCredential(kind: MadeKind, path: string): KeyedEndpoint {
  return {
    method: 'GET',
    path,
    role: 'manage',
    async answer(exchange, caller, house) {
      checkOrigin(exchange.request)
      const request = readAuditRequest(exchange.request, 'key_id')
      const { directory, plant } = house
      const desk = { keys: plant.store.keys, directory }
      const { id } = await getKey(desk, caller, { kind, id: exchange.params['id'] ?? '' })
      const filter = { ...request.filter, keyId: id }
      return answer(exchange, directory.scopeOf(caller), { ...request, filter }, house)
    },
  }
}

/** Whatever is asked for, nobody sees calls of projects that are not theirs. */
function within(filter: AuditFilter, { projectIds }: Scope): AuditFilter {
  if (projectIds === undefined) return filter
  const asked = filter.projectIds ?? projectIds
  return { ...filter, projectIds: asked.filter((id) => projectIds.includes(id)) }
}

async function answer(
  exchange: Exchange,
  scope: Scope,
  request: AuditRequest,
  { plant }: House,
): Promise<Response> {
  const { format, cursor, limit } = request
  const { accountId } = scope
  const filter = within(request.filter, scope)
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

// Lists in pages: what may be asked of one, and how one is answered. Whatever else is asked is refused by
// name.
import { GatewayError } from '../../core/problem.ts'
import type { Page, PageRequest } from '../../store/store.ts'

export interface PageLimits {
  /** Where none is asked for. */
  readonly standard: number
  readonly most: number
}

/** A refusal names the parameter at fault, but not at any length. */
const QUOTED_LENGTH_MAX = 64

export function readPage(request: Request, limits: PageLimits): PageRequest {
  // The address as a whole need not parse: its host is whatever the caller's Host header says.
  const [, ...parts] = request.url.split('?')
  const query = new URLSearchParams(parts.join('?'))
  for (const name of query.keys()) checkParameter(name, query)
  const limit = query.get('limit')
  return {
    limit: limit === null ? limits.standard : readLimit(limit, limits),
    cursor: query.get('cursor') ?? undefined,
  }
}

export function describePage<Item>(
  { items, next }: Page<Item>,
  describe: (item: Item) => unknown,
): object {
  return {
    object: 'list',
    data: items.map(describe),
    has_more: next !== undefined,
    next_cursor: next ?? null,
  }
}

function checkParameter(name: string, query: URLSearchParams): void {
  if (name !== 'limit' && name !== 'cursor')
    throw new GatewayError('unsupported_parameter', 'This list takes only `limit` and `cursor`.', {
      param: name.slice(0, QUOTED_LENGTH_MAX).toWellFormed(),
    })
  if (query.getAll(name).length > 1)
    throw new GatewayError('validation_error', 'Send this parameter once.', { param: name })
}

function readLimit(text: string, { most }: PageLimits): number {
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= most) return limit
  throw new GatewayError(
    'validation_error',
    `Send \`limit\` as a whole number from 1 to ${most}.`,
    { param: 'limit' },
  )
}

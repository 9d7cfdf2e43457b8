// Lists in pages: what may be asked of one, and how one is answered. Whatever else is asked is refused by
// name.
import { GatewayError, quoteName } from '../../core/problem.ts'
import type { Page, PageRequest } from '../../store/store.ts'

export interface PageLimits {
  /** Where none is asked for. */
  readonly standard: number
  readonly most: number
}

const PAGING: readonly string[] = ['limit', 'cursor']

/** `filters` are the other parameters that the list takes. */
export function readPage(
  request: Request,
  limits: PageLimits,
  filters: readonly string[] = [],
): PageRequest {
  const query = queryOf(request)
  checkParameters(request, [...filters, ...PAGING])
  const limit = query.get('limit')
  return {
    limit: limit === null ? limits.standard : readLimit(limit, limits),
    cursor: query.get('cursor') ?? undefined,
  }
}

/** Refuses by name what is not listed, and what is there twice. */
export function checkParameters(request: Request, names: readonly string[]): void {
  const query = queryOf(request)
  for (const name of query.keys()) checkParameter(name, query, names)
}

/** What is asked for beside the page, once `readPage` has let it pass. None of it is empty. */
export function readFilters(request: Request): ReadonlyMap<string, string> {
  const filters = [...queryOf(request)].filter(([name]) => !PAGING.includes(name))
  const empty = filters.find(([, text]) => text === '')
  if (empty === undefined) return new Map(filters)
  throw new GatewayError('validation_error', 'Send this parameter with a value, or leave it out.', {
    param: quote(empty[0]),
  })
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

/** The address as a whole need not parse: its host is whatever the caller's Host header says. */
export function queryOf({ url }: Request): URLSearchParams {
  const [, ...parts] = url.split('?')
  return new URLSearchParams(parts.join('?'))
}

function checkParameter(name: string, query: URLSearchParams, names: readonly string[]): void {
  if (!names.includes(name))
    throw new GatewayError(
      'unsupported_parameter',
      `This request takes only ${names.map((known) => `\`${known}\``).join(', ')}.`,
      { param: quote(name) },
    )
  if (query.getAll(name).length > 1)
    throw new GatewayError('validation_error', 'Send this parameter once.', { param: quote(name) })
}

function quote(name: string): string {
  return quoteName(name)
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

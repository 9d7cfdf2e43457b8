// Walks a list of the gateway from page to page. A page may be shorter than asked for and still not be the
// last one: only the gateway's word counts.
import { wrongUsage } from './failure.ts'
import { isRecord, parseExactly, toList, toRecord, type JsonRecord } from './json.ts'
import { somethingElse, type Live } from './live.ts'

export interface ListRequest {
  readonly path: string
  readonly query: Readonly<Record<string, string | undefined>>
  /** Undefined: all there is. */
  readonly limit: number | undefined
  /** Most that the gateway gives at once. */
  readonly pageMax: number
}

export interface Listed {
  readonly items: readonly JsonRecord[]
  /** Where to go on; undefined when this was all. */
  readonly next: string | undefined
  /** The whole list as one answer, number for number. */
  readonly machine: object
}

export async function walk(live: Live, request: ListRequest): Promise<Listed> {
  const items: JsonRecord[] = []
  const exact: unknown[] = []
  let cursor = request.query['cursor']
  do {
    const left = request.limit === undefined ? request.pageMax : request.limit - items.length
    const limit = String(Math.min(left, request.pageMax))
    // oxlint-disable-next-line no-await-in-loop -- a page says where the next one begins
    const answer = await live.call('GET', addressOf(request, { ...request.query, limit, cursor }))
    const page = toRecord(answer.value)
    if (!Array.isArray(page['data'])) throw somethingElse(live.url)
    items.push(...toList(page['data']).filter(isRecord))
    exact.push(...toList(toRecord(parseExactly(answer.text))['data']))
    const next = page['next_cursor']
    cursor = page['has_more'] === true && typeof next === 'string' ? next : undefined
  } while (cursor !== undefined && (request.limit === undefined || items.length < request.limit))
  const end = { has_more: cursor !== undefined, next_cursor: cursor ?? null }
  return { items, next: cursor, machine: { object: 'list', data: exact, ...end } }
}

function addressOf({ path }: ListRequest, query: ListRequest['query']): string {
  const parts = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parts.set(name, value)
  return `${path}?${parts.toString()}`
}

export function readLimit(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0
  if (limit > 0) return limit
  throw wrongUsage('--limit takes a whole number from 1 on.')
}

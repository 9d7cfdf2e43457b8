// What may be asked of a list that is kept in memory: some filters by name, and which page. Whatever is not listed
// is refused by name, so that a filter with a slip in it never passes for one that found everything.
import { GatewayError, invalid } from '../../core/problem.ts'
import type { Page, PageRequest } from '../../store/store.ts'
import { queryOf, readPage, type PageLimits } from './page.ts'

export interface ListQuery extends PageRequest {
  /** By name; each given once. */
  readonly filters: Readonly<Record<string, string | undefined>>
  /** Labels that the metadata must have: `metadata.team=search`. */
  readonly labels: readonly (readonly [name: string, value: string])[]
}

export interface Filters {
  readonly names: readonly string[]
  readonly hasLabels?: true
}

const LABEL = 'metadata.'

export const LIST_LIMITS: PageLimits = { standard: 20, most: 100 }

export function readQuery(
  request: Request,
  { names, hasLabels }: Filters,
  limits: PageLimits = LIST_LIMITS,
): ListQuery {
  const query = queryOf(request)
  const labels = hasLabels === true ? [...query].filter(([name]) => name.startsWith(LABEL)) : []
  const page = readPage(request, limits, [...names, ...labels.map(([name]) => name)])
  const empty = names.find((name) => query.get(name) === '')
  if (empty !== undefined)
    throw invalid(empty, 'Send this parameter with a value, or leave it out.')
  return {
    ...page,
    filters: Object.fromEntries(names.map((name) => [name, query.get(name) ?? undefined])),
    labels: labels.map(([name, value]) => [name.slice(LABEL.length), value]),
  }
}

/** One of these, or nothing. */
export function readChoice<Choice extends string>(
  param: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  if (text === undefined) return undefined
  const choice = choices.find((each) => each === text)
  if (choice !== undefined) return choice
  throw invalid(param, `Send \`${param}\` as one of ${choices.join(', ')}.`)
}

/** A page of what is in order already. A cursor names the last one that was shown; nothing ever leaves the list. */
export function pageOf<Item extends { readonly id: string }>(
  items: readonly Item[],
  { limit, cursor }: PageRequest,
  matches: (item: Item) => boolean,
): Page<Item> {
  const last = cursor === undefined ? -1 : items.findIndex(({ id }) => id === readCursor(cursor))
  if (cursor !== undefined && last < 0) throw wrongCursor()
  const found = items.slice(last + 1).filter(matches)
  const shown = found.slice(0, limit)
  const end = found.length > limit ? shown.at(-1) : undefined
  return { items: shown, next: end && Buffer.from(end.id).toString('base64url') }
}

function readCursor(cursor: string): string {
  return Buffer.from(cursor, 'base64url').toString()
}

function wrongCursor(): GatewayError {
  return invalid('cursor', 'Send `cursor` as the `next_cursor` of the page before had it.')
}

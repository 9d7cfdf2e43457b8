// What ids are called: one list of each kind that occurs. Who may not read a list gets the ids.
import { CliFailure } from './failure.ts'
import { toText, type JsonRecord } from './json.ts'
import type { Live } from './live.ts'
import { walk } from './pages.ts'

export type Names = (id: string) => string

/** Most of a kind whose names are fetched; beyond that an id stands for itself. */
const NAMED_MAX = 1000
const PAGE_MAX = 100

const PLACES: readonly (readonly [prefix: string, path: string])[] = [
  ['key_', '/v1/manage/keys'],
  ['tok_', '/v1/manage/tokens'],
  ['prj_', '/v1/manage/projects'],
  ['team_', '/v1/manage/teams'],
  ['wal_', '/v1/manage/wallets'],
]

/** The key that is in no list is the root key. */
export async function findNames(ids: ReadonlySet<string>, live: Live): Promise<Names> {
  const wanted = PLACES.filter(([prefix]) => [...ids].some((id) => id.startsWith(prefix)))
  const lists = await Promise.all(wanted.map(([, path]) => readList(path, live)))
  const names = new Map(
    lists.flatMap(({ items }) => items.map(({ id, name }) => [toText(id), toText(name)])),
  )
  const hasAllKeys = lists.some(({ path, isWhole }) => path === '/v1/manage/keys' && isWhole)
  return (id) => names.get(id) || (hasAllKeys && id.startsWith('key_') ? '(root)' : id)
}

interface NameList {
  readonly path: string
  readonly items: readonly JsonRecord[]
  readonly isWhole: boolean
}

async function readList(path: string, live: Live): Promise<NameList> {
  try {
    const request = { path, query: {}, limit: NAMED_MAX, pageMax: PAGE_MAX }
    const { items, next } = await walk(live, request)
    return { path, items, isWhole: next === undefined }
  } catch (thrown) {
    // A name is a courtesy, and a token that manages reads no wallets.
    if (thrown instanceof CliFailure) return { path, items: [], isWhole: false }
    throw thrown
  }
}

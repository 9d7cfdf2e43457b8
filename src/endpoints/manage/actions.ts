// What was changed by whom: every change that management made, with what was before and after, as it stands in the
// books. A credit is told here as well as in the statement of its wallet.
import { getAccount } from '../../access/accounts.ts'
import type { KeyRecord } from '../../core/key.ts'
import { toJsonUsd, toNanoUsd } from '../../core/money.ts'
import { GatewayError } from '../../core/problem.ts'
import type { ActionNote, CreditNote, NoteRecord } from '../../core/record.ts'
import type { ActionQuery } from '../../store/store.ts'
import type { House, KeyedEndpoint } from '../endpoint.ts'
import { readTime } from './audit-query.ts'
import { describePage, type PageLimits } from './page.ts'
import { printTime } from './print.ts'
import { readQuery, type ListQuery } from './query.ts'
import { managed } from './resource.ts'

const PAGE_LIMITS: PageLimits = { standard: 100, most: 1000 }
const FILTERS = ['by', 'target', 'action', 'from', 'to', 'account_id']
const CREDIT_ACTION = 'wallet.credit'

const list = managed(
  { method: 'GET', path: '/v1/manage/actions', role: 'administer' },
  async (exchange, caller, house) => {
    const query = readQuery(exchange.request, { names: FILTERS }, PAGE_LIMITS)
    const accountId = readAccount(query, caller, house)
    const page = await house.plant.store.actions.list(accountId, toActionQuery(query))
    return describePage(page, describe)
  },
)

export const actionEndpoints: readonly KeyedEndpoint[] = [list]

/** The operator's deeds on another account stand with that account, and only the operator may look there. */
function readAccount(
  { filters }: ListQuery,
  { accountId, ...caller }: KeyRecord,
  house: House,
): string {
  const { account_id: asked = accountId } = filters
  if (asked === accountId) return accountId
  if (house.directory.isOperator({ accountId, ...caller })) return getAccount(house, asked).id
  throw new GatewayError(
    'permission_denied',
    'Only the operator sees the actions of another account. Leave `account_id` out.',
    { param: 'account_id' },
  )
}

function toActionQuery({ filters, limit, cursor }: ListQuery): ActionQuery {
  const { by, target, action, from, to } = filters
  const times = {
    from: from === undefined ? undefined : readTime('from', from),
    to: to === undefined ? undefined : readTime('to', to),
  }
  if (times.from !== undefined && times.to !== undefined && times.from >= times.to)
    throw new GatewayError(
      'validation_error',
      'Send a `to` that is later than `from`: it is the first moment left out.',
      { param: 'to' },
    )
  return { limit, cursor, by, target, action, ...times }
}

function describe({ at, kind, requestId, body }: NoteRecord): object {
  const common = { at: printTime(at), request_id: requestId ?? null }
  if (kind === 'credit') return { ...common, ...describeCredit(body) }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the kind of the note says what is in it
  const { by, action, target, before, after } = parseExactly(body) as ActionNote
  return { ...common, by, action, target, before, after }
}

function describeCredit(body: string): object {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
  const { by, wallet, amount, reason, reference } = JSON.parse(body) as CreditNote
  const after = { amount_usd: toJsonUsd(toNanoUsd(amount)), reason, reference }
  return { by, action: CREDIT_ACTION, target: wallet, before: null, after }
}

/** Amounts leave digit for digit as they were written: `0.0000001` would else become `1e-7`. */
function parseExactly(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined
      ? JSON.rawJSON(context.source)
      : value,
  )
}

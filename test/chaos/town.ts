// Who calls and who pays: projects with chains of payers, wallets that several keys share and that run out, and
// what a killed gateway must not forget of them.
import { toUsd } from '../fakes/prices.ts'
import { tenantAt, type Tenant } from '../fakes/tenants.ts'
import { OUT_COST } from './supplier.ts'

/** The maximum of the first call. Those after it have the next ones, so that all hold about as much. */
export const FIRST_MARKER = 50_000
/** Nano-dollars: what one call sets aside, roughly. */
export const HOLD = FIRST_MARKER * OUT_COST

/** In holds: what a key with little may spend at first, and a wallet with a limit. */
const LITTLE = 10
const LIMIT = 25

export interface Caller {
  readonly id: string
  readonly kind: 'keys' | 'tokens'
  /** What its calls may say they are for; none where it has no choice. */
  readonly projects: readonly string[]
  secret: string
  /** The one before, while nothing can have ended it. */
  previous: string | undefined
  /** No change of its secret has gone without an answer since this one was made. */
  isSure: boolean
  /** Begun and ended, so that an odd number is one under way. */
  rotations: number
}

export interface Town {
  readonly callers: readonly Caller[]
  /** Those that can run out. */
  readonly wallets: readonly string[]
  /** In holds: the last limit that was asked for, by the path of what has it. */
  readonly limits: Map<string, number>
}

export const holds = (count: number): number => toUsd(count * HOLD)

export async function foundTown(url: string): Promise<Town> {
  const root = tenantAt(url)
  const make = async (path: string, body: object): Promise<string> =>
    (await root.make(path, { name: 'some', ...body })).id
  const [billing, delegate, caller] = await Promise.all(
    Array.from({ length: 3 }, () => make('/users', {})),
  )
  const organisation = await make('/organisations', { billing_user_id: billing })
  const ties = { organisation_id: organisation, delegate_user_id: delegate }
  const long = await make('/projects', ties)
  const billed = await make('/projects', { ...ties, payer: 'organisation' })
  const prepaid = await make('/projects', { payer: 'project' })
  const delegated = await make('/projects', { delegate_user_id: delegate })
  const team = await make('/teams', { project_ids: [long, billed] })
  const wallets = [
    await make('/wallets', { project_id: long }),
    await make('/wallets', { project_id: prepaid }),
    await make('/wallets', { user_id: delegate, credit_line: holds(5) }),
    await make('/wallets', {
      user_id: billing,
      credit_line: holds(30),
      spending_limit: holds(LIMIT),
    }),
    await make('/wallets', {
      user_id: caller,
      credit_line: holds(40),
      spending_limit: holds(LIMIT),
    }),
  ]
  for (const id of wallets)
    await root.make(`/wallets/${id}/credits`, { amount_usd: holds(8), reason: 'start' })
  const plenty = { budget_limit: 1_000_000 }
  const little = { budget_limit: holds(LITTLE) }
  const callers = await Promise.all([
    hire(root, { project_id: long, ...plenty }),
    hire(root, { project_id: long, ...little }),
    hire(root, { project_id: billed, ...plenty }),
    hire(root, { project_id: billed, user_id: caller, ...plenty }),
    hire(root, { project_id: prepaid, ...plenty }),
    hire(root, { project_id: prepaid, ...little }),
    hire(root, { project_id: delegated, user_id: caller, ...plenty }),
    hire(root, plenty),
    hire(root, { team_id: team, ...plenty }, [long, billed]),
  ])
  const limits = new Map([
    ...[callers[1], callers[5]].map(({ id }) => [`/keys/${id}`, LITTLE] as const),
    ...wallets.slice(3).map((id) => [`/wallets/${id}`, LIMIT] as const),
  ])
  return { callers, wallets, limits }
}

/** Its calls are not shortened: their maximum is what they are known by. */
async function hire(
  root: Tenant,
  settings: object,
  projects: readonly string[] = [],
): Promise<Caller> {
  const kind = projects.length > 0 ? 'tokens' : 'keys'
  const { id, key } = await root.make(`/${kind}`, { name: 'caller', fit: 'off', ...settings })
  return {
    id,
    kind,
    projects,
    secret: String(key),
    previous: undefined,
    isSure: true,
    rotations: 0,
  }
}

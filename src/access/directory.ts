// Who belongs to whom, in memory: what a call is made for, who pays for it, and how far a credential reaches.
// A change is durable first and then here, before whoever asked for it is answered.
import type { KeyRecord } from '../core/key.ts'
import { PAYER_LINKS, type PayerChain, type PayerLink } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { AccountRecord, ProjectRecord, TenancyRecord, WalletRecord } from '../core/tenancy.ts'

/** Names what a call is made for, where its credential leaves a choice. */
export const PROJECT_HEADER = 'x-svc-project'

export type TenancyType = TenancyRecord['type']
export type RecordOf<Type extends TenancyType> = Extract<TenancyRecord, { type: Type }>['record']

/** What a credential may manage; `projectIds` undefined: all of its account. */
export interface Scope {
  readonly accountId: string
  readonly projectIds: readonly string[] | undefined
  readonly teamIds: readonly string[]
}

type Tables = { readonly [Type in TenancyType]: Map<string, RecordOf<Type>> }

export class Directory {
  /** The account that runs the gateway: its root key may do what concerns all. */
  operatorId = ''
  readonly #tables: Tables = {
    account: new Map(),
    organisation: new Map(),
    user: new Map(),
    project: new Map(),
    team: new Map(),
    wallet: new Map(),
  }
  /** By type and account: however many another account has, nobody's list waits for them. */
  readonly #owned = new Map<string, Map<string, TenancyRecord['record']>>()
  /** The open wallet of each account, project and user. */
  readonly #wallets = new Map<string, WalletRecord>()
  /** The wallet that each of them closed last: where there is no other, it tells why nobody pays. */
  readonly #closed = new Map<string, WalletRecord>()
  /** By project, or account, and user: the same for most calls, and any change may concern them all. */
  readonly #chains = new Map<string, Map<string | undefined, PayerChain>>()

  put(entry: TenancyRecord): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type names the table
    const table = this.#tables[entry.type] as Map<string, TenancyRecord['record']>
    // What is replaced keeps its place: the newest stays the last.
    table.set(entry.record.id, entry.record)
    if (entry.type !== 'account') this.#putOwned(entry.type, entry.record)
    if (entry.type === 'wallet') this.#putWallet(entry.record)
    this.#chains.clear()
  }

  account(id: string): AccountRecord | undefined {
    return this.#tables.account.get(id)
  }

  /** Undefined for what there is not, and for another account's. What was ended is still found. */
  find<Type extends Exclude<TenancyType, 'account'>>(
    type: Type,
    accountId: string,
    id: string,
  ): RecordOf<Type> | undefined {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
    const table = this.#tables[type] as unknown as ReadonlyMap<string, RecordOf<Type>>
    const found: TenancyRecord['record'] | undefined = table.get(id)
    const isOwn = found !== undefined && 'accountId' in found && found.accountId === accountId
    return isOwn ? table.get(id) : undefined
  }

  /** Oldest first, ended ones among them; of one account, or of all. */
  list<Type extends TenancyType>(type: Type, accountId?: string): Iterable<RecordOf<Type>> {
    const records =
      accountId === undefined ? this.#tables[type] : this.#owned.get(`${type} ${accountId}`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same
    return (records?.values() ?? []) as Iterable<RecordOf<Type>>
  }

  /** How many there are of one account, ended ones among them. */
  countOf(type: Exclude<TenancyType, 'account'>, accountId: string): number {
    return this.#owned.get(`${type} ${accountId}`)?.size ?? 0
  }

  get accountCount(): number {
    return this.#tables.account.size
  }

  /** The open wallet of an account, a project or a user. */
  walletOf(ownerId: string | undefined): WalletRecord | undefined {
    return ownerId === undefined ? undefined : this.#wallets.get(ownerId)
  }

  isOperator({ kind, accountId }: KeyRecord): boolean {
    return kind === 'root' && accountId === this.operatorId
  }

  /** What a call of this key is made for: its own project, or one within its reach that the call names. */
  projectOf(key: KeyRecord, named: string | undefined): string | undefined {
    const own = key.teamId === undefined ? key.projectId : this.#teamProject(key, named)
    if (named === undefined || named === own) return own
    const isFree = own === undefined && key.kind === 'root'
    const project = isFree ? this.find('project', key.accountId, named) : undefined
    if (project !== undefined && project.endedAt === undefined) return project.id
    throw isFree ? noProject() : outOfReach()
  }

  /** Who is asked to pay for a call, in order. */
  payersOf({ accountId, userId }: KeyRecord, projectId: string | undefined): PayerChain {
    const byUser = this.#chains.get(projectId ?? accountId)
    const known = byUser?.get(userId)
    if (known !== undefined) return known
    const project = projectId === undefined ? undefined : this.find('project', accountId, projectId)
    const links = project === undefined ? (['caller'] as const) : linksOf(project)
    const chain = links.map((link) => ({
      link,
      walletId: this.#walletIn(this.payerOf(link, { accountId, userId, project })),
    }))
    if (byUser === undefined) this.#chains.set(projectId ?? accountId, new Map([[userId, chain]]))
    else byUser.set(userId, chain)
    return chain
  }

  /** Whose wallet stands in a place of the chain. A caller who has none calls on the account's. */
  payerOf(link: PayerLink, { accountId, userId, project }: ChainOwners): string | undefined {
    if (link === 'project') return project?.id
    if (link === 'delegate') return project?.delegateUserId
    if (link === 'organisation') {
      const { organisationId = '' } = project ?? {}
      return this.find('organisation', accountId, organisationId)?.billingUserId
    }
    return this.walletOf(userId) === undefined ? accountId : userId
  }

  scopeOf({ accountId, kind, manages, projectId, teamId }: KeyRecord): Scope {
    if (kind === 'root') return { accountId, projectIds: undefined, teamIds: [] }
    if (!manages) return { accountId, projectIds: [], teamIds: [] }
    if (teamId === undefined)
      return { accountId, projectIds: projectId === undefined ? [] : [projectId], teamIds: [] }
    const team = this.find('team', accountId, teamId)
    return { accountId, projectIds: team?.projectIds ?? [], teamIds: [teamId] }
  }

  #putOwned(type: TenancyType, record: RecordOf<Exclude<TenancyType, 'account'>>): void {
    const name = `${type} ${record.accountId}`
    const known = this.#owned.get(name)
    if (known === undefined) this.#owned.set(name, new Map([[record.id, record]]))
    else known.set(record.id, record)
  }

  #putWallet(wallet: WalletRecord): void {
    const { id, ownerId, endedAt } = wallet
    if (endedAt === undefined) {
      this.#wallets.set(ownerId, wallet)
      return
    }
    if (this.#wallets.get(ownerId)?.id === id) this.#wallets.delete(ownerId)
    // A start puts them in the order in which they were made, which need not be that of their ends.
    if (endedAt >= (this.#closed.get(ownerId)?.endedAt ?? 0)) this.#closed.set(ownerId, wallet)
  }

  /** The one that is open, or the last that was. */
  #walletIn(ownerId: string | undefined): string | undefined {
    const wallet = this.walletOf(ownerId) ?? this.#closed.get(ownerId ?? '')
    return wallet?.id
  }

  #teamProject({ accountId, teamId = '' }: KeyRecord, named: string | undefined): string {
    const projectIds = this.find('team', accountId, teamId)?.projectIds ?? []
    const project = named === undefined ? projectIds[0] : projectIds.find((id) => id === named)
    if (project !== undefined) return project
    if (named !== undefined) throw outOfReach()
    throw new GatewayError(
      'permission_denied',
      'The team of this token has no project to call for. Have one added to the team.',
    )
  }
}

interface ChainOwners {
  readonly accountId: string
  readonly userId: string | undefined
  readonly project: ProjectRecord | undefined
}

function linksOf({ pinnedPayer }: ProjectRecord): readonly PayerLink[] {
  return pinnedPayer === undefined ? PAYER_LINKS : [pinnedPayer]
}

/** For whoever may see all projects of the account. */
function noProject(): GatewayError {
  return new GatewayError(
    'not_found',
    'No project with this id is in use in this account. GET /v1/manage/projects?status=active lists those that are.',
    { param: PROJECT_HEADER },
  )
}

function outOfReach(): GatewayError {
  return new GatewayError(
    'permission_denied',
    'This credential may not call for that project. Leave the header out, or name a project of its own.',
    { param: PROJECT_HEADER },
  )
}

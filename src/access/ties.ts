// What a new credential belongs to: a project or a team, and the user who calls with it. It can be tied only
// to what is in use and within the reach of whoever makes it, and stays so for good.
import type { KeyKind, KeyRecord } from '../core/key.ts'
import { GatewayError, invalid } from '../core/problem.ts'
import type { Directory, Scope } from './directory.ts'
import { missing, readId } from './fields.ts'
import type { SettingsBody } from './settings.ts'

/** Credentials that management makes. */
export type MadeKind = Exclude<KeyKind, 'root'>

/** As a body names them. */
export interface NamedTies {
  readonly projectId: string | undefined
  readonly teamId: string | undefined
  readonly userId: string | undefined
  readonly manages: boolean
}

export type Ties = Pick<KeyRecord, keyof NamedTies>

/** The fields of a creation that are no settings. */
export const TIE_FIELDS: Readonly<Record<MadeKind, readonly string[]>> = {
  managed: ['project_id', 'user_id'],
  token: ['project_id', 'team_id', 'user_id', 'manage'],
}

/** Only what the body says; nothing is looked up. Whatever a kind does not take was refused by name before. */
export function readTies(body: SettingsBody): NamedTies {
  const { project_id: project, team_id: team, user_id: user, manage } = body
  const ties = {
    projectId: findId('project_id', project),
    teamId: findId('team_id', team),
    userId: findId('user_id', user),
    manages: readManage(manage),
  }
  if (ties.projectId !== undefined && ties.teamId !== undefined)
    throw invalid('team_id', 'Send `project_id` or `team_id`, and not both.')
  return ties
}

/** Finds what is named, or what goes without saying; throws for what is ended or out of reach. */
export function resolveTies(
  kind: MadeKind,
  named: NamedTies,
  maker: KeyRecord,
  directory: Directory,
): Ties {
  const scope = directory.scopeOf(maker)
  const { manages, teamId } = named
  const userId = resolveUser(named, maker, directory)
  if (teamId !== undefined) {
    checkTeam(teamId, scope, directory)
    return { projectId: undefined, teamId, userId, manages }
  }
  const projectId = named.projectId ?? ownProject(kind, scope)
  if (projectId !== undefined) checkProject(projectId, scope, directory)
  return { projectId, teamId: undefined, userId, manages }
}

/** What was ended while a credential had expired must not come back with it. */
export function checkTies(
  { accountId, projectId, teamId, userId }: KeyRecord,
  directory: Directory,
): void {
  if (projectId !== undefined)
    checkUsable('project_id', directory.find('project', accountId, projectId))
  if (teamId !== undefined) checkUsable('team_id', directory.find('team', accountId, teamId))
  if (userId !== undefined) checkUsable('user_id', directory.find('user', accountId, userId))
}

/** Whether a credential is one of those that are managed in this scope. */
export function isInScope({ projectId, teamId }: Ties, { projectIds, teamIds }: Scope): boolean {
  if (projectIds === undefined) return true
  const isOfProject = projectId !== undefined && projectIds.includes(projectId)
  return isOfProject || (teamId !== undefined && teamIds.includes(teamId))
}

/** A maker with one project needs not name it. Only the root key makes keys that belong to none. */
function ownProject(kind: MadeKind, { projectIds }: Scope): string | undefined {
  if (projectIds === undefined && kind === 'managed') return undefined
  if (projectIds?.length === 1) return projectIds[0]
  throw missing(
    'project_id',
    kind === 'token'
      ? 'A token belongs to a project or a team. Send `project_id` or `team_id`.'
      : 'Send the `project_id` of one of the projects of your team.',
  )
}

function checkProject(id: string, { accountId, projectIds }: Scope, directory: Directory): void {
  const isWithin = projectIds === undefined || projectIds.includes(id)
  checkUsable('project_id', isWithin ? directory.find('project', accountId, id) : undefined)
}

function checkTeam(
  id: string,
  { accountId, projectIds, teamIds }: Scope,
  directory: Directory,
): void {
  const isWithin = projectIds === undefined || teamIds.includes(id)
  checkUsable('team_id', isWithin ? directory.find('team', accountId, id) : undefined)
}

/**
 * A user's wallet may pay for what the user calls. A token that could name another one, or none, would
 * choose whose money it spends.
 */
function resolveUser(
  { userId }: NamedTies,
  maker: KeyRecord,
  directory: Directory,
): string | undefined {
  if (maker.kind !== 'root' && userId !== undefined && userId !== maker.userId)
    throw new GatewayError(
      'permission_denied',
      'Only the root key may say who calls with a credential; one that a token makes has the user of the token. Leave `user_id` out.',
      { param: 'user_id' },
    )
  const id = userId ?? (maker.kind === 'root' ? undefined : maker.userId)
  if (id !== undefined) checkUsable('user_id', directory.find('user', maker.accountId, id))
  return id
}

type TieField = 'project_id' | 'team_id' | 'user_id'

const NOUNS: Readonly<Record<TieField, string>> = {
  project_id: 'project',
  team_id: 'team',
  user_id: 'user',
}

/** One answer for what there is not, what is another account's and what is out of reach. */
function checkUsable(
  param: TieField,
  found: { readonly endedAt: number | undefined } | undefined,
): void {
  const noun = NOUNS[param]
  if (found === undefined)
    throw new GatewayError(
      'not_found',
      `No ${noun} with this id is within reach of this credential. GET /v1/manage/${noun}s lists those that are.`,
      { param },
    )
  if (found.endedAt !== undefined)
    throw new GatewayError('conflict', `This ${noun} is ended, and nobody calls for it any more.`, {
      param,
      retryable: false,
    })
}

function findId(param: TieField, value: unknown): string | undefined {
  return value === undefined || value === null ? undefined : readId(param, value)
}

function readManage(value: unknown): boolean {
  if (value === undefined || value === null) return false
  if (typeof value === 'boolean') return value
  throw invalid('manage', 'Send `manage` as true or false.')
}

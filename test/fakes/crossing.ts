// Who asks, and what must come of it: by the role of the route and by how far a credential reaches, never by hand
// for a route.
import type { Role } from '../../src/access/keyring.ts'
import type { Endpoint } from '../../src/endpoints/endpoint.ts'
import type { Lesson } from './lessons.ts'
import { tracesOf, type Place, type Stage, type Subject, type World } from './worlds.ts'

export type Rank = 'nobody' | 'caller' | 'manager' | 'team manager' | 'root' | 'operator'

export interface Credential {
  readonly title: string
  readonly rank: Rank
  readonly secret: string | undefined
  /** What must not be seen by it. */
  readonly hidden: readonly string[]
}

const CALLER: readonly Role[] = ['open', 'any', 'infer']
export const ROLES: Readonly<Record<Rank, readonly Role[]>> = {
  nobody: ['open'],
  caller: CALLER,
  manager: [...CALLER, 'manage'],
  'team manager': [...CALLER, 'manage'],
  root: [...CALLER, 'manage', 'administer'],
  operator: [...CALLER, 'manage', 'administer', 'operate'],
}

/** What a token that manages reaches of its own project. */
const REACH: Readonly<Record<'manager' | 'team manager', readonly Subject[]>> = {
  manager: ['project', 'key', 'token', 'call', 'review'],
  'team manager': ['project', 'team', 'key', 'token', 'call', 'review'],
}

/** Whose record is asked for: of the own project, of another one of the account, of another account, of nobody. */
export type Target = 'own' | 'sibling' | 'foreign' | 'unknown'
export const TARGETS: readonly Target[] = ['own', 'sibling', 'foreign', 'unknown']

export function reaches(rank: Rank, subject: Subject, target: Target): boolean {
  if (target === 'unknown') return false
  if (subject === 'account') return rank === 'operator'
  if (target === 'foreign' || rank === 'nobody' || rank === 'caller') return false
  if (rank === 'root' || rank === 'operator') return true
  return target === 'own' && REACH[rank].includes(subject)
}

interface Want {
  readonly status: number
  readonly code: string | undefined
}

export function expected(
  { role }: Endpoint,
  lesson: Lesson,
  { rank, secret }: Credential,
  target: Target,
): Want {
  if (!ROLES[rank].includes(role)) {
    if (rank !== 'nobody') return { status: 403, code: 'permission_denied' }
    const code = secret === undefined ? 'missing_api_key' : 'invalid_api_key'
    return { status: 401, code }
  }
  const { subject, status = 200 } = lesson
  if (subject !== undefined && !reaches(rank, subject, target))
    return { status: 404, code: 'not_found' }
  return { status, code: status === 200 ? undefined : 'not_found' }
}

export interface Reply extends Want {
  readonly body: string
  /** All of it as text, without what is different for every request. */
  readonly whole: string
}

export interface Question {
  readonly method: string
  readonly address: string
  readonly secret: string | undefined
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

const GUESSED = `svc_${'A'.repeat(43)}`
const GUESSES_MAX = 40
let guesses = 0

/** Whoever guesses is told to wait after a while, which is no part of this. */
function waitAfterGuesses({ clock }: Stage, secret: string | undefined): void {
  if (secret !== GUESSED) return
  guesses += 1
  if (guesses % GUESSES_MAX === 0) clock.advance(10_000)
}

function asText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body)
}

export async function send(stage: Stage, question: Question): Promise<Reply> {
  const { method, address, secret, body, headers } = question
  waitAfterGuesses(stage, secret)
  // A form names its own type, with the boundary that it was given.
  const isJson = body !== undefined && !(body instanceof FormData)
  const response = await fetch(stage.gateway.url + address, {
    method,
    headers: {
      ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
      ...(isJson && { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: isJson ? asText(body) : body }),
  })
  const text = await response.text()
  const isRead = response.headers.get('content-type') === 'application/json' && text !== ''
  const { error } = (isRead ? JSON.parse(text) : {}) as { readonly error?: { code: string } }
  const { 'x-request-id': id = '', date: _date, ...others } = response.headers.toJSON()
  const whole = `${response.status} ${JSON.stringify(others)} ${text}`.replaceAll(id, '')
  return { status: response.status, code: error?.code, body: text, whole }
}

export function credentialsOf(stage: Stage, world: World): readonly Credential[] {
  const { one, two, root } = world
  const others = worldsOf(stage).filter((other) => other !== world)
  const foreign = others.flatMap(tracesOf)
  const rank = world === stage.operator ? 'operator' : 'root'
  const sealed = [one, two].map(({ signInToken }) => signInToken)
  const beyond = [...foreign, ...two.traces, ...sealed]
  return [
    { title: 'the key', rank: 'caller', secret: one.key, hidden: beyond },
    { title: 'the token', rank: 'caller', secret: one.token, hidden: beyond },
    { title: 'the token of a team', rank: 'caller', secret: one.teamToken, hidden: beyond },
    { title: 'the manager', rank: 'manager', secret: one.manager, hidden: beyond },
    {
      title: 'the manager of a team',
      rank: 'team manager',
      secret: one.teamManager,
      hidden: beyond,
    },
    { title: 'the root key', rank, secret: root, hidden: [...foreign, ...sealed] },
  ]
}

export function strangersAt(stage: Stage): readonly Credential[] {
  const hidden = worldsOf(stage).flatMap(tracesOf)
  return [
    { title: 'nobody', rank: 'nobody', secret: undefined, hidden },
    { title: 'a guesser', rank: 'nobody', secret: GUESSED, hidden },
  ]
}

function worldsOf({ operator, alpha, beta }: Stage): readonly World[] {
  return [operator, alpha, beta]
}

export interface Parties {
  readonly world: World
  readonly foreign: World
}

export function placeOf({ world, foreign }: Parties, target: Target): Place {
  if (target === 'foreign') return foreign.one
  return target === 'sibling' ? world.two : world.one
}

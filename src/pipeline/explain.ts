// What would become of a call, told without making it: the same stops as `handle` up to the hold, of which none takes,
// marks or writes anything. Whatever would refuse the call is part of the answer.
import { Rates } from '../access/rate.ts'
import type { KeyRecord } from '../core/key.ts'
import { toNanoUsd, type NanoUsd } from '../core/money.ts'
import { GatewayError } from '../core/problem.ts'
import type { Dialect, Facts } from '../dialects/dialect.ts'
import { Bound } from '../ledger/cost/bound.ts'
import { priceAt } from '../ledger/cost/price.ts'
import type { BudgetState, Foreseen, PayerState } from '../ledger/ledger.ts'
import type { Price } from '../core/usage.ts'
import { findAttempt } from '../routing/choose.ts'
import type { Attempt, Candidate, Route, Verdict } from '../routing/routes.ts'
import { findSession } from '../routing/session-id.ts'
import type { Session } from '../routing/sessions.ts'
import type { CallerLine } from '../upstream/lifeline.ts'
import { admit } from './admit.ts'
import type { Admitted, Plant, Received, SentForm } from './call.ts'
import { Ask } from './hold.ts'
import { isRelayed, Request } from './request.ts'
import { findOwnSession, judge, list, lossesOf, nobody, type Listed } from './plan.ts'

/** A call as it would be made. */
export interface Supposed {
  readonly id: string
  readonly path: string
  readonly dialect: Dialect
  readonly key: KeyRecord
  /** Throws where the key may not call for what was named. */
  readonly projectOf: (key: KeyRecord) => string | undefined
  /** Of a form nothing. */
  readonly body: Uint8Array
  readonly form: SentForm | undefined
  readonly sessionHeader: string | undefined
  readonly caller: CallerLine
}

/** `program`: what a client's program sends by itself. `inferred`: how the conversation begins. */
export type SessionSource = 'header' | 'metadata' | 'program' | 'inferred'

export interface Explanation {
  readonly facts: Facts
  readonly key: KeyRecord
  /** Undefined where it would be sent. */
  readonly refusal: GatewayError | undefined
  /** Undefined where nobody serves the model. */
  readonly route: Route | undefined
  /** Regions that it would have to stay in; none where key and call leave no common one. */
  readonly regions: readonly string[] | undefined
  /** Undefined where it would be refused before there is a list. */
  readonly verdict: Verdict | undefined
  /** How each candidate would be spoken to; nothing of one that speaks no language which the call can be put into. */
  readonly ways: ReadonlyMap<Candidate, Way>
  readonly session: Session | undefined
  /** What names the session; undefined where the call would be refused before anybody looks for one. */
  readonly source: SessionSource | undefined
  readonly money: Foretold | undefined
  /** The lanes' time and the prices' time that all of this is true of. */
  readonly now: number
  readonly at: number
}

/** Whether a request is passed on or put into another language, and what that cannot say. */
export interface Way {
  readonly isRelayed: boolean
  readonly losses: readonly string[]
}

/** What it could cost and who would pay. */
export interface Foretold {
  /** The most that it can cost; undefined where nothing bounds it. */
  readonly worst: NanoUsd | undefined
  /** Undefined where nothing would be held. */
  readonly foreseen: Foreseen | undefined
  readonly budget: BudgetState
  readonly payers: readonly PayerState[]
}

/** Throws only what is wrong with the request itself, as the endpoint would. */
export async function explain(supposed: Supposed, plant: Plant): Promise<Explanation> {
  const facts = supposed.form?.facts ?? supposed.dialect.peek(supposed.body)
  const found = new Findings()
  const stage = onStage(plant)
  const key = found.try(() => plant.keyring.current(supposed.key)) ?? supposed.key
  const projectId = found.try(() => supposed.projectOf(key))
  const call = receive({ ...supposed, key }, projectId, plant)
  const admitted = found.try(() => admit(call, stage))
  found.try(() => plant.rates.check(key, plant.clock.elapsed()))
  const known =
    admitted === undefined
      ? { ...NOT_ADMITTED, regions: key.allowedRegions, route: plainRoute(call, facts, plant) }
      : await explainAdmitted(admitted, stage, found)
  return {
    facts,
    key,
    ...known,
    refusal: found.refusal,
    now: plant.clock.elapsed(),
    at: call.at,
  }
}

/** By name alone, for a call that would be refused before anybody looks who may answer it. */
function plainRoute({ key, dialect }: Received, { model }: Facts, plant: Plant): Route | undefined {
  const { routes, natives } = plant
  return (dialect.isNative === true ? natives.of(key.accountId) : routes).find(model)
}

type Known = Pick<
  Explanation,
  'route' | 'regions' | 'verdict' | 'ways' | 'session' | 'source' | 'money'
>

const NOT_ADMITTED: Omit<Known, 'route' | 'regions'> = {
  verdict: undefined,
  ways: new Map(),
  session: undefined,
  source: undefined,
  money: undefined,
}

async function explainAdmitted(call: Admitted, stage: Plant, found: Findings): Promise<Known> {
  const session = findOwnSession(call, stage)
  const listed = found.try(() => list(call, stage, session))
  return {
    route: call.route,
    regions: call.regions,
    verdict: listed?.verdict ?? judge(call, stage, session),
    ways: waysOf(call),
    session,
    source: sourceOf(call),
    money: listed && (await foretell(call, listed, stage, found)),
  }
}

function sourceOf({ sessionHeader: header, facts, headers, body }: Admitted): SessionSource {
  if (header !== undefined) return 'header'
  if (facts.sessionId !== undefined) return 'metadata'
  const sent = findSession({ header, facts, headers, body }, 'sent')
  return sent === undefined ? 'inferred' : 'program'
}

/** Each of them is put into words for the whole request, so that only so many are. */
const WAYS_MAX = 16

function waysOf(call: Admitted): ReadonlyMap<Candidate, Way> {
  const { dialect, body, route } = call
  const request = new Request(dialect, body)
  const ways = new Map<Candidate, Way>()
  for (const candidate of route.candidates.slice(0, WAYS_MAX)) {
    const attempt = findAttempt(candidate, { dialect, converts: true })
    if (attempt !== undefined) ways.set(candidate, wayOf(call, request, attempt))
  }
  return ways
}

function wayOf(call: Admitted, request: Request, attempt: Attempt): Way {
  if (isRelayed(call, attempt)) return { isRelayed: true, losses: [] }
  try {
    return { isRelayed: false, losses: lossesOf(request, [attempt]) }
  } catch (thrown) {
    // What is wrong with the request is told as the refusal.
    if (thrown instanceof GatewayError) return { isRelayed: false, losses: [] }
    throw thrown
  }
}

async function foretell(
  call: Admitted,
  { verdict, request }: Listed,
  plant: Plant,
  found: Findings,
): Promise<Foretold | undefined> {
  const { attempts } = verdict
  if (attempts.length === 0) {
    found.refuse(nobody(call, verdict, plant))
    return undefined
  }
  const planned = { ...call, verdict, attempts, request, session: undefined }
  const ask = found.try(() => new Ask(planned, plant))
  if (ask === undefined) return undefined
  found.try(() => ask.check())
  // In and out in the same step: nobody else is kept waiting.
  found.try(() => plant.gate.enter(ask.key.id, plant.limits).leave())
  const granted = await plant.ledger.foresee(ask).catch((thrown: unknown) => found.take(thrown))
  const foreseen = granted && asSent(granted, ask)
  const worst = ask.bound.whole()?.amount
  const need = foreseen?.fit.amount ?? worst ?? LEAST
  return {
    worst,
    foreseen,
    budget: plant.ledger.budgetOf(ask.key.id),
    payers: plant.ledger.explainPayers(ask.payers(), need),
  }
}

/** With what the first on the list would be sent: others may be sent another maximum. */
function asSent({ fit, payer }: Foreseen, { closest }: Ask): Foreseen {
  return { fit: { ...fit, maxTokens: closest.maxTokensAt(0, fit) }, payer }
}

/** Whoever cannot pay this pays for nothing that has a price. */
const LEAST = toNanoUsd(1)

/** The first reason to refuse it is the one that a caller would be told; what comes after it is still looked at. */
class Findings {
  refusal: GatewayError | undefined

  try<Value>(look: () => Value): Value | undefined {
    try {
      return look()
    } catch (thrown) {
      return this.take(thrown)
    }
  }

  /** What nobody foresaw is no answer to the question. */
  take(thrown: unknown): undefined {
    if (!(thrown instanceof GatewayError) || thrown.code === 'internal_error') throw thrown
    this.refuse(thrown)
    return undefined
  }

  refuse(error: GatewayError): void {
    this.refusal ??= error
  }
}

/** All questions share what one key may have counted at a time, so that they keep no key from it. */
const COUNTED_FOR = 'explain'

/** The plant without what a call would leave behind: it is counted by nobody, and chance has no say. */
function onStage(plant: Plant): Plant {
  const { counter } = plant
  return {
    ...plant,
    rates: new Rates(),
    draw: () => 0,
    counter: {
      ...counter,
      count: (body, load, tokenizer) => counter.count(body, load, tokenizer, COUNTED_FOR),
      close: () => undefined,
    },
  }
}

function receive(supposed: Supposed, projectId: string | undefined, { clock }: Plant): Received {
  const { id, path, dialect, key, body, form, sessionHeader, caller } = supposed
  return {
    id,
    path,
    dialect,
    key,
    projectId,
    body,
    claim: undefined,
    headers: new Headers(),
    sessionHeader,
    caller,
    at: clock.now(),
    startedMs: clock.elapsed(),
    form,
    asked: { model: '', stream: false },
  }
}

/** What one of them could cost at most if it alone were asked; undefined where nothing bounds it. */
export function worstAt(
  { route }: Candidate,
  { facts, at }: Explanation,
): { readonly price: Price; readonly worst: NanoUsd | undefined } {
  const price = priceAt(route.prices, at)
  const worst = new Bound(facts.load, [{ price, limits: route.limits }]).whole()?.amount
  return { price, worst }
}

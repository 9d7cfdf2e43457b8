// Takes a place for the call and sets its money aside before anything is sent. What it may cost is fixed here,
// with the prices that hold now: a change in the middle of a call cannot touch its bill.
import type { Claim } from '../core/claim.ts'
import type { KeyRecord } from '../core/key.ts'
import type { PayerChain } from '../core/payer.ts'
import { GatewayError } from '../core/problem.ts'
import type { Price } from '../core/usage.ts'
import { Bound, type BoundTerms } from '../ledger/cost/bound.ts'
import type { Uncounted } from '../ledger/cost/counter.ts'
import { estimateUsage } from '../ledger/cost/estimate.ts'
import { priceAt } from '../ledger/cost/price.ts'
import type { HoldAsk } from '../ledger/ledger.ts'
import type { Held, Planned, Plant } from './call.ts'
import { termsOf } from './terms.ts'

/** Resolves when the hold is durable. */
export async function hold(call: Planned, plant: Plant): Promise<Held> {
  const { clock, gate, ledger, limits } = plant
  const ask = new Ask(call, plant)
  ask.check()
  const slot = gate.enter(ask.key.id, limits)
  try {
    const { operation, fit } = await ledger.hold(ask)
    const { prices, closest: bound } = ask
    return { ...call, prices, operation, bound, fit, tries: [], slot, heldAtMs: clock.elapsed() }
  } catch (thrown) {
    slot.leave()
    throw thrown
  }
}

/** What the ledger is asked for. Its methods are for calls that do not fit at once, which are few. */
export class Ask implements HoldAsk {
  readonly key: KeyRecord
  readonly projectId: string | undefined
  readonly claim: Claim | undefined
  readonly requestId: string
  readonly endpoint: string
  readonly model: string
  readonly stream: boolean
  readonly terms: string
  readonly inputTokens: number
  readonly bound: Bound
  /** What the money was set aside by: the bound, or what counting has made of it. */
  closest: Bound
  /** Prices at the moment of arrival, one for each attempt. */
  readonly prices: readonly Price[]
  readonly #call: Planned
  readonly #plant: Plant
  readonly #list: readonly BoundTerms[]

  constructor(call: Planned, plant: Plant) {
    const prices = call.attempts.map(({ route }) => priceAt(route.prices, call.at))
    const terms = termsOf(call.attempts, prices)
    const bound = new Bound(call.facts.load, terms.list)
    // As it is now: whatever was waited for since, such as an earlier claim, may have seen it changed or revoked.
    this.key = plant.keyring.current(call.key)
    this.prices = prices
    this.projectId = call.projectId
    this.claim = call.claim?.record
    this.requestId = call.id
    this.endpoint = call.path
    this.model = call.facts.model
    this.stream = call.facts.stream
    this.terms = terms.text
    this.inputTokens = likelyInput(call, bound)
    this.bound = bound
    this.closest = bound
    this.#call = call
    this.#plant = plant
    this.#list = terms.list
  }

  /** Throws where somebody's limit would be none. */
  check(): void {
    const limited = whoIsLimited(this, this.#plant)
    if (limited !== undefined) checkBounded(this.#call, this, limited, this.#plant)
  }

  async tighten(isWorthwhile: (closest: Bound) => boolean): Promise<Bound | Uncounted> {
    const closer = await tighten(this.#call, this.#list, isWorthwhile, this.#plant)
    if (typeof closer !== 'string') this.closest = closer
    return closer
  }

  payers(): PayerChain {
    return this.#plant.directory.payersOf(this.key, this.projectId)
  }

  current(): KeyRecord {
    return this.#plant.keyring.current(this.#call.key)
  }
}

/** Should nobody see the end of the call. What is elsewhere may be anything, so there the bound is all that is known. */
function likelyInput({ facts: { load } }: Planned, { inputTokens }: Bound): number {
  return load.elsewhere === undefined ? estimateUsage(load, 0).inputTokens : inputTokens
}

/** Bytes bound the input from far above; counted, by everybody's own vocabulary, it may fit after all. */
async function tighten(
  { body, key, facts: { load } }: Planned,
  terms: readonly BoundTerms[],
  isWorthwhile: (closest: Bound) => boolean,
  { counter }: Plant,
): Promise<Bound | Uncounted> {
  // Where input is free, and where no input at all would be too much, there is nothing to be found out.
  const hasPrice = terms.some(({ price }) => price.input > 0 || price.longContext !== undefined)
  if (!hasPrice || !isWorthwhile(new Bound(load, terms, () => 0))) return 'final'
  const tokenizers = [...new Set(terms.map(({ limits }) => limits?.tokenizer))]
  // All at once: together they may take no longer than one.
  const counts = await Promise.all(
    tokenizers.map((each) => counter.count(body, load, each, key.id)),
  )
  const known: number[] = []
  for (const counted of counts) {
    if (typeof counted === 'string') return counted
    known.push(counted)
  }
  return new Bound(load, terms, (tokenizer) => known[tokenizers.indexOf(tokenizer)]!)
}

/** What whoever was asked last was sent in place of the caller's maximum, for each choice. */
export function sentMaximum({ bound, fit, tries }: Held): number | undefined {
  const last = tries.at(-1)
  return last === undefined ? undefined : bound.maxTokensAt(last.index, fit)
}

/** How a refusal calls whoever may spend only so much, and what would do instead. */
interface Limited {
  readonly who: string
  readonly instead: string
}

const KEY_LIMITED: Limited = {
  who: 'this key has a budget',
  instead: 'use a key without one',
}
const PAYER_LIMITED: Limited = {
  who: 'whoever pays for it can run out of money',
  instead: 'have it paid by a wallet without limits',
}

function whoIsLimited(ask: HoldAsk, { ledger }: Plant): Limited | undefined {
  if (ask.key.budgetLimit !== undefined) return KEY_LIMITED
  return ledger.isBounded(ask.payers()) ? PAYER_LIMITED : undefined
}

/** A limit is hard only where the most that a call can cost is known before it leaves. */
function checkBounded(
  { attempts, facts: { load } }: Planned,
  { key: { fitsBudget }, bound }: HoldAsk,
  { who, instead }: Limited,
  { policy }: Plant,
): void {
  if (load.unbounded !== undefined && policy.unbounded === 'refuse')
    throw new GatewayError(
      'unsupported_parameter',
      `What \`${load.unbounded}\` costs is not known before the call, and ${who}. Leave it out, or ${instead}.`,
      { param: load.unbounded },
    )
  const isWindowKnown = attempts.every(({ route }) => route.limits?.contextWindow !== undefined)
  if (load.elsewhere !== undefined && !isWindowKnown)
    throw new GatewayError(
      'unsupported_parameter',
      `How much \`${load.elsewhere}\` gives this model to read cannot be told, and ${who}. Leave it out or send its content as text, have the operator set \`context_window\` for this model, or ${instead}.`,
      { param: load.elsewhere },
    )
  if (!fitsBudget && bound.whole() === undefined)
    throw new GatewayError(
      'missing_fields',
      'Nothing limits the output of this model, and this key has its calls paid whole or not at all. Send `max_tokens`.',
      { param: 'max_tokens' },
    )
}

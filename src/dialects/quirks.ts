// What a supplier's quirks change in a request: whole top-level fields, and never one that admission relies
// on. Worked out once for each supplier and model; a supplier without quirks never comes here.
import type { Member, Splice } from '../wire/json-splice.ts'
import { isSame, OTHER, type KeySet } from '../wire/key-set.ts'
import type { BodyLayout } from './dialect.ts'
import type { QuirkFault, Quirks } from './quirk.ts'

/** What quirks may do to the requests of one language. */
export interface QuirkRules {
  /** The fields that the gateway reads or changes itself. */
  readonly keys: KeySet
  /** Of these, the ones on which nothing hangs that is promised to anybody. */
  readonly free: ReadonlySet<string>
  /** Of these, the ones that may be left out, and not chosen. */
  readonly droppable: ReadonlySet<string>
  /** What to do instead, by the name of a field. */
  readonly advice: Readonly<Record<string, string>>
  /** The output limit has two names, of which a supplier may know one. */
  readonly hasTwoLimits: boolean
}

export interface Edits {
  readonly splices: readonly Splice[]
  readonly dropped: ReadonlySet<Member>
}

export const NO_EDITS: Edits = { splices: [], dropped: new Set() }

/** Quirks in the form in which they are applied. */
interface Plan {
  readonly renames: readonly (readonly [from: string, to: string])[]
  readonly drops: readonly string[]
  /** Names to JSON text. */
  readonly defaults: readonly (readonly [name: string, text: string])[]
  /** The names that are looked for: by the key of a listed field, the others as bytes. */
  readonly listed: readonly (string | undefined)[]
  readonly others: readonly { readonly text: string; readonly bytes: Uint8Array }[]
  /** By the key of a listed field: it is to be changed. Undefined where these alone do not decide. */
  readonly changes: readonly boolean[] | undefined
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_N = 0x6e

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function hasQuirks({ maxTokensName, rename, drop, default: defaults }: Quirks): boolean {
  return (
    maxTokensName !== undefined ||
    rename !== undefined ||
    drop !== undefined ||
    defaults !== undefined
  )
}

/** The quirks of all suppliers of one language. */
export class QuirkBook {
  readonly #rules: QuirkRules
  readonly #plans = new WeakMap<Quirks, Plan>()

  constructor(rules: QuirkRules) {
    this.#rules = rules
  }

  /** The changes that quirks make in one request. What a caller does not send stays out of it. */
  findEdits(body: Uint8Array, layout: BodyLayout, quirks: Quirks): Edits {
    const plan = this.#planOf(quirks)
    // Most suppliers are odd about the name of the limit alone, and most callers know it by now.
    const { changes } = plan
    if (changes !== undefined && !layout.members.some(({ key }) => changes[key] === true))
      return NO_EDITS
    const sent = findNamed(body, layout.members, plan)
    const dropped = new Set<Member>()
    const renamed = new Map<Member, string>()
    const isSent = (name: string): boolean =>
      sent.get(name)?.some((member) => !isNull(body, member)) === true
    for (const name of plan.drops) takeOut(sent, name, dropped)
    for (const [from, to] of plan.renames) {
      // Two fields of one name would be read in two ways; what the caller calls by the supplier's name wins.
      const members = sent.get(from)
      if (members === undefined) continue
      takeOut(sent, isSent(to) ? from : to, dropped)
      if (sent.delete(from)) sent.set(to, members)
      for (const member of members) renamed.set(member, to)
    }
    const values = plan.defaults.flatMap(([name, text]) =>
      isSent(name) ? [] : setDefault(name, text, sent.get(name) ?? [], layout.close),
    )
    for (const [name] of plan.defaults) keepOne(sent.get(name), dropped, isSent(name))
    return { dropped, splices: [...values, ...renameAll(body, renamed, dropped)] }
  }

  /** A quirk that would let a caller past what admission has read of the request, or say one thing twice. */
  findFault({ drop = [], rename = {}, default: defaults = {} }: Quirks): QuirkFault | undefined {
    for (const [index, name] of drop.entries())
      if (this.#isGuarded(name, this.#rules.droppable))
        return { path: ['drop', index], message: this.#guarded(name, 'dropped') }
    for (const name of Object.keys(defaults))
      if (this.#isGuarded(name, this.#rules.free))
        return { path: ['default', name], message: this.#guarded(name, 'given a default') }
    return this.#findRenameFault(rename, drop)
  }

  #planOf(quirks: Quirks): Plan {
    const known = this.#plans.get(quirks)
    if (known !== undefined) return known
    const { keys, hasTwoLimits } = this.#rules
    const { maxTokensName: name, drop = [], rename = {}, default: defaults = {} } = quirks
    const otherName = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens'
    const renames = Object.entries(rename)
    if (hasTwoLimits && name !== undefined) renames.push([otherName, name])
    const texts = Object.entries(defaults).map(
      ([key, value]) => [key, JSON.stringify(value)] as const,
    )
    const names = new Set([...renames.flat(), ...drop, ...texts.map(([key]) => key)])
    const others = [...names].filter((text) => keys.names.indexOf(text) < 0)
    const plan: Plan = {
      renames,
      drops: drop,
      defaults: texts,
      listed: keys.names.map((field) => (names.has(field) ? field : undefined)),
      others: others.map((text) => ({ text, bytes: encoder.encode(text) })),
      changes:
        others.length > 0 || texts.length > 0
          ? undefined
          : keys.names.map(
              (field) => drop.includes(field) || renames.some(([from]) => from === field),
            ),
    }
    this.#plans.set(quirks, plan)
    return plan
  }

  #findRenameFault(
    rename: Readonly<Record<string, string>>,
    drop: readonly string[],
  ): QuirkFault | undefined {
    const targets = Object.values(rename)
    for (const [from, to] of Object.entries(rename)) {
      const path = ['rename', from]
      if (this.#isGuarded(from, this.#rules.free))
        return { path, message: this.#guarded(from, 'renamed') }
      if (this.#isGuarded(to, new Set()))
        return {
          path,
          message: `makes a field \`${to}\`, which the gateway reads itself: write another name`,
        }
      if (targets.indexOf(to) !== targets.lastIndexOf(to))
        return { path, message: `makes a second field \`${to}\`: two fields cannot have one name` }
      if (to in rename || drop.includes(from) || drop.includes(to))
        return {
          path,
          message: 'names a field that is renamed or dropped already: say one thing of each field',
        }
    }
    return undefined
  }

  /** Also in another case: some suppliers fold case when they match names. */
  #isGuarded(name: string, free: ReadonlySet<string>): boolean {
    return this.#rules.keys.resembles(name) !== OTHER && !free.has(name)
  }

  #guarded(name: string, what: string): string {
    const advice = this.#rules.advice[name.toLowerCase()] ?? ''
    return `names \`${name}\`, which the gateway reads itself and which cannot be ${what}${advice}`
  }
}

function takeOut(sent: Map<string, readonly Member[]>, name: string, dropped: Set<Member>): void {
  for (const member of sent.get(name) ?? []) dropped.add(member)
  sent.delete(name)
}

/** A null is how a caller leaves a field out while naming it: the default takes its place. */
function setDefault(
  name: string,
  text: string,
  [first]: readonly Member[],
  close: number,
): readonly Splice[] {
  if (first !== undefined) return [{ from: first.value, to: first.to, text }]
  return [{ from: close, to: close, text: `,${JSON.stringify(name)}:${text}` }]
}

/** Nulls beside the one that has become a value would contradict it. */
function keepOne(
  members: readonly Member[] | undefined,
  dropped: Set<Member>,
  isSent: boolean,
): void {
  if (!isSent) for (const member of members?.slice(1) ?? []) dropped.add(member)
}

/** What is dropped keeps its name: a splice inside of another would tear the text. */
function renameAll(
  body: Uint8Array,
  renamed: ReadonlyMap<Member, string>,
  dropped: ReadonlySet<Member>,
): readonly Splice[] {
  return [...renamed].flatMap(([member, to]) =>
    dropped.has(member)
      ? []
      : [{ from: member.from, to: endOfName(body, member), text: JSON.stringify(to) }],
  )
}

/** The members that the plan speaks of, by name. */
function findNamed(
  body: Uint8Array,
  members: readonly Member[],
  plan: Plan,
): Map<string, readonly Member[]> {
  const found = new Map<string, Member[]>()
  for (const member of members) {
    const name = member.key >= 0 ? plan.listed[member.key] : matchName(body, member, plan)
    if (name === undefined) continue
    const others = found.get(name)
    if (others === undefined) found.set(name, [member])
    else others.push(member)
  }
  return found
}

function matchName(body: Uint8Array, member: Member, { others }: Plan): string | undefined {
  if (others.length === 0) return undefined
  const from = member.from + 1
  const to = endOfName(body, member) - 1
  for (const { text, bytes } of others)
    if (bytes.length === to - from && isSame(body, from, bytes)) return text
  // An escaped spelling is the same name to the supplier.
  if (!body.subarray(from, to).includes(BACKSLASH)) return undefined
  const name: unknown = JSON.parse(decoder.decode(body.subarray(member.from, to + 1)))
  return others.find(({ text }) => text === name)?.text
}

/** The place behind the closing quote of a member's name. */
function endOfName(body: Uint8Array, { from }: Member): number {
  let at = from + 1
  while (body[at] !== QUOTE) at += body[at] === BACKSLASH ? 2 : 1
  return at + 1
}

export function isNull(body: Uint8Array, { value }: Member): boolean {
  return body[value] === LETTER_N
}

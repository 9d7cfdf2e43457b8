// What is wrong with the names of a configuration: models that stand in for others, models to choose from, other names
// for models and the one that transcribes unasked, as only who is served can tell. A name that leads nowhere stops a start, because it would be noticed in an outage.
import { ConfigFault } from '../config/fault.ts'
import { findClosest } from '../config/names.ts'
import type { Config } from '../config/schema.ts'
import type { Task } from '../core/task.ts'

/** Of a supplier what names depend on. */
export interface Serving {
  readonly id: string
  readonly models: ReadonlyMap<string, { readonly task?: Task | undefined }>
  /** Set where any name behind its own is a model of it. */
  readonly anyModel?: unknown
  /** Set where it is called by sign-ins, and by native agents alone. */
  readonly oauth?: unknown
}

export function findNameFaults(
  { models, aliases, auto, defaults }: Pick<Config, 'models' | 'aliases' | 'auto' | 'defaults'>,
  suppliers: readonly Serving[],
): readonly ConfigFault[] {
  const names = new Names(suppliers, aliases)
  const native = new Names(suppliers.filter(isNative), {})
  const plain = new Names(
    suppliers.filter((supplier) => !isNative(supplier)),
    {},
  )
  return [
    ...Object.entries(models).flatMap(([id, { fallbacks = [] }]) =>
      checkFallbacks(id, fallbacks, { names, sides: [native, plain] }),
    ),
    ...Object.entries(aliases).flatMap(([alias, target]) => {
      const reason = findCollision(alias, names) ?? findMiss(target, names)
      return reason === undefined ? [] : new ConfigFault(['aliases', alias], reason)
    }),
    ...checkChoice(auto.models ?? [], names, plain),
    ...checkTranscription(defaults.transcription, names),
  ]
}

function isNative({ oauth }: Serving): boolean {
  return oauth !== undefined
}

class Names {
  /** Ids, and what each of them does: the same wherever it is served. */
  readonly #ids: ReadonlyMap<string, Task>
  readonly #pins: ReadonlyMap<string, string>
  readonly #open: readonly string[]
  readonly #aliases: Readonly<Record<string, string>>

  constructor(suppliers: readonly Serving[], aliases: Readonly<Record<string, string>>) {
    const served = suppliers.flatMap(({ models }) => [...models])
    this.#ids = new Map(served.map(([id, { task = 'chat' }]) => [id, task] as const))
    this.#pins = new Map(
      suppliers.flatMap(({ id, models }) =>
        [...models.keys()].map((model) => [`${id}/${model}`, model] as const),
      ),
    )
    this.#open = suppliers.flatMap(({ id, anyModel }) => (anyModel === undefined ? [] : `${id}/`))
    this.#aliases = aliases
  }

  isModel(name: string): boolean {
    return this.#ids.has(name)
  }

  /** The model that is meant at one supplier; undefined where the name is no such spelling. */
  pinned(name: string): string | undefined {
    return this.#pins.get(name)
  }

  /** A name that only a server which takes any name may know. */
  isOpen(name: string): boolean {
    return this.#open.some((prefix) => name.startsWith(prefix) && name.length > prefix.length)
  }

  /** What a name does that is a model, one at one supplier or another name for either; undefined where nobody knows. */
  taskOf(name: string): Task | undefined {
    const meant = this.#aliases[name] ?? name
    return this.#ids.get(this.pinned(meant) ?? meant)
  }

  isServed(name: string): boolean {
    return this.isModel(name) || this.pinned(name) !== undefined || this.isOpen(name)
  }

  isAlias(name: string): boolean {
    return Object.hasOwn(this.#aliases, name)
  }

  /** In brackets, to stand behind what is wrong. */
  hint(name: string): string {
    const closest = findClosest(name, [...this.#ids.keys()])
    return closest === undefined ? '' : ` (did you mean ${closest}?)`
  }
}

interface Sides {
  readonly names: Names
  /** Those who are called by sign-ins, and all others: no call goes from the one to the other. */
  readonly sides: readonly Names[]
}

function checkFallbacks(
  id: string,
  fallbacks: readonly string[],
  { names, sides }: Sides,
): readonly ConfigFault[] {
  const path = ['models', id, 'fallbacks']
  if (fallbacks.length > 0 && !names.isModel(id))
    return [
      new ConfigFault(
        path,
        `are for a model that nobody serves${names.hint(id)}: ${id} needs a supplier before others can stand in for it`,
      ),
    ]
  return fallbacks.flatMap((name, index) => {
    const reason =
      findFlaw(name, id, fallbacks.indexOf(name) < index, names) ?? findWall(name, id, sides)
    return reason === undefined ? [] : new ConfigFault([...path, index], reason)
  })
}

/** What `auto` may choose from: models, or models at one supplier. */
function checkChoice(
  models: readonly string[],
  names: Names,
  plain: Names,
): readonly ConfigFault[] {
  return models.flatMap((name, index) => {
    const reason =
      findBadChoice(name, models.indexOf(name) < index, names) ??
      (plain.isServed(name) ? undefined : `${NATIVE_ALONE}, and \`auto\` is not: remove it`)
    return reason === undefined ? [] : new ConfigFault(['auto', 'models', index], reason)
  })
}

/** Any name that callers may use. */
function checkTranscription(name: string | undefined, names: Names): readonly ConfigFault[] {
  if (name === undefined) return []
  const path = ['defaults', 'transcription']
  if (!names.isServed(name) && !names.isAlias(name))
    return [
      new ConfigFault(
        path,
        `is no model that is served${names.hint(name)}: write an id that \`gateway models\` shows, or <supplier>/<id>`,
      ),
    ]
  const task = names.taskOf(name)
  if (task === undefined || task === 'transcription') return []
  return [new ConfigFault(path, `is a model for ${task}: name one that transcribes, or remove it`)]
}

// What the file says is not quoted: it may have come from a variable, and a wrong one at that.

function findFlaw(name: string, id: string, isAgain: boolean, names: Names): string | undefined {
  if (name === id) return 'is the model itself: name another one, or remove it'
  if (isAgain) return 'stands there a second time: remove one of the two'
  if (names.isModel(name)) return findOtherTask(name, id, names)
  const pinned = names.pinned(name)
  if (pinned !== undefined)
    return `is a model at one supplier, and a model stands in wherever it is served: write ${pinned}`
  if (names.isAlias(name)) return 'is another name for a model: write the id of that model itself'
  return `is no model that a supplier of this file lists${names.hint(name)}: write an id that \`gateway models\` shows`
}

const NATIVE_ALONE = 'is served to native agents alone'

/** A model that could never stand in would be noticed in an outage. */
function findWall(name: string, id: string, sides: readonly Names[]): string | undefined {
  if (sides.some((side) => side.isModel(name) && side.isModel(id))) return undefined
  const [native] = sides
  return native?.isModel(name) === true
    ? `${NATIVE_ALONE}, and ${id} to all others: name a model that is not, or remove it`
    : `is no model of a native supplier, and ${id} is served by these alone: name one of theirs, or remove it`
}

/** One that does something else would never be asked. */
function findOtherTask(name: string, id: string, names: Names): string | undefined {
  const [own, other] = [names.taskOf(id), names.taskOf(name)]
  return own === other
    ? undefined
    : `is a model for ${other}, and ${id} is one for ${own}: name one that does the same`
}

function findBadChoice(name: string, isAgain: boolean, names: Names): string | undefined {
  if (isAgain) return 'stands there a second time: remove one of the two'
  const task = names.taskOf(name) ?? 'chat'
  if (names.isServed(name))
    return task === 'chat'
      ? undefined
      : `is a model for ${task}, and chats are chosen for: remove it`
  if (names.isAlias(name)) return 'is another name for a model: write the id of that model itself'
  return `is no model that is served${names.hint(name)}: write an id that \`gateway models\` shows, or <supplier>/<id>`
}

function findCollision(alias: string, names: Names): string | undefined {
  if (names.isModel(alias)) return 'is the id of a model that is served: choose another name'
  return names.isServed(alias)
    ? 'already means a model at one supplier: choose another name'
    : undefined
}

function findMiss(target: string, names: Names): string | undefined {
  if (names.isServed(target)) return undefined
  if (names.isAlias(target))
    return 'leads to another such name, and not to a model: write the id of the model itself'
  return `leads to no model that is served${names.hint(target)}: write an id that \`gateway models\` shows, or <supplier>/<id>`
}

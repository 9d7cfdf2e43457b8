// The file as a tree of plain nodes that remember where they stand. It is made from the parsed YAML once,
// with aliases followed, so that nothing after it knows YAML.
import { isAlias, isMap, isScalar, isSeq, type Alias, type Document, type Pair } from 'yaml'
import type { ConfigPath } from './fault.ts'
import { findField } from './outline.ts'

export type Node = Mapping | List | Scalar

export interface Mapping {
  readonly type: 'mapping'
  readonly offset: number
  /** Written in braces. */
  readonly isFlow: boolean
  readonly entries: ReadonlyMap<string, Entry>
}

export interface Entry {
  /** Where the name stands. */
  readonly offset: number
  readonly node: Node
}

export interface List {
  readonly type: 'list'
  readonly offset: number
  /** Written in brackets. */
  readonly isFlow: boolean
  readonly items: readonly Node[]
}

export interface Scalar {
  readonly type: 'scalar'
  readonly offset: number
  readonly value: string | number | boolean | null
  readonly isQuoted: boolean
}

/** Something that YAML allows and a configuration does not. */
export interface Objection {
  readonly offset: number
  readonly path: ConfigPath
  readonly message: string
}

export interface Tree {
  readonly root: Node
  readonly objections: readonly Objection[]
}

const DEPTH_MAX = 32
/** Enough for anything that a person shares in a file, and too few for a bomb. */
const ALIASES_MAX = 64

const EMPTY: Scalar = { type: 'scalar', offset: 0, value: null, isQuoted: false }

export function growTree(document: Document): Tree {
  const grower = new Grower(document)
  return { root: grower.grow(document.contents, []), objections: grower.objections }
}

/** The entry or the item at a path; undefined where the file has none. */
export function findEntry(root: Node, path: ConfigPath): Entry | undefined {
  let entry: Entry | undefined = { offset: root.offset, node: root }
  for (const step of path) {
    const node: Node | undefined = entry?.node
    if (node?.type === 'mapping' && typeof step === 'string') entry = node.entries.get(step)
    else if (node?.type === 'list' && typeof step === 'number') entry = itemOf(node, step)
    else return undefined
  }
  return entry
}

function itemOf({ items }: List, index: number): Entry | undefined {
  const node = items[index]
  return node && { offset: node.offset, node }
}

class Grower {
  readonly objections: Objection[] = []
  readonly #document: Document
  readonly #messages = new Set<string>()
  #aliases = 0

  constructor(document: Document) {
    this.#document = document
  }

  grow(node: unknown, path: ConfigPath, fallback = 0): Node {
    const offset = offsetOf(node) ?? fallback
    if (path.length > DEPTH_MAX) {
      const message = `is nested too deeply: ${DEPTH_MAX} levels are the limit`
      return this.#object(offset, nearestField(path.slice(0, 4)), message)
    }
    if (isAlias(node)) return this.#follow(node, offset, path)
    if (isMap(node))
      return this.#growMapping(node.items, { path, offset, isFlow: node.flow === true })
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.grow(item, [...path, index], offset))
      return { type: 'list', offset, isFlow: node.flow === true, items }
    }
    return isScalar(node) ? growScalar(node, offset) : { ...EMPTY, offset }
  }

  #growMapping(
    pairs: readonly Pair[],
    { path, offset, isFlow }: { path: ConfigPath; offset: number; isFlow: boolean },
  ): Mapping {
    const entries = new Map<string, Entry>()
    for (const { key, value } of pairs) {
      const name = isScalar(key) ? String(key.value) : ''
      const at = offsetOf(key) ?? offset
      const below = [...path, name]
      // Neither is harmful in a map, but both stand for something else elsewhere.
      if (name === '__proto__')
        this.#object(at, path, '`__proto__` cannot be a name: choose another')
      else if (name === '<<') this.#object(at, path, MERGE)
      else entries.set(name, { offset: at, node: this.grow(value, below, at) })
    }
    return { type: 'mapping', offset, isFlow, entries }
  }

  #follow(alias: Alias, offset: number, path: ConfigPath): Node {
    this.#aliases += 1
    if (this.#aliases > ALIASES_MAX)
      return this.#object(
        offset,
        path,
        `is one alias too many: ${ALIASES_MAX} are the limit, so write the values out`,
      )
    const target = alias.resolve(this.#document)
    if (target !== undefined) return this.grow(target, path)
    return this.#object(offset, path, ALIAS)
  }

  #object(offset: number, path: ConfigPath, message: string): Scalar {
    // One alias too many comes with hundreds of others, and one text is enough for all.
    const isKnown = this.#messages.has(message)
    this.#messages.add(message)
    if (!isKnown || !message.includes('limit')) this.objections.push({ offset, path, message })
    return { ...EMPTY, offset }
  }
}

const ALIAS =
  'is an alias of nothing: no anchor (&) of that name stands above it. For a text that begins with *, write quotes around it'

const MERGE =
  '`<<` merges are not read here: write the fields out, or share a whole value with an anchor (&name) and an alias (*name)'

/** The field that all the depth is in, which is where people look. */
function nearestField(path: ConfigPath): ConfigPath {
  const isKnown = path.length === 0 || findField(path) !== undefined
  return isKnown ? path : nearestField(path.slice(0, -1))
}

function growScalar(
  node: { readonly value: unknown; readonly type?: string | undefined },
  offset: number,
): Scalar {
  const isQuoted = node.type !== undefined && node.type !== 'PLAIN'
  const { value } = node
  const isKnown = typeof value === 'number' || typeof value === 'boolean'
  const text = typeof value === 'string' ? value : null
  return { type: 'scalar', offset, value: isKnown ? value : text, isQuoted }
}

function offsetOf(node: unknown): number | undefined {
  if (!isAlias(node) && !isMap(node) && !isSeq(node) && !isScalar(node)) return undefined
  return node.range?.[0]
}

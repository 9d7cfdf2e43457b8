// From the tree of the file to the plain value that the schema checks: variables put in, empty sections
// left out, and what only the tree knows about secrets remembered.
import type { ConfigPath } from './fault.ts'
import { findField, type Field } from './outline.ts'
import type { Entry, Node, Objection, Scalar } from './tree.ts'
import { fillVariables, type Environment } from './variables.ts'

export interface FilledTree {
  readonly value: unknown
  readonly objections: readonly Objection[]
  /** Secrets that stand in the file itself. */
  readonly plainSecrets: readonly ConfigPath[]
}

export function fillTree(root: Node, environment: Environment): FilledTree {
  const filler = new Filler(environment)
  const value = filler.fill(root, [])
  return { value, objections: filler.objections, plainSecrets: filler.plainSecrets }
}

class Filler {
  readonly objections: Objection[] = []
  readonly plainSecrets: ConfigPath[] = []
  readonly #environment: Environment

  constructor(environment: Environment) {
    this.#environment = environment
  }

  fill(node: Node, path: ConfigPath): unknown {
    if (node.type === 'scalar') return this.#fillScalar(node, path)
    if (node.type === 'mapping') return this.#fillMapping(node.entries, path)
    return node.items.map((item, index) => this.fill(item, [...path, index]))
  }

  #fillMapping(entries: ReadonlyMap<string, Entry>, path: ConfigPath): unknown {
    const isFixed = findField(path)?.shape === 'mapping'
    // Without a prototype, so that no name in a file means more than itself.
    const value: Record<string, unknown> = Object.create(null)
    for (const [name, { node }] of entries) {
      const below = [...path, name]
      if (!isFixed || !isEmptySection(node, findField(below))) value[name] = this.fill(node, below)
    }
    return value
  }

  #fillScalar({ value, offset }: Scalar, path: ConfigPath): unknown {
    if (typeof value !== 'string') return value
    const field = findField(path)
    // What stands under an unknown name is nobody's concern before the name is right.
    if (field === undefined) return value
    const { text, problem, hasVariable, hasDefault } = fillVariables(value, this.#environment)
    if (problem !== undefined) this.objections.push({ offset, path, message: problem })
    const isPlain = !hasVariable || hasDefault
    if (field.isSecret && problem === undefined && isPlain) this.plainSecrets.push(path)
    return hasVariable ? coerce(text, field) : text
  }
}

/** `listen:` with every line below it commented out says nothing, and is no mistake. */
function isEmptySection(node: Node, field: Field | undefined): boolean {
  const isSection = field?.shape === 'mapping' || field?.shape === 'named'
  return isSection && field.isOptional && node.type === 'scalar' && node.value === null
}

/** The environment has texts alone, so a number that comes from it cannot be written as one. */
function coerce(text: string, { shape }: Field): unknown {
  const word = text.trim()
  if (shape === 'number' && /^-?\d+(?:\.\d+)?$/.test(word)) return Number(word)
  if (shape === 'boolean' && /^(?:true|false)$/i.test(word)) return word.toLowerCase() === 'true'
  return text
}

// Everything that was found wrong with one file, put in the file's order and shown with its lines.
import { excerptOf } from './excerpt.ts'
import type { Finding } from './explain.ts'
import type { ConfigFault, ConfigPath } from './fault.ts'
import { findField } from './outline.ts'
import { refuseFile, type ConfigProblem, type ConfigurationError } from './problem.ts'
import { showName } from './show.ts'
import type { Place, Text } from './text.ts'
import { findEntry, type Entry, type Node, type Objection } from './tree.ts'

/** More would only hide the first, from which the others often follow. */
const SHOWN_MAX = 20

export class Report {
  /** The tree, once there is one. */
  root: Node | undefined
  readonly #file: string
  readonly #text: Text
  readonly #found: Objection[] = []

  constructor(file: string, text: Text) {
    this.#file = file
    this.#text = text
  }

  object(objections: readonly Objection[]): void {
    for (const objection of objections) this.#found.push(objection)
  }

  /** Left out where something was already said about the same place, or objected to around it. */
  find(findings: readonly Finding[]): void {
    const objected = new Set(
      this.#found.filter(({ path }) => path.length > 0).map(({ path }) => JSON.stringify(path)),
    )
    const said = new Set<string>()
    for (const { path, message, at } of findings) {
      const place = JSON.stringify(path)
      if (said.has(place) || isWithin(path, objected)) continue
      said.add(place)
      this.#found.push({ path, message, offset: this.#offsetOf(path, at) })
    }
  }

  /** Throws if there is anything to tell. */
  refuse(): void {
    if (this.#found.length === 0) return
    const sorted = this.#found.toSorted((one, other) => one.offset - other.offset)
    const shown = sorted.slice(0, SHOWN_MAX).map((each) => this.#show(each))
    throw refuseFile(this.#file, shown, sorted.length - shown.length)
  }

  refuseFaults(faults: readonly ConfigFault[]): ConfigurationError {
    const found = faults.map(({ path, message }) => ({
      path,
      message,
      offset: this.#offsetOf(path, 'value'),
    }))
    const sorted = found.toSorted((one, other) => one.offset - other.offset)
    const shown = sorted.slice(0, SHOWN_MAX).map((each) => this.#show(each))
    return refuseFile(this.#file, shown, sorted.length - shown.length)
  }

  locate(path: ConfigPath): Place {
    return this.#text.placeOf(this.#offsetOf(path, 'name'))
  }

  problemAt(path: ConfigPath, message: string): ConfigProblem {
    return this.#show({ path, message, offset: this.#offsetOf(path, 'value') })
  }

  #show({ path, message, offset }: Objection): ConfigProblem {
    const place = this.#text.placeOf(offset)
    const isUnknown = findField(path) === undefined && !/^\d+$/.test(String(path.at(-1)))
    const isHidden = path.length > 0 && (isUnknown || findField(path)?.isSecret === true)
    const isBroken = path.length === 0
    const excerpt = excerptOf(this.#text, place, { isHidden, isBroken })
    return { file: this.#file, ...place, path: showPath(path), message, excerpt }
  }

  /** A value on a line of its own is pointed at by its name, which says more. */
  #offsetOf(path: ConfigPath, at: 'name' | 'value'): number {
    const entry = this.#findNearest(path)
    if (entry === undefined) return 0
    const isExact = this.root !== undefined && findEntry(this.root, path) !== undefined
    const isScalar = entry.node.type === 'scalar' && entry.node.value !== null
    return at === 'value' && isExact && isScalar ? entry.node.offset : entry.offset
  }

  #findNearest(path: ConfigPath): Entry | undefined {
    if (this.root === undefined) return undefined
    for (let length = path.length; length > 0; length -= 1) {
      const entry = findEntry(this.root, path.slice(0, length))
      if (entry !== undefined) return entry
    }
    return undefined
  }
}

/** Whether a place, or one that it lies in, is among those. */
function isWithin(path: ConfigPath, places: ReadonlySet<string>): boolean {
  if (places.size === 0) return false
  return path.some((_, index) => places.has(JSON.stringify(path.slice(0, index + 1))))
}

/** Names that nobody knows may be anything, also a secret that lost its own name. */
function showPath(path: ConfigPath): ConfigPath {
  return path.map((step, index) => {
    if (typeof step === 'number') return step
    return showName(step, findField(path.slice(0, index + 1)) !== undefined)
  })
}

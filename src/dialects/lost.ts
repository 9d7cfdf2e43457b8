// What of a request or of an answer our words have no place for, told as places in it, and where the rest was said.
// They are for people, so there are never many, and none is long.
import type { Trait } from '../core/chat.ts'
import { quoteName } from '../core/problem.ts'
import type { Fields } from './json.ts'

const PLACES_MAX = 64

/** Tells that a value asks for nothing and says nothing, so that nobody misses it. */
export type Silence = (value: unknown, name: string) => boolean

export class Lost {
  readonly #places = new Set<string>()
  readonly #said = new Map<Trait, string[]>()

  /** Pointers with `*` for any place in a list, each once. */
  get places(): readonly string[] {
    return [...this.#places]
  }

  /** Where each trait was said that was noted, each place once. */
  get said(): ReadonlyMap<Trait, readonly string[]> {
    return this.#said
  }

  /** Notes where something is said that another language may have no word for. No name in it is made up by others. */
  note(trait: Trait, place: string): void {
    const places = this.#said.get(trait)
    if (places === undefined) this.#said.set(trait, [place])
    else if (!places.includes(place)) places.push(place)
  }

  add(place: string): void {
    if (this.#places.size < PLACES_MAX) this.#places.add(place)
  }

  /** Something below a place, by a name that somebody else may have made up. */
  addNamed(parent: string, name: unknown): void {
    if (this.#places.size === PLACES_MAX) return
    const text = typeof name === 'string' ? quoteName(name) : 'unknown'
    this.add(`${parent}/${text.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }

  /** The members of an object that nobody here knows, but for those that say nothing: null, if nothing else is told. */
  addOthers(
    parent: string,
    fields: Fields,
    known: ReadonlySet<string>,
    isSilent: Silence = isNull,
  ): void {
    for (const name in fields)
      if (!known.has(name) && !isSilent(fields[name], name)) this.addNamed(parent, name)
  }
}

function isNull(value: unknown): boolean {
  return value === null
}

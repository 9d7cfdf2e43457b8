// The input of one call while it comes: where it ends, and whether it is what it should be. Its text is kept no longer
// than it takes to find out.
import type { Backlog } from '../../backlog.ts'
import { JsonEnd } from '../../json-end.ts'
import { isBlank, isFields } from '../../json.ts'

/** In characters. What is longer is not kept to be parsed: that its brackets match has to do. */
const CHECKED_MAX = 1_048_576

export class CallInput {
  readonly #backlog: Backlog
  readonly #end = new JsonEnd()
  /** All of it, while nobody knows what it is. */
  #text = ''
  #isTooLong = false
  #isUnsound = false

  constructor(backlog: Backlog) {
    this.#backlog = backlog
  }

  /** It is an object: there is nothing to add to it. */
  get isWhole(): boolean {
    return this.#end.isObject && this.#end.isComplete
  }

  /** For the end: no object can be read from it, or more than one. Nothing at all is none. */
  get isBroken(): boolean {
    if (this.isWhole) return this.#isUnsound
    return this.#isTooLong || !isNothing(this.#text)
  }

  add(piece: string): void {
    if (piece === '') return
    if (this.isWhole) {
      this.#isUnsound ||= piece.trim() !== ''
      return
    }
    this.#end.take(piece)
    this.#keep(piece)
    if (!this.isWhole) return
    this.#isUnsound = !this.#isTooLong && !isObject(this.#text)
    this.#drop()
  }

  #keep(piece: string): void {
    if (this.#isTooLong) return
    this.#backlog.add(piece.length)
    this.#text += piece
    this.#isTooLong = this.#text.length > CHECKED_MAX
    if (this.#isTooLong) this.#drop()
  }

  #drop(): void {
    this.#backlog.release(this.#text.length)
    this.#text = ''
  }
}

function isObject(text: string): boolean {
  try {
    return isFields(JSON.parse(text))
  } catch {
    // A mistake of the model, which whoever asked tells.
    return false
  }
}

/** Some send a null, or an empty text, for no input. */
function isNothing(text: string): boolean {
  if (text.trim() === '') return true
  try {
    return isBlank(JSON.parse(text))
  } catch {
    // It breaks off, or is no JSON at all.
    return false
  }
}

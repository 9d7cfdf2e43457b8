// What a model thinks on a stream and does not show. It is output, and billed as such; how much it was is told at the
// end alone, so that for whoever leaves before it has to be guessed.
import { Told } from '../figures.ts'
import { asFields, type Fields } from '../json.ts'
import { textBytes } from './output.ts'

/** Of text, on the average. */
const TOKEN_BYTES = 4

/** Blocks come one after another, so only the last is open to additions. */
export class Thoughts {
  /** Of the blocks before the last. */
  #before = 0
  #isThought = false
  /** Of the last block: text that was shown, */
  #shown = 0
  /** what the supplier makes of its length as it goes (a sign of progress, seen in the maker's client, 2026-11), */
  #guessed = 0
  /** and its seal, which holds the whole thought in a form of about its length. */
  #sealed = 0

  begin(block: unknown): void {
    const fields = asFields(block)
    this.#before = this.bytes
    this.#isThought = fields?.['type'] === 'thinking'
    this.#shown = 0
    this.#guessed = 0
    this.#sealed = 0
    this.add(fields)
  }

  add(fields: Fields | undefined): void {
    this.#shown += textBytes(fields?.['thinking'])
    this.#guessed += TOKEN_BYTES * (new Told().count(fields, 'estimated_tokens') ?? 0)
    if (this.#isThought) this.#sealed += textBytes(fields?.['signature'])
  }

  /** As bytes of text, without what was shown. */
  get bytes(): number {
    const sealed = this.#shown === 0 ? this.#sealed : 0
    return this.#before + Math.max(0, this.#guessed - this.#shown, sealed)
  }
}

/** Of a thought that came whole. */
export function unshownOf(block: unknown): number {
  const thoughts = new Thoughts()
  thoughts.begin(block)
  return thoughts.bytes
}

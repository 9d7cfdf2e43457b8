// What is noted of a request for when its answer comes: which documents it holds and where, how many are wanted back,
// and in what form. A supplier's answer speaks of documents by their number alone.
import type { Span } from '../../core/load.ts'
import type { Facts } from '../dialect.ts'

/** A document as it was sent: a text, or an object that has one. */
export interface Paper extends Span {
  /** Its text in quotes; the document itself where it is nothing else. */
  readonly text: Span
}

export class Notes {
  /** What the places below are places in. */
  readonly body: Uint8Array
  readonly papers: Paper[] = []
  /** There are more documents than one call may hold; the rest is not noted. */
  hasTooMany = false
  /** Bytes of the question. */
  queryBytes = 0
  /** Most results that are wanted; undefined: all. */
  limit: number | undefined
  wantsDocuments = false
  /** Other parts of the documents are to be ranked than their text. */
  ranksFields = false

  constructor(body: Uint8Array) {
    this.body = body
  }
}

export function notesOf({ detail }: Facts): Notes {
  if (detail instanceof Notes) return detail
  throw new RangeError('this request was read in another language')
}

/** Between the quotes: never less than the text has when its escapes are read. */
export function textBytes({ text: { from, to } }: Paper): number {
  return to - from - 2
}

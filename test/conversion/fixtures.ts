// The fixtures of conversion: one thing said in every language that has words for it. A file is a topic, a document in
// it is a case; the languages are named by their ids, so a new one joins by saying the same.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import type { Trait } from '../../src/core/chat.ts'
import type { ReasoningHabit } from '../../src/dialects/codec.ts'
import { printSeal } from '../../src/dialects/seal.ts'
import { SUPPLIER } from './roster.ts'
import type { Json } from './sides.ts'

type ByLanguage<Value> = Readonly<Record<string, Value>>

interface Written {
  readonly name: string
  /** How the model is told to think. */
  readonly reasoning?: ReasoningHabit
  /** What a supplier of each language is sent. */
  readonly request?: ByLanguage<Json>
  /** How callers of each language ask for it: `same` is as suppliers are sent it. Absent: all of them, the same. */
  readonly asked?: ByLanguage<readonly (Json | 'same')[]>
  /** Headers that a supplier of each language is sent. */
  readonly headers?: ByLanguage<Readonly<Record<string, string>>>
  /** What a caller of each language is answered. */
  readonly answer?: ByLanguage<Json>
  /** How suppliers of each language say it. Absent: all of them, the same. */
  readonly supplied?: ByLanguage<readonly (Json | 'same')[]>
  /** Streams on which they say it, beside the plain one that is made of each answer. */
  readonly streams?: ByLanguage<readonly (readonly Json[])[]>
  /** What each language cannot say of the request. */
  readonly lost?: ByLanguage<readonly Trait[]>
  /** What of their own words callers are told that nobody has heard. */
  readonly unheard?: ByLanguage<readonly string[]>
}

export interface Fixture extends Written {
  readonly topic: string
  /** All that callers of a language say. */
  readonly asks: (id: string) => readonly Json[]
  /** All that suppliers of a language say. */
  readonly says: (id: string) => readonly Json[]
}

const MARK = 'sealed:'

const FOLDER = join(import.meta.dir, '../fixtures/conversion')

export const fixtures: readonly Fixture[] = readdirSync(FOLDER)
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => {
    const documents = parseAllDocuments(readFileSync(join(FOLDER, file), 'utf8'))
    return documents.map((document) => {
      const [error] = 'errors' in document ? document.errors : []
      if (error !== undefined) throw error
      return toFixture(basename(file, '.yaml'), seal(document.toJS()) as Written)
    })
  })

function toFixture(topic: string, written: Written): Fixture {
  const { request, asked, answer, supplied } = written
  return {
    ...written,
    topic,
    asks: (id) => wordings(asked, request, id),
    says: (id) => wordings(supplied, answer, id),
  }
}

function wordings(
  given: ByLanguage<readonly (Json | 'same')[]> | undefined,
  same: ByLanguage<Json> | undefined,
  id: string,
): readonly Json[] {
  const listed = given === undefined ? ['same' as const] : (given[id] ?? [])
  return listed.flatMap((each) => {
    const wording = each === 'same' ? same?.[id] : each
    return wording === undefined ? [] : [wording]
  })
}

/** Seals what is marked so, as the gateway does for its callers. */
function seal(value: unknown): unknown {
  if (typeof value === 'string')
    return value.startsWith(MARK) ? printSeal(SUPPLIER, value.slice(MARK.length)) : value
  if (Array.isArray(value)) return value.map(seal)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, seal(each)]))
}

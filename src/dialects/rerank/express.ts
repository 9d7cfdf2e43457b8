// A ranking as callers read it, whoever has made it: best first, no more than were asked for, with the documents as
// they were sent where they are wanted, and with a `meta`, without which some clients refuse an answer.
import type { Span } from '../../core/load.ts'
import type { Basics, Expressed, Facts } from '../dialect.ts'
import { notesOf, type Notes } from './notes.ts'
import { readRanking, type Ranking, type Result } from './ranking.ts'

const encoder = new TextEncoder()
const decoder = new TextDecoder()

export function express(answer: Uint8Array, facts: Facts, basics: Basics): Expressed {
  const notes = notesOf(facts)
  const ranking = readRanking(answer, notes.papers.length)
  const results = inOrder(ranking.results).slice(0, notes.limit)
  const members = [
    `"id":${textAt(answer, ranking.id) ?? JSON.stringify(`rerank-${basics.id}`)}`,
    `"model":${textAt(answer, ranking.model) ?? JSON.stringify(basics.model)}`,
    `"results":[${results.map((result) => print(result, answer, notes)).join(',')}]`,
    `"meta":${textAt(answer, ranking.meta) ?? JSON.stringify(metaOf(ranking))}`,
  ]
  const usage = textAt(answer, ranking.told)
  if (usage !== undefined) members.push(`"usage":${usage}`)
  const bytes = encoder.encode(`{${members.join(',')}}`)
  return notes.ranksFields ? { bytes, losses: ['/rank_fields'] } : { bytes }
}

/** Of equals the one first that was sent first. */
export function inOrder(results: readonly Result[]): readonly Result[] {
  return results.toSorted((left, right) => right.score - left.score || left.index - right.index)
}

function print({ index, digits }: Result, answer: Uint8Array, notes: Notes): string {
  const score = textAt(answer, digits)
  const document = notes.wantsDocuments ? `,"document":${documentAt(notes, index)}` : ''
  return `{"index":${index},"relevance_score":${score}${document}}`
}

/** What was sent as an object comes back as it was, with all that its sender has put beside the text. */
function documentAt({ body, papers }: Notes, index: number): string {
  const { from, to, text } = papers[index]!
  const sent = decoder.decode(body.subarray(from, to))
  return text.from === from ? `{"text":${sent}}` : sent
}

function metaOf({ usage }: Ranking): object {
  return usage === undefined ? {} : { billed_units: { total_tokens: usage.inputTokens } }
}

function textAt(bytes: Uint8Array, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : decoder.decode(bytes.subarray(span.from, span.to))
}

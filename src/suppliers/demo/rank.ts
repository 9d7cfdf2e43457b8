// The demo's ranking: a document has as much to do with a question as it has words of it. No model runs.
import { createHash } from 'node:crypto'
import { asList, isJson } from './json.ts'
import { badRequest } from './refusal.ts'
import { missing, parseBody, readText, readWhole } from './request.ts'
import { answerJson, type TaskRequest } from './task.ts'
import { wordsOf } from './words.ts'

/** What one search is billed for; more documents are more searches. */
const DOCUMENTS_A_SEARCH = 100
/** How much it counts that a document is about nothing else. */
const FOCUS = 0.1
const SCORE_DIGITS = 6

export function readRankRequest(body: string): TaskRequest {
  const json = parseBody(body)
  const model = readText(json, 'model')
  const query = readText(json, 'query')
  const documents = readDocuments(json['documents'])
  const most = readWhole(json, 'top_n') ?? documents.length
  const returns = json['return_documents'] === true
  return {
    model,
    compose: ({ hidesUsage }) => {
      const results = documents
        .map((text, index) => ({ index, relevance_score: scoreOf(query, text) }))
        .toSorted((left, right) => right.relevance_score - left.relevance_score)
        .slice(0, most)
        .map((each) => (returns ? { ...each, document: { text: documents[each.index] } } : each))
      const searches = Math.ceil(documents.length / DOCUMENTS_A_SEARCH)
      const units = hidesUsage ? {} : { billed_units: { search_units: searches } }
      const id = createHash('sha256').update(body).digest('hex').slice(0, 24)
      return answerJson({ id: `rerank-demo-${id}`, model, results, meta: units })
    },
  }
}

function readDocuments(value: unknown): readonly string[] {
  if (value === undefined || value === null) throw missing('documents')
  const texts = asList(value).map((each) => (isJson(each) ? each['text'] : each))
  const documents = texts.filter((text) => typeof text === 'string').map(String)
  if (documents.length === 0 || documents.length < texts.length)
    throw badRequest("Invalid 'documents': expected a list of texts.", 'documents')
  return documents
}

/** From 0 to 1: the share of the question's words that are there, and a little for the share of those that are asked. */
export function scoreOf(query: string, document: string): number {
  const asked = new Set(wordsOf(query))
  const words = new Set(wordsOf(document))
  if (asked.size === 0 || words.size === 0) return 0
  const shared = asked.intersection(words).size
  const score = (1 - FOCUS) * (shared / asked.size) + FOCUS * (shared / words.size)
  return Number(score.toFixed(SCORE_DIGITS))
}

// What a reranking can cost at the most: by the search, or by the token. A question is read once with every document.
import type { Load } from '../../core/load.ts'
import { textBytes, type Notes } from './notes.ts'

/**
 * A search is a question with up to a hundred documents (Cohere's pricing page as developersdigest.tech quotes it,
 * 2026-10). That a document longer than this, its question included, is billed as several is taken for granted and was
 * not found written: its page on models is quoted with pieces of 510 tokens, docs.cohere.com has far longer ones for
 * newer models (seen 2026-11). The shorter piece makes the larger bound, and what is billed is told with the answer.
 */
const DOCUMENTS_A_SEARCH = 100
const CHUNK_TOKENS = 500
/** An assumption: a question takes at most half of a piece. Without one, a long question would hold for a piece a byte. */
const CHUNK_TEXT_LEAST = CHUNK_TOKENS / 2
/** As many tokens as the books count for a message at the most; a quarter of it where they guess. */
const MESSAGE_BYTES = 16

export function loadOf(load: Load, notes: Notes): Load {
  return { ...load, messages: messagesOf(notes), units: { searches: searchesOf(notes) } }
}

/** A token has one byte at least, so no count of tokens makes more chunks than the bytes do. */
function searchesOf({ papers, queryBytes }: Notes): number {
  const room = Math.max(CHUNK_TEXT_LEAST, CHUNK_TOKENS - queryBytes)
  let chunks = 0
  for (const paper of papers) chunks += Math.max(1, Math.ceil(textBytes(paper) / room))
  return Math.ceil(chunks / DOCUMENTS_A_SEARCH)
}

/**
 * Each document is a message with the question before it. The body holds the question but once, so the other times
 * are told as further messages of their length: these are added to what the text is found to be, also where that is
 * counted with a vocabulary, which sees the body alone.
 */
function messagesOf({ papers, queryBytes }: Notes): number {
  return papers.length + Math.ceil((queryBytes * (papers.length - 1)) / MESSAGE_BYTES)
}

// Services for what is no chat: vectors, rankings, transcripts and speech. A row says where each of them is and what
// is odd about it; all of them tell their usage in the one answer that they give, if at all.
import type { Dialect } from '../dialects/dialect.ts'
import { openaiEmbeddings } from '../dialects/openai-embeddings/index.ts'
import { openaiSpeech } from '../dialects/openai-speech/index.ts'
import { openaiTranscriptions } from '../dialects/openai-transcriptions/index.ts'
import type { Quirks } from '../dialects/quirk.ts'
import { rerank } from '../dialects/rerank/index.ts'
import type { KindService } from './kind.ts'
import type { Signature } from './supplier.ts'

/** Where it departs from the plain service. */
interface Oddities extends Omit<Partial<Quirks>, 'usage'> {
  /** Absent: as most are signed. */
  readonly signature?: Signature
  /** How many inputs it takes at once; absent: as many as anybody sends. */
  readonly inputsMax?: number
}

export function embeddings(path: string, odd: Oddities = {}): KindService {
  return create(openaiEmbeddings, path, odd)
}

export function reranking(path: string, odd: Oddities = {}): KindService {
  return create(rerank, path, odd)
}

export function transcriptions(path: string, odd: Oddities = {}): KindService {
  return create(openaiTranscriptions, path, odd)
}

export function speech(path: string, odd: Oddities = {}): KindService {
  return create(openaiSpeech, path, odd)
}

function create(dialect: Dialect, path: string, odd: Oddities): KindService {
  const { signature = 'bearer', inputsMax, ...quirks } = odd
  return {
    dialect,
    path,
    signature,
    quirks: { usage: 'always', ...quirks },
    ...(inputsMax !== undefined && { inputsMax }),
  }
}

// What is odd about a supplier's way to speak a language, as data: whole fields of a request, and habits.

/**
 * How a supplier tells its usage on a stream: when it is asked, unasked, or not at all. Who tells it
 * unasked is not asked at all, because some of these refuse the very question.
 */
export type UsageHabit = 'ask' | 'always' | 'never'

/** The member of a message in which a supplier takes back what its model has thought; `none`: it takes nothing back. */
export type ThoughtHabit = 'reasoning_content' | 'reasoning' | 'none'

/**
 * How a supplier wants to be asked to rank documents. `cohere`: `top_n`, and nothing is sent back that it was sent.
 * `jina`: the same, and documents come back unless it is told not to. `voyage`: `top_k`. `tei`: `texts`, all of them
 * ranked. Its answers are known by what they hold.
 */
export type RerankShape = 'cohere' | 'jina' | 'voyage' | 'tei'

/** What a transcript is given in. */
export type TranscriptFormat = 'json' | 'text' | 'verbose_json' | 'srt' | 'vtt'

/** What is odd about a supplier's way to speak a dialect, as data. */
export interface Quirks {
  readonly usage: UsageHabit
  /** The one name of the output limit that the supplier understands. */
  readonly maxTokensName?: 'max_tokens' | 'max_completion_tokens'
  /** It refuses to be given a limit of its output: the gateway never sends one of its own. */
  readonly outputLimit?: 'refused'
  /** The formats of a transcript that it knows; absent: all. Instead of another one it is asked for JSON. */
  readonly formats?: readonly TranscriptFormat[]
  /** Fields of the request by the name that the supplier has for them. */
  readonly rename?: Readonly<Record<string, string>>
  /** Fields of the request that the supplier refuses. */
  readonly drop?: readonly string[]
  /** Fields that are added where the caller sends none, as JSON values. */
  readonly default?: Readonly<Record<string, unknown>>
  /** Its answers lack some of the usual shape, which is filled in. */
  readonly normalize?: boolean
  /** Of requests that the gateway has written itself, as the rest is. Absent: nothing is handed back. */
  readonly thoughts?: ThoughtHabit
  /** The ids of calls have exactly nine letters and digits. */
  readonly callIds?: 'nine'
  /** Behind results nobody speaks before the model does, and no system message stands between others. */
  readonly strictOrder?: boolean
  /** Absent: as `cohere`, which most servers have taken over. */
  readonly rerankShape?: RerankShape
}

/** What is wrong with a quirk: where it stands among the others, and why it cannot be. */
export interface QuirkFault {
  readonly path: readonly (string | number)[]
  readonly message: string
}

// The contract of the catalogue: what a model is called, how much it holds, what it can do and what it
// costs where. Rows keep prices as the published text; the assembly turns them into exact integers once.
import type { Effort } from '../core/chat.ts'
import type { TokenizerName } from '../core/load.ts'
import type { Task } from '../core/task.ts'
import type { PriceList } from '../core/usage.ts'

export type ModelKind = Task

export type Capability = 'tools' | 'images' | 'audio' | 'json' | 'reasoning'

/** How a model that can reason is told how much: by a word, or by a number of tokens. `none`: it does not. */
export type Thinking = 'effort' | 'budget' | 'none'

/**
 * What a model that does not reason beside tools is to be told of reasoning there, in a chat: nothing, or that it is off.
 * `refused`: it takes no tools at all.
 */
export type BesideTools = 'unsaid' | 'off' | 'refused'

/** The least that a model thinks, where it cannot be told not to: as it sees fit, or between its calls of tools. */
export type LeastThinking = 'always' | 'between_calls'

/**
 * Dollars as the page shows them: a million tokens (`'0.15'`) where nothing else is said. A rate that is
 * absent equals its plain neighbour.
 */
export interface PriceText {
  readonly input?: string
  readonly cachedInput?: string
  readonly cacheWrite?: string
  /** What is kept in the cache for an hour; absent: as any other write. */
  readonly cacheWriteLong?: string
  readonly audioInput?: string
  readonly output?: string
  readonly reasoning?: string
  readonly audioOutput?: string
  /** A thousand searches, or units of reranking. */
  readonly search?: string
  /** A million characters. */
  readonly character?: string
  /** A minute of audio. */
  readonly minute?: string
  readonly longContext?: LongContext
}

/** Rates for the whole call once its input is longer than `above` tokens. */
export interface LongContext extends Omit<PriceText, 'longContext'> {
  readonly above: number
}

/** Where a price was published and the day it was last seen there. */
export interface Provenance {
  readonly source: string
  /** `YYYY-MM-DD`; empty where the operator's configuration states the price. */
  readonly date: string
}

/** One price, or several with the day from which each holds (`YYYY-MM-DD`, UTC; the first: since ever). */
export type PriceRow = PriceText | readonly (PriceText & { readonly from?: string })[]

/** How one supplier serves a model, where it is more than the name there. */
export interface RouteRow {
  /** The supplier's own name for the model. */
  readonly as: string
  /** Its price, where it differs from the row's own. */
  readonly price?: PriceRow
  readonly priced?: Provenance
  /** Whole percent that a region costs on top: `{ EU: 10 }`. */
  readonly uplift?: Readonly<Record<string, number>>
  /** Where it is not as the row says: `free` takes tools and reasons beside them. */
  readonly besideTools?: BesideTools | 'free'
}

/** One line of a data file. */
export interface ModelRow {
  /** The maker's bare id. */
  readonly id: string
  readonly ownedBy: string
  readonly kind: ModelKind
  /** Tokens, of an embedding those of one input; undefined where a call has no such bound. */
  readonly contextWindow?: number
  /** Most output tokens that one answer can have; the window where the maker names no limit. */
  readonly outputCeiling?: number
  /** The window is that of the input alone, and what is put out takes nothing of it. */
  readonly outputApart?: true
  /** The most that one image counts for, whatever its size; undefined where nobody says. */
  readonly imageTokens?: number
  /** The vocabulary of its text, where it is a public one. */
  readonly tokenizer?: TokenizerName
  /** Of a chat model; what the others can do is their kind. */
  readonly capabilities: readonly Capability[]
  /** It reasons and knows no word for how much, only a number of tokens. */
  readonly thinking?: 'budget'
  /** It refuses to be told how to choose its words: temperature, top_p, top_k and penalties but for their defaults. */
  readonly sampling?: 'fixed'
  /** It cannot be told not to think, and refuses to be made to call a tool. */
  readonly leastThinking?: LeastThinking
  /** Words for how much to think that it does not know. */
  readonly refusedEfforts?: readonly Effort[]
  /** In chats it does not reason beside tools, at suppliers that say nothing else. */
  readonly besideTools?: BesideTools
  readonly price: PriceRow
  readonly priced: Provenance
  /** Supplier kinds to the supplier's own name, or to more where more differs. */
  readonly suppliers: Readonly<Record<string, string | RouteRow>>
}

export interface CatalogueRoute {
  readonly as: string
  readonly prices: PriceList
  readonly priced: Provenance
  /** Prices in regions that cost more. */
  readonly regional: ReadonlyMap<string, PriceList>
  /** Absent: it takes tools and reasons beside them. */
  readonly besideTools?: BesideTools
}

export interface CatalogueModel {
  readonly id: string
  readonly ownedBy: string
  readonly kind: ModelKind
  readonly contextWindow: number | undefined
  readonly outputCeiling: number | undefined
  readonly outputApart: boolean
  readonly imageTokens: number | undefined
  readonly tokenizer: TokenizerName | undefined
  readonly capabilities: readonly Capability[]
  /** Undefined where nobody has said what it can do. */
  readonly thinking: Thinking | undefined
  /** `fixed`: it refuses to be told how to choose its words. */
  readonly sampling: 'fixed' | undefined
  /** Undefined: it can be told not to think, and made to call a tool. */
  readonly leastThinking: LeastThinking | undefined
  /** Words for how much to think that it does not know. */
  readonly refusedEfforts: readonly Effort[] | undefined
  /** The row's own prices; a route may have others. Undefined: only a supplier's own entry states one. */
  readonly prices: PriceList | undefined
  readonly priced: Provenance
  /** Keyed by the kind of supplier. */
  readonly suppliers: ReadonlyMap<string, CatalogueRoute>
}

/** What is said of reasoning by what a chat model can do; `habit` is what is known of its ways. */
export function thinkingOf(
  capabilities: readonly Capability[],
  habit: Thinking | undefined,
): Thinking {
  if (!capabilities.includes('reasoning')) return 'none'
  return habit === 'budget' ? 'budget' : 'effort'
}

// A conversation with a model in words of our own, which every language has words for. What only one language can
// say is not in here: a conversion tells it as a loss.
import type { Usage } from './usage.ts'

/** How long a mark for a cache asks for what stands before it to be kept: minutes, or an hour. */
export type CacheMark = 'short' | 'long'

export interface TextPart {
  readonly kind: 'text'
  readonly text: string
  readonly cache?: CacheMark
}

/** Where the bytes of an image or a file are. */
export type Source =
  /** In here, as base64. The type is empty where nobody has told it. */
  | { readonly kind: 'data'; readonly mediaType: string; readonly data: string }
  | { readonly kind: 'url'; readonly url: string }
  /** With one supplier, by its id. */
  | { readonly kind: 'id'; readonly id: string }
  /** In here, as text. */
  | { readonly kind: 'text'; readonly text: string }

export interface ImagePart {
  readonly kind: 'image'
  readonly source: Source
  /** How closely it is to be looked at, in the caller's word. */
  readonly detail?: string
  readonly cache?: CacheMark
}

export interface FilePart {
  readonly kind: 'file'
  readonly source: Source
  readonly name?: string
  readonly cache?: CacheMark
}

export interface AudioPart {
  readonly kind: 'audio'
  /** As base64. */
  readonly data: string
  /** Such as `wav`. */
  readonly format: string
}

/**
 * What a supplier wants back untouched with what its model has thought. Worth something to its maker alone: a supplier
 * by its id, or undefined where the bytes do not tell.
 */
export interface Seal {
  readonly data: string
  readonly supplier: string | undefined
}

export interface ThinkingPart {
  readonly kind: 'thinking'
  /** Empty where it is not shown. */
  readonly text: string
  readonly seal?: Seal
  /** The seal is all there is: the supplier keeps the thought itself from everybody. */
  readonly isHidden?: true
}

export interface CallPart {
  readonly kind: 'call'
  readonly id: string
  readonly name: string
  /** JSON text, of an object unless the model has made a mistake. */
  readonly input: string
  readonly cache?: CacheMark
}

/** What came of a call. */
export interface ResultPart {
  readonly kind: 'result'
  /** The call's. */
  readonly id: string
  readonly parts: readonly (TextPart | ImagePart | FilePart)[]
  readonly isError: boolean
  readonly cache?: CacheMark
}

/** The model says why it does not answer. */
export interface RefusalPart {
  readonly kind: 'refusal'
  readonly text: string
}

export type UserPart = TextPart | ImagePart | FilePart | AudioPart | ResultPart
export type AssistantPart = TextPart | ThinkingPart | CallPart | RefusalPart

export interface SystemTurn {
  readonly role: 'system'
  readonly parts: readonly TextPart[]
}

/** Results stand before everything else of a turn, and next to the calls that they answer. */
export interface UserTurn {
  readonly role: 'user'
  readonly parts: readonly UserPart[]
}

export interface AssistantTurn {
  readonly role: 'assistant'
  readonly parts: readonly AssistantPart[]
}

export type Turn = SystemTurn | UserTurn | AssistantTurn

export interface Tool {
  readonly name: string
  readonly description?: string
  /** A JSON schema of its input. */
  readonly schema: unknown
  readonly isStrict?: boolean
  readonly cache?: CacheMark
}

export type ToolChoice =
  | { readonly mode: 'auto' | 'any' | 'none' }
  | { readonly mode: 'named'; readonly name: string }

/** JSON of any shape, or by a schema. */
export type Format =
  | { readonly kind: 'json' }
  | {
      readonly kind: 'schema'
      readonly schema: unknown
      readonly name?: string
      readonly description?: string
      readonly isStrict?: boolean
    }

export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = (typeof EFFORTS)[number]

/** How much the model is to think before it answers. Each is undefined where it is left to the model. */
export interface Reasoning {
  readonly effort?: Effort
  /** Most tokens. */
  readonly budget?: number
  /** It is to think as it sees fit, and is asked to by name. */
  readonly isAdaptive?: true
}

export interface ChatRequest {
  /** What stands before all turns. */
  readonly system: readonly TextPart[]
  readonly turns: readonly Turn[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  /** False: one call at a time. */
  readonly parallelTools?: boolean
  readonly maxTokens?: number
  readonly stream: boolean
  readonly stop: readonly string[]
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly format?: Format
  readonly reasoning?: Reasoning
  /** Whom the caller asks for. */
  readonly user?: string
}

/**
 * What a conversation can have of what is in here. A conversion tells by these what it could not say, and the caller's
 * language names its own fields for them.
 */
export const TRAITS = [
  'system',
  'system_between',
  'text',
  'image_data',
  'image_url',
  'image_id',
  'image_detail',
  'file_data',
  'file_url',
  'file_id',
  'file_text',
  'file_name',
  'audio',
  'tools',
  'tool_strict',
  'tool_choice',
  'parallel_tools',
  'calls',
  'call_input',
  'results',
  'result_error',
  'result_image',
  'result_file',
  'thinking',
  'seal',
  'refusal',
  'stop',
  'max_tokens',
  'temperature',
  'top_p',
  'top_k',
  'seed',
  'penalties',
  'json',
  'schema',
  'schema_name',
  'reasoning',
  'user',
  'cache',
  'cache_long',
] as const
export type Trait = (typeof TRAITS)[number]

/** Why an answer ends. */
export interface Finish {
  /**
   * `end` it is complete, `stop` one of the texts came that were to stop it, `length` it has reached its limit, `window`
   * the model can hold no more, `tools` it waits for results, `refusal` it or its supplier will not, `pause` the supplier
   * wants to be asked to go on.
   */
  readonly reason: 'end' | 'stop' | 'length' | 'window' | 'tools' | 'refusal' | 'pause'
  /** In the supplier's own word. */
  readonly raw: string | undefined
  /** The text that stopped it, where that is told. */
  readonly stopText?: string
}

export interface ChatResponse {
  readonly parts: readonly AssistantPart[]
  readonly finish: Finish
  /** What of the answer could not be read into this: places in the supplier's own words. */
  readonly lost: readonly string[]
}

/** What an answer is told with, beside what the model said. */
export interface AnswerHead {
  /** The call's own id, of which a language makes one in its own manner. */
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** Who answers: seals that it makes are worth something to nobody else. */
  readonly supplier: string
  /** As many tokens as the request is likely to be, for who tells it before the supplier does. */
  readonly inputTokens: number
  /** The caller wants to see the usage of a stream. */
  readonly asksUsage: boolean
}

export interface Answered extends ChatResponse {
  readonly usage: Usage
}

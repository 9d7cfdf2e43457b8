// How much a request can make a model read and write, as far as its body tells without being counted.

import type { Units } from './usage.ts'

/** A stretch of the body, `to` exclusive. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Load {
  /** Of the whole body. */
  readonly bytes: number
  readonly messages: number
  /** What comes as tokens and not as text, exactly; the stretches that hold them are among `inline`. */
  readonly tokens?: number | undefined
  readonly images: number
  /** Where inline images, audio and tokens stand in the body: bytes that are no text. */
  readonly inline: readonly Span[]
  /** Of inline audio, before it was written as text. */
  readonly audioBytes: number
  /** Most output tokens that the caller allows, for each choice. */
  readonly maxTokens: number | undefined
  readonly choices: number
  /** Of these the least that go to thinking before there is an answer; 0 where the caller asks for none. */
  readonly thinkingTokens: number
  /** Output that the caller foretells: what is wrong in it is billed as output all the same. */
  readonly predictedBytes: number
  /** The answer may hold audio. */
  readonly asksAudio: boolean
  /** What is written to a cache may be kept for an hour. */
  readonly writesLong: boolean
  /** What is not counted in tokens, exactly or at the most; absent where there is nothing of the kind. */
  readonly units?: Units | undefined
  /** The field whose content is elsewhere, such as a file by its id: only the model's window bounds it. */
  readonly elsewhere: string | undefined
  /** The field that can cost more than any number of tokens says, such as a search by the supplier. */
  readonly unbounded: string | undefined
}

/** Of a request that asks for nothing, to be added to. */
export const NO_LOAD: Load = {
  bytes: 0,
  messages: 0,
  images: 0,
  inline: [],
  audioBytes: 0,
  maxTokens: undefined,
  choices: 1,
  thinkingTokens: 0,
  predictedBytes: 0,
  asksAudio: false,
  writesLong: false,
  elsewhere: undefined,
  unbounded: undefined,
}

/** What a model can take and give; undefined where nobody knows. */
export interface ModelLimits {
  /** Tokens, input and output together. */
  readonly contextWindow?: number
  /** Most output tokens of one answer. */
  readonly outputCeiling?: number
  /** The most that one image counts for. */
  readonly imageTokens?: number
  /** The vocabulary that its text is counted with. */
  readonly tokenizer?: TokenizerName
}

export type TokenizerName = 'o200k' | 'cl100k'

// The contract of a language that can be converted: it says in words of our own what it was told, and in its own
// words what we know. Each language has one codec and knows of no other.
import type {
  Answered,
  AnswerHead,
  ChatRequest,
  ChatResponse,
  Effort,
  Trait,
} from '../core/chat.ts'
import type { ChatEvent } from '../core/chat-event.ts'
import type { Usage } from '../core/usage.ts'
import type { Quirks } from './quirk.ts'

/** How a model is told to think: by a word, by a number of tokens, or not at all. Undefined: nobody knows. */
export type ReasoningHabit = 'effort' | 'budget' | 'none'

/** Whom a request is put into words for. */
export interface Target {
  /** The supplier's own name of the model. */
  readonly model: string
  /** Its id: only seals that it has made are handed back to it. */
  readonly supplier: string
  /** The output limit that is to be sent, whatever the caller has sent; undefined: the caller's own. */
  readonly maxTokens: number | undefined
  /** Sent where neither of them says anything and the language demands a limit. */
  readonly maxTokensDefault: number
  readonly reasoning: ReasoningHabit | undefined
  /** False: the model refuses a temperature and all that is like it. */
  readonly samples: boolean | undefined
  /** The least that the model thinks, where it cannot be told not to; it then refuses to be made to call a tool. */
  readonly leastThinking?: 'always' | 'between_calls' | undefined
  /** Words for how much to think that the model does not know. */
  readonly refusedEfforts?: readonly Effort[] | undefined
  /** What is to be said of thinking beside tools, where the model refuses both: nothing, or that it is off. */
  readonly besideTools?: 'unsaid' | 'off' | undefined
  readonly quirks: Quirks
}

export interface DecodedRequest {
  readonly request: ChatRequest
  /** What our words have no place for: pointers into the body, with `*` for any place in a list, each once. */
  readonly lost: readonly string[]
  /** Where the caller has said what: only of traits that can stand in more than one place, pointers as above. */
  readonly places: ReadonlyMap<Trait, readonly string[]>
}

export interface EncodedRequest {
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  /** What of the request this language could not say, each once. */
  readonly lost: readonly Trait[]
  /** Names of tools that had to be changed: as they were sent, to the caller's own. */
  readonly names?: ReadonlyMap<string, string>
}

/** Reads the frames of one stream. */
export interface ChatDecoder {
  /**
   * Takes the data of one frame that the watcher has seen and found sound; its closing marker is none of them, unless
   * nothing before it says why the answer ends.
   */
  decode(data: Uint8Array): readonly ChatEvent[]
  /** What could not be said in our words so far: places in the supplier's own. */
  readonly lost: readonly string[]
}

/** Where a stream has come to: its answer's id, and the number of its next event. */
export interface StreamPlace {
  readonly id: string | undefined
  readonly sequence: number
}

/** Writes the frames of one stream. */
export interface ChatEncoder {
  /** The frames that tell of an event; empty where it is told later. */
  encode(event: ChatEvent): string
  /** Ends an answer whose finish was told: all that is still to be told, the closing marker included. */
  end(usage: Usage): string
  /** For an event that has to end it in place of its own. Absent: no event of this language says it. */
  place?(): StreamPlace
}

/** What becomes of a trait: it survives, it is said in another way, or it is lost. */
export type Fate = 'kept' | 'worded' | 'lost'

/** What this language can say of a trait, for the page that tells what survives a conversion. */
export interface TraitNote {
  readonly fate: Fate
  /** Where it stands in this language: pointers with `*` for any place in a list. Empty where it has none. */
  readonly pointers: readonly string[]
  /** A sentence for people: how it is said, or why it cannot be. */
  readonly note: string
}

export interface Codec {
  readonly request: {
    /** Throws a problem that names the field where a body that was peeked at makes no sense after all. */
    decode(body: Uint8Array): DecodedRequest
    encode(request: ChatRequest, target: Target): EncodedRequest
  }
  readonly response: {
    /** Takes an answer that `relay.read` has found whole. */
    decode(answer: Uint8Array): ChatResponse
    encode(answered: Answered, head: AnswerHead): Uint8Array
  }
  readonly stream: {
    decoder(): ChatDecoder
    encoder(head: AnswerHead): ChatEncoder
  }
  /** What this language can say, trait by trait. */
  readonly traits: Readonly<Record<Trait, TraitNote>>
}

// The contract of a wire language: it peeks at a request, relays its own kind untouched but for the
// listed splices, and speaks problems. A dialect has no sides; callers and suppliers use one object.
import type { Form } from '../core/form.ts'
import type { Load, Span } from '../core/load.ts'
import type { GatewayError } from '../core/problem.ts'
import type { Task } from '../core/task.ts'
import type { Usage } from '../core/usage.ts'
import type { StreamedBody } from '../upstream/client.ts'
import type { Member } from '../wire/json-splice.ts'
import type { Codec, StreamPlace } from './codec.ts'
import type { QuirkFault, Quirks } from './quirk.ts'

/** The longest session identifier that is taken, wherever it comes from. */
export const SESSION_LENGTH_MAX = 256

/** What admission needs to know of a request body, read in one pass. */
export interface Facts {
  readonly model: string
  readonly stream: boolean
  /** Highest number of output tokens that the caller allows, for each choice. */
  readonly maxTokens: number | undefined
  readonly choices: number
  readonly region: string | undefined
  /** The session id of its metadata, else its sticky key. */
  readonly sessionId: string | undefined
  /** Where the texts stand up to the first that a user wrote, in pairs of from and to; empty where there are none. */
  readonly opening: readonly number[]
  /** The conversation has got beyond that. */
  readonly goesOn: boolean
  /** It goes on from what its supplier has kept, which no other one has. */
  readonly resumes?: boolean
  /** The model is given tools to call. */
  readonly usesTools: boolean
  /** The caller wants the usage frame of a stream for itself. */
  readonly asksUsage: boolean
  /** The model is asked to think before it answers. */
  readonly asksReasoning: boolean
  /** What it is told that a model has thought before: worth something only to who has sealed it. */
  readonly thoughts: readonly Thought[]
  /** What bounds its cost. */
  readonly load: Load
  /** How many things it asks about, where a supplier takes only so many at once; absent: it is one. */
  readonly inputs?: number
  /** Texts that may have more tokens than each is allowed to; absent where there are none. */
  readonly limited?: TextLimit
  /** The answer is bytes of sound, which pass as they come. */
  readonly answersSound?: true
  /** What the language itself has to know of it when the answer comes. */
  readonly detail?: unknown
  /** Where things stand in the body, for the splices. */
  readonly layout: BodyLayout
}

export interface TextLimit {
  /** The most that each of them may have. */
  readonly tokensMax: number
  /** In their order, and none longer than can be counted exactly. */
  readonly texts: readonly LimitedText[]
}

/** A string of the body, with its quotes. */
export interface LimitedText extends Span {
  /** How a refusal calls it. */
  readonly param: string
}

/** An item of a list, or a member of an object, that holds what was thought. */
export interface Thought extends Span {
  /** It was sealed by this gateway for a supplier of another language. */
  readonly isMarked: boolean
}

/** The members of a JSON request and of the objects inside it that a relay may change. */
export interface BodyLayout {
  readonly members: readonly Member[]
  readonly metadata: readonly Member[] | undefined
  readonly streamOptions: readonly Member[] | undefined
  readonly thinking: readonly Member[] | undefined
  /** The closing brace of the request. */
  readonly close: number
}

/** What changes between the caller's request and the supplier's. */
export interface Rewrite extends Quirks {
  readonly model: string
}

/** What else changes with the call at hand. */
export interface Adjustment {
  /** The output limit that is sent in place of the caller's, or where it sent none. */
  readonly maxTokens: number | undefined
  /** All thoughts are left out, and not only those that this language cannot read: a supplier has refused them. */
  readonly dropsThoughts?: boolean
}

/**
 * What one frame of a stream is, as far as delivery cares:
 * `preamble` nothing a caller could see yet, `content` output, `usage` the frame nobody may have asked
 * for, `end` the closing marker, `void` no data at all.
 */
export type FrameKind = 'preamble' | 'content' | 'usage' | 'end' | 'void'

/** Watches the frames of one relayed stream without changing them. */
export interface StreamWatcher {
  /** Reads the data of one frame; throws a GatewayError when it is broken or says that the supplier failed. */
  see(data: Uint8Array, from: number, to: number): FrameKind
  /** A reason to stop was seen for every choice that began, and for at least this many: the answer is whole. */
  isFinished(choices: number): boolean
  /** The choices that have not said why they stop, the first one while none has begun; or the blocks without an end. */
  openChoices(): readonly number[]
  /** The most that was told so far: what is told again, and smaller, takes nothing back. */
  usage(): Usage | undefined
  /** Nothing was put out since a usage was told. */
  isUsageLast(): boolean
  /**
   * All that came is whole, and only the end tells why: a caller who leaves now may have the answer. Absent: the reason
   * to stop comes before the usage.
   */
  isClosing?(): boolean
  /** Bytes of text that the model has put out so far: answer, reasoning, tool calls. */
  outputBytes(): number
  /**
   * What the model has thought so far and not shown, as the bytes of text that it is likely to have been. Good for a
   * guess at what it has used, and for nothing that would end or begin an answer.
   */
  unshownBytes(): number
  /** Bytes of sound that the model has put out so far. */
  audioBytes(): number
  /** The last usage that was told could not be read, in whole or in part: the books lack something. */
  hasUnreadUsage(): boolean
  /** For an event that has to end it in place of its supplier's. Absent: no event of this language says it. */
  place?(): StreamPlace
}

/** What a unary answer tells the books. */
export interface AnswerFacts {
  readonly usage: Usage | undefined
  /** Bytes of text that the model has put out, counted only where no usage could be read; else 0. */
  readonly outputBytes: number
  /** Bytes of sound, the same. */
  readonly audioBytes: number
  /** A usage was told that could not be read, in whole or in part: the books lack something. */
  readonly hasUnreadUsage: boolean
}

/** What an answer gets where its supplier has left it out. */
export interface Basics {
  /** The call's own id, of which the dialect makes one in its own manner. */
  readonly id: string
  readonly model: string
  /** Seconds since 1970. */
  readonly created: number
  /** What an answer that is cut off has used of its output, where it is told at all. */
  readonly outputTokens?: number
  /** Where a stream has come to that is cut off, if its events say that. */
  readonly place?: StreamPlace | undefined
}

/** Fills in what the answers of some suppliers lack of the usual shape. They are printed anew. */
export interface Normalizer {
  answer(answer: Uint8Array, basics: Basics): Uint8Array
  /** For one stream. */
  frames(basics: Basics): FrameNormalizer
}

export interface FrameNormalizer {
  /** Takes the data of one frame that the watcher has seen, returns the whole frame. */
  fill(data: Uint8Array): Uint8Array
  /**
   * At the closing marker: the data of the frame that would have ended the answer, to be seen by the watcher
   * and filled like any other; undefined where nothing is missing, or where it cannot be taken for granted.
   */
  ending(): Uint8Array | undefined
}

export interface Dialect {
  readonly id: string
  /** It is spoken with native suppliers alone, which are called by the sign-ins of an account. */
  readonly isNative?: true
  /** What its models do; absent: they chat. */
  readonly task?: Exclude<Task, 'chat'>
  /** Refuses what is malformed, and every spelling of a peeked field that a supplier might read differently. */
  peek(body: Uint8Array): Facts
  /** The same of a form, for a model of this name where it names none; absent: no forms are sent in this language. */
  peekForm?(form: Form, defaultModel: string | undefined): Promise<Facts>
  readonly relay: {
    patch(body: Uint8Array, facts: Facts, rewrite: Rewrite, adjustment?: Adjustment): Uint8Array
    /** The form as it is sent on; present where `peekForm` is. */
    patchForm?(form: Form, facts: Facts, rewrite: Rewrite): OutgoingForm
    watch(): StreamWatcher
    /**
     * The frames that end a stream whose output has reached its limit, closing marker included. `open` is what the
     * watcher has told to be open, if anything.
     */
    cutOff(basics: Basics, open?: readonly number[]): Uint8Array
    /** Proves a unary answer whole and reads its usage; throws when it is broken, or does not answer what was asked. */
    read(answer: Uint8Array, facts?: Facts): AnswerFacts
    /** What a whole answer is for this caller, where that is not simply the supplier's. Absent: it is. */
    express?(answer: Uint8Array, facts: Facts, basics: Basics): Expressed
    /** How requests are cut where a supplier takes only so many inputs at once. Absent: nobody needs it. */
    readonly batch?: Batching
    /**
     * Of the caller's headers those that the supplier has to see; throws where one will not do. Absent: it sees none.
     */
    headers?(headers: Headers): Readonly<Record<string, string>>
    /** Finds a quirk that would touch what admission relies on. */
    findFault?(quirks: Quirks): QuirkFault | undefined
    /** Absent: answers pass as they come, whatever they lack. */
    readonly normalize?: Normalizer
  }
  readonly problem: ProblemCodec
  /** Absent: nothing is counted in this language. */
  readonly count?: CountCodec
  /** Absent: it is relayed or not spoken at all. */
  readonly codec?: Codec
}

/** An answer as its caller gets it. */
export interface Expressed {
  readonly bytes: Uint8Array
  /** Absent: JSON. */
  readonly contentType?: string
  /** What the caller has asked for and does not get, by where it stood in the request. */
  readonly losses?: readonly string[]
}

export interface Batching {
  /** The request in pieces of at most so many inputs, in their order; each as it is sent. */
  split(body: Uint8Array, facts: Facts, rewrite: Rewrite, most: number): readonly Uint8Array[]
  /** One answer out of those to the pieces, as if it had been asked for in one piece. Throws where one is broken. */
  join(answers: readonly Uint8Array[], facts: Facts): Uint8Array
}

/** A form on its way to a supplier. */
export interface OutgoingForm {
  readonly body: StreamedBody
  readonly headers: Readonly<Record<string, string>>
}

/** How the tokens of a request are counted that nobody is to answer. */
export interface CountCodec {
  /** As that of a request that is to be answered, without what is about the answer alone. */
  peek(body: Uint8Array): Facts
  /** What a supplier is sent that counts by itself. */
  patch(body: Uint8Array, facts: Facts, rewrite: Rewrite): Uint8Array
  /** The tokens that it told; undefined where it told none. */
  read(answer: Uint8Array): number | undefined
}

export interface ProblemCodec {
  /** The body of an error answer. */
  encode(error: GatewayError, requestId: string): string
  /** The event that ends a stream which failed after its first byte, and where that has come to, if it says so. */
  frame(error: GatewayError, requestId: string, place?: StreamPlace): string
  /** A supplier's refusal with its own code, type and wording kept. */
  decode(status: number, body: Uint8Array): GatewayError
  /** A refusal which says that the account at the supplier has no money left, and not that it is busy. */
  isSpent(error: GatewayError): boolean
  /** A refusal of what was thought before, which another supplier has sealed. Absent: nobody is known to do that. */
  refusesThoughts?(error: GatewayError): boolean
}

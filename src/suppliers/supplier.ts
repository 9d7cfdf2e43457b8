// The contract of a supplier: data, not code. An address, a signature, the dialects it speaks and
// where, its region, and what each model is called and costs there. One with several credentials is
// listed once for each; which of them a call goes to is decided for every call.
import type { Capability, LeastThinking } from '../catalog/model.ts'
import type { Effort } from '../core/chat.ts'
import type { IdentityScope } from '../core/identity.ts'
import type { ModelLimits } from '../core/load.ts'
import type { Secret } from '../core/secret.ts'
import type { Task } from '../core/task.ts'
import type { PriceList } from '../core/usage.ts'
import type { ReasoningHabit } from '../dialects/codec.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Quirks } from '../dialects/quirk.ts'

export interface Service {
  readonly dialect: Dialect
  /** `{model}` stands for the supplier's own name of the model. */
  readonly path: string
  /** Where it is signed in another way than the supplier's other services. */
  readonly signature?: Signature
  /** Where it is odd in other ways than they are. */
  readonly quirks?: Quirks
  /** Where it counts the tokens of a request without answering it; absent: it does not. */
  readonly countPath?: string
  /** How many inputs it takes at once; absent: as many as anybody sends. */
  readonly inputsMax?: number
}

/** How long a supplier may take; what is absent is decided by whoever knows less about it. */
export interface Timeouts {
  /** One total for a unary call; never cut into shares, because reasoning models think for minutes. */
  readonly unaryMs: number
  readonly firstByteMs: number
  readonly firstContentMs: number
  readonly idleMs: number
}

export interface ModelRoute {
  /** The supplier's own name for the model. */
  readonly as: string
  readonly prices: PriceList
  /** What it does; absent: it chats. */
  readonly task?: Task
  /** Who made the model, for the model listing. */
  readonly ownedBy: string
  /** How much it takes and gives; absent where nobody knows. */
  readonly limits?: ModelLimits
  readonly timeouts?: Partial<Timeouts>
  /** What it can do beside text; absent where nobody knows. */
  readonly capabilities?: readonly Capability[]
  /** Its share of the calls where they are shared out by weight; absent: the supplier's. */
  readonly weight?: number
  /** How it is told to think; absent where nobody knows. */
  readonly reasoning?: ReasoningHabit
  /** It refuses to be told how to choose its words. */
  readonly samples?: false
  /** The least that it thinks, where it cannot be told not to. */
  readonly leastThinking?: LeastThinking
  /** Words for how much to think that it does not know. */
  readonly refusedEfforts?: readonly Effort[]
  /** What it is to be told of thinking beside tools, in a chat, where it refuses both. */
  readonly besideTools?: 'unsaid' | 'off'
  /** It is there to be asked for by its name, such as one that fails on purpose: nobody chooses it for a call. */
  readonly byNameOnly?: true
  /**
   * Ids of the dialects that it is spoken to in, the one first that others are put into; absent: all that its supplier
   * knows, as that has them.
   */
  readonly dialects?: readonly string[]
}

/** How the sign-ins of a native supplier are renewed, and how somebody signs in there. */
export interface OAuth {
  /** By a token that came with the last one, or by what a program signs itself in with. */
  readonly grant: 'refresh_token' | 'client_credentials'
  readonly tokenUrl: string
  /** Of the program that people sign in with; undefined where each identity has its own. */
  readonly clientId: string | undefined
  readonly clientSecret: Secret | undefined
  /** Where the client says who it is. */
  readonly clientAuth: 'body' | 'basic'
  /** How the request is written. */
  readonly format: 'form' | 'json'
  readonly scope: string | undefined
  readonly audience: string | undefined
  /** Where a browser is sent to sign in; undefined where nobody can. */
  readonly authorizeUrl: string | undefined
  /** What is added to that address. */
  readonly authorizeParameters: Readonly<Record<string, string>>
  /** Where the browser comes back to: a port of the machine that signs in; undefined: any free one. */
  readonly redirectUrl: string | undefined
  /** Where a code is got that is entered elsewhere; undefined where that is not to be had. */
  readonly deviceUrl: string | undefined
  /** The header that names the account behind an identity; undefined where none is wanted. */
  readonly subjectHeader: string | undefined
}

/** The sign-in that a supplier is called with, as far as a route must know it. */
export interface SupplierIdentity extends IdentityScope {
  readonly id: string
  readonly parallelMax: number | undefined
  readonly requestsPerMinute: number | undefined
  /** Whatever must not be seen in what a supplier says. */
  secrets(): readonly string[]
}

/** The header that tells a supplier who we are. */
export type Signature = 'bearer' | 'api-key' | 'x-api-key'

export interface Supplier {
  readonly id: string
  /** Scheme, host and port; every request goes here and nowhere else. */
  readonly origin: string
  /** Where it runs the model; `global` when it does not promise a place. */
  readonly region: string
  readonly credential: Secret | undefined
  readonly signature: Signature
  readonly services: readonly Service[]
  readonly quirks: Quirks
  readonly timeouts: Partial<Timeouts>
  /** Model ids to their routes. */
  readonly models: ReadonlyMap<string, ModelRoute>
  /** Set where any other id may be asked for by `<supplier>/<id>` at this price (a local server: free). */
  readonly anyModel: PriceList | undefined
  /** Plain http and private addresses are allowed: true for local servers alone. */
  readonly allowPrivate: boolean
  /** Its share of the calls where they are shared out by weight; absent: 1. */
  readonly weight?: number
  /** It is called by sign-ins alone, on its own endpoint; `credential` is undefined. */
  readonly oauth?: OAuth
  /** Whether its calls cost what their tokens cost, or whoever signs in has paid already; only where there is `oauth`. */
  readonly billing?: 'metered' | 'subscription'
  /** The sign-in of one account that it is called with; only where there is `oauth`. */
  readonly identity?: SupplierIdentity
}

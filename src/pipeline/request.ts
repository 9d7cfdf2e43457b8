// A request in words of our own, for suppliers of another language than the caller's. It is decoded once, however many
// of them it is put into words for, and what got lost on the way is told in the caller's own words.
import type { Trait } from '../core/chat.ts'
import { GatewayError } from '../core/problem.ts'
import type { Codec, DecodedRequest } from '../dialects/codec.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { Attempt } from '../routing/routes.ts'
import { mergeLosses } from './losses.ts'

/** The supplier is asked in the caller's own language: bytes pass, and nothing is converted. */
export function isRelayed({ dialect }: { readonly dialect: Dialect }, attempt: Attempt): boolean {
  return attempt.dialect.id === dialect.id
}

/** A request as it leaves. */
export interface Converted {
  readonly body: Uint8Array
  readonly headers: Readonly<Record<string, string>>
  /** Places of the caller's request, and of the supplier's answer. */
  readonly losses: readonly string[]
  /** Names of tools that the supplier knows by others: as they were sent, to the caller's own. */
  readonly names: ReadonlyMap<string, string>
}

/** What a supplier is sent beside the request itself. */
export interface Sending {
  readonly maxTokens: number | undefined
  readonly maxTokensDefault: number
  /** Nobody's thoughts are handed back: a supplier has refused them. */
  readonly dropsThoughts: boolean
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** The request of one call in words of our own: decoded once, however many suppliers it is put into words for. */
export class Request {
  readonly #dialect: Dialect
  readonly #body: Uint8Array
  #decoded: DecodedRequest | undefined

  constructor(dialect: Dialect, body: Uint8Array) {
    this.#dialect = dialect
    this.#body = body
  }

  /** Throws what is wrong with the request, which a relay would have left to the supplier. */
  decode(): DecodedRequest {
    this.#decoded ??= codecOf(this.#dialect).request.decode(this.#body)
    return this.#decoded
  }

  encode(attempt: Attempt, sending: Sending): Converted {
    const decoded = this.decode()
    const { dialect, rewrite, route, supplier } = attempt
    const encoded = codecOf(dialect).request.encode(decoded.request, {
      model: rewrite.model,
      // Seals are handed back to who has made them: to nobody of no name.
      supplier: sending.dropsThoughts ? '' : supplier.id,
      maxTokens: sending.maxTokens,
      maxTokensDefault: sending.maxTokensDefault,
      reasoning: route.reasoning,
      samples: route.samples,
      leastThinking: route.leastThinking,
      refusedEfforts: route.refusedEfforts,
      besideTools: route.besideTools,
      quirks: rewrite,
    })
    const unsaid = placesOf(encoded.lost, decoded, codecOf(this.#dialect))
    return {
      body: encoded.body,
      headers: encoded.headers,
      losses: mergeLosses(decoded.lost, unsaid),
      names: encoded.names ?? NO_NAMES,
    }
  }
}

/** Where the caller has said what got lost: where it was seen, or else where its language has it. */
export function placesOf(
  lost: readonly Trait[],
  { places }: DecodedRequest,
  { traits }: Codec,
): readonly string[] {
  return lost.flatMap((trait) => places.get(trait) ?? traits[trait].pointers)
}

export function codecOf({ id, codec }: Dialect): Codec {
  if (codec === undefined) throw new RangeError(`${id} cannot be converted`)
  return codec
}

/** The operator wants nothing to get lost, and this would. */
export function refuseLosses(losses: readonly string[], path: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `No supplier of this model that may be asked can be told all of a request to ${path}, and nothing may be lost: ${losses.join(', ')}. Leave this out, or ask for another model.`,
    { details: { losses } },
  )
}

// The way to a native supplier by one sign-in: every request carries its token, and one that is refused for it is sent
// again with another. Whoever sends sees nothing of this but the answer.
import type { Identity } from '../../access/identities.ts'
import { GatewayError } from '../../core/problem.ts'
import type { ExtraHeaders, SentBody, Upstream } from '../../upstream/client.ts'
import { AttemptFailure } from '../../upstream/failure.ts'
import { CallerGone, type Lifeline } from '../../upstream/lifeline.ts'
import type { OAuth } from '../supplier.ts'
import type { Issuer } from './issuer.ts'
import type { Renewals } from './renewals.ts'
import { unavailable } from './trouble.ts'

export interface SignedParts {
  /** Shared by all sign-ins of the supplier. */
  readonly upstream: Upstream
  readonly issuer: Issuer
  readonly oauth: OAuth
  readonly renewals: Renewals
}

const UNAUTHORIZED = 401
/** For who has waited for a token longer than its call may wait for anything. */
const AGAIN_MS = 1000

/** What the supplier has seen of a call that waits for a token. */
type Seen = 'unsent' | 'refused'

interface Sending {
  readonly path: string
  readonly body: SentBody
  readonly lifeline: Lifeline
  readonly extra: ExtraHeaders | undefined
}

export function signed(identity: Identity, parts: SignedParts): Upstream {
  const way = new SignedWay(identity, parts)
  return {
    post: (path, body, lifeline, extra) => way.post({ path, body, lifeline, extra }),
    // The others of this supplier still use what is below.
    close: () => {},
  }
}

class SignedWay {
  readonly #identity: Identity
  readonly #parts: SignedParts
  readonly #subjectHeader: string | undefined

  constructor(identity: Identity, parts: SignedParts) {
    this.#identity = identity
    this.#parts = parts
    this.#subjectHeader = parts.oauth.subjectHeader?.toLowerCase()
  }

  /** Nothing is waited for while the token is good, which is nearly always. */
  post(sending: Sending): Promise<Response> {
    const { renewals, issuer } = this.#parts
    const token = renewals.token(this.#identity, issuer)
    if (typeof token === 'string') return this.#try(token, sending)
    return this.#wait(token, sending, 'unsent').then((got) => this.#try(got, sending))
  }

  async #try(token: string, sending: Sending): Promise<Response> {
    const response = await this.#send(token, sending)
    return response.status === UNAUTHORIZED ? this.#again(response, token, sending) : response
  }

  /** Who was refused for a token was not served, so that asking again is safe. Once: then the supplier means it. */
  async #again(refused: Response, token: string, sending: Sending): Promise<Response> {
    const { renewals, issuer } = this.#parts
    if (renewals.isVain(this.#identity)) return refused
    // Nobody is looked for while the issuer is waited for.
    sending.lifeline.heard()
    // It may have broken off already, and nobody wants to know.
    refused.body?.cancel().catch(() => {})
    const renewal = renewals.renew(this.#identity, issuer, token)
    const next = await this.#wait(renewal, sending, 'refused')
    const response = await this.#send(next, sending)
    if (response.status === UNAUTHORIZED) renewals.markVain(this.#identity)
    return response
  }

  /** The caller's leaving and a deadline end the waiting, and never the renewal: others wait for it, too. */
  async #wait(renewal: Promise<string>, { lifeline }: Sending, evidence: Seen): Promise<string> {
    const { signal } = lifeline
    const { promise, reject } = Promise.withResolvers<never>()
    const give = (): void => reject(this.#asGiven(signal.reason))
    if (signal.aborted) give()
    signal.addEventListener('abort', give)
    try {
      const token = await Promise.race([renewal, promise])
      // What would be read to its end for the books costs nothing as long as nobody is asked.
      if (lifeline.isLingering) throw new CallerGone()
      // The supplier has all of its time, however long the issuer took.
      lifeline.renew()
      return token
    } catch (thrown) {
      // What was found out about the token is the same; what the supplier has seen of the call is not.
      if (thrown instanceof CallerGone) throw new CallerGone(evidence)
      throw thrown instanceof AttemptFailure ? withEvidence(thrown, evidence) : thrown
    } finally {
      // The signal outlives this call and is used again for others.
      signal.removeEventListener('abort', give)
    }
  }

  /** Too long a wait for a token says nothing about the supplier; any other reason ends the call. */
  #asGiven(reason: unknown): unknown {
    if (reason instanceof CallerGone || !(reason instanceof GatewayError)) return reason
    return reason.code === 'provider_timeout'
      ? unavailable(this.#identity, AGAIN_MS)
      : new AttemptFailure(reason, 'unsent', { isFinal: true })
  }

  #send(token: string, { path, body, lifeline, extra }: Sending): Promise<Response> {
    return this.#parts.upstream.post(path, body, lifeline, this.#headersOf(token, extra))
  }

  /** Whatever a caller sends under our names is left out, in whichever spelling. */
  #headersOf(token: string, extra: ExtraHeaders | undefined): ExtraHeaders {
    const headers: Record<string, string> = {}
    for (const name in extra) if (!this.#isOurs(name.toLowerCase())) headers[name] = extra[name]!
    const { subject } = this.#identity.record
    headers['authorization'] = `Bearer ${token}`
    if (this.#subjectHeader !== undefined && subject !== undefined)
      headers[this.#subjectHeader] = subject
    return headers
  }

  #isOurs(name: string): boolean {
    return name === 'authorization' || name === this.#subjectHeader
  }
}

function withEvidence(
  { problem, isFinal, waitMs }: AttemptFailure,
  evidence: Seen,
): AttemptFailure {
  return new AttemptFailure(problem, evidence, { isFinal, waitMs })
}

// What the demo's issuer remembers of sign-ins: how far each was renewed, and which have ended. It is little and in
// memory: a new server has forgotten it, and the oldest is forgotten where there is too much.

const REMEMBERED_MAX = 4096

/** `kept`: its tokens are good until they end, but no others follow. */
type Standing = 'good' | 'kept' | 'ended'

interface SignIn {
  readonly standing: Standing
  /** The most renewals behind any token that was seen in use: what is older has a successor that arrived. */
  readonly reached: number
}

const NEW: SignIn = { standing: 'good', reached: 0 }

export class SignIns {
  readonly #signIns = new Map<string, SignIn>()
  /** Codes that are good once. */
  readonly #spent = new Map<string, true>()
  readonly #polled = new Map<string, true>()

  /** By an access token. */
  isGood(id: string, renewals: number): boolean {
    const signIn = this.#find(id)
    if (signIn.standing === 'ended') return false
    this.#reach(id, signIn, renewals)
    return true
  }

  /**
   * By a refresh token. It works again until its successor is seen, because an answer may be lost on its way; from then
   * on only a thief or a stale copy can have it, and the sign-in ends.
   */
  renew(id: string, renewals: number): 'renewed' | 'refused' | 'reused' {
    const signIn = this.#find(id)
    if (signIn.standing !== 'good') return 'refused'
    if (renewals < signIn.reached) {
      this.end(id)
      return 'reused'
    }
    this.#reach(id, signIn, renewals)
    return 'renewed'
  }

  /** It is renewed no more. */
  keep(id: string): void {
    const signIn = this.#find(id)
    if (signIn.standing === 'good') remember(this.#signIns, id, { ...signIn, standing: 'kept' })
  }

  end(id: string): void {
    remember(this.#signIns, id, { ...this.#find(id), standing: 'ended' })
  }

  /** False where a code was spent before. */
  spend(id: string): boolean {
    if (this.#spent.has(id)) return false
    remember(this.#spent, id, true)
    return true
  }

  /** True from the second time on: by then somebody would have entered the code. */
  isApproved(id: string): boolean {
    const isKnown = this.#polled.has(id)
    remember(this.#polled, id, true)
    return isKnown
  }

  #find(id: string): SignIn {
    return this.#signIns.get(id) ?? NEW
  }

  #reach(id: string, signIn: SignIn, renewals: number): void {
    const reached = Math.max(signIn.reached, renewals)
    remember(this.#signIns, id, { ...signIn, reached })
  }
}

/** What was touched last is forgotten last. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= REMEMBERED_MAX) return
  const [oldest] = map.keys()
  if (oldest !== undefined) map.delete(oldest)
}

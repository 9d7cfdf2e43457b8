// Finds out whether a supplier that says nothing can still be reached. The runtime's fetch cannot tell a call that
// is being answered from one whose connection leads nowhere, so a new connection is opened to the very address that
// the call went to. Nothing is sent on it, and it goes nowhere else.
import { connect as connectPlain } from 'node:net'
import { connect as connectEncrypted } from 'node:tls'
import { Chain, type Place } from '../core/chain.ts'
import type { Clock } from '../core/clock.ts'
import { GatewayError } from '../core/problem.ts'

/** Resolves when somebody opens at this origin, and rejects when nobody does. The signal ends it. */
export type Knock = (origin: string, signal: AbortSignal) => Promise<void>

export interface ReachOptions {
  readonly knock: Knock
  /** Told of an origin that nobody opens at. */
  readonly onLost?: (origin: string) => void
}

/** Whoever waits for the first word of an answer. */
export interface Listener {
  lost(reason: GatewayError): void
}

/** An attempt that was sent and has not been answered. */
export interface Sent {
  readonly origin: string
  readonly sentAt: number
  /** How many answers had come from the supplier when it was sent. */
  readonly answers: number
}

/** Silence that says nothing yet: most answers begin sooner. Also the shortest time between two checks. */
const PATIENCE_MS = 3_000
/** How long somebody may take to open. */
const KNOCK_MS = 3_000
/** Silence after which a supplier that was there is looked for again. */
const AGAIN_MS = 30_000
// A process that was held up hears its clock before it hears what has come meanwhile.
const GRACE_MS = 250

interface Check {
  readonly origin: string
  readonly beganAt: number
  readonly answers: number
  readonly controller: AbortController
}

/** One for each way to a supplier: it makes one check at a time, however many wait. */
export class Reach {
  readonly #options: ReachOptions
  readonly #lookouts = new Chain<Lookout>()
  #check: Check | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  #answers = 0

  constructor(options: ReachOptions) {
    this.#options = options
  }

  /** How often something was heard from the supplier. Counted and not timed: every call does so. */
  get answers(): number {
    return this.#answers
  }

  /** An answer has begun, so the supplier is there. */
  heard(): void {
    this.#answers += 1
  }

  /** For an attempt that already waits: those that are answered at once need none. */
  watch(sent: Sent, listener: Listener): Lookout {
    const lookout = new Lookout(this, sent, listener)
    lookout.place = this.#lookouts.join(lookout)
    return lookout
  }

  /** Of a lookout. */
  check(origin: string, clock: Clock): void {
    const beganAt = clock.elapsed()
    if (this.#check !== undefined || beganAt - this.#checkedAt < PATIENCE_MS) return
    this.#checkedAt = beganAt
    const controller = new AbortController()
    this.#check = { origin, beganAt, answers: this.#answers, controller }
    void this.#run(this.#check, clock)
  }

  /** Of a lookout. What nobody waits for any more need not be known. */
  left(): void {
    if (this.#lookouts.size > 0) return
    this.#check?.controller.abort()
    this.#check = undefined
  }

  async #run(check: Check, clock: Clock): Promise<void> {
    const trouble = await this.#knock(check, clock)
    if (this.#check !== check) return
    this.#check = undefined
    const isThere = trouble === undefined || this.#answers !== check.answers
    if (!isThere) this.#options.onLost?.(check.origin)
    for (const lookout of this.#lookouts) {
      if (lookout.sent.origin !== check.origin) continue
      if (isThere) lookout.found(clock.elapsed())
      else if (lookout.sent.sentAt <= check.beganAt) lookout.lost(trouble)
    }
  }

  /** What went wrong; undefined where somebody opened. */
  async #knock({ origin, controller }: Check, clock: Clock): Promise<Error | undefined> {
    const { promise: late, reject } = Promise.withResolvers<never>()
    const giveUp = (): void => reject(new Error('nobody opened in time'))
    const timing = clock.after(KNOCK_MS, {
      tick: () => void setTimeout(() => setImmediate(giveUp), GRACE_MS),
    })
    try {
      await Promise.race([this.#options.knock(origin, controller.signal), late])
      return undefined
    } catch (thrown) {
      // Whatever it is: nobody can be spoken to there.
      return thrown instanceof Error ? thrown : new Error(String(thrown))
    } finally {
      timing.leave()
      controller.abort()
    }
  }
}

/** Looks out for one attempt, as often as it is told that time passes. */
export class Lookout {
  readonly sent: Sent
  place: Place | undefined
  readonly #reach: Reach
  readonly #listener: Listener
  #answers: number
  #quietSince: number
  #patienceMs = PATIENCE_MS

  constructor(reach: Reach, sent: Sent, listener: Listener) {
    this.#reach = reach
    this.#listener = listener
    this.sent = sent
    this.#answers = sent.answers
    this.#quietSince = sent.sentAt
  }

  look(clock: Clock): void {
    const now = clock.elapsed()
    if (this.#answers !== this.#reach.answers) this.found(now)
    else if (now - this.#quietSince >= this.#patienceMs) this.#reach.check(this.sent.origin, clock)
  }

  /** The supplier is there, and this attempt has the time that it was given. */
  found(now: number): void {
    this.#answers = this.#reach.answers
    this.#quietSince = now
    this.#patienceMs = AGAIN_MS
  }

  /** Something may have been sent before the way was lost, so this is a timeout and no refusal. */
  lost(cause: Error): void {
    const text = 'The supplier was silent, and no new connection to it could be opened.'
    this.#listener.lost(new GatewayError('provider_timeout', text, { cause }))
  }

  leave(): void {
    this.place?.leave()
    this.#reach.left()
  }
}

/** `serverName` is the name that an encrypted supplier goes by where it is called by its address. */
export function createKnock(serverName: string | undefined): Knock {
  return (origin, signal) => {
    const { protocol, port } = new URL(origin)
    const isEncrypted = protocol === 'https:'
    const target = { host: hostOf(origin), port: Number(port || (isEncrypted ? 443 : 80)) }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const socket = isEncrypted
      ? connectEncrypted({
          ...target,
          ...(serverName !== undefined && { servername: serverName }),
          ALPNProtocols: ['http/1.1'],
          // Only that somebody answers is of interest, and nothing is said to them. Whom to trust is judged where
          // something is sent.
          rejectUnauthorized: false,
        })
      : connectPlain(target)
    const stop = (): void => void socket.destroy()
    let isOpen = false
    socket.once('connect', () => (isOpen = true))
    socket.once(isEncrypted ? 'secureConnect' : 'connect', resolve)
    // Whoever hangs up or speaks another language is there: a server that takes no more than so many does so.
    socket.on('error', (error) => (isOpen || isRefusal(error) ? resolve() : reject(error)))
    socket.once('close', () => (isOpen ? resolve() : reject(new Error('nobody opened'))))
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    return promise
  }
}

/**
 * A machine that refuses is there, and would have reset the call had nobody held on to it: so do servers that finish
 * their calls before they end. The runtime also calls it so when this process can open nothing any more (seen on Bun
 * 1.4.4), which says nothing about the supplier.
 */
function isRefusal(error: Error): boolean {
  return 'code' in error && error.code === 'ECONNREFUSED'
}

/** The host of an origin as sockets want it, without brackets. */
export function hostOf(origin: string): string {
  return new URL(origin).hostname.replaceAll(/^\[|\]$/g, '')
}

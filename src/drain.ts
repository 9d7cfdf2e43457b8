// The end of a process's life. Health says so before anything closes, running calls may finish, and what
// is left is cut; then everything is closed in the opposite order of its start.
import type { KeyUses } from './access/uses.ts'
import type { Place } from './core/chain.ts'
import { GatewayError } from './core/problem.ts'
import type { House } from './endpoints/endpoint.ts'
import type { Listener } from './http/server.ts'
import type { Plant } from './pipeline/call.ts'
import type { Reload } from './reload.ts'
import type { RollUps } from './roll-ups.ts'
import type { Renewals } from './suppliers/oauth/renewals.ts'
import type { DemoSuppliers } from './suppliers/demo/index.ts'

export interface DrainTimes {
  /** How long connections are still taken, and told 503, so that load balancers notice first. */
  readonly noticeMs: number
  /** How long running calls may go on before they are cut. */
  readonly limitMs: number
}

export interface Running {
  readonly house: House
  readonly listener: Listener
  readonly reload: Reload
  /** Of those who do something now and then for as long as the process lives. */
  readonly closing: readonly Place[]
  readonly uses: Pick<KeyUses, 'flush'>
  readonly rollUps: Pick<RollUps, 'stop'>
  readonly renewals: Pick<Renewals, 'settle'>
  /** Asked at the end: a reload may have started it. */
  readonly demo: () => DemoSuppliers | undefined
}

/** How long a call that was cut may take to tell its caller. */
const GRACE_MS = 2_000
const LOOK_MS = 20

export class Drain {
  readonly #running: Running
  #isCut = false
  #done: Promise<void> | undefined

  constructor(running: Running) {
    this.#running = running
  }

  /** Resolves when everything is closed; asked again, it is the same end that is waited for. */
  run(times: DrainTimes): Promise<void> {
    this.#done ??= this.#run(times)
    return this.#done
  }

  /** Ends every running call with an error, and the waiting for them, now. */
  cut(): void {
    this.#isCut = true
    // First of all: what ends below would let those in line go on.
    const { ledger, counter } = this.#running.house.plant
    ledger.stop()
    counter.close()
    for (const lifeline of this.#running.house.plant.lifelines) lifeline.abort(shutDown())
  }

  async #run({ noticeMs, limitMs }: DrainTimes): Promise<void> {
    const { plant, state } = this.#running.house
    state.phase = 'draining'
    const passed = stopwatch(plant)
    await until(() => this.#isCut || passed() >= noticeMs)
    await until(() => this.#isCut || this.#isIdle() || passed() >= limitMs)
    this.cut()
    const grace = stopwatch(plant)
    await until(() => this.#isIdle() || grace() >= GRACE_MS)
    await this.#close()
  }

  /** A call whose caller has left is no request any more, but its record may still be on its way. */
  #isIdle(): boolean {
    const { listener, house } = this.#running
    return listener.pending() === 0 && house.plant.lifelines.size === 0
  }

  async #close(): Promise<void> {
    const { listener, house, reload, closing, uses, rollUps, renewals, demo } = this.#running
    reload.close()
    for (const place of closing) place.leave()
    await listener.stop(true)
    // What the stop itself has cut still writes its record.
    const grace = stopwatch(house.plant)
    const { ledger, store, log, lifelines, claims } = house.plant
    // A token that its issuer has just given would be lost with the process.
    let isRenewing = true
    void renewals.settle().then(() => (isRenewing = false))
    const isIdle = (): boolean => lifelines.size === 0 && ledger.isIdle && !isRenewing
    await until(() => isIdle() || grace() >= GRACE_MS)
    for (const upstream of reload.snapshot.upstreams.values()) upstream.close()
    await demo()?.stop()
    // In one turn, so that a late end and what is kept of its answer are still one commit.
    await Promise.all([claims.close(), ledger.close()])
    await uses.flush()
    await rollUps.stop()
    await store.close()
    log.flush()
  }
}

function shutDown(): GatewayError {
  return new GatewayError('pod_draining', 'The gateway is shutting down and ended this call.', {
    retryAfter: 1,
  })
}

function stopwatch({ clock }: Plant): () => number {
  const started = clock.elapsed()
  return () => clock.elapsed() - started
}

function until(isReached: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (isReached()) resolve()
      else setTimeout(look, LOOK_MS)
    }
    look()
  })
}

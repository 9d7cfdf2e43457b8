// Has calls added up as they come. Nobody waits for it: figures are exact without, and cheap with it.
import type { Ticker } from './core/clock.ts'
import type { Log } from './observe/log.ts'
import type { UsageRepository } from './store/store.ts'

/** Of one second. Whatever older versions left is done in minutes, and others read in between. */
const PASSES_MAX = 64

export class RollUps implements Ticker {
  readonly #usage: Pick<UsageRepository, 'rollUp'>
  readonly #log: Log
  #running: Promise<void> | undefined
  #isOver = false
  #hasFailed = false

  constructor(usage: Pick<UsageRepository, 'rollUp'>, log: Log) {
    this.#usage = usage
    this.#log = log
  }

  /** Of the clock. */
  tick(): void {
    if (this.#isOver) return
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
    })
  }

  /** Resolves when nothing is under way, and nothing more will be: the store may be closed. */
  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      for (let passes = 0; passes < PASSES_MAX && !this.#isOver; passes += 1)
        // oxlint-disable-next-line no-await-in-loop -- a pass begins where the one before ended
        if (!(await this.#usage.rollUp())) break
      this.#hasFailed = false
    } catch (thrown) {
      // Nothing is lost by it, and a full disk fails every second: it is told once.
      if (!this.#hasFailed)
        this.#log.note('warn', 'calls could not be added up; this is tried again every second', {
          cause: String(thrown),
        })
      this.#hasFailed = true
    }
  }
}

// Takes a changed configuration into the running gateway: read, check, compare, swap. Whatever is wrong
// with it leaves the last good one in place and is told to whoever asked and to the log.
import { statSync } from 'node:fs'
import { compareSnapshots, findDrops, printChanges } from './changes.ts'
import type { Settings } from './config/environment.ts'
import { ConfigurationError, printProblem } from './config/problem.ts'
import type { Place } from './core/chain.ts'
import type { Ticker } from './core/clock.ts'
import type { House, ReloadOutcome } from './endpoints/endpoint.ts'
import { buildSnapshot, type Snapshot, type SnapshotParts } from './snapshot.ts'

export interface ReloadParts {
  readonly house: House
  readonly parts: SnapshotParts
  /** Reads file and environment again. */
  readonly read: () => Promise<Settings>
}

const HOW_TO_DROP =
  'Keep what is used, or apply the file all the same with `gateway reload --allow-drop`.'

export class Reload implements Ticker {
  readonly #house: House
  readonly #parts: SnapshotParts
  readonly #readSettings: () => Promise<Settings>
  readonly #started: Snapshot['config']
  #snapshot: Snapshot
  #last: Promise<unknown> = Promise.resolve()
  #ticking: Place | undefined
  #files: readonly string[] = []
  /** What they looked like a moment ago, and when they were last read. */
  #seen = ''
  #read = ''

  constructor({ house, parts, read }: ReloadParts, snapshot: Snapshot) {
    this.#house = house
    this.#parts = parts
    this.#readSettings = read
    this.#started = snapshot.config
    this.#snapshot = snapshot
  }

  /** One after the other: two at once could leave the older of two files in force. */
  run(allowDrop = false): Promise<ReloadOutcome> {
    const next = this.#last.then(() => this.#run(allowDrop))
    this.#last = next.catch(() => {})
    return next
  }

  /** Reloads whenever one of the files has become another one and stayed so for a second. */
  watch(files: readonly string[]): void {
    this.#files = files
    this.#seen = printOf(files)
    this.#read = this.#seen
    this.#ticking = this.#house.plant.clock.everySecond(this)
  }

  /**
   * Asking is cheap, and right where notices are not: with links, on mounted volumes and over networks.
   * Editors write a file in several steps, so it is read when it no longer changes.
   */
  tick(): void {
    const print = printOf(this.#files)
    const isSettled = print === this.#seen
    this.#seen = print
    if (!isSettled || print === this.#read) return
    this.#read = print
    void this.run()
  }

  close(): void {
    this.#ticking?.leave()
  }

  async #run(allowDrop: boolean): Promise<ReloadOutcome> {
    let after: Snapshot
    try {
      const settings = await this.#readSettings()
      after = buildSnapshot({ ...this.#parts, settings }, this.#snapshot)
    } catch (thrown) {
      return this.#refuse(describe(thrown))
    }
    const changes = compareSnapshots(this.#snapshot, after, this.#started)
    const drops = this.#findDrops(after)
    if (drops.length > 0 && !allowDrop) return this.#refuse(drops, HOW_TO_DROP)
    this.#snapshot = after
    const { routes, natives, auto, limits, modelsShape, policy, snapshotId } = after
    const { refusesLosses, transcriptionModel } = after
    const choices = { modelsShape, policy, refusesLosses, transcriptionModel }
    const taken = { routes, natives, auto, limits, snapshotId, ...choices }
    this.#house.plant = { ...this.#house.plant, ...taken }
    this.#house.plant.ledger.policy = policy
    this.#house.plant.claims.policy = after.claimPolicy
    this.#house.plant.sessions.policy = after.sessionPolicy
    const text = `the configuration was reloaded: ${printChanges(changes)}`
    this.#house.plant.log.note('info', text, { ...changes })
    for (const drop of drops) this.#house.plant.log.note('warn', drop)
    return { applied: true, changes, problems: drops }
  }

  #findDrops(after: Snapshot): readonly string[] {
    const { plant, keyring } = this.#house
    return findDrops(this.#snapshot, after, keyring.keys(), plant.clock.now())
  }

  #refuse(problems: readonly string[], advice?: string): ReloadOutcome {
    const text = 'the configuration was not reloaded; the one before stays in force'
    const lines = advice === undefined ? problems : [...problems, advice]
    this.#house.plant.log.note('error', `${text}:\n${lines.join('\n')}`)
    return { applied: false, changes: undefined, problems, advice }
  }

  /** The suppliers that are in force, for whoever closes them. */
  get snapshot(): Snapshot {
    return this.#snapshot
  }
}

/** One line for each thing that is wrong. */
function describe(thrown: unknown): readonly string[] {
  if (!(thrown instanceof ConfigurationError))
    return [thrown instanceof Error ? thrown.message : String(thrown)]
  if (thrown.problems.length === 0) return [thrown.message]
  return thrown.problems.map((problem) => printProblem({ ...problem, excerpt: '' }))
}

/** Tells one state of files from another without reading them. */
function printOf(files: readonly string[]): string {
  return files.map(printOne).join()
}

function printOne(file: string): string {
  try {
    const { dev, ino, size, mtimeMs } = statSync(file)
    return [dev, ino, size, mtimeMs].join(':')
  } catch {
    // Gone, or behind a link or folder that cannot be followed: another state, which the reader explains.
    // Thrown from here, in the clock's tick, it would end the process.
    return ''
  }
}

// Takes a changed configuration into the running gateway: read, check, compare, swap. Whatever is wrong
// with it leaves the last good one in place and is told to whoever asked and to the log.
import { readFileSync, watch } from 'node:fs'
import { basename, dirname } from 'node:path'
import { compareSnapshots, findDrops } from './changes.ts'
import type { Settings } from './config/environment.ts'
import { ConfigurationError, printProblem } from './config/problem.ts'
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
/** Editors write a file in several steps; this is how long after the last of them it is read. */
const SETTLE_MS = 100

export class Reload {
  readonly #house: House
  readonly #parts: SnapshotParts
  readonly #read: () => Promise<Settings>
  #snapshot: Snapshot
  #last: Promise<unknown> = Promise.resolve()
  #stopWatching = (): void => {}

  constructor({ house, parts, read }: ReloadParts, snapshot: Snapshot) {
    this.#house = house
    this.#parts = parts
    this.#read = read
    this.#snapshot = snapshot
  }

  /** One after the other: two at once could leave the older of two files in force. */
  run(allowDrop = false): Promise<ReloadOutcome> {
    const next = this.#last.then(() => this.#run(allowDrop))
    this.#last = next.catch(() => {})
    return next
  }

  /** Reloads whenever the file's text has changed. */
  watch(file: string): void {
    let timer: Timer | undefined
    let text = readText(file)
    const look = (): void => {
      const now = readText(file)
      if (now === text) return
      text = now
      void this.run()
    }
    const soon = (): void => {
      clearTimeout(timer)
      timer = setTimeout(look, SETTLE_MS)
    }
    try {
      // The folder, because editors and mounted volumes put a new file in the place of the old one; a
      // volume does so by a link beside it, so a change without the file's own name counts too.
      const watcher = watch(dirname(file), (_event, name) => {
        if (name === null || name === basename(file) || name.startsWith('..')) soon()
      })
      watcher.on('error', () => this.#cannotWatch(file))
      this.#stopWatching = (): void => {
        clearTimeout(timer)
        watcher.close()
      }
    } catch {
      this.#cannotWatch(file)
    }
  }

  close(): void {
    this.#stopWatching()
  }

  #cannotWatch(file: string): void {
    this.#house.plant.log.note('warn', `${file} cannot be watched for changes; send SIGHUP instead`)
  }

  async #run(allowDrop: boolean): Promise<ReloadOutcome> {
    let after: Snapshot
    try {
      const settings = await this.#read()
      after = buildSnapshot({ ...this.#parts, settings }, this.#snapshot)
    } catch (thrown) {
      return this.#refuse(describe(thrown))
    }
    const changes = compareSnapshots(this.#snapshot, after)
    const drops = this.#findDrops(after)
    if (drops.length > 0 && !allowDrop) return this.#refuse([...drops, HOW_TO_DROP])
    this.#snapshot = after
    const { routes, limits, modelsShape } = after
    this.#house.plant = { ...this.#house.plant, routes, limits, modelsShape }
    this.#house.plant.log.note('info', 'the configuration was reloaded', { ...changes })
    return { applied: true, changes, problems: drops }
  }

  #findDrops(after: Snapshot): readonly string[] {
    const { plant, keyring } = this.#house
    return findDrops(this.#snapshot, after, keyring.keys(), plant.clock.now())
  }

  #refuse(problems: readonly string[]): ReloadOutcome {
    const text = 'the configuration was not reloaded; the one before stays in force'
    this.#house.plant.log.note('error', `${text}:\n${problems.join('\n')}`)
    return { applied: false, changes: undefined, problems }
  }

  /** The suppliers that are in force, for whoever closes them. */
  get snapshot(): Snapshot {
    return this.#snapshot
  }
}

/** One line for each thing that is wrong. */
function describe(thrown: unknown): readonly string[] {
  if (!(thrown instanceof ConfigurationError)) return [String(thrown)]
  if (thrown.problems.length === 0) return [thrown.message]
  return thrown.problems.map((problem) => printProblem({ ...problem, excerpt: '' }))
}

/** Undefined while there is no file: in the middle of being replaced, or gone. */
function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

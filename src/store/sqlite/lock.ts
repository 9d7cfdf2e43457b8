// One process per data folder. An exclusive transaction on a file of its own is the lock: the operating
// system ends it with the process, however that dies, so no stale lock is ever left behind.
import { Database } from 'bun:sqlite'
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface FolderLock {
  release(): void
}

/** Where the process that has the folder can be reached. */
export interface RunFile {
  readonly pid: number
  readonly address: string
}

export function prepareFolder(folder: string): void {
  // Only what is made here: a mounted volume may belong to someone else, and so may the rights of `/tmp`.
  // Every file in it is its owner's alone in any case.
  const isNew = mkdirSync(folder, { recursive: true, mode: 0o700 }) !== undefined
  if (isNew) chmodSync(folder, 0o700)
}

// A connection that nobody refers to is closed by the garbage collector, and its lock goes with it.
const held = new Set<Database>()

export function lockFolder(folder: string): FolderLock {
  const file = join(folder, 'lock.db')
  const database = new Database(file, { create: true, readwrite: true })
  try {
    // By name and never through a descriptor: closing one would drop this process's locks on the file.
    chmodSync(file, 0o600)
    database.run('PRAGMA busy_timeout = 0')
    database.run('PRAGMA journal_mode = memory')
    database.run('BEGIN EXCLUSIVE')
  } catch (thrown) {
    database.close()
    throw isBusy(thrown) ? inUse(folder, thrown) : thrown
  }
  held.add(database)
  return {
    release() {
      held.delete(database)
      database.run('ROLLBACK')
      database.close(true)
    },
  }
}

/** Written whole and then renamed, so that nobody reads half of it. */
export function writeRunFile(folder: string, { pid, address }: RunFile): void {
  const file = join(folder, 'run.json')
  const draft = `${file}.new`
  rmSync(draft, { force: true })
  writeFileSync(draft, `${JSON.stringify({ pid, address })}\n`, { mode: 0o600 })
  renameSync(draft, file)
}

/** Undefined when nobody wrote one, or not one that can be read. */
export function findRunFile(folder: string): RunFile | undefined {
  try {
    return parseRunFile(JSON.parse(readFileSync(join(folder, 'run.json'), 'utf8')))
  } catch {
    // The file only makes a message richer; without it the folder is just as much in use.
    return undefined
  }
}

export function removeRunFile(folder: string): void {
  rmSync(join(folder, 'run.json'), { force: true })
}

function parseRunFile(value: unknown): RunFile | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!('pid' in value) || typeof value.pid !== 'number') return undefined
  if (!('address' in value) || typeof value.address !== 'string') return undefined
  return { pid: value.pid, address: value.address }
}

function isBusy(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'SQLITE_BUSY'
}

function inUse(folder: string, cause: unknown): Error {
  const run = findRunFile(folder)
  const holder = run ? `process ${run.pid} at ${run.address}` : 'another process'
  const text = `The data folder ${folder} is in use by ${holder}. Stop it, or choose another folder.`
  return new Error(text, { cause })
}

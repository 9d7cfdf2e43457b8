// Moves the records of closed months into files of their own. A file is written whole, read back and proved
// to be the same chain before one record is removed, so at every moment each record is somewhere.
import { hourOf } from '../../core/hour.ts'
import { createReadStream, createWriteStream, existsSync, type ReadStream } from 'node:fs'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { GatewayError } from '../../core/problem.ts'
import type { ChainPlace, LedgerRepository, Store } from '../../store/store.ts'
import {
  archiveNote,
  hoursOf,
  isMonth,
  monthOf,
  readArchiveNote,
  readMonthNote,
  type ArchiveNote,
  type CarriedOperation,
  type MonthNote,
} from './checkpoint.ts'
import { exportLines, fromLine, type ArchivedRecord } from './export.ts'
import { FaultList } from '../check/findings.ts'
import { findFirstHour } from './month.ts'
import { ChainWalk } from '../check/walk.ts'

export interface ArchiveParts {
  readonly ledger: LedgerRepository
  readonly append: Store['append']
  /** Where the files go. */
  readonly folder: string
  /** The books' own time. */
  readonly now: () => number
  /** Closes the months that can be closed, so that none waits for its hour. */
  readonly closeMonths: () => Promise<unknown>
}

export interface ArchivedMonth {
  readonly month: string
  readonly file: string
  /** The numbers of its first and its last record. */
  readonly first: number
  readonly last: number
}

/** A file that holds no books, or not all of them. */
export class ArchiveFault extends Error {
  override readonly name = 'ArchiveFault'
}

/** One at a time. Whoever asks for the same again waits for the same. */
export class Archive {
  readonly #parts: ArchiveParts
  #running:
    | { readonly before: string; readonly work: Promise<readonly ArchivedMonth[]> }
    | undefined

  constructor(parts: ArchiveParts) {
    this.#parts = parts
  }

  /** Archives every month before this one, which must all be closed; resolves with those it moved now. */
  run(before: string): Promise<readonly ArchivedMonth[]> {
    if (this.#running?.before === before) return this.#running.work
    if (this.#running !== undefined)
      return Promise.reject(
        new GatewayError('conflict', 'Another archive is being written. Wait until it is done.', {
          retryAfter: 60,
        }),
      )
    const work = archiveBooks(this.#parts, before).finally(() => {
      this.#running = undefined
    })
    this.#running = { before, work }
    return work
  }
}

async function archiveBooks(
  parts: ArchiveParts,
  before: string,
): Promise<readonly ArchivedMonth[]> {
  const { ledger, now, closeMonths } = parts
  checkMonth(before, monthOf(hourOf(now())))
  await closeMonths()
  const notes = await ledger.checkpoints()
  const closed = notes.map(readMonthNote).filter((note) => note !== undefined)
  const lastClosed = closed.at(-1)?.month
  if (!isClosed(lastClosed, before)) {
    // Books that began later have nothing that could be open.
    if (await beginsAt(ledger, hoursOf(before).from)) return []
    throw notClosed(lastClosed, before)
  }
  const done: ArchivedMonth[] = []
  for (const note of closed.filter(({ month }) => month < before)) {
    // oxlint-disable-next-line no-await-in-loop -- in the order of the chain
    const { base } = await ledger.head()
    // A month without a record has nothing to move.
    if (note.through.number <= base.number) continue
    // oxlint-disable-next-line no-await-in-loop -- the same
    done.push(await archiveMonth(parts, note, base))
  }
  return done
}

function checkMonth(before: string, current: string): void {
  if (isMonth(before) && before <= current) return
  throw new GatewayError(
    'validation_error',
    `Send \`before\` as a month in UTC such as ${current}, which is also the latest: the months before it are archived.`,
    { param: 'before' },
  )
}

function isClosed(lastClosed: string | undefined, before: string): boolean {
  return lastClosed !== undefined && hoursOf(lastClosed).to >= hoursOf(before).from
}

/** Whether nothing is held in an earlier hour. */
async function beginsAt(ledger: LedgerRepository, hour: number): Promise<boolean> {
  const first = await findFirstHour(ledger)
  return first === undefined || first >= hour
}

function notClosed(lastClosed: string | undefined, before: string): GatewayError {
  const known = lastClosed === undefined ? 'None is' : `The last that is, is ${lastClosed}`
  return new GatewayError(
    'conflict',
    `Not every month before ${before} is closed. ${known}. A month is closed an hour after its end, once every call of it has ended; \`gateway reviews\` lists those that wait for a decision.`,
  )
}

async function archiveMonth(
  { ledger, append, folder, now }: ArchiveParts,
  { month, through }: MonthNote,
  base: ChainPlace,
): Promise<ArchivedMonth> {
  const name = `ledger-${month}.jsonl.gz`
  const stretch = { file: join(folder, name), after: base, through }
  const archives = (await ledger.checkpoints()).map(readArchiveNote)
  const findArchive: FindArchive = (number) =>
    archives.findLast((note) => note?.through.number === number)
  // There is a file where an earlier attempt came this far and no further.
  const { first, open } = existsSync(stretch.file)
    ? await prove(stretch, findArchive)
    : await writeMonth(ledger, stretch, findArchive)
  const note = archiveNote(now(), { month, through, file: name, open })
  await append([{ type: 'note', note }])
  await ledger.forget(through)
  return { month, file: name, first, last: through.number }
}

interface Stretch {
  readonly file: string
  readonly after: ChainPlace
  readonly through: ChainPlace
}

/** Under another name until it is proved, so that a file of this name is always a whole one. */
async function writeMonth(
  ledger: LedgerRepository,
  stretch: Stretch,
  findArchive: FindArchive,
): Promise<Proof> {
  const { file, after, through } = stretch
  const folder = dirname(file)
  const draft = `${file}.new`
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await rm(draft, { force: true })
  const range = { after: after.number, through: through.number }
  const pages = Readable.from(textsOf(exportLines(ledger, range)))
  await pipeline(pages, createGzip(), createWriteStream(draft, { mode: 0o600 }))
  await sync(draft)
  const proof = await prove({ ...stretch, file: draft }, findArchive)
  await rename(draft, file)
  await sync(folder)
  return proof
}

async function* textsOf(pages: AsyncIterable<{ readonly text: string }>): AsyncGenerator<string> {
  for await (const { text } of pages) yield text
}

/** The records are removed on the word of this file, so it must outlast a loss of power. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** The note of the archive that ends with this number. */
type FindArchive = (number: number) => ArchiveNote | undefined

/** A file of an earlier attempt may begin before what the store still has, and never behind it. */
async function prove(stretch: Stretch, findArchive: FindArchive = () => undefined): Promise<Proof> {
  const proof = new Proof(stretch)
  for await (const archived of readProof(stretch.file)) proof.see(archived, findArchive)
  proof.end()
  return proof
}

class Proof {
  /** The number of the first record. */
  first = 0
  readonly #stretch: Stretch
  readonly #faults = new FaultList()
  readonly #open = new Map<string, CarriedOperation>()
  #walk: ChainWalk | undefined
  #meetsStore = false

  constructor(stretch: Stretch) {
    this.#stretch = stretch
  }

  /** What is open at the end of the file. */
  get open(): readonly CarriedOperation[] {
    return [...this.#open.values()]
  }

  see(archived: ArchivedRecord, findArchive: FindArchive): void {
    const { number, previous, record } = archived
    const { after } = this.#stretch
    this.#walk ??= this.#begin(archived, findArchive)
    this.#walk.see(archived)
    this.#meetsStore ||= number - 1 === after.number && previous === after.hash
    if (record.type === 'hold') this.#open.set(record.hold.requestId, record.hold)
    else if (record.type === 'audit') this.#open.delete(record.row.requestId)
  }

  #begin({ number, previous }: ArchivedRecord, findArchive: FindArchive): ChainWalk {
    this.first = number
    for (const each of findArchive(number - 1)?.open ?? []) this.#open.set(each.requestId, each)
    return new ChainWalk({ number: number - 1, hash: previous }, this.#faults)
  }

  end(): void {
    const { file, through } = this.#stretch
    const last = this.#walk?.last
    const [fault] = this.#faults.kept
    if (fault !== undefined) throw unproved(file, `record ${fault.number} ${fault.what}`)
    if (!this.#meetsStore || last?.number !== through.number || last.hash !== through.hash)
      throw unproved(file, 'it is not all of them')
  }
}

async function* readProof(file: string): AsyncGenerator<ArchivedRecord> {
  try {
    yield* readArchive([file])
  } catch (thrown) {
    // To the caller of the gateway it is a problem with a code.
    if (thrown instanceof ArchiveFault) throw unproved(file, thrown.message)
    throw thrown
  }
}

function unproved(file: string, why: string): GatewayError {
  return new GatewayError(
    'internal_error',
    `${file} does not hold the records as the store has them: ${why.replace(/\.$/, '')}. Nothing was removed. Check the books with \`gateway ledger verify\`; a file of that name must be moved away before the next try.`,
    { retryable: false },
  )
}

/** The records of several files, one after another. */
export async function* readArchive(files: readonly string[]): AsyncGenerator<ArchivedRecord> {
  for (const file of files) {
    let line = 0
    for await (const text of linesOf(file)) {
      line += 1
      const record = fromLine(text)
      if (record === undefined) throw new ArchiveFault(`${file}:${line} is no record of the books.`)
      yield record
    }
    if (line === 0) throw new ArchiveFault(`${file} holds no records at all.`)
  }
}

/** As they were exported, packed or not. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of bytesOf(file)) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    // What is unpacked already would else be read in one go, and calls come first.
    await new Promise((resolve) => setImmediate(resolve))
  }
  // A line without its end was cut off.
  if (rest !== '') yield rest
}

async function* bytesOf(file: string): AsyncGenerator<Uint8Array> {
  const bytes = createReadStream(file)
  try {
    yield* file.includes('.gz') ? unpacked(bytes) : bytes
  } catch (cause) {
    throw new ArchiveFault(`${file} cannot be read: ${describe(cause)}.`, { cause })
  }
}

function unpacked(bytes: ReadStream): AsyncIterable<Uint8Array> {
  const unpack = createGunzip()
  // A pipe hands on what is read, and not that it cannot be.
  bytes.on('error', (cause) => unpack.destroy(cause))
  return bytes.pipe(unpack)
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

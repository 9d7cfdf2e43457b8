// Checks the books against themselves: the chain, every operation from its hold to its end, every grant
// against its limit, and what the store says of it all now. Reads pages and keeps only what is open.
import {
  SUM_MAX,
  type ChainPlace,
  type LedgerHead,
  type LedgerRepository,
  type SpentHead,
} from '../../store/store.ts'
import { hoursOf, printHour, readArchiveNote } from '../months/checkpoint.ts'
import { sumOf } from '../entries.ts'
import { Examiner, type Opening } from './examine.ts'
import type { ArchivedRecord } from '../months/export.ts'
import type { Findings } from './findings.ts'
import { ChainWalk } from './walk.ts'

export interface VerifyOptions {
  /** Records that were archived, oldest first, to be walked before those of the store. */
  readonly archived?: AsyncIterable<ArchivedRecord>
  readonly pageRecords?: number
}

const PAGE_RECORDS = 1000

/** The books have been archived while somebody walked through them. */
export class BooksMoved extends Error {
  override readonly name = 'BooksMoved'
}

export async function verifyBooks(
  source: LedgerRepository,
  options: VerifyOptions = {},
): Promise<Findings> {
  const head = await source.spent()
  const archived = options.archived?.[Symbol.asyncIterator]()
  const first = await archived?.next()
  const start = first === undefined || first.done === true ? undefined : first.value
  const after = startOf(head, start)
  const opening = await openingOf(source, after)
  const examiner = new Examiner(opening)
  const overlap = new Overlap(head, start, examiner)
  if (start !== undefined && archived !== undefined) {
    overlap.see(start)
    await walkArchive(archived, overlap)
  }
  // The store answers for the records that it has.
  examiner.beginStore(head.balances)
  await walkStore(source, head, examiner, options.pageRecords ?? PAGE_RECORDS)
  await overlap.check(source)
  checkEnd(examiner, head)
  checkSpent(examiner, head)
  examiner.payers.compare(head.balances)
  checkOpen(examiner, head)
  checkAccounts(examiner)
  return findingsOf(examiner, head, after)
}

/** A file whose records are all still here begins no earlier than the store does. */
function startOf({ base }: LedgerHead, start: ArchivedRecord | undefined): ChainPlace {
  if (start === undefined || start.number > base.number) return base
  return { number: start.number - 1, hash: start.previous }
}

/**
 * What is archived and still in the store: files are written before records are removed, and anyone may
 * export what is here. These records are examined as the store has them, and the file must agree.
 */
class Overlap {
  readonly #base: ChainPlace
  readonly #start: ArchivedRecord | undefined
  readonly #examiner: Examiner
  #walk: ChainWalk | undefined

  constructor({ base }: LedgerHead, start: ArchivedRecord | undefined, examiner: Examiner) {
    this.#base = base
    this.#start = start
    this.#examiner = examiner
  }

  see(archived: ArchivedRecord): void {
    if (archived.number <= this.#base.number) return this.#examiner.see(archived)
    this.#walk ??= this.#begin()
    this.#walk.see(archived)
  }

  /** Where the last hash is the same, and the chain before it whole, everything before is. */
  async check(source: LedgerRepository): Promise<void> {
    if (this.#walk === undefined) return
    const { number, hash } = this.#walk.last
    const [found] = await source.records(number - 1, 1)
    if (found?.number !== number) await checkStill(source, this.#base)
    if (found?.number !== number)
      this.#examiner.faults.add('is in the archive and not in the store', number)
    else if (found.hash !== hash)
      this.#examiner.faults.add('is another record in the archive than in the store', number)
  }

  #begin(): ChainWalk {
    const { faults, walk } = this.#examiner
    const start = this.#start
    const isInside = start !== undefined && start.number > this.#base.number
    const after = isInside ? { number: start.number - 1, hash: start.previous } : walk.last
    return new ChainWalk(after, faults)
  }
}

/** Behind an archive the books go on with what was open, and with every hour of the months after it. */
async function openingOf(source: LedgerRepository, after: ChainPlace): Promise<Opening> {
  // The beginning. Versions without a chain may have spent before it, in the first hour, too.
  if (after.hash === '')
    return { after, open: [], completeFrom: (hour) => (after.number === 0 ? 0 : hour + 1) }
  const notes = (await source.checkpoints()).map(readArchiveNote)
  const note = notes.findLast((each) => each?.through.number === after.number)
  if (note === undefined) return { after, open: undefined, completeFrom: (hour) => hour + 1 }
  const { to } = hoursOf(note.month)
  return { after, open: note.open, completeFrom: () => to }
}

async function walkArchive(
  archived: AsyncIterator<ArchivedRecord>,
  overlap: Overlap,
): Promise<void> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one record after another
    const { done, value } = await archived.next()
    if (done === true) return
    overlap.see(value)
  }
}

/** Up to the record that was the last when the check began: a live store goes on. */
async function walkStore(
  source: LedgerRepository,
  { base, last }: LedgerHead,
  examiner: Examiner,
  pageRecords: number,
): Promise<void> {
  let after = Math.max(base.number, examiner.walk.last.number)
  while (after < last.number) {
    // oxlint-disable-next-line no-await-in-loop -- a page begins where the one before ended
    const page = await source.records(after, Math.min(pageRecords, last.number - after))
    const records = page.filter(({ number }) => number <= last.number)
    // oxlint-disable-next-line no-await-in-loop -- only where something is missing
    if (records[0]?.number !== after + 1) await checkStill(source, base)
    for (const record of records) examiner.see(record)
    const end = records.at(-1)?.number
    if (end === undefined || end <= after) return
    after = end
  }
}

async function checkStill(source: LedgerRepository, base: ChainPlace): Promise<void> {
  const now = await source.head()
  if (now.base.number !== base.number)
    throw new BooksMoved('Records were archived while they were being read. Begin again.')
}

function checkEnd({ walk, faults }: Examiner, { last }: LedgerHead): void {
  if (walk.last.number < last.number)
    faults.add(`is the last record, and there are none behind ${walk.last.number}`, last.number)
  else if (walk.last.hash !== last.hash)
    faults.add('is the last record, and the store knows another hash of it', last.number)
}

function checkSpent({ keys, faults }: Examiner, { spent }: SpentHead): void {
  const known = new Set<string>()
  for (const { keyId, hour, amount } of spent) {
    known.add(`${keyId} ${hour}`)
    const found = keys.get(keyId)?.spent.get(hour) ?? 0n
    const isAsMuch = found === amount || (amount >= SUM_MAX && found > amount)
    if (!isAsMuch) faults.add(spentFault(keyId, hour, { amount, found }))
  }
  for (const [keyId, book] of keys)
    for (const [hour, found] of book.spent)
      if (found !== 0n && !known.has(`${keyId} ${hour}`))
        faults.add(spentFault(keyId, hour, { amount: 0n, found }))
}

function spentFault(
  keyId: string,
  hour: number,
  { amount, found }: { readonly amount: bigint; readonly found: bigint },
): string {
  const when = printHour(hour)
  return `${keyId} has spent ${amount} nano-dollars in the hour ${when} by the store, ${found} by the records`
}

function checkOpen({ open, faults }: Examiner, head: LedgerHead): void {
  const said = new Set(head.open)
  for (const { requestId, number } of open.values())
    if (!said.delete(requestId))
      faults.add('has no end, and the store does not take it for open', number, requestId)
  for (const requestId of said)
    faults.add('is open by the store and not by the records', undefined, requestId)
}

function checkAccounts({ months, faults }: Examiner): void {
  for (const [month, accounts] of months)
    if (sumOf(accounts) !== 0n) faults.add(`the accounts of ${month} do not sum to zero`)
}

function findingsOf(examiner: Examiner, { writer }: LedgerHead, after: ChainPlace): Findings {
  const { walk, faults, remarks, counts, months, open } = examiner
  const inReview = [...open.values()].filter(({ isInReview }) => isInReview).length
  return {
    isClean: faults.count === 0,
    writer,
    after,
    last: walk.last,
    counts: { ...counts, open: open.size, inReview },
    months: [...months]
      .map(([month, accounts]) => ({ month, accounts: [...accounts].toSorted(byName) }))
      .toSorted((left, right) => (left.month < right.month ? -1 : 1)),
    faults: faults.kept,
    faultCount: faults.count,
    remarks: remarks.kept,
    remarkCount: remarks.count,
  }
}

function byName([left]: readonly [string, bigint], [right]: readonly [string, bigint]): number {
  return left < right ? -1 : 1
}

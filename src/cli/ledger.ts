// The commands about the books. Checking and exporting read the files beside a gateway that may run on
// them; archiving changes them, and so is asked of the gateway.
import { existsSync, readdirSync, statSync } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { printUsd } from '../core/money.ts'
import type { Fault, Findings, MonthTotals } from '../ledger/check/findings.ts'
import type { InspectedLedger } from '../store/sqlite/inspect.ts'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { findDataFolder } from './files.ts'
import { parseExactly, toList, toRecord, toText } from './json.ts'
import { reach, somethingElse } from './live.ts'
import { count } from './print.ts'
import type { Column } from './table.ts'

/** How often a check is begun again because the books were archived meanwhile. */
const TRIES = 3
/** A person reads the first few; the machine form has more. */
const SHOWN_MAX = 20
const DAMAGED = 'Stop the gateway, keep a copy of the data folder, and find out who wrote to it.'

export async function verifyLedger(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const files = words.texts('archive').flatMap(archivesAt)
  const ledger = await openBooks(words, desk)
  try {
    const findings = await verify(ledger, files)
    if (screen.isMachine) screen.json(toMachine(findings))
    else show(findings, desk)
    if (!findings.isClean)
      throw new CliFailure('refused', `The books have ${count(findings.faultCount, 'fault')}.`, {
        advice: DAMAGED,
      })
    if (!screen.isMachine) screen.print('The books are in order.')
  } finally {
    ledger.close()
  }
}

async function verify(ledger: InspectedLedger, files: readonly string[]): Promise<Findings> {
  const { BooksMoved, verifyBooks } = await import('../ledger/check/verify.ts')
  const { ArchiveFault, readArchive } = await import('../ledger/months/archive.ts')
  for (let attempt = 1; ; attempt += 1) {
    try {
      const archived = files.length === 0 ? {} : { archived: readArchive(files) }
      // oxlint-disable-next-line no-await-in-loop -- only where the books have moved
      return await verifyBooks(ledger, archived)
    } catch (thrown) {
      // A file that is none is the caller's; the books may move under whoever reads them.
      if (thrown instanceof ArchiveFault) throw new CliFailure('refused', thrown.message)
      if (!(thrown instanceof BooksMoved)) throw unread(ledger.file, thrown)
      if (attempt === TRIES) throw thrown
    }
  }
}

/** What cannot be read cannot be checked, and that is the finding. */
function unread(file: string, thrown: unknown): CliFailure {
  const message = `The books in ${file} cannot be checked to their end. ${spell(thrown)}`
  return new CliFailure('refused', message, { advice: DAMAGED, cause: thrown })
}

function spell(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  return thrown.cause instanceof Error && !thrown.message.includes(thrown.cause.message)
    ? `${thrown.message.replace(/\.$/, '')}: ${thrown.cause.message}.`
    : thrown.message
}

/** A folder stands for all that were ever archived into it; their names are in the order of time. */
function archivesAt(path: string): readonly string[] {
  if (!existsSync(path)) throw new CliFailure('refused', `There is no ${path}.`)
  if (!statSync(path).isDirectory()) return [path]
  const names = readdirSync(path).filter((name) => /^ledger-\d{4}-\d{2}\.jsonl\.gz$/.test(name))
  if (names.length === 0)
    throw new CliFailure('refused', `There is no archive in ${path}.`, {
      advice: 'Name the folder with the files ledger-YYYY-MM.jsonl.gz, or one such file.',
    })
  return names.toSorted().map((name) => join(path, name))
}

async function openBooks(words: Words, { terminal }: Desk): Promise<InspectedLedger> {
  const { path } = await findDataFolder({
    data: words.text('data'),
    config: words.text('config'),
    environment: terminal.environment,
  })
  if (!existsSync(join(path, 'gateway.db')))
    throw new CliFailure('refused', `There are no books in ${path}.`, {
      advice: 'Name the data folder of the gateway with --data or GATEWAY_DATA.',
    })
  const { inspectLedger } = await import('../store/sqlite/inspect.ts')
  return inspectLedger(path)
}

const FAULT_COLUMNS: readonly Column[] = [
  { title: 'RECORD', align: 'right' },
  { title: 'REQUEST', rank: 1 },
  { title: 'WHAT IS WRONG' },
]

const REMARK_COLUMNS: readonly Column[] = [
  { title: 'RECORD', align: 'right' },
  { title: 'REQUEST', rank: 1 },
  { title: 'REMARK' },
]

const MONTH_COLUMNS: readonly Column[] = [
  { title: 'MONTH' },
  { title: 'KEYS USD', align: 'right' },
  { title: 'OVERRUN USD', align: 'right' },
  { title: 'SUSPENSE USD', align: 'right' },
  { title: 'SUPPLIERS USD', align: 'right' },
]

function show(findings: Findings, { screen }: Desk): void {
  const { counts, after, last, months, faults, faultCount, remarks, remarkCount } = findings
  screen.sheet([
    ['Records', `${counts.records} (${after.number + 1} to ${last.number})`],
    ['Last hash', last.hash],
    ['Calls held', `${counts.operations}`],
    ['Settled', `${counts.settled}`],
    ['Voided', `${counts.voided}`],
    ['Open', `${counts.open}, ${counts.inReview} of them in review`],
    ['Refused', `${counts.refused}`],
    ...(counts.unchecked === 0 ? [] : [uncheckedOf(counts.unchecked)]),
  ])
  if (months.length > 0) {
    screen.print('')
    screen.table(MONTH_COLUMNS, months.map(monthRow))
  }
  for (const [columns, list, all] of [
    [REMARK_COLUMNS, remarks, remarkCount],
    [FAULT_COLUMNS, faults, faultCount],
  ] as const) {
    if (all === 0) continue
    screen.print('')
    screen.table(columns, list.slice(0, SHOWN_MAX).map(faultRow))
    if (all > SHOWN_MAX)
      screen.print(`… and ${all - SHOWN_MAX} more; --json shows the first hundred.`)
  }
  screen.print('')
}

function uncheckedOf(holds: number): readonly [string, string] {
  const what = `${count(holds, 'hold')}: their period begins before the first record`
  return ['Limits unchecked', what]
}

function monthRow({ month, accounts }: MonthTotals): readonly string[] {
  const sum = (prefix: string): bigint =>
    accounts
      .filter(([account]) => account.startsWith(prefix))
      .reduce((total, [, amount]) => total + amount, 0n)
  const sums = [sum('key/'), sum('overrun'), sum('suspense/'), -sum('supplier/')]
  return [month, ...sums.map((each) => printUsd(each))]
}

function faultRow({ number, requestId = '', what }: Fault): readonly string[] {
  return [number === undefined ? '' : `${number}`, requestId, what]
}

function toMachine(findings: Findings): object {
  const { counts } = findings
  return {
    object: 'ledger.findings',
    is_clean: findings.isClean,
    writer: findings.writer,
    after: findings.after,
    last: findings.last,
    records: counts.records,
    operations: counts.operations,
    settled: counts.settled,
    voided: counts.voided,
    refused: counts.refused,
    open: counts.open,
    in_review: counts.inReview,
    unchecked: counts.unchecked,
    months: findings.months.map(({ month, accounts }) => ({
      month,
      accounts: accounts.map(([account, amount]) => ({
        account,
        amount_usd: JSON.rawJSON(printUsd(amount)),
      })),
    })),
    fault_count: findings.faultCount,
    faults: findings.faults.map(machineFault),
    remark_count: findings.remarkCount,
    remarks: findings.remarks.map(machineFault),
  }
}

function machineFault({ number, requestId, what }: Fault): object {
  return { number: number ?? null, request_id: requestId ?? null, what }
}

export async function exportLedger(words: Words, desk: Desk): Promise<void> {
  const { screen, terminal } = desk
  const after = readNumber(words.text('after'))
  const out = words.text('out')
  const file = out === undefined ? undefined : resolve(out)
  if (file !== undefined && existsSync(file) && !words.has('force'))
    throw new CliFailure('refused', `${file} exists already.`, {
      advice: 'Name another file, or overwrite it with --force.',
    })
  const ledger = await openBooks(words, desk)
  try {
    const { exportLines } = await import('../ledger/months/export.ts')
    const { base, last } = await ledger.head()
    const pages = exportLines(ledger, {
      after: Math.max(after, base.number),
      through: last.number,
    })
    if (file === undefined) {
      for await (const { text } of pages) terminal.stdout(text)
      return
    }
    const records = await writeTo(file, pages)
    if (screen.isMachine) screen.json({ object: 'ledger.export', file, records })
    else screen.print(`Wrote ${count(records, 'record')} to ${file}.`)
  } finally {
    ledger.close()
  }
}

interface Piece {
  readonly text: string
  readonly records: readonly unknown[]
}

/** Under another name until it is whole, so that half an export is never taken for one. */
async function writeTo(file: string, pages: AsyncIterable<Piece>): Promise<number> {
  const draft = `${file}.${crypto.randomUUID()}`
  let written = 0
  try {
    const handle = await open(draft, 'wx', 0o600)
    try {
      for await (const { text, records } of pages) {
        await handle.write(text)
        written += records.length
      }
    } finally {
      await handle.close()
    }
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
  return written
}

function readNumber(text: string | undefined): number {
  if (text === undefined) return 0
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw wrongUsage('--after takes the number of a record.')
}

export async function archiveLedger(words: Words, desk: Desk): Promise<void> {
  const { screen } = desk
  const before = words.text('before') ?? ''
  const live = await reach(words, desk)
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- the gateway answers before it is done, or when it is
    const { value, text } = await live.call('POST', '/v1/manage/ledger/archive', { before })
    const { status, months } = toRecord(value)
    if (status === 'running') continue
    if (status !== 'done') throw somethingElse(live.url)
    if (screen.isMachine) return screen.json(parseExactly(text))
    const files = toList(months).map(toRecord)
    for (const { month, file, first, last } of files)
      screen.print(
        `${toText(month)}: records ${toText(first)} to ${toText(last)} are in ${toText(file)}.`,
      )
    if (files.length === 0)
      screen.print(`There is nothing to archive: no record is older than ${before}.`)
    return
  }
}

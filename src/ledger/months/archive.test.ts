// Records leave the store only for a file that was read back and proved, and the books can be checked with
// the files and without them.
import { afterEach, beforeEach, describe, expect, it } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { Clerk, payerText } from '../../../test/fakes/books.ts'
import type { HoldRecord } from '../../core/record.ts'
import { toNanoUsd } from '../../core/money.ts'
import { createLog } from '../../observe/log.ts'
import type { ChainedRecord } from '../../store/store.ts'
import { Archive, ArchiveFault, readArchive } from './archive.ts'
import { readMonthNote } from './checkpoint.ts'
import { exportLines, fromLine, toLine, type ExportRange } from './export.ts'
import { closeMonth, Months } from './month.ts'
import { verifyBooks } from '../check/verify.ts'

const HOUR_MS = 3_600_000
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

const ROUTE = '{"snapshot":"a","listed":["first"]}'

/**
 * October and November, with a call from either month into the next; it is December. In October nobody paid yet, but
 * for what was put into a wallet at its end.
 */
async function keepMonths(): Promise<Clerk> {
  const clerk = new Clerk()
  const budget = { limit: 3_000_000, period: 'monthly' } as const
  let late: HoldRecord | undefined
  for (const month of [9, 10]) {
    clerk.at = Date.UTC(2026, month, 12)
    if (late !== undefined) clerk.settle(late, 2000)
    for (let index = 0; index < 3; index += 1) {
      clerk.at += 30 * HOUR_MS
      // Routes are told later than payers.
      const route = index > 0 && month > 9 ? ROUTE : undefined
      clerk.settle(clerk.hold('key_a', 500_000, budget)!, 20 * index, { route })
      clerk.refuse('key_a', 2)
    }
    late = clerk.hold('key_b', 500_000, budget)
    clerk.void(clerk.hold('key_b', 400_000, budget)!, toNanoUsd(77))
    if (clerk.payer === undefined) clerk.credit('wal_a', 2_000_000)
    clerk.payer = payerText()
    clerk.claim = { id: 'c2hhMjU2', fingerprint: 'cHJpbnQ=' }
  }
  clerk.at = Date.UTC(2026, 11, 4)
  clerk.hold('key_a', 100_000, budget)
  clerk.settle(late!, 3)
  clerk.at += HOUR_MS
  for (const month of ['2026-10', '2026-11'])
    await closeMonth(clerk.books, clerk.books.append, { month, at: clerk.at })
  return clerk
}

function archiveOf(
  { books, at }: Clerk,
  closeMonths: () => Promise<unknown> = async () => {},
): Archive {
  return new Archive({ ledger: books, append: books.append, folder, now: () => at, closeMonths })
}

async function writeLines(name: string, { books }: Clerk, range: ExportRange): Promise<string> {
  let text = ''
  for await (const page of exportLines(books, range)) text += page.text
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

function withoutPrevious({ number, hash, record }: ChainedRecord): ChainedRecord {
  return { number, hash, record }
}

function fileOf(month: string): string {
  return join(folder, `ledger-${month}.jsonl.gz`)
}

describe('an export', () => {
  it('has a line for every record, and each can be read back as it was', async () => {
    const { books } = await keepMonths()
    let text = ''
    const range = { after: 0, through: books.last.number, pageRecords: 3 }
    for await (const page of exportLines(books, range)) text += page.text
    const lines = text.trimEnd().split('\n')
    const read = lines.map((line) => fromLine(line)!)
    expect(read.map(withoutPrevious)).toEqual(books.chain)
    expect(read.map(({ previous }) => previous)).toEqual([
      '',
      ...books.chain.slice(0, -1).map(({ hash }) => hash),
    ])
  })

  it('names amounts by their unit and tells what was booked', async () => {
    const { books } = await keepMonths()
    const number = books.numberOf(({ type, ...record }) =>
      'row' in record ? type === 'audit' && record.row.overrun > 0 : false,
    )
    const line: unknown = JSON.parse(toLine(books.chain[number - 1]!, 'before'))
    expect(line).toMatchObject({
      number,
      previous: 'before',
      type: 'audit',
      key_id: 'key_b',
      cost_nano_usd: 500_000,
      overrun_nano_usd: 715_000,
      project_id: null,
      entries: [
        { credit: 'supplier/first', amount_nano_usd: 500_000 },
        { debit: 'overrun', credit: 'supplier/first', amount_nano_usd: 715_000 },
      ],
    })
  })

  it('lets anyone make the hashes anew, as the page about the books tells', async () => {
    const { books } = await keepMonths()
    for await (const { text } of exportLines(books, { after: 0, through: books.last.number }))
      for (const line of text.trimEnd().split('\n')) {
        const parsed = JSON.parse(line) as Record<string, unknown>
        const { number: _number, hash, previous, entries: _entries, ...fields } = parsed
        // Names inside it are spelled otherwise.
        if (fields['details']) continue
        const values = Object.entries(fields).map(([name, value]) =>
          ['terms', 'payer', 'route', 'body'].includes(name)
            ? String(value)
            : JSON.stringify(value),
        )
        const hasher = new Bun.CryptoHasher('sha256')
        expect(hasher.update(`${String(previous)}\n[${values.join(',')}]`).digest('base64')).toBe(
          String(hash),
        )
      }
  })

  it('goes on behind any number', async () => {
    const { books } = await keepMonths()
    let text = ''
    for await (const page of exportLines(books, { after: 5, through: 7 })) text += page.text
    const [first, second] = text
      .trimEnd()
      .split('\n')
      .map((line) => fromLine(line)!)
    expect([first?.number, second?.number]).toEqual([6, 7])
    expect(first?.previous).toBe(books.chain[4]!.hash)
  })

  it('refuses lines that are no records', () => {
    for (const line of [
      '',
      '{',
      '[]',
      '{"number":1}',
      '{"number":1,"hash":"a","previous":"","type":"hold"}',
    ])
      expect(fromLine(line)).toBeUndefined()
  })
})

describe('an archive', () => {
  it('moves whole months into files that only their owner reads', async () => {
    const clerk = await keepMonths()
    const before = [...clerk.books.chain]
    const months = await archiveOf(clerk).run('2026-12')
    expect(months.map(({ month, file }) => [month, file])).toEqual([
      ['2026-10', 'ledger-2026-10.jsonl.gz'],
      ['2026-11', 'ledger-2026-11.jsonl.gz'],
    ])
    expect(readdirSync(folder).toSorted()).toEqual(months.map(({ file }) => file))
    expect(statSync(fileOf('2026-10')).mode & 0o777).toBe(0o600)
    const kept: unknown[] = []
    for await (const each of readArchive([fileOf('2026-10'), fileOf('2026-11')]))
      kept.push(withoutPrevious(each))
    expect(kept).toEqual(before.slice(0, months[1]!.last))
    expect(clerk.books.base.number).toBe(months[1]!.last)
    expect(clerk.books.chain[0]?.number).toBe(months[1]!.last + 1)
  })

  it('leaves books that are clean with it, without it, and with the last part of it', async () => {
    const clerk = await keepMonths()
    const { months } = await verifyBooks(clerk.books)
    await archiveOf(clerk).run('2026-12')
    const alone = await verifyBooks(clerk.books)
    expect(alone.faults).toEqual([])
    expect(alone.counts.unchecked).toBe(0)
    const whole = await verifyBooks(clerk.books, {
      archived: readArchive([fileOf('2026-10'), fileOf('2026-11')]),
    })
    expect(whole.faults).toEqual([])
    expect(whole.months).toEqual(months)
    const part = await verifyBooks(clerk.books, { archived: readArchive([fileOf('2026-11')]) })
    expect(part.faults).toEqual([])
  })

  it('can be made month by month', async () => {
    const clerk = await keepMonths()
    const first = await archiveOf(clerk).run('2026-11')
    expect(first.map(({ month }) => month)).toEqual(['2026-10'])
    expect((await verifyBooks(clerk.books)).faults).toEqual([])
    const second = await archiveOf(clerk).run('2026-12')
    expect(second.map(({ month }) => month)).toEqual(['2026-11'])
    expect((await verifyBooks(clerk.books)).faults).toEqual([])
    expect(await archiveOf(clerk).run('2026-12')).toEqual([])
  })

  it('tells a call that ended elsewhere than in its file when the books say otherwise', async () => {
    const clerk = await keepMonths()
    await archiveOf(clerk).run('2026-12')
    const number = clerk.books.numberOf(
      (record) => record.type === 'audit' && record.row.keyId === 'key_b',
    )
    clerk.books.editRow(number, { held: toNanoUsd(9) })
    const { faults } = await verifyBooks(clerk.books)
    expect(faults).toContainEqual(
      expect.objectContaining({ number, what: 'says that 9 were held, and 500000 were' }),
    )
  })

  it('is not made of months that are not closed, or of this one', async () => {
    const clerk = await keepMonths()
    expect(archiveOf(clerk).run('2027-01')).rejects.toMatchObject({
      code: 'validation_error',
      param: 'before',
    })
    expect(archiveOf(clerk).run('12/2026')).rejects.toMatchObject({
      code: 'validation_error',
    })
    clerk.at = Date.UTC(2027, 0, 1, 0, 30)
    expect(archiveOf(clerk).run('2027-01')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('The last that is, is 2026-11'),
    })
    expect(readdirSync(folder)).toEqual([])
  })

  it('closes what can be closed before, and does not wait for the hour', async () => {
    const clerk = new Clerk()
    clerk.settle(clerk.hold('key_a', 500_000)!, 20)
    clerk.at = Date.UTC(2026, 10, 3)
    const { books, at } = clerk
    const months = new Months({
      ledger: books,
      append: books.append,
      now: () => at,
      oldestOpenHour: () => undefined,
      log: createLog({ write: () => {}, now: () => 0, isTerminal: true }),
    })
    const [month] = await archiveOf(clerk, () => months.run()).run('2026-11')
    expect(month).toMatchObject({ month: '2026-10', first: 1, last: 2 })
    expect((await verifyBooks(books)).faults).toEqual([])
  })

  it('has nothing to do where nothing is older', async () => {
    expect(await archiveOf(new Clerk()).run('2026-10')).toEqual([])
    const clerk = new Clerk()
    clerk.hold('key_a', 500_000)
    expect(await archiveOf(clerk).run('2026-10')).toEqual([])
    clerk.at = Date.UTC(2026, 10, 3)
    expect(archiveOf(clerk).run('2026-11')).rejects.toMatchObject({ code: 'conflict' })
  })

  it('that reaches into what the store still has is no fault', async () => {
    const clerk = await keepMonths()
    const last = clerk.books.last.number
    const everything = await writeLines('all.jsonl', clerk, { after: 0, through: last })
    const inner = await writeLines('inner.jsonl', clerk, { after: 4, through: last - 2 })
    for (const file of [everything, inner])
      expect(await verifyBooks(clerk.books, { archived: readArchive([file]) })).toMatchObject({
        faults: [],
        counts: { records: last },
      })
    await clerk.books.forget(clerk.books.chain[2]!)
    const { faults, counts } = await verifyBooks(clerk.books, {
      archived: readArchive([everything]),
    })
    expect([faults, counts.records]).toEqual([[], last])
  })

  it('that says something else than the store is told', async () => {
    const clerk = await keepMonths()
    const last = clerk.books.last.number
    const other = await keepMonths()
    other.books.editRow(2, { latencyMs: 1 })
    other.books.rechain()
    const file = await writeLines('other.jsonl', other, { after: 0, through: last })
    const differing = await verifyBooks(clerk.books, { archived: readArchive([file]) })
    expect(differing.faults).toEqual([
      expect.objectContaining({
        number: last,
        what: 'is another record in the archive than in the store',
      }),
    ])
    const whole = await writeLines('whole.jsonl', clerk, { after: 0, through: last })
    clerk.books.chain.pop()
    const cut = await verifyBooks(clerk.books, { archived: readArchive([whole]) })
    expect(cut.faults.map(({ number, what }) => [number, what])).toContainEqual([
      last,
      'is in the archive and not in the store',
    ])
  })

  it('removes nothing where what was written is not what the store has', async () => {
    const clerk = await keepMonths()
    clerk.books.editRow(2, { cost: toNanoUsd(1) })
    const { length } = clerk.books.chain
    expect(archiveOf(clerk).run('2026-12')).rejects.toMatchObject({
      message: expect.stringContaining('record 2 its hash is not that of'),
    })
    expect(clerk.books.chain.length).toBe(length)
    expect(readdirSync(folder)).toEqual(['ledger-2026-10.jsonl.gz.new'])
  })

  it('goes on where it was interrupted, and overwrites no file', async () => {
    const clerk = await keepMonths()
    const { books } = clerk
    const forget = books.forget.bind(books)
    books.forget = async () => {
      throw new Error('power cut')
    }
    expect(archiveOf(clerk).run('2026-11')).rejects.toThrow('power cut')
    const bytes = readFileSync(fileOf('2026-10'))
    // Only some of the records were removed by then.
    await forget(books.chain[2]!)
    expect((await verifyBooks(books)).faults).toEqual([])
    const withFile = await verifyBooks(books, { archived: readArchive([fileOf('2026-10')]) })
    expect(withFile.faults).toEqual([])
    books.forget = forget
    const [month] = await archiveOf(clerk).run('2026-11')
    expect(month).toMatchObject({ month: '2026-10', first: 1 })
    expect(readFileSync(fileOf('2026-10')).equals(bytes)).toBe(true)
    expect((await verifyBooks(books)).faults).toEqual([])
  })

  it('takes no file of that name for its own that is cut, or of other books', async () => {
    const clerk = await keepMonths()
    const { length } = clerk.books.chain
    const other = await keepMonths()
    other.books.editRow(2, { latencyMs: 1 })
    other.books.rechain()
    await closeMonth(other.books, other.books.append, { month: '2026-10', at: other.at })
    writeFileSync(fileOf('2026-10'), 'no gzip at all')
    expect(archiveOf(clerk).run('2026-11')).rejects.toMatchObject({ code: 'internal_error' })
    let text = ''
    for await (const page of exportLines(other.books, { after: 0, through: 9 })) text += page.text
    writeFileSync(fileOf('2026-10'), gzipSync(text))
    expect(archiveOf(clerk).run('2026-11')).rejects.toThrow('it is not all of them')
    text = ''
    const [note] = await clerk.books.checkpoints()
    const { through } = readMonthNote(note!)!
    const rest = exportLines(clerk.books, { after: 2, through: through.number })
    for await (const page of rest) text += page.text
    writeFileSync(fileOf('2026-10'), gzipSync(text))
    expect(archiveOf(clerk).run('2026-11')).rejects.toThrow('it is not all of them')
    expect(clerk.books.chain.length).toBe(length)
  })

  it('is written once at a time', async () => {
    const clerk = await keepMonths()
    const archive = archiveOf(clerk)
    const first = archive.run('2026-12')
    expect(archive.run('2026-12')).toBe(first)
    expect(archive.run('2026-11')).rejects.toMatchObject({ code: 'conflict' })
    expect((await first).length).toBe(2)
  })
})

describe('a file of the archive', () => {
  it('that is damaged is told by its line, or by its record', async () => {
    const clerk = await keepMonths()
    await archiveOf(clerk).run('2026-12')
    const lines = gunzipSync(readFileSync(fileOf('2026-10')))
      .toString()
      .split('\n')
    const check = async (text: string) => {
      const file = join(folder, 'damaged.jsonl')
      writeFileSync(file, text)
      const { faults } = await verifyBooks(clerk.books, {
        archived: readArchive([file, fileOf('2026-11')]),
      })
      return faults
    }
    expect(await check(lines.join('\n'))).toEqual([])
    const edited = lines.with(1, lines[1]!.replace('"cost_nano_usd":', '"cost_nano_usd":1'))
    expect(await check(edited.join('\n'))).toContainEqual(expect.objectContaining({ number: 2 }))
    expect(await check(lines.toSpliced(3, 1).join('\n'))).toContainEqual(
      expect.objectContaining({ number: 4, what: 'is missing' }),
    )
    expect(check(lines.with(2, lines[2]!.slice(0, 40)).join('\n'))).rejects.toThrow(
      'damaged.jsonl:3 is no record of the books',
    )
    expect(check('')).rejects.toThrow('damaged.jsonl holds no records at all')
  })

  it('that is not there is told by its name', async () => {
    const { books } = await keepMonths()
    const archived = readArchive([fileOf('2020-01')])
    expect(verifyBooks(books, { archived })).rejects.toThrow(ArchiveFault)
  })
})

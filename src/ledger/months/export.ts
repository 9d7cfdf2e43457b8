// Records as lines of JSON: every field that the chain covers, under the names that the outside knows, and
// what the record books. Amounts are whole nano-dollars. A line can be read back and its hash made anew.
import type { AuditRow, CallDetails } from '../../core/audit.ts'
import type { HoldRecord, LedgerRecord, NoteRecord } from '../../core/record.ts'
import type { ChainedRecord, LedgerHead, LedgerRepository } from '../../store/store.ts'
import { entriesOf } from '../entries.ts'

/** A record as a line tells it, which no store need have any more. */
export interface ArchivedRecord extends ChainedRecord {
  /** The hash of the record before. */
  readonly previous: string
}

type Fields = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

/** One that is missing here does not compile, so no line can lack a field. */
type Shape<Kind> = Readonly<Record<keyof Kind, Check>>

/** How a record is told: each field by both its names, in order. */
interface Form<Kind> {
  readonly fields: readonly Field[]
  is(values: unknown): values is Kind
}

interface Field {
  readonly name: string
  readonly outside: string
  readonly check: Check
}

const isText: Check = (value) => typeof value === 'string'
const isNumber: Check = (value) => typeof value === 'number'
const isFlag: Check = (value) => typeof value === 'boolean'
const isAmount: Check = (value) => Number.isSafeInteger(value)

const isClaim: Check = (value) =>
  isFields(value) && isText(value['id']) && isText(value['fingerprint'])

function absentOr(check: Check): Check {
  return (value) => value === undefined || check(value)
}

/** Names of amounts say so, at whatever depth they stand. */
const AMOUNTS = new Set(['amount', 'limit', 'cost', 'held', 'overrun', 'suspense'])
const AMOUNT_SUFFIX = '_nano_usd'

const HOLD = formOf<HoldRecord>({
  at: isNumber,
  hour: isNumber,
  requestId: isText,
  accountId: isText,
  projectId: absentOr(isText),
  keyId: isText,
  endpoint: isText,
  model: isText,
  stream: isFlag,
  amount: isAmount,
  limit: absentOr(isAmount),
  period: absentOr(isText),
  inputTokens: isNumber,
  maxTokens: isNumber,
  terms: isText,
  payer: absentOr(isText),
  claim: absentOr(isClaim),
})

const AUDIT = formOf<AuditRow>({
  at: isNumber,
  requestId: isText,
  accountId: isText,
  projectId: absentOr(isText),
  keyId: isText,
  endpoint: isText,
  model: isText,
  supplier: absentOr(isText),
  region: absentOr(isText),
  inputTokens: absentOr(isNumber),
  outputTokens: absentOr(isNumber),
  cost: isAmount,
  latencyMs: isNumber,
  firstTokenMs: absentOr(isNumber),
  status: isNumber,
  code: absentOr(isText),
  stream: isFlag,
  attempts: isNumber,
  state: isText,
  evidence: absentOr(isText),
  held: absentOr(isAmount),
  hour: absentOr(isNumber),
  overrun: isAmount,
  heldMs: absentOr(isNumber),
  count: isNumber,
  details: absentOr(isDetails),
  payer: absentOr(isText),
  route: absentOr(isText),
})

const NOTE = formOf<NoteRecord>({
  at: isNumber,
  kind: isText,
  requestId: absentOr(isText),
  body: isText,
})

/** One line, with its end. */
export function toLine({ number, hash, record }: ChainedRecord, previous: string): string {
  const entries = entriesOf(record).map(toOutside)
  const line = { number, hash, previous, type: record.type, ...fieldsOf(record), entries }
  return `${JSON.stringify(line)}\n`
}

/** Undefined for what is no line of these books. */
export function fromLine(text: string): ArchivedRecord | undefined {
  const line = parse(text)
  if (!isFields(line)) return undefined
  const { number, hash, previous } = line
  if (typeof number !== 'number' || typeof hash !== 'string' || typeof previous !== 'string')
    return undefined
  const record = toRecord(line)
  return record === undefined ? undefined : { number, hash, previous, record }
}

/** A page of lines each; memory stays small however long the books are. */
export async function* exportLines(
  source: LedgerRepository,
  { after, through, pageRecords = PAGE_RECORDS }: ExportRange,
): AsyncGenerator<ExportPage> {
  let previous = await hashBefore(source, after)
  let last = after
  while (last < through) {
    // oxlint-disable-next-line no-await-in-loop -- a page begins where the one before ended
    const page = await source.records(last, Math.min(pageRecords, through - last))
    const records = page.filter(({ number }) => number <= through)
    const end = records.at(-1)
    if (end === undefined) return
    let text = ''
    for (const chained of records) {
      text += toLine(chained, previous)
      previous = chained.hash
    }
    last = end.number
    yield { text, records }
  }
}

export interface ExportRange {
  /** The number before the first. */
  readonly after: number
  readonly through: number
  readonly pageRecords?: number
}

export interface ExportPage {
  readonly text: string
  readonly records: readonly ChainedRecord[]
}

/** About a millisecond of work for a thread that may have calls to serve. */
const PAGE_RECORDS = 250

async function hashBefore(source: LedgerRepository, after: number): Promise<string> {
  const { base }: LedgerHead = await source.head()
  if (after <= base.number) return base.hash
  const [before] = await source.records(after - 1, 1)
  return before?.number === after ? before.hash : ''
}

function fieldsOf(record: LedgerRecord): Fields {
  if (record.type === 'note') return write(NOTE, { ...record.note })
  if (record.type === 'audit') return write(AUDIT, { ...record.row })
  const { claim } = record.hold
  const pair = claim === undefined ? undefined : [claim.id, claim.fingerprint]
  return write(HOLD, { ...record.hold, claim: pair })
}

/** Not in records of older versions, whose text must stay what it was. */
const LATER = ['payer', 'claim']
const LATEST = 'route'

/** What is absent as null, but for what stands in no text of the chain, either. */
function write({ fields }: Form<unknown>, values: Fields): Fields {
  const isBefore = (names: readonly string[]): boolean =>
    names.every((name) => values[name] === undefined)
  const missing = [
    ...(isBefore([...LATER, LATEST]) ? LATER : []),
    ...(isBefore([LATEST]) ? [LATEST] : []),
  ]
  const line: Record<string, unknown> = {}
  for (const { name, outside } of fields)
    if (!missing.includes(name)) line[outside] = toOutside(values[name]) ?? null
  return line
}

function toRecord(line: Fields): LedgerRecord | undefined {
  const { type } = line
  if (type === 'hold') {
    const hold = read(HOLD, { ...line, claim: claimOf(line['claim']) })
    return hold === undefined ? undefined : { type, hold }
  }
  if (type === 'audit') {
    const row = read(AUDIT, line)
    return row === undefined ? undefined : { type, row }
  }
  const note = type === 'note' ? read(NOTE, line) : undefined
  return note === undefined ? undefined : { type: 'note', note }
}

/** A line tells it as the chain does: its two texts, without names. */
function claimOf(pair: unknown): unknown {
  if (!Array.isArray(pair) || pair.length !== 2) return pair
  const [id, fingerprint]: readonly unknown[] = pair
  return { id, fingerprint }
}

function read<Kind>(form: Form<Kind>, line: Fields): Kind | undefined {
  const values: Record<string, unknown> = {}
  for (const { name, outside } of form.fields) values[name] = toInside(line[outside] ?? undefined)
  return form.is(values) ? values : undefined
}

function formOf<Kind>(shape: Shape<Kind>): Form<Kind> {
  const checks = Object.entries<Check>(shape)
  const fields = checks.map(([name, check]) => ({ name, outside: nameOutside(name), check }))
  return {
    fields,
    is: (values): values is Kind =>
      isFields(values) && fields.every(({ name, check }) => check(values[name])),
  }
}

function isDetails(value: unknown): value is CallDetails {
  if (!isFields(value)) return false
  const { tries = [] } = value
  return Array.isArray(tries) && tries.every(isTry)
}

/** What entries are made of; the rest is told and not reckoned with. */
function isTry(value: unknown): boolean {
  return isFields(value) && isText(value['supplier']) && absentOr(isAmount)(value['suspense'])
}

/** Keeps the order of fields, which the hash covers. */
function toOutside(value: unknown): unknown {
  return renamed(value, nameOutside)
}

function toInside(value: unknown): unknown {
  return renamed(value, nameInside)
}

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renamed(each, rename))
  if (!isFields(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [rename(name), renamed(each, rename)]),
  )
}

function nameOutside(name: string): string {
  if (AMOUNTS.has(name)) return name + AMOUNT_SUFFIX
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function nameInside(name: string): string {
  if (name.endsWith(AMOUNT_SUFFIX)) return name.slice(0, -AMOUNT_SUFFIX.length)
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    // Told by whoever reads the file, which is the one that knows its name and line.
    return undefined
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

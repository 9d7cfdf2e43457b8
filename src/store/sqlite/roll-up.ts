// Adding calls up by the hour. The Worker groups a stretch of rows, and one small transaction adds the groups
// and moves the mark: what is below the mark is in the sums, what is above it is not, whatever happens.
import type { Database, Statement } from 'bun:sqlite'
import { HOUR_MS } from '../../core/hour.ts'
import { SUM_MAX, USAGE_DIMENSIONS } from '../store.ts'
import type { Reads } from './reads.ts'
import { asRow, readInteger, readText, type Row } from './rows.ts'
import type { Writer } from './writer.ts'

export interface RollUpParts {
  readonly database: Database
  readonly writer: Pick<Writer, 'transact'>
  readonly reads: Pick<Reads, 'query'>
}

/** Sums of these may be too large for the database, so they are made in two parts. */
export const LARGE = ['input_tokens', 'output_tokens', 'cost', 'overrun'] as const
export const SMALL = ['calls', 'refused', 'failed'] as const

/** About as many numbers in a stretch as the Worker groups in some ten milliseconds. */
const SPAN_MAX = 16_384
/** As many groups as calls can wait for: some milliseconds. */
const GROUPS_MAX = 1024

const MARK = "SELECT value ->> '$.number' AS number FROM marks WHERE name = 'usage'"
const MOVE = "UPDATE marks SET value = ?2 WHERE name = 'usage' AND value ->> '$.number' = ?1"
const NEWEST = 'SELECT coalesce(max(sequence), 0) AS number FROM audit'
const PENDING = `
  SELECT EXISTS (SELECT 1 FROM audit WHERE sequence > (${MARK}) AND sequence <= ?1) AS number`

/** The number up to which rows are in the sums. */
export const USAGE_MARK = `(${MARK})`

/** A row's own hour is that of its hold; what was refused had none, and neither had rows of older versions. */
export const ROW_HOUR = `coalesce(hour, at / ${HOUR_MS})`

/** Of what is refused only the number counts. Its model is whatever the caller made up. */
export const ROW_MODEL = "iif(state = 'refused', '', model)"

/** What one row adds to each figure. */
export const ROW_FIGURES: Readonly<Record<(typeof SMALL | typeof LARGE)[number], string>> = {
  calls: "iif(state = 'refused', 0, 1)",
  refused: "iif(state = 'refused', count, 0)",
  failed: "iif(state <> 'refused' AND (code IS NOT NULL OR status <> 200), 1, 0)",
  input_tokens: "iif(state = 'refused', 0, coalesce(input_tokens, 0))",
  output_tokens: "iif(state = 'refused', 0, coalesce(output_tokens, 0))",
  cost: "iif(state = 'refused', 0, cost)",
  overrun: "iif(state = 'refused', 0, overrun)",
}

/** The wallet in the terms that a name holds; none where the name holds no terms. */
export function walletIn(number: string): string {
  return `coalesce((SELECT iif(json_valid(name), name ->> '$.wallet', NULL) FROM names
    WHERE names.number = ${number}), '')`
}

export function nameOf(number: string): string {
  return `(SELECT name FROM names WHERE names.number = ${number})`
}

/** Both parts of a sum of what the expression says. */
export function sumParts(name: string, expression: string): string {
  return `sum((${expression}) >> 31) AS ${name}_high, sum((${expression}) & 0x7fffffff) AS ${name}_low`
}

// Grouped by numbers first, so that a name is looked up once a group and not once a row.
const GROUPS = `
  SELECT ${nameOf('of_account')} AS account, of_hour AS hour, ${nameOf('of_key')} AS key,
    of_project AS project, ${walletIn('of_payer')} AS payer, of_model AS model,
    of_supplier AS supplier, of_region AS region, of_code AS code,
    ${SMALL.join(', ')}, ${LARGE.map((name) => `${name}_high, ${name}_low`).join(', ')}
  FROM (
    SELECT account AS of_account, ${ROW_HOUR} AS of_hour, key AS of_key,
      coalesce(project_id, '') AS of_project, payer AS of_payer, ${ROW_MODEL} AS of_model,
      coalesce(supplier, '') AS of_supplier, coalesce(region, '') AS of_region,
      coalesce(code, '') AS of_code,
      ${SMALL.map((name) => `sum(${ROW_FIGURES[name]}) AS ${name}`).join(', ')},
      ${LARGE.map((name) => sumParts(name, ROW_FIGURES[name])).join(', ')}
    FROM audit WHERE sequence > ?1 AND sequence <= ?2
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9 LIMIT ${GROUPS_MAX + 1}
  )`

const FIGURES = [...SMALL, ...LARGE]
const COLUMNS = ['account', 'hour', ...USAGE_DIMENSIONS, ...FIGURES]

const ADD = `
  INSERT INTO usage (${COLUMNS.join(', ')}) VALUES (${COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT DO UPDATE SET
    ${FIGURES.map((name) => `${name} = min(${name} + excluded.${name}, ${SUM_MAX})`).join(', ')}`

/** Up to where rows are in the sums, and up to where the next pass comes. */
interface Stretch {
  readonly mark: number
  readonly through: number
}

/** One pass after another, never two at a time: who asks meanwhile is told what that one comes to. */
export class RollUp {
  readonly #parts: RollUpParts
  readonly #labels: Labels
  readonly #add: Statement
  #span = SPAN_MAX
  #running: Promise<boolean> | undefined

  constructor(parts: RollUpParts) {
    this.#parts = parts
    this.#labels = new Labels(parts.database)
    this.#add = parts.database.prepare(ADD)
  }

  run(): Promise<boolean> {
    this.#running ??= this.#pass().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Before rows go: what they say must be in the sums up to this number. */
  async runThrough(number: number): Promise<void> {
    // oxlint-disable-next-line no-await-in-loop -- a pass begins where the one before ended
    while (this.#ask(PENDING, number) === 1) await this.run()
  }

  async #pass(): Promise<boolean> {
    const mark = this.#ask(MARK)
    // By the connection that writes: it is asked between its commits, so all that it sees is durable.
    const last = this.#ask(NEWEST)
    if (last <= mark) return false
    const through = Math.min(mark + this.#span, last)
    const groups = await this.#parts.reads.query(GROUPS, mark, through)
    if (groups.length > GROUPS_MAX) {
      // Unlike one another: calls would wait for them too long. Fewer numbers have fewer groups.
      this.#span = Math.max(Math.floor(this.#span / 2), GROUPS_MAX)
      return true
    }
    this.#commit({ mark, through }, groups)
    if (groups.length < GROUPS_MAX / 2) this.#span = Math.min(this.#span * 2, SPAN_MAX)
    return through < last
  }

  #commit(stretch: Stretch, groups: readonly Row[]): void {
    try {
      this.#parts.writer.transact(() => this.#write(stretch, groups))
    } catch (thrown) {
      // The labels that it made are not in the database any more.
      this.#labels.forget()
      throw thrown
    }
  }

  #write({ mark, through }: Stretch, groups: readonly Row[]): void {
    const { changes } = this.#parts.database
      .query(MOVE)
      .run(mark, JSON.stringify({ number: through }))
    if (changes !== 1) throw new Error(`calls were not added up beyond ${mark}: somebody else did`)
    for (const group of groups)
      this.#add.run(
        this.#labels.numberOf(readText(group, 'account')),
        readInteger(group, 'hour'),
        ...USAGE_DIMENSIONS.map((name) => this.#labels.numberOf(readText(group, name))),
        ...SMALL.map((name) => toSum(readBigInt(group, name))),
        ...LARGE.map((name) => toSum(readParts(group, name))),
      )
  }

  #ask(sql: string, ...parameters: readonly number[]): number {
    return readInteger(asRow(this.#parts.database.query(sql).get(...parameters)), 'number')
  }
}

/** The texts behind the numbers of the sums. */
class Labels {
  readonly #known = new Map<string, number>()
  readonly #find: Statement
  readonly #insert: Statement

  constructor(database: Database) {
    this.#find = database.prepare('SELECT number FROM labels WHERE label = ?')
    this.#insert = database.prepare('INSERT INTO labels (label) VALUES (?)')
  }

  /** Gives a new label its number, inside the caller's transaction. */
  numberOf(label: string): number {
    if (label === '') return 0
    const number = this.#known.get(label)
    if (number !== undefined) return number
    if (this.#known.size >= KNOWN_MAX) this.#known.clear()
    const row = this.#find.get(label)
    const given =
      row === null
        ? Number(this.#insert.run(label).lastInsertRowid)
        : readInteger(asRow(row), 'number')
    this.#known.set(label, given)
    return given
  }

  /** After a rollback. */
  forget(): void {
    this.#known.clear()
  }
}

/** Far more than are in use at a time. */
const KNOWN_MAX = 20_000

function toSum(sum: bigint): bigint {
  return sum < SUM_MAX ? sum : SUM_MAX
}

export function readBigInt(row: Row, column: string): bigint {
  const sum = row[column]
  if (typeof sum !== 'bigint') throw new TypeError(`the column ${column} holds no integer`)
  return sum
}

/** A sum that was made in two parts. */
export function readParts(row: Row, name: string): bigint {
  return (readBigInt(row, `${name}_high`) << 31n) + readBigInt(row, `${name}_low`)
}

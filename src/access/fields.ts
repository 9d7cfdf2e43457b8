// Reads the fields of a body by a table of who may write what. Whatever the table does not list is refused by
// name, so that nobody can set what is the gateway's to set.
import { BUDGET_PERIODS, type BudgetPeriod } from '../core/key.ts'
import { readUsd, toNanoUsd, type NanoUsd } from '../core/money.ts'
import { GatewayError, invalid, quoteName } from '../core/problem.ts'
import { isText } from './settings.ts'

export type Body = Readonly<Record<string, unknown>>

/** By the name in the body; what a reader returns is put into the record. */
export type FieldTable<Fields> = ReadonlyMap<string, FieldReader<Fields>>

export type FieldReader<Fields> = (value: unknown) => Partial<Fields>

const NAME_LENGTH_MAX = 200
const ID_LENGTH_MAX = 64

/** The body of a creation of what goes by a name. */
export function readNamed<Fields>(body: Body, table: FieldTable<Fields>): Partial<Fields> {
  checkNames(body, table)
  if (body['name'] === undefined || body['name'] === null) throw missing('name', 'Send a `name`.')
  return readCreation(body, table)
}

/** The body of a creation: `null` is absence. */
export function readCreation<Fields>(body: Body, table: FieldTable<Fields>): Partial<Fields> {
  checkNames(body, table)
  const given = Object.entries(body).filter(([, value]) => value !== null)
  return readEach(given, table)
}

/** The body of a change: what it names, and at least one field. */
export function readChange<Fields>(body: Body, table: FieldTable<Fields>): Partial<Fields> {
  checkNames(body, table)
  const given = Object.entries(body)
  if (given.length > 0) return readEach(given, table)
  throw new GatewayError(
    'missing_fields',
    `Send at least one field to change: ${[...table.keys()].join(', ')}.`,
  )
}

/** Refuses what is not listed by its name. */
export function checkNames(body: Body, known: { keys(): Iterable<string> }): void {
  const names = [...known.keys()]
  const unknown = Object.keys(body).find((name) => !names.includes(name))
  if (unknown !== undefined)
    throw new GatewayError(
      'unsupported_parameter',
      `This field cannot be set. Send only ${names.join(', ')}.`,
      { param: quoteName(unknown) },
    )
}

function readEach<Fields>(
  given: readonly (readonly [string, unknown])[],
  table: FieldTable<Fields>,
): Partial<Fields> {
  return Object.assign({}, ...given.map(([name, value]) => table.get(name)?.(value)))
}

export function readName(value: unknown): string {
  if (value === null) throw missing('name', 'Send a `name`; it cannot be taken away.')
  return readText('name', value, NAME_LENGTH_MAX)
}

export function readText(param: string, value: unknown, lengthMax: number): string {
  if (isText(value, 1, lengthMax) && value.trim() !== '') return value
  throw invalid(param, `Send \`${param}\` as a text of 1 to ${lengthMax} characters.`)
}

/** Whether there is such a thing is for whoever knows the account. */
export function readId(param: string, value: unknown): string {
  if (isText(value, 1, ID_LENGTH_MAX)) return value
  throw invalid(param, `Send \`${param}\` as an id.`)
}

export function readIds(param: string, value: unknown, countMax: number): readonly string[] {
  if (!Array.isArray(value) || value.length > countMax)
    throw invalid(param, `Send \`${param}\` as a list of at most ${countMax} ids.`)
  const ids = value.map((id) => readId(param, id))
  if (new Set(ids).size === ids.length) return ids
  throw invalid(param, `Send \`${param}\` with each id once.`)
}

/** Dollars from zero on. */
export function readAmount(param: string, value: unknown): NanoUsd {
  const amount = typeof value === 'number' ? readUsd(value) : undefined
  if (amount !== undefined) return amount
  throw invalid(
    param,
    `Send \`${param}\` as a number of US dollars from 0 to 9000000 with at most nine decimals.`,
  )
}

/** Dollars in either direction; nothing at all is no amount. */
export function readSignedAmount(param: string, value: unknown): NanoUsd {
  const amount = typeof value === 'number' ? readUsd(Math.abs(value)) : undefined
  if (amount !== undefined && amount > 0) return toNanoUsd(Math.sign(Number(value)) * amount)
  throw invalid(
    param,
    `Send \`${param}\` as a number of US dollars from -9000000 to 9000000 with at most nine decimals: above zero to put in, below to take back.`,
  )
}

export function readPeriod(param: string, value: unknown): BudgetPeriod {
  const period = BUDGET_PERIODS.find((each) => each === value)
  if (period !== undefined) return period
  throw invalid(param, `Send \`${param}\` as one of ${BUDGET_PERIODS.join(', ')}.`)
}

export function missing(param: string, text: string): GatewayError {
  return new GatewayError('missing_fields', text, { param })
}

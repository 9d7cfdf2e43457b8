// What a database's failure means to the books. Most pass; after some nothing more may be written, because
// what is on the disk is no longer what was asked for.
import { GatewayError } from '../../core/problem.ts'

/**
 * The disk lies. A sync that failed may succeed when it is tried again, without the bytes of the first ever
 * arriving, so nothing that it would confirm can be believed.
 */
const LOST = /^SQLITE_(?:IOERR_(?:DIR_)?FSYNC|CORRUPT|NOTADB)/
/**
 * Two records at one place, two ends of one call, money that cannot be: the books are not what this process
 * believes. A figure that a column does not take is no such sign: it came from outside.
 */
const MISFIT = /^SQLITE_CONSTRAINT_(?:UNIQUE|PRIMARYKEY|ROWID|CHECK)/

export function appendFailed(cause: unknown): GatewayError {
  const text = 'The record of this call could not be stored.'
  const isFatal = isLost(cause) || MISFIT.test(codeOf(cause))
  return new GatewayError('billing_unavailable', text, {
    cause,
    ...(isFatal ? { details: { fatal: true } } : {}),
  })
}

export function isLost(thrown: unknown): boolean {
  return LOST.test(codeOf(thrown))
}

/** Another process holds the database, and will not for long. */
export function isBusy(thrown: unknown): boolean {
  return codeOf(thrown).startsWith('SQLITE_BUSY')
}

/** In words for whoever starts the gateway or looks into its files: which file, and what to do. */
export function explain(file: string, thrown: unknown): unknown {
  const code = codeOf(thrown)
  if (/^SQLITE_(?:CORRUPT|NOTADB)/.test(code))
    return new Error(`The database ${file} is damaged. ${PUT_BACK}`, { cause: thrown })
  if (isBusy(thrown))
    return new Error(
      `The database ${file} is locked by another program. Close whatever has it open, such as a backup or a database tool, and try again.`,
      { cause: thrown },
    )
  // What a row holds is read by functions that throw these.
  if (thrown instanceof TypeError || thrown instanceof SyntaxError || thrown instanceof RangeError)
    return new Error(
      `The database ${file} holds what this program does not write: ${thrown.message}. ${PUT_BACK}`,
      { cause: thrown },
    )
  if (/^SQLITE_(?:FULL|IOERR|ERROR)/.test(code) && thrown instanceof Error)
    return new Error(`The database ${file} cannot be used: ${thrown.message} (${code}).`, {
      cause: thrown,
    })
  return thrown
}

const PUT_BACK = 'Put back a copy of the data folder that is whole.'

export function codeOf(thrown: unknown): string {
  return thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
}

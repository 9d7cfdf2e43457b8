// Pages that stay whole while rows are added: a cursor names the last item's place, never a count.
import { GatewayError } from '../../core/problem.ts'
import type { Page, PageRequest } from '../store.ts'
import { readInteger, type Row } from './rows.ts'

/** Newest first: by time, and among equals by the order of writing. */
export interface Place {
  readonly at: number
  readonly sequence: number
}

const LIMIT_MAX = 1000
export const BEFORE_ALL: Place = { at: Number.MAX_SAFE_INTEGER, sequence: Number.MAX_SAFE_INTEGER }
const PLACE = /^(\d{1,16})\.(\d{1,16})$/

export function readPlace({ cursor }: PageRequest): Place {
  if (cursor === undefined) return BEFORE_ALL
  const [at, sequence] = decodeCursor(cursor, PLACE)
  return { at: Number(at), sequence: Number(sequence) }
}

export function encodeCursor(text: string): string {
  return Buffer.from(text, 'latin1').toString('base64url')
}

/** The groups that the form finds in a cursor. */
export function decodeCursor(cursor: string, form: RegExp): readonly string[] {
  const text = Buffer.from(cursor, 'base64url').toString('latin1')
  const match = form.exec(text)
  // Decoding skips what is not base64url, so only a cursor that encodes back to itself is one of ours.
  if (match === null || encodeCursor(text) !== cursor)
    throw new GatewayError(
      'validation_error',
      'The cursor is not one that a page before returned. Leave it out to start at the newest.',
      { param: 'cursor' },
    )
  return match.slice(1)
}

export function readLimit({ limit }: PageRequest): number {
  if (Number.isSafeInteger(limit) && limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new GatewayError(
    'validation_error',
    `The limit must be a whole number from 1 to ${LIMIT_MAX}.`,
    {
      param: 'limit',
    },
  )
}

/** Expects one row more than the limit where there is a next page. */
export function toPage<Item>(
  rows: readonly Row[],
  limit: number,
  decode: { readonly timeColumn: string; readonly toItem: (row: Row) => Item },
): Page<Item> {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const more = rows.length > limit && last !== undefined
  return {
    items: shown.map(decode.toItem),
    next: more
      ? encodePlace({
          at: readInteger(last, decode.timeColumn),
          sequence: readInteger(last, 'sequence'),
        })
      : undefined,
  }
}

function encodePlace({ at, sequence }: Place): string {
  return encodeCursor(`${at}.${sequence}`)
}

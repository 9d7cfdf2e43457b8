// The white space of JSON, for lists of numbers that are read by hand.

export const SPACE = 0x20

/** Other characters below a blank may stand nowhere. */
export function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

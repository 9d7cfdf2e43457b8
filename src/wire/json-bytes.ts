// The bytes that JSON is made of, by name, and tables that tell in one look what a byte may be.

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
export const MINUS = 0x2d

/** 1 for the bytes that end a run inside a string: quote, backslash and control characters. */
export const STOPS = new Uint8Array(256)
for (let byte = 0; byte < 0x20; byte++) STOPS[byte] = 1
STOPS[QUOTE] = 1
STOPS[BACKSLASH] = 1

export const WORDS: Readonly<Record<number, Uint8Array>> = {
  0x74: new TextEncoder().encode('true'),
  0x66: new TextEncoder().encode('false'),
  0x6e: new TextEncoder().encode('null'),
}

export function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

export function isHex(byte: number): boolean {
  const lower = byte | 0x20
  return isDigit(byte) || (lower >= 0x61 && lower <= 0x66)
}

// The header of one frame of FLAC: how many samples it holds, and at which rate (RFC 9639, 9.1).

export interface FlacFrame {
  readonly samples: number
  /** Undefined where the first block of the file says it. */
  readonly rate: number | undefined
}

/** The most that a header takes. */
export const FLAC_FRAME_HEAD_BYTES = 16

/** By their number; those beyond stand behind the number of the frame. */
const RATES = [
  undefined,
  88_200,
  176_400,
  192_000,
  8000,
  16_000,
  22_050,
  24_000,
  32_000,
  44_100,
  48_000,
  96_000,
] as const
const NUMBER_AT = 4
/** Of what stands behind the number, by what the header says of size and rate. */
const SIZE_BYTES: Readonly<Record<number, number>> = { 6: 1, 7: 2 }
const RATE_BYTES: Readonly<Record<number, number>> = { 12: 1, 13: 2, 14: 2 }
const POLYNOMIAL = 0x07

/** Undefined where the bytes only begin like one: each header ends in a checksum of itself. */
export function flacFrameAt(bytes: Uint8Array): FlacFrame | undefined {
  const third = bytes[2] ?? 0
  const [size, rate] = [third >> 4, third & 15]
  const numberBytes = numberBytesOf(bytes)
  if (size === 0 || rate === 15 || numberBytes === undefined) return undefined
  const sizeAt = NUMBER_AT + numberBytes
  const rateAt = sizeAt + (SIZE_BYTES[size] ?? 0)
  const end = rateAt + (RATE_BYTES[rate] ?? 0)
  if (end >= bytes.length || checksum(bytes.subarray(0, end)) !== bytes[end]) return undefined
  const read = rate < RATES.length ? RATES[rate] : rateOf(rate, bytes.subarray(rateAt, end))
  // Of no rate at all there would be no end.
  if (read === 0) return undefined
  return { samples: samplesOf(size, bytes.subarray(sizeAt, rateAt)), rate: read }
}

/** It begins with as many ones as it has bytes, as in UTF-8. */
function numberBytesOf(bytes: Uint8Array): number | undefined {
  const isReserved = ((bytes[NUMBER_AT - 1] ?? 1) & 1) === 1
  const ones = Math.clz32(~((bytes[NUMBER_AT] ?? 0xff) << 24))
  return isReserved || ones === 1 || ones > 7 ? undefined : Math.max(1, ones)
}

function samplesOf(size: number, behind: Uint8Array): number {
  if (size === 1) return 192
  if (size < 6) return 576 << (size - 2)
  return size < 8 ? wholeOf(behind) + 1 : 256 << (size - 8)
}

function rateOf(rate: number, behind: Uint8Array): number {
  return wholeOf(behind) * (rate === 12 ? 1000 : rate === 13 ? 1 : 10)
}

function wholeOf(bytes: Uint8Array): number {
  return bytes.reduce((whole, byte) => whole * 256 + byte, 0)
}

function checksum(bytes: Uint8Array): number {
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte
    for (let bit = 0; bit < 8; bit++) sum = sum & 0x80 ? ((sum << 1) ^ POLYNOMIAL) & 0xff : sum << 1
  }
  return sum
}

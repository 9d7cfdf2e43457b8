// The header of one frame of MPEG audio: four bytes that say how long it is and how much sound it holds.

export interface Mp3Frame {
  readonly bytes: number
  readonly samples: number
  readonly rate: number
  /** Where a frame without sound says what the others are. */
  readonly tagAt: number
}

const RATES = [44_100, 48_000, 32_000] as const
/** Kilobits a second by layer, for the first version of MPEG and for the later ones. */
const FIRST = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
] as const
const LATER_SHORT = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160] as const
const LATER = [
  [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  LATER_SHORT,
  LATER_SHORT,
] as const
const FIRST_VERSION = 3
const RESERVED_VERSION = 1

interface Head {
  readonly isFirst: boolean
  /** 0 to 2 for the layers I to III. */
  readonly layer: number
  readonly rate: number
  /** 0 for a rate of its own, 15 for none. */
  readonly bitrate: number
  readonly isPadded: boolean
  readonly isMono: boolean
}

function headAt(bytes: Uint8Array, at: number): Head | undefined {
  const second = bytes[at + 1] ?? 0
  const third = bytes[at + 2] ?? 0xff
  const version = (second >> 3) & 3
  const layer = 3 - ((second >> 1) & 3)
  const base = RATES[(third >> 2) & 3]
  if (bytes[at] !== 0xff || second < 0xe0 || version === RESERVED_VERSION) return undefined
  if (layer === 3 || base === undefined) return undefined
  return {
    isFirst: version === FIRST_VERSION,
    layer,
    rate: version === FIRST_VERSION ? base : version === 2 ? base / 2 : base / 4,
    bitrate: third >> 4,
    isPadded: (third & 2) !== 0,
    isMono: (bytes[at + 3] ?? 0) >> 6 === 3,
  }
}

/** A frame whose length is written nowhere: it would have to be guessed. */
export function isFreeAt(bytes: Uint8Array, at: number): boolean {
  return headAt(bytes, at)?.bitrate === 0
}

/** Undefined where no frame begins whose length is known. */
export function frameAt(bytes: Uint8Array, at: number): Mp3Frame | undefined {
  const head = headAt(bytes, at)
  if (head === undefined) return undefined
  const { isFirst, layer, rate } = head
  const kilobits = (isFirst ? FIRST : LATER)[layer]?.[head.bitrate - 1]
  if (kilobits === undefined) return undefined
  const padding = head.isPadded ? 1 : 0
  const tagAt = isFirst ? (head.isMono ? 21 : 36) : head.isMono ? 13 : 21
  if (layer === 0)
    return {
      bytes: (Math.floor((12_000 * kilobits) / rate) + padding) * 4,
      samples: 384,
      rate,
      tagAt,
    }
  const samples = layer === 2 && !isFirst ? 576 : 1152
  return { bytes: Math.floor((samples * 125 * kilobits) / rate) + padding, samples, rate, tagAt }
}

// The head of a Vorbis stream, in whatever container it stands: its rate, and the least that a packet plays.

export interface VorbisHead {
  readonly rate: number
  readonly channels: number
  /** Samples of a packet, at the least. */
  readonly packetLeast: number
}

const HEAD_BYTES = 29
export const VORBIS_MARK: Buffer = Buffer.from('\x01vorbis', 'latin1')
/** Encoders make their long blocks eight times as long as the short ones; who makes them longer is not believed. */
const LONGER_MOST = 8

/** Undefined where it is none, or cut off. */
export function readVorbisHead(packet: Buffer): VorbisHead | undefined {
  if (packet.length < HEAD_BYTES || packet.indexOf(VORBIS_MARK) !== 0) return undefined
  const sizes = packet[HEAD_BYTES - 1]!
  const short = 2 ** (sizes & 15)
  const long = 2 ** (sizes >> 4)
  // Blocks overlap by half.
  const packetLeast = Math.max(short, long / LONGER_MOST) / 2
  return { rate: packet.readUInt32LE(12), channels: packet[11]!, packetLeast }
}

// What the blocks of a WebM hold, and how long they must play at the least, whatever is said of their times: whoever
// plays the file decodes every packet.
import { OPUS_PACKET_MOST, OPUS_RATE, opusSamples } from './opus.ts'
import { readVorbisHead, VORBIS_MARK } from './vorbis.ts'

export interface BlockCodec {
  /** `block`: from behind its time on, where its flags stand. */
  secondsOf(block: Buffer): number
}

/** Names of codecs of sound; those of pictures begin with another letter. */
const NAME = /A_[A-Z0-9_/.]+/g
const LACING = 0x06
const LACED_EVENLY = 0x04
/** AAC and MP3, at the highest rates that are in use. */
const PACKET_SECONDS_LEAST = 1024 / 96_000
const PACKED = /^A_(?:AAC|MPEG\/L3)/

/** Undefined where no sound is described. One of several that are described may be the one that is played. */
export function readCodecs(tracks: Buffer): BlockCodec | undefined | 'unknown' {
  const names = tracks.toString('latin1').match(NAME) ?? []
  if (names.length === 0) return undefined
  if (names.length > 1) return 'unknown'
  const [name = ''] = names
  if (name.startsWith('A_OPUS')) return opus
  if (name.startsWith('A_VORBIS')) return vorbisOf(tracks)
  return PACKED.test(name) ? evenly(PACKET_SECONDS_LEAST) : 'unknown'
}

const opus: BlockCodec = {
  secondsOf(block) {
    const lacing = (block[0] ?? 0) & LACING
    if (lacing === 0) return opusSamples(block.subarray(1)) / OPUS_RATE
    // Where the first of uneven packets begins stands behind all their sizes: they count for as long as they can be.
    const each = lacing === LACED_EVENLY ? opusSamples(block.subarray(2)) : OPUS_PACKET_MOST
    return (packetsOf(block) * each) / OPUS_RATE
  },
}

function vorbisOf(tracks: Buffer): BlockCodec | 'unknown' {
  const at = tracks.indexOf(VORBIS_MARK)
  const head = at < 0 ? undefined : readVorbisHead(tracks.subarray(at))
  return head === undefined || head.rate === 0 ? 'unknown' : evenly(head.packetLeast / head.rate)
}

function evenly(seconds: number): BlockCodec {
  return { secondsOf: (block) => packetsOf(block) * seconds }
}

function packetsOf(block: Buffer): number {
  return ((block[0] ?? 0) & LACING) === 0 ? 1 : (block[1] ?? 0) + 1
}

// How long a WAV plays: the bytes of its samples by what each second takes. What its header says of bytes a second
// is not believed, since whoever plays the file goes by rate, channels and bits.
import { AudioFault, type AudioWindow } from './source.ts'

const FIRST_CHUNK_AT = 12
const CHUNK_HEAD_BYTES = 8
const FORMAT_BYTES = 26
/** A number of whole chunks. */
const ZEROS = Buffer.alloc(4096)
/** Its real length stands elsewhere, or was not known when it was written. */
const OPEN_LENGTH = 0xffff_ffff

const PCM = 1
const FLOAT = 3
const A_LAW = 6
const MU_LAW = 7
const EXTENSIBLE = 0xfffe
const PLAIN = new Set([PCM, FLOAT, A_LAW, MU_LAW])
const BITS_MAX = 64

/** Undefined where the samples are compressed in a way that is not known here, or are not found. */
export async function readWav(window: AudioWindow): Promise<number | undefined> {
  const magic = (await window.load(0, FIRST_CHUNK_AT)).toString('latin1', 0, 4)
  let secondBytes: number | undefined
  let hasFormat = false
  let data = 0
  let at = FIRST_CHUNK_AT
  while (at + CHUNK_HEAD_BYTES <= window.bytes) {
    window.step(1)
    const head = window.peek(at, CHUNK_HEAD_BYTES) ?? (await window.load(at, CHUNK_HEAD_BYTES))
    // Some files end in zeros, which are many chunks of nothing.
    if (window.peek(at, ZEROS.length)?.equals(ZEROS) === true) {
      at += ZEROS.length
      continue
    }
    const id = head.toString('latin1', 0, 4)
    const size = head.readUInt32LE(4)
    const from = at + CHUNK_HEAD_BYTES
    const length = isOpen(magic, id, size) ? window.bytes - from : size
    if (id === 'fmt ') {
      // Of two descriptions each player believes another one.
      if (hasFormat) throw new AudioFault('The WAV file says twice how its samples are written.')
      hasFormat = true
      secondBytes = readFormat(await window.load(from, Math.min(length, FORMAT_BYTES)))
    }
    if (id === 'data') data += Math.min(length, window.bytes - from)
    // A chunk of an odd length is filled up.
    at = from + length + (length % 2)
  }
  if (!hasFormat) throw new AudioFault('The WAV file does not say how its samples are written.')
  return secondBytes === undefined || data === 0 ? undefined : data / secondBytes
}

/** Of long files the length stands elsewhere, whatever is said in its place. */
function isOpen(magic: string, id: string, size: number): boolean {
  return id === 'data' && (magic !== 'RIFF' || size === OPEN_LENGTH || size === 0)
}

/** Bytes a second. */
function readFormat(bytes: Buffer): number | undefined {
  if (bytes.length < 16)
    throw new AudioFault('The WAV file does not say how its samples are written.')
  const said = bytes.readUInt16LE(0)
  const codec = said === EXTENSIBLE && bytes.length === FORMAT_BYTES ? bytes.readUInt16LE(24) : said
  const channels = bytes.readUInt16LE(2)
  const rate = bytes.readUInt32LE(4)
  const block = bytes.readUInt16LE(12)
  const bits = bytes.readUInt16LE(14)
  if (rate === 0) throw new AudioFault('The WAV file has a sample rate of 0.')
  if (channels === 0) throw new AudioFault('The WAV file has no channels.')
  if (!PLAIN.has(codec)) return undefined
  if (bits === 0) throw new AudioFault('The WAV file has samples of 0 bits.')
  if (bits > BITS_MAX) return undefined
  // Some players go by the block, some by what is in it.
  const frame = channels * Math.ceil(bits / 8)
  return rate * (block === 0 ? frame : Math.min(block, frame))
}

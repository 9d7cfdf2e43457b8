// How long a WebM plays: what it says of itself, the time of its last block, or what its packets play, whichever is most.
// What a browser records says nothing of itself, because its end was not known when it began.
import { AudioFault, type AudioWindow } from './source.ts'
import { readCodecs, type BlockCodec } from './webm-codec.ts'

const SEGMENT = 0x18538067
const CLUSTER = 0x1f43b675
const BLOCK_GROUP = 0xa0
const INFO = 0x1549a966
const TRACKS = 0x1654ae6b
const SCALE = 0x2ad7b1
const DURATION = 0x4489
const CLUSTER_TIME = 0xe7
const SIMPLE_BLOCK = 0xa3
const BLOCK = 0xa1
const BLOCK_DURATION = 0x9b

/** Those that are looked into; all others are passed over. */
const OPENED = new Set([SEGMENT, CLUSTER, BLOCK_GROUP, INFO])
const HEAD_BYTES = 12
/** The beginning of a block: its place, and the first bytes of its first packet. */
const VALUE_BYTES = 16
/** More than describes the tracks of any sound. */
const TRACKS_BYTES_MAX = 65_536
const NANOSECONDS = 1e9
const DEFAULT_SCALE = 1e6
/** What the last block holds is not said; no frame of Opus is longer. */
const LAST_BLOCK_NANOSECONDS = 120e6
/** Of the first and the last packet not all is played. */
const SLACK_SECONDS = 0.25

interface Element {
  readonly id: number
  readonly from: number
  /** Undefined where it ends with what is inside of it. */
  readonly length: number | undefined
}

/** Undefined where nothing of it can be found, or nobody here knows how long such packets play. */
export async function readWebm(window: AudioWindow): Promise<number | undefined> {
  const times = new Times()
  for (let at = 0; at < window.bytes;) {
    window.step(2)
    const head = window.peek(at, HEAD_BYTES) ?? (await bytesAt(window, at, HEAD_BYTES))
    const element = readElement(head, at)
    if (element === undefined) break
    const { id, from, length } = element
    if (OPENED.has(id)) {
      at = from
      continue
    }
    if (length === undefined) break
    if (id === TRACKS)
      times.describe(await bytesAt(window, from, Math.min(length, TRACKS_BYTES_MAX)))
    if (times.wants(id)) {
      const value = await bytesAt(window, from, Math.min(length, VALUE_BYTES))
      times.note(id, value, Math.min(length, VALUE_BYTES))
    }
    at = from + length
  }
  return times.seconds()
}

async function bytesAt(window: AudioWindow, at: number, length: number): Promise<Buffer> {
  const room = Math.max(0, Math.min(length, window.bytes - at))
  return window.peek(at, room) ?? (await window.load(at, room))
}

function readElement(head: Buffer, at: number): Element | undefined {
  const idLength = Math.clz32(head[0] ?? 0) - 23
  const sizeLength = Math.clz32(head[idLength] ?? 0) - 23
  if (idLength > 4 || sizeLength > 8 || head.length < idLength + sizeLength) return undefined
  const id = head.readUIntBE(0, idLength)
  const mark = 2 ** (8 - sizeLength)
  let length = head[idLength]! - mark
  let isOpen = length === mark - 1
  for (let place = 1; place < sizeLength; place++) {
    const byte = head[idLength + place]!
    isOpen &&= byte === 0xff
    length = length * 256 + byte
  }
  return { id, from: at + idLength + sizeLength, length: isOpen ? undefined : length }
}

class Times {
  #scale = DEFAULT_SCALE
  #said = 0
  #cluster = 0
  #block = 0
  #last: number | undefined
  #codec: BlockCodec | undefined
  #isUnknown = false
  /** Of all packets, at the least. */
  #packetSeconds = 0

  /** What the tracks are said to be. A second description would be another one to every player. */
  describe(tracks: Buffer): void {
    const codec = readCodecs(tracks)
    this.#isUnknown ||= codec === 'unknown' || this.#codec !== undefined
    if (codec !== 'unknown') this.#codec = codec
  }

  wants(id: number): boolean {
    return (
      id === SIMPLE_BLOCK ||
      id === CLUSTER_TIME ||
      id === BLOCK ||
      id === BLOCK_DURATION ||
      id === SCALE ||
      id === DURATION
    )
  }

  note(id: number, value: Buffer, length: number): void {
    if (value.length < length) return
    if (id === SCALE) this.#scale = toWhole(value)
    else if (id === DURATION) this.#said = toFloat(value)
    else if (id === CLUSTER_TIME) this.#reach((this.#cluster = toWhole(value)))
    else if (id === BLOCK_DURATION) this.#reach(this.#block + toWhole(value))
    else this.#noteBlock(value)
  }

  seconds(): number | undefined {
    if (this.#scale === 0) throw new AudioFault('The WebM file counts in units of no time.')
    const said = (this.#said * this.#scale) / NANOSECONDS
    const last =
      this.#last === undefined
        ? 0
        : (this.#last * this.#scale + (said > 0 ? 0 : LAST_BLOCK_NANOSECONDS)) / NANOSECONDS
    if (this.#isUnknown) return undefined
    const seconds = Math.max(said, last, this.#packetSeconds - SLACK_SECONDS)
    return seconds > 0 ? seconds : undefined
  }

  /** The number of its track, and its time within the cluster. */
  #noteBlock(value: Buffer): void {
    const at = Math.clz32(value[0] ?? 0) - 23
    if (at > 8 || value.length < at + 2) return
    this.#block = this.#cluster + value.readInt16BE(at)
    this.#reach(this.#block)
    this.#packetSeconds += this.#codec?.secondsOf(value.subarray(at + 2)) ?? 0
  }

  #reach(time: number): void {
    this.#last = Math.max(this.#last ?? 0, time)
  }
}

function toWhole(value: Buffer): number {
  let whole = 0
  for (const byte of value.subarray(0, 8)) whole = whole * 256 + byte
  return whole
}

function toFloat(value: Buffer): number {
  const float =
    value.length === 4 ? value.readFloatBE() : value.length === 8 ? value.readDoubleBE() : 0
  return Number.isFinite(float) && float > 0 ? float : 0
}

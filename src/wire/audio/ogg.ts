// How long an Ogg plays: every page says how far its stream has come by its end, and every packet how long it is. The
// pages are the sender's word, and whoever plays the file goes by the packets: the longer of the two counts. All pages are
// looked at, since streams may follow one another, and each begins anew.
import { readStreamInfo } from './flac.ts'
import { OPUS_PACKET_MOST, OPUS_RATE, opusSamples } from './opus.ts'
import { AudioFault, type AudioWindow } from './source.ts'
import { readVorbisHead } from './vorbis.ts'

const PAGE = Buffer.from('OggS')
const PAGE_HEAD_BYTES = 27
const PAGE_BYTES_MAX = PAGE_HEAD_BYTES + 255 + 255 * 255
const WHOLE_SEGMENT = 255
const GOES_ON = 1
const BEGINS = 2
const RESYNC_STEPS = 20
const STREAMS_MAX = 1024
/** More than Opus and Vorbis are made to put into a second of two channels. */
const SECOND_BYTES_MOST = 80_000
const SPEEX_FRAMES_A_SECOND = 50

interface Stream {
  /** Undefined for one that is no sound, or of no kind that is known here. */
  readonly codec: Codec | undefined
  end: number
  bytes: number
  packets: number
  /** Of all packets, at the least. */
  samples: number
}

interface Codec {
  readonly rate: number
  /** Samples at the beginning that are not played. */
  readonly skip: number
  /** Samples by which the packets may be longer than what is played of them. */
  readonly slack: number
  readonly secondBytesMost: number
  /** Packets before the sound. */
  readonly headers: number
  /** The least that a packet plays. */
  samplesOf(packet: Uint8Array): number
}

/** Undefined where it holds no sound that is known here. */
export async function readOgg(window: AudioWindow): Promise<number | undefined> {
  const current = new Map<number, Stream>()
  const ended: Stream[] = []
  for (let at = 0; at + PAGE_HEAD_BYTES <= window.bytes;) {
    window.step(1)
    const page = await pageAt(window, at)
    if (page === undefined) {
      window.step(RESYNC_STEPS)
      at = await window.find(PAGE, at + 1)
      continue
    }
    const serial = page.readUInt32LE(14)
    const before = current.get(serial)
    // Not every player asks whether a stream says that it begins.
    if (before === undefined || (page[5]! & BEGINS) !== 0) {
      if (before !== undefined) ended.push(before)
      current.set(serial, begin(contentOf(page)))
      if (current.size + ended.length > STREAMS_MAX)
        throw new AudioFault('The Ogg file holds too many streams.')
    }
    window.step(note(current.get(serial)!, page))
    at += page.length
  }
  const seconds = [...ended, ...current.values()].map(secondsOf)
  const sum = seconds.reduce((total, each) => total + each, 0)
  return sum > 0 ? sum : undefined
}

/** The page that begins here, or what there is of it. */
async function pageAt(window: AudioWindow, at: number): Promise<Buffer | undefined> {
  const head = window.peek(at, PAGE_HEAD_BYTES) ?? (await window.load(at, PAGE_HEAD_BYTES))
  if (!head.subarray(0, 4).equals(PAGE)) return undefined
  const most = Math.min(PAGE_BYTES_MAX, window.bytes - at)
  const start = PAGE_HEAD_BYTES + head[26]!
  const table = (await partAt(window, at, Math.min(start, most))).subarray(PAGE_HEAD_BYTES)
  const length = table.reduce((sum, size) => sum + size, start)
  return partAt(window, at, Math.min(length, most))
}

async function partAt(window: AudioWindow, at: number, length: number): Promise<Buffer> {
  return window.peek(at, length) ?? (await window.load(at, length))
}

function contentOf(page: Buffer): Buffer {
  return page.subarray(PAGE_HEAD_BYTES + page[26]!)
}

function begin(packet: Buffer): Stream {
  return { codec: readCodec(packet), end: 0, bytes: 0, packets: 0, samples: 0 }
}

/** Returns how many packets it has looked at. */
function note(stream: Stream, page: Buffer): number {
  const content = contentOf(page)
  stream.bytes += content.length
  const end = page.readBigInt64LE(6)
  // On a page where no packet ends it is -1.
  if (end > 0n) stream.end = Math.max(stream.end, Number(end))
  return stream.codec === undefined ? 0 : notePackets(stream, stream.codec, page, content)
}

function notePackets(stream: Stream, codec: Codec, page: Buffer, content: Buffer): number {
  let isNew = (page[5]! & GOES_ON) === 0
  let at = 0
  let packets = 0
  for (const size of page.subarray(PAGE_HEAD_BYTES, PAGE_HEAD_BYTES + page[26]!)) {
    if (isNew && ++stream.packets > codec.headers) {
      stream.samples += codec.samplesOf(content.subarray(at, at + size))
      packets++
    }
    isNew = size < WHOLE_SEGMENT
    at += size
  }
  return packets
}

function secondsOf({ codec, end, bytes, samples }: Stream): number {
  if (codec === undefined) return 0
  const { rate, skip, slack, secondBytesMost } = codec
  const said = Math.max(0, end - skip) / rate
  const found = Math.max(0, samples - skip - slack) / rate
  return Math.max(said, found, bytes / secondBytesMost)
}

function readCodec(packet: Buffer): Codec | undefined {
  const text = packet.toString('latin1', 0, 16)
  if (text.startsWith('OpusHead') && packet.length >= 12)
    return codecOf(OPUS_RATE, packet[9]!, {
      skip: packet.readUInt16LE(10),
      slack: OPUS_PACKET_MOST,
      samplesOf: opusSamples,
    })
  const vorbis = readVorbisHead(packet)
  if (vorbis !== undefined) {
    const { rate, channels, packetLeast } = vorbis
    return codecOf(rate, channels, { headers: 3, samplesOf: () => packetLeast })
  }
  if (text.startsWith('Speex   ') && packet.length >= 40) return speexOf(packet)
  if (text.startsWith('\x7fFLAC')) {
    const { rate, secondBytes } = readStreamInfo(packet.subarray(17))
    return codecOf(rate, 2, { secondBytesMost: secondBytes * 1.25 })
  }
  return undefined
}

function speexOf(packet: Buffer): Codec {
  const rate = packet.readUInt32LE(36)
  const frames = packet.length < 68 ? 1 : Math.max(1, packet.readUInt32LE(64))
  const samples = (frames * rate) / SPEEX_FRAMES_A_SECOND
  return codecOf(rate, 2, { slack: samples, samplesOf: () => samples })
}

function codecOf(rate: number, channels: number, more: Partial<Codec>): Codec {
  if (rate === 0) throw new AudioFault('The Ogg file has a sample rate of 0.')
  const secondBytesMost = SECOND_BYTES_MOST * Math.max(1, channels / 2)
  return { rate, skip: 0, slack: 0, secondBytesMost, headers: 2, samplesOf: () => 0, ...more }
}

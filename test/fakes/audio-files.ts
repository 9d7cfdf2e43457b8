// Little audio files of every kind that is taken, written by hand: no sound worth hearing, but each says how long it plays.

type Bytes = Uint8Array | Buffer

function text(value: string): Buffer {
  return Buffer.from(value, 'latin1')
}

function big(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 8) buffer.writeBigUInt64BE(BigInt(value))
  else buffer.writeUIntBE(value, 0, bytes)
  return buffer
}

function little(value: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  if (bytes === 8) buffer.writeBigUInt64LE(BigInt(value))
  else buffer.writeUIntLE(value, 0, bytes)
  return buffer
}

function join(...pieces: readonly Bytes[]): Buffer {
  return Buffer.concat(pieces)
}

export interface WavShape {
  readonly rate?: number
  readonly channels?: number
  readonly bits?: number
  readonly codec?: number
  readonly frames: number
  /** What the chunk says of its length; the truth without it. */
  readonly saidBytes?: number
  readonly magic?: string
  readonly before?: readonly Buffer[]
}

export function riffChunk(id: string, content: Bytes, saidBytes = content.length): Buffer {
  return join(text(id), little(saidBytes, 4), content, Buffer.alloc(content.length % 2))
}

export function wav(shape: WavShape): Buffer {
  const { rate = 16_000, channels = 1, bits = 16, codec = 1, frames, before = [] } = shape
  const block = channels * Math.ceil(bits / 8)
  const format = join(
    little(codec, 2),
    little(channels, 2),
    little(rate, 4),
    little((rate * block) % 2 ** 32, 4),
    little(block % 65_536, 2),
    little(bits, 2),
  )
  const data = riffChunk('data', Buffer.alloc(frames * block), shape.saidBytes)
  const chunks = join(text('WAVE'), ...before, riffChunk('fmt ', format), data)
  return join(text(shape.magic ?? 'RIFF'), little(chunks.length, 4), chunks)
}

/** A WAV of about so many bytes, for what is about size. */
export function wavOfBytes(bytes: number): Buffer {
  return wav({ frames: Math.floor((bytes - 44) / 2) })
}

/** Frames of MPEG 1, layer III, 128 kbit/s at 44.1 kHz: 417 bytes and 1152 samples each. */
export function mp3(frames: number, info: 'none' | 'Xing' | 'VBRI' = 'none'): Buffer {
  const frame = Buffer.alloc(417)
  frame.set([0xff, 0xfb, 0x90, 0x44])
  const all = Array.from({ length: frames }, () => frame)
  if (info === 'none') return join(...all)
  const first = Buffer.from(frame)
  // It lies: that there are two frames is nobody's reason to count less.
  first.set(join(text(info), big(1, 4), big(2, 4)), 36)
  return join(first, ...all)
}

export function id3(bytes: number): Buffer {
  const size = [21, 14, 7, 0].map((shift) => (bytes >> shift) & 0x7f)
  return join(text('ID3\x04\0\0'), Buffer.from(size), Buffer.alloc(bytes, 0xff))
}

export function flac(rate: number, samples: number, audioBytes = 16): Buffer {
  const packed = rate * 2 ** 12 + (1 << 9) + (15 << 4) + Math.floor(samples / 2 ** 32)
  const info = join(Buffer.alloc(10), big(packed, 4), big(samples % 2 ** 32, 4), Buffer.alloc(16))
  const padding = join(big(0x81, 1), big(8, 3), Buffer.alloc(8))
  return join(text('fLaC'), big(0, 1), big(34, 3), info, padding, Buffer.alloc(audioBytes))
}

/** The header of a frame of 4096 samples and some content; the rate by its number. */
export function flacFrame(number: number, rate: number): Buffer {
  const coded = number < 0x80 ? [number] : [0xc0 | (number >> 6), 0x80 | (number & 0x3f)]
  const head = [0xff, 0xf8, 0xc0 | rate, 0x08, ...coded]
  return Buffer.from([...head, checksum(head), 1, 2, 3, 4])
}

/** CRC-8 by the polynomial 7. */
function checksum(bytes: readonly number[]): number {
  return bytes.reduce((sum, byte) => {
    let rest = sum ^ byte
    for (let bit = 0; bit < 8; bit++) rest = rest & 0x80 ? ((rest << 1) ^ 7) & 0xff : rest << 1
    return rest
  }, 0)
}

export interface OggPage {
  readonly serial?: number
  readonly begins?: boolean
  readonly end: number
  readonly packet: Bytes
}

export function oggPage({ serial = 1, begins = false, end, packet }: OggPage): Buffer {
  const sizes = Array.from({ length: Math.floor(packet.length / 255) }, () => 255)
  const table = Buffer.from([...sizes, packet.length % 255])
  const granule = Buffer.alloc(8)
  granule.writeBigInt64LE(BigInt(end))
  return join(
    text('OggS\0'),
    Buffer.from([begins ? 2 : 0]),
    granule,
    little(serial, 4),
    Buffer.alloc(8),
    Buffer.from([table.length]),
    table,
    packet,
  )
}

export function opusHead(skip: number): Buffer {
  return join(text('OpusHead\x01\x01'), little(skip, 2), little(16_000, 4), Buffer.alloc(3))
}

export function vorbisHead(rate: number): Buffer {
  return join(text('\x01vorbis'), little(0, 4), Buffer.from([2]), little(rate, 4), Buffer.alloc(14))
}

/** Opus of so many samples at 48 kHz. */
export function opus(samples: number, serial = 1, skip = 312): Buffer {
  return join(
    oggPage({ serial, begins: true, end: 0, packet: opusHead(skip) }),
    oggPage({ serial, end: -1, packet: Buffer.alloc(300) }),
    oggPage({ serial, end: samples + skip, packet: Buffer.alloc(40) }),
  )
}

export function box(type: string, ...content: readonly Bytes[]): Buffer {
  const inside = join(...content)
  return join(big(inside.length + 8, 4), text(type), inside)
}

function times(version: 0 | 1, scale: number, ticks: number): Buffer {
  const size = version === 1 ? 8 : 4
  return join(
    Buffer.from([version, 0, 0, 0]),
    Buffer.alloc(2 * size),
    big(scale, 4),
    big(ticks, size),
    Buffer.alloc(20),
  )
}

export interface Mp4Shape {
  readonly scale?: number
  readonly ticks: number
  readonly version?: 0 | 1
  /** Samples and how long each is; by default none. */
  readonly samples?: readonly (readonly [count: number, ticks: number])[]
  readonly indexAtEnd?: boolean
  /** Fragments, each of so many samples of 1024 ticks. */
  readonly fragments?: readonly number[]
  /** How many samples the index says there are, and what they are; without it it says neither. */
  readonly count?: number
  readonly codec?: string
}

export function mp4(shape: Mp4Shape): Buffer {
  const { scale = 44_100, ticks, version = 0, samples = [], fragments = [] } = shape
  const described = (handler: string): readonly Buffer[] => {
    if (handler !== 'soun' || shape.codec === undefined) return []
    const entry = box(shape.codec, Buffer.alloc(28))
    return [
      box('stsd', big(0, 4), big(1, 4), entry),
      box('stsz', Buffer.alloc(8), big(shape.count ?? 0, 4)),
    ]
  }
  const track = (id: number, handler: string, own: number): Buffer =>
    box(
      'trak',
      box('tkhd', Buffer.alloc(12), big(id, 4), Buffer.alloc(68)),
      box(
        'mdia',
        box('mdhd', times(version, scale, own)),
        box('hdlr', Buffer.alloc(8), text(handler), Buffer.alloc(13)),
        box(
          'minf',
          box(
            'stbl',
            ...described(handler),
            box('stts', sampleTimes(handler === 'soun' ? samples : [])),
          ),
        ),
      ),
    )
  const isOpen = fragments.length > 0
  const index = box(
    'moov',
    box('mvhd', times(version, 1000, isOpen ? 0 : 999_000)),
    track(1, 'vide', 5 * ticks),
    track(2, 'soun', ticks),
    ...(isOpen
      ? [box('mvex', box('trex', big(0, 4), big(2, 4), big(1, 4), big(1024, 4), Buffer.alloc(8)))]
      : []),
  )
  const data = box('mdat', Buffer.alloc(100))
  const start = box('ftyp', text('M4A \0\0\0\0'))
  const rest = fragments.flatMap((count) => [fragment(count), data])
  return shape.indexAtEnd === true ? join(start, data, index) : join(start, index, data, ...rest)
}

function sampleTimes(samples: readonly (readonly [number, number])[]): Buffer {
  const pairs = samples.map(([count, ticks]) => join(big(count, 4), big(ticks, 4)))
  return join(big(0, 4), big(samples.length, 4), ...pairs)
}

/** The first half of its samples by what was said before, the others one by one. */
function fragment(count: number): Buffer {
  const half = Math.floor(count / 2)
  const single = Array.from({ length: count - half }, () => join(big(1024, 4), big(7, 4)))
  return box(
    'moof',
    box('mfhd', Buffer.alloc(8)),
    box(
      'traf',
      box('tfhd', big(0, 4), big(2, 4)),
      box('trun', big(0x1, 4), big(half, 4), Buffer.alloc(4)),
      box('trun', big(0x300, 4), big(count - half, 4), ...single),
    ),
  )
}

function element(id: number, content: Bytes, isOpen = false): Buffer {
  const name = big(id, id > 0xff_ff_ff ? 4 : id > 0xff_ff ? 3 : id > 0xff ? 2 : 1)
  const size = isOpen
    ? Buffer.from([0x01, 255, 255, 255, 255, 255, 255, 255])
    : big(2 ** 56 + content.length, 8)
  if (!isOpen) size.writeBigUInt64BE((1n << 56n) | BigInt(content.length))
  return join(name, size, content)
}

export interface WebmShape {
  readonly seconds?: number
  /** Milliseconds of the blocks in each cluster, from its beginning. */
  readonly clusters?: readonly (readonly [at: number, blocks: readonly number[]])[]
  readonly isOpen?: boolean
  /** As the description of its tracks has it; without it there is only rubbish there. */
  readonly codec?: string
  /** In every block, behind its flags. */
  readonly packet?: Bytes
  readonly flags?: number
}

export function webm(shape: WebmShape): Buffer {
  const { seconds, clusters = [], isOpen = false, packet = Buffer.alloc(8), flags = 0 } = shape
  const duration = Buffer.alloc(8)
  duration.writeDoubleBE((seconds ?? 0) * 1000)
  const info = element(
    0x1549a966,
    join(
      element(0x2ad7b1, big(1_000_000, 3)),
      ...(seconds === undefined ? [] : [element(0x4489, duration)]),
    ),
  )
  const described = shape.codec === undefined ? Buffer.alloc(40, 0xa3) : text(shape.codec)
  const tracks = element(0x1654ae6b, described)
  const all = clusters.map(([at, blocks]) => {
    const times = blocks.map((time) =>
      element(0xa3, join(big(0x81, 1), big(time, 2), big(flags, 1), packet)),
    )
    return element(0x1f43b675, join(element(0xe7, big(at, 4)), ...times), isOpen)
  })
  const head = element(0x1a45dfa3, element(0x4282, text('webm')))
  return join(head, element(0x18538067, join(info, tracks, ...all), isOpen))
}

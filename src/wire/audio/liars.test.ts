// Files that are made to look shorter than they play: whoever pays by the second must not be able to choose how many
// there are. Each of these plays for long with the usual decoders.
import { describe, expect, it } from 'bun:test'
import {
  box,
  flac,
  flacFrame,
  mp3,
  mp4,
  oggPage,
  opusHead,
  riffChunk,
  vorbisHead,
  wav,
  webm,
} from '../../../test/fakes/audio-files.ts'
import { durationOf } from './duration.ts'
import { formatOf } from './format.ts'
import { AudioFault, type AudioSource } from './source.ts'

function sourceOf(bytes: Uint8Array): AudioSource {
  return {
    bytes: bytes.length,
    read: (from, length) => Promise.resolve(bytes.slice(from, from + length)),
  }
}

async function secondsOf(bytes: Uint8Array): Promise<number> {
  return (await durationOf(sourceOf(bytes), formatOf(bytes.subarray(0, 4096))!)).seconds
}

async function faultOf(bytes: Uint8Array): Promise<unknown> {
  return secondsOf(bytes).catch((thrown: unknown) => thrown)
}

function repeat(count: number, make: (index: number) => Buffer): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, index) => make(index)))
}

describe('a WAV', () => {
  const minute = { frames: 60 * 16_000 }

  it('does not hide its samples behind thousands of empty chunks', async () => {
    const bytes = wav(minute)
    const at = bytes.indexOf('data')
    const junk = repeat(10_001, () => riffChunk('JUNK', Buffer.alloc(0)))
    const hidden = Buffer.concat([bytes.subarray(0, at), junk, bytes.subarray(at)])
    expect(await secondsOf(hidden)).toBe(60)
  })

  it('that describes its samples twice is refused', async () => {
    const other = wav({ rate: 192_000, channels: 8, bits: 32, frames: 0 })
    const at = other.indexOf('fmt ')
    const bytes = Buffer.concat([wav(minute), other.subarray(at, at + 24)])
    expect(await faultOf(bytes)).toBeInstanceOf(AudioFault)
  })

  it('whose real length stands elsewhere plays to its end', async () => {
    expect(await secondsOf(wav({ ...minute, magic: 'RF64', saidBytes: 2 }))).toBe(60)
  })

  it('of samples that are larger than their blocks plays by the blocks', async () => {
    const bytes = wav(minute)
    bytes.writeUInt16LE(64, bytes.indexOf('fmt ') + 22)
    expect(await secondsOf(bytes)).toBe(60)
  })

  it('of impossible samples, or of none that are found, plays as long as so many bytes can', async () => {
    const large = wav(minute)
    large.writeUInt16LE(60_000, large.indexOf('fmt ') + 22)
    expect(await secondsOf(large)).toBe(Math.ceil(large.length / 500))
    const hidden = wav(minute)
    hidden.write('LIST', hidden.indexOf('data'), 'latin1')
    expect(await secondsOf(hidden)).toBe(Math.ceil(hidden.length / 500))
  })
})

describe('zeros behind a WAV', () => {
  it('are nobody’s sound, and soon passed over', async () => {
    const bytes = Buffer.concat([wav({ frames: 16_000 }), Buffer.alloc(26_000_000)])
    expect(await secondsOf(bytes)).toBe(1)
  })
})

describe('an MP3', () => {
  it('does not hide its frames behind what only looks like a tag', async () => {
    // Each byte of a real length has its first bit clear.
    const tag = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0x80, 0x80 | 24, 0x80, 0x80])
    expect(await secondsOf(Buffer.concat([tag, mp3(1000)]))).toBe(27)
  })
})

describe('a FLAC', () => {
  it('plays as long as its frames, whatever its first block says', async () => {
    // 16 kHz: 600 frames of 4096 samples.
    const frames = repeat(600, (number) => flacFrame(number, 5))
    const bytes = Buffer.concat([flac(655_350, 1, 0), frames])
    expect(await secondsOf(bytes)).toBe(Math.ceil((600 * 4096) / 16_000) - 1)
  })

  it('without a number of samples plays as long as its frames', async () => {
    const frames = repeat(600, (number) => flacFrame(number, 5))
    expect(await secondsOf(Buffer.concat([flac(16_000, 0, 0), frames]))).toBe(154)
  })
})

describe('an Ogg', () => {
  /** Of 60 ms each. */
  const packets = (end: number): Buffer =>
    repeat(1000, () => oggPage({ end, packet: Buffer.from([0x18, 1, 2, 3]) }))

  it('of Opus plays as long as its packets, whatever its pages say', async () => {
    const head = oggPage({ begins: true, end: 0, packet: opusHead(312) })
    const tags = oggPage({ end: 0, packet: Buffer.from('OpusTags') })
    expect(await secondsOf(Buffer.concat([head, tags, packets(1)]))).toBe(60)
  })

  it('does not hide a stream that never says that it begins', async () => {
    const short = oggPage({ begins: true, end: 48_000, packet: opusHead(0) })
    const head = oggPage({ serial: 2, end: 0, packet: opusHead(0) })
    const tags = oggPage({ serial: 2, end: 0, packet: Buffer.from('OpusTags') })
    const rest = repeat(1000, () =>
      oggPage({ serial: 2, end: 1, packet: Buffer.from([0x18, 1, 2, 3]) }),
    )
    expect(await secondsOf(Buffer.concat([short, head, tags, rest]))).toBe(61)
  })

  it('of Vorbis plays at least as long as so many packets must', async () => {
    const head = vorbisHead(16_000)
    // Blocks of 256 and 2048 samples.
    head[28] = 0xb8
    const bytes = Buffer.concat([oggPage({ begins: true, end: 0, packet: head }), packets(1)])
    expect(await secondsOf(bytes)).toBe(Math.ceil((998 * 128) / 16_000))
  })
})

describe('a WebM', () => {
  const packet = Buffer.from([0x18, 1, 2, 3])
  const clusters = [[0, Array.from({ length: 1000 }, () => 0)]] as const

  it('of Opus plays as long as its packets, whatever their times', async () => {
    expect(await secondsOf(webm({ seconds: 1, clusters, codec: 'A_OPUS', packet }))).toBe(60)
  })

  it('with several packets in a block plays for all of them', async () => {
    const laced = Buffer.concat([Buffer.from([9]), repeat(10, () => packet)])
    const bytes = webm({ seconds: 1, clusters, codec: 'A_OPUS', packet: laced, flags: 0x04 })
    expect(await secondsOf(bytes)).toBe(600)
  })

  it('of samples that are not packed, or of two kinds, plays as long as so many bytes can', async () => {
    for (const codec of ['A_PCM/INT/LIT', 'A_OPUS and A_AAC']) {
      const bytes = webm({ seconds: 1, clusters, codec, packet })
      expect(await secondsOf(bytes)).toBe(Math.ceil(bytes.length / 500))
    }
  })
})

describe('an M4A', () => {
  it('plays at least as long as so many samples must, whatever is said of their times', async () => {
    const bytes = mp4({ ticks: 1, samples: [[10_000, 1]], count: 10_000, codec: 'mp4a' })
    expect(await secondsOf(bytes)).toBe(Math.ceil((10_000 * 1024) / 96_000))
  })

  it('with fragments does the same', async () => {
    const bytes = mp4({ ticks: 0, scale: 2 ** 32 - 1, fragments: [5000, 5000], codec: 'mp4a' })
    expect(await secondsOf(bytes)).toBe(Math.ceil((10_000 * 1024) / 96_000))
  })

  it('of samples that are not packed plays as long as so many bytes can', async () => {
    const bytes = mp4({ ticks: 1, count: 1, codec: 'lpcm' })
    expect(await secondsOf(bytes)).toBe(Math.ceil(bytes.length / 500))
  })

  it('with two indexes is refused', async () => {
    const bytes = mp4({ ticks: 44_100 * 60 })
    const other = mp4({ ticks: 1 })
    const twice = Buffer.concat([bytes, other.subarray(box('ftyp', Buffer.alloc(8)).length)])
    expect(await faultOf(twice)).toBeInstanceOf(AudioFault)
  })
})

// How long files play, by their bytes alone: what encoders write, what recorders leave out, what liars say, and what was
// never audio at all.
import { describe, expect, it } from 'bun:test'
import fc from 'fast-check'
import {
  box,
  flac,
  id3,
  mp3,
  mp4,
  oggPage,
  opus,
  riffChunk,
  vorbisHead,
  wav,
  webm,
} from '../../../test/fakes/audio-files.ts'
import { durationOf, type Duration } from './duration.ts'
import { formatOf, type AudioFormat } from './format.ts'
import { AudioFault, type AudioSource } from './source.ts'

interface Watched extends AudioSource {
  /** The most that was asked for at once, and in all. */
  readonly asked: { most: number; all: number }
}

function sourceOf(bytes: Uint8Array): Watched {
  const asked = { most: 0, all: 0 }
  return {
    bytes: bytes.length,
    asked,
    read(from, length) {
      asked.most = Math.max(asked.most, length)
      asked.all += length
      return Promise.resolve(bytes.slice(from, from + length))
    },
  }
}

interface Measured extends Duration {
  readonly format: AudioFormat
}

async function measure(bytes: Uint8Array): Promise<Measured> {
  const format = formatOf(bytes.subarray(0, 4096))
  if (format === undefined) throw new Error('not known as audio')
  return { format, ...(await durationOf(sourceOf(bytes), format)) }
}

function told(format: AudioFormat, seconds: number): Measured {
  return { format, seconds, isTold: true }
}

describe('a format', () => {
  it.each([
    ['AIFF', Buffer.from('FORM\0\0\0\x20AIFFCOMM')],
    ['AMR', Buffer.from('#!AMR\n')],
    ['text', Buffer.from('hello, this is no sound')],
    ['AAC without a container', Buffer.from([0xff, 0xf1, 0x50, 0x80, 0, 0x1f, 0xfc])],
    ['a picture', box('ftyp', Buffer.from('heic\0\0\0\0'))],
    ['AVI', Buffer.from('RIFF\0\0\0\0AVI LIST')],
    ['EBML of another kind', Buffer.from('\x1a\x45\xdf\xa3\x80something', 'latin1')],
    ['nothing', Buffer.alloc(0)],
    ['one byte', Buffer.from([0xff])],
  ])('is not taken for audio: %s', (_, bytes) => {
    expect(formatOf(bytes)).toBeUndefined()
  })
})

describe('WAV', () => {
  it.each([
    ['mono of 16 bits', wav({ frames: 32_000 }), 2],
    ['a second that has begun', wav({ frames: 32_001 }), 3],
    ['stereo of 24 bits', wav({ rate: 44_100, channels: 2, bits: 24, frames: 44_100 }), 1],
    ['floats', wav({ codec: 3, bits: 32, rate: 8000, frames: 40_000 }), 5],
    ['A-law', wav({ codec: 6, bits: 8, rate: 8000, frames: 24_000 }), 3],
    ['chunks before', wav({ frames: 16_000, before: [riffChunk('LIST', Buffer.alloc(7))] }), 1],
    ['RF64', wav({ frames: 48_000, magic: 'RF64', saidBytes: 0xffff_ffff }), 3],
    ['a length that was never filled in', wav({ frames: 64_000, saidBytes: 0 }), 4],
    ['a length beyond the end', wav({ frames: 16_000, saidBytes: 2 ** 31 }), 1],
    ['next to nothing', wav({ frames: 1 }), 1],
  ])('plays as long as its samples: %s', async (_, bytes, seconds) => {
    expect(await measure(bytes)).toEqual(told('wav', seconds))
  })

  it('counts the samples of every chunk that has some', async () => {
    const more = riffChunk('data', Buffer.alloc(64_000))
    expect(await measure(Buffer.concat([wav({ frames: 16_000 }), more]))).toEqual(told('wav', 3))
  })

  it('is not believed what it says of bytes a second', async () => {
    const bytes = wav({ frames: 32_000 })
    bytes.writeUInt32LE(100_000_000, bytes.indexOf('fmt ') + 16)
    expect(await measure(bytes)).toEqual(told('wav', 2))
  })

  it.each([
    ['a rate of 0', { rate: 0, frames: 100 }],
    ['no channels', { channels: 0, frames: 0 }],
    ['samples of 0 bits', { bits: 0, frames: 0 }],
    ['more than eleven days', { rate: 1, bits: 8, frames: 1_000_001 }],
  ])('cannot have %s', async (_, shape) => {
    expect(await measure(wav(shape)).catch((thrown: unknown) => thrown)).toBeInstanceOf(AudioFault)
  })

  it('of unknown samples plays as long as so many bytes can', async () => {
    const bytes = wav({ codec: 0x11, frames: 10_000 })
    const seconds = Math.ceil(bytes.length / 500)
    expect(await measure(bytes)).toEqual({ format: 'wav', seconds, isTold: false })
  })
})

describe('MP3', () => {
  const hundred = Math.ceil((100 * 1152) / 44_100)
  it.each([
    ['frames alone', mp3(100)],
    ['a tag before', Buffer.concat([id3(5000), mp3(100)])],
    ['two tags before', Buffer.concat([id3(100), id3(70_000), mp3(100)])],
    ['a tag behind', Buffer.concat([mp3(100), Buffer.from('TAG'), Buffer.alloc(125)])],
    ['a count that lies', mp3(100, 'Xing')],
    ['another count that lies', mp3(100, 'VBRI')],
    ['rubbish in the middle', Buffer.concat([mp3(50), Buffer.alloc(90_000, 0xfa), mp3(50)])],
  ])('plays as long as its frames: %s', async (_, bytes) => {
    expect(await measure(bytes)).toEqual(told('mp3', hundred))
  })

  it('leaves out what its encoder has only filled in', async () => {
    const bytes = mp3(39, 'Xing')
    // 39 frames play for 1.02 seconds; less 1105 samples at both ends it is below one.
    expect((await measure(bytes)).seconds).toBe(2)
    bytes.write('LAME', 36 + 8 + 4)
    bytes.writeUIntBE((576 << 12) + 1105, 36 + 8 + 4 + 21, 3)
    expect((await measure(bytes)).seconds).toBe(1)
  })

  it.each([
    ['of a free format', Buffer.from([0xff, 0xfb, 0x00, 0x44, 1, 2, 3])],
    ['without a frame', Buffer.concat([id3(100), Buffer.alloc(5000)])],
    ['whose tag has no end', id3(10).fill(0x7f, 6, 10)],
  ])('is refused: one %s', async (_, bytes) => {
    const found = await durationOf(sourceOf(bytes), 'mp3').catch((thrown: unknown) => thrown)
    expect(found).toBeInstanceOf(AudioFault)
  })
})

describe('M4A', () => {
  it.each([
    ['its header', mp4({ ticks: 3 * 44_100 }), 3],
    ['a header of 64 bits', mp4({ ticks: 3 * 44_100, version: 1 }), 3],
    ['an index at the end', mp4({ ticks: 3 * 44_100, indexAtEnd: true }), 3],
    ['samples that play for longer', mp4({ ticks: 1, samples: [[100, 44_100]] }), 100],
    ['fragments', mp4({ ticks: 0, fragments: [100, 101, 102] }), Math.ceil((303 * 1024) / 44_100)],
  ])('plays as long as its sound: %s', async (_, bytes, seconds) => {
    expect(await measure(bytes)).toEqual(told('m4a', seconds))
  })

  it('without an index plays as long as so many bytes can', async () => {
    const bytes = Buffer.concat([box('ftyp', Buffer.from('isom')), box('mdat', Buffer.alloc(2000))])
    expect(await measure(bytes)).toMatchObject({ isTold: false, seconds: 5 })
  })

  it('that counts in units of no time is refused', async () => {
    const found = await measure(mp4({ scale: 0, ticks: 5 })).catch((thrown: unknown) => thrown)
    expect(found).toBeInstanceOf(AudioFault)
  })
})

describe('FLAC', () => {
  it('plays as long as it says', async () => {
    expect(await measure(flac(44_100, 441_001))).toEqual(told('flac', 11))
    expect(await measure(flac(96_000, 2 ** 33))).toEqual(told('flac', Math.ceil(2 ** 33 / 96_000)))
  })

  it('holds no more in a second than it can', async () => {
    expect((await measure(flac(8000, 1, 1_000_000))).seconds).toBeGreaterThan(20)
  })

  it('that does not say plays as long as so many bytes can', async () => {
    expect(await measure(flac(44_100, 0, 10_000))).toMatchObject({ isTold: false, seconds: 21 })
  })

  it('cannot have a rate of 0', async () => {
    const found = await measure(flac(0, 5)).catch((thrown: unknown) => thrown)
    expect(found).toBeInstanceOf(AudioFault)
  })
})

describe('Ogg', () => {
  const vorbis = Buffer.concat([
    oggPage({ begins: true, end: 0, packet: vorbisHead(44_100) }),
    oggPage({ end: 88_200, packet: Buffer.alloc(600) }),
  ])
  it.each([
    ['Opus, less what is skipped', opus(96_000), 2],
    ['Vorbis', vorbis, 2],
    ['one stream behind the other', Buffer.concat([opus(96_000, 1), opus(48_000, 2)]), 3],
    ['the same number twice', Buffer.concat([opus(96_000), opus(48_000)]), 3],
    [
      'rubbish between pages',
      Buffer.concat([opus(96_000).subarray(0, -1), Buffer.alloc(9), vorbis]),
      4,
    ],
  ])('plays as long as its pages say: %s', async (_, bytes, seconds) => {
    expect(await measure(bytes)).toEqual(told('ogg', seconds))
  })

  it('holds no more in a second than it can', async () => {
    const page = oggPage({ end: 400, packet: Buffer.alloc(50_000) })
    const bytes = Buffer.concat([opus(48_000), ...Array.from({ length: 20 }, () => page)])
    expect((await measure(bytes)).seconds).toBe(13)
  })

  it('of no sound that is known plays as long as so many bytes can', async () => {
    const bytes = oggPage({ begins: true, end: 900, packet: Buffer.from('\x80theora and more') })
    expect(await measure(bytes)).toMatchObject({ isTold: false })
  })
})

describe('WebM', () => {
  it.each([
    ['what it says', webm({ seconds: 12.5 }), 13],
    [
      'its last block, as a browser records it',
      webm({
        isOpen: true,
        clusters: [
          [0, [0, 60]],
          [4000, [0, 500]],
        ],
      }),
      5,
    ],
    ['its last block, where it says less', webm({ seconds: 1, clusters: [[9000, [500]]] }), 10],
  ])('plays as long as %s', async (_, bytes, seconds) => {
    expect(await measure(bytes)).toEqual(told('webm', seconds))
  })

  it('without any time plays as long as so many bytes can', async () => {
    expect(await measure(webm({}))).toMatchObject({ isTold: false })
  })
})

const whole: readonly (readonly [AudioFormat, Uint8Array])[] = [
  ['wav', wav({ frames: 4000 })],
  ['mp3', Buffer.concat([id3(50), mp3(5, 'Xing')])],
  ['m4a', mp4({ ticks: 88_200, samples: [[3, 1024]], fragments: [4] })],
  ['flac', flac(44_100, 44_100)],
  ['ogg', opus(48_000)],
  ['webm', webm({ seconds: 2, clusters: [[0, [0, 20]]] })],
]

describe('whatever is sent', () => {
  const edits = fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 12 })

  it.each(whole)('ends in a length or a fault, for a broken %s', async (format, bytes) => {
    await fc.assert(
      fc.asyncProperty(edits, fc.nat(), async (changes, cut) => {
        const broken = Buffer.from(bytes).subarray(
          0,
          cut % 3 === 0 ? cut % (bytes.length + 1) : undefined,
        )
        for (const [at, value] of changes) if (broken.length > 0) broken[at % broken.length] = value
        const source = sourceOf(broken)
        const found = await durationOf(source, format).catch((thrown: unknown) => {
          if (!(thrown instanceof AudioFault)) throw thrown
          return { seconds: 1 }
        })
        expect(Number.isSafeInteger(found.seconds) && found.seconds >= 1).toBe(true)
        expect(source.asked.most).toBeLessThanOrEqual(65_536)
      }),
    )
  })

  it('plays as long as it was made to, in every format', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 90_000 }), fc.boolean(), async (samples, flag) => {
        const seconds = (rate: number): number => Math.ceil(samples / rate)
        expect(await measure(wav({ frames: samples, bits: 8, channels: flag ? 2 : 1 }))).toEqual(
          told('wav', seconds(16_000)),
        )
        expect((await measure(flac(44_100, samples))).seconds).toBe(seconds(44_100))
        expect((await measure(opus(samples))).seconds).toBe(seconds(48_000))
        expect(await measure(mp4({ ticks: samples, indexAtEnd: flag }))).toEqual(
          told('m4a', seconds(44_100)),
        )
        expect(await measure(webm({ seconds: samples / 1000 }))).toEqual(
          told('webm', seconds(1000)),
        )
      }),
      { numRuns: 30 },
    )
  })

  it('is given up where it is made of too many pieces', async () => {
    const bytes = Buffer.alloc(8_000_000)
    for (let at = 0; at < bytes.length; at += 8) bytes.write('\0\0\0\x08free', at, 'latin1')
    const source = sourceOf(bytes)
    const found = await durationOf(source, 'm4a').catch((thrown: unknown) => thrown)
    expect(found).toBeInstanceOf(AudioFault)
    expect(source.asked.all).toBeLessThan(bytes.length)
  })
})

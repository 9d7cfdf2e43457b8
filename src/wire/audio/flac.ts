// How long a FLAC plays: the samples that its first block tells, but never less than its frames say one by one: the first
// block is the sender's word, and whoever plays the file goes by the frames.
import { flacFrameAt, FLAC_FRAME_HEAD_BYTES } from './flac-frame.ts'
import { AudioFault, type AudioWindow } from './source.ts'

const BLOCKS_MAX = 1024
const BLOCK_HEAD_BYTES = 4
const INFO_BYTES = 18
/** What cannot be packed is written as it is, with little around it. */
const PACKED_MOST = 1.25
/** What every frame begins with, by the two ways to count them. */
const SYNCS = [Buffer.of(0xff, 0xf8), Buffer.of(0xff, 0xf9)] as const
const FRAME_STEPS = 10
/** In 25 MiB a few places look like frames by chance, and one of them plays for a tenth of a second. */
const CHANCE_SECONDS = 1

export interface StreamInfo {
  readonly rate: number
  readonly samples: number
  readonly secondBytes: number
}

/** Of the block that begins with the sizes of blocks and frames. */
export function readStreamInfo(bytes: Buffer): StreamInfo {
  if (bytes.length < INFO_BYTES) throw new AudioFault('The FLAC file ends in its first block.')
  const packed = bytes.readUInt32BE(10)
  const rate = packed >>> 12
  const channels = ((packed >>> 9) & 7) + 1
  const bits = ((packed >>> 4) & 31) + 1
  if (rate === 0) throw new AudioFault('The FLAC file has a sample rate of 0.')
  const samples = (packed & 15) * 2 ** 32 + bytes.readUInt32BE(14)
  return { rate, samples, secondBytes: (rate * channels * bits) / 8 }
}

/** Undefined where neither the number of samples is told nor a frame is found. */
export async function readFlac(window: AudioWindow): Promise<number | undefined> {
  const info = readStreamInfo(await window.load(4 + BLOCK_HEAD_BYTES, INFO_BYTES))
  const start = await skipBlocks(window)
  const found = (await readFrames(window, start, info.rate)) - CHANCE_SECONDS
  if (info.samples === 0) return found > 0 ? found + CHANCE_SECONDS : undefined
  const least = (window.bytes - start) / (info.secondBytes * PACKED_MOST)
  return Math.max(info.samples / info.rate, least, found)
}

async function skipBlocks(window: AudioWindow): Promise<number> {
  let at = 4
  for (let blocks = 0; blocks < BLOCKS_MAX && at + BLOCK_HEAD_BYTES <= window.bytes; blocks++) {
    const head = await window.load(at, BLOCK_HEAD_BYTES)
    at += BLOCK_HEAD_BYTES + head.readUIntBE(1, 3)
    if (head[0]! >= 0x80) break
  }
  return Math.min(at, window.bytes)
}

/** Seconds of all frames, of both ways to count them: a player may take either. */
async function readFrames(window: AudioWindow, start: number, rate: number): Promise<number> {
  let seconds = 0
  for (const sync of SYNCS)
    for (let at = await window.find(sync, start); at < window.bytes;) {
      window.step(FRAME_STEPS)
      const length = Math.min(FLAC_FRAME_HEAD_BYTES, window.bytes - at)
      const head = window.peek(at, length) ?? (await window.load(at, length))
      const frame = flacFrameAt(head)
      if (frame !== undefined) seconds += frame.samples / (frame.rate ?? rate)
      at = await window.find(sync, at + 1)
    }
  return seconds
}

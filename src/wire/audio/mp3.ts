// How long an MP3 plays: all of its frames are counted. Most files also say it at their beginning, but that is the
// sender's word, and whoever plays the file goes by the frames.
import { frameAt, isFreeAt, type Mp3Frame } from './mp3-frame.ts'
import { AudioFault, type AudioWindow } from './source.ts'

const TAGS_MAX = 16
const TAG_BYTES = 10
const SYNC = Buffer.of(0xff)
/** Rare in a sound file, and dear. */
const RESYNC_STEPS = 20
const HEADER_BYTES = 4
/** A frame without sound: its tag, and what may stand in it. */
const INFO_BYTES = 200

export async function readMp3(window: AudioWindow): Promise<number> {
  const start = await skipTags(window)
  if (isFreeAt(await window.load(start, HEADER_BYTES), 0))
    throw new AudioFault('The MP3 file has frames of a free format, which cannot be measured.')
  const count = new Count()
  let isInStep = false
  for (let at = start; at + HEADER_BYTES <= window.bytes;) {
    window.step(1)
    const header = window.peek(at, HEADER_BYTES) ?? (await window.load(at, HEADER_BYTES))
    const frame = frameAt(header, 0)
    if (frame !== undefined && (isInStep || (await isFollowed(window, at, frame)))) {
      if (count.isEmpty) await count.begin(window, at, frame)
      else count.add(frame)
      isInStep = true
      at += frame.bytes
    } else {
      isInStep = false
      window.step(RESYNC_STEPS)
      at = await window.find(SYNC, at + 1)
    }
  }
  if (count.isEmpty) throw new AudioFault('The MP3 file holds no sound.')
  return count.seconds()
}

/** Tags stand before the sound, sometimes several. */
async function skipTags(window: AudioWindow): Promise<number> {
  let at = 0
  for (let tags = 0; tags < TAGS_MAX; tags++) {
    const tag = await window.load(at, TAG_BYTES)
    if (!isTag(tag)) return at
    const size = tag.subarray(6).reduce((sum, byte) => sum * 128 + byte, 0)
    const hasFooter = (tag[5]! & 0x10) !== 0
    at += TAG_BYTES + size + (hasFooter ? TAG_BYTES : 0)
  }
  return at
}

/** What only looks like a tag is passed over by no player: its length would hide what follows. */
function isTag(bytes: Buffer): boolean {
  if (bytes.length < TAG_BYTES || bytes.toString('latin1', 0, 3) !== 'ID3') return false
  return bytes[3] !== 0xff && bytes[4] !== 0xff && bytes.subarray(6).every((byte) => byte < 0x80)
}

/** Two bytes are soon found by chance: out of step, a frame counts where another follows or the file ends. */
async function isFollowed(window: AudioWindow, at: number, { bytes }: Mp3Frame): Promise<boolean> {
  if (at + bytes + HEADER_BYTES > window.bytes) return at + bytes <= window.bytes
  // Both in one go: a window that jumps to and fro would be read again for every chance.
  const both = await window.load(at, bytes + HEADER_BYTES)
  return frameAt(both, bytes) !== undefined
}

class Count {
  readonly #samples = new Map<number, number>()
  /** Samples at both ends that were only put there to fill frames. */
  #trimmed = 0
  isEmpty = true

  add({ samples, rate }: Mp3Frame): void {
    this.#samples.set(rate, (this.#samples.get(rate) ?? 0) + samples)
  }

  /** The first frame may hold nothing but what is said of the others. */
  async begin(window: AudioWindow, at: number, frame: Mp3Frame): Promise<void> {
    this.isEmpty = false
    const bytes = await window.load(at, Math.min(INFO_BYTES, frame.bytes))
    const tag = bytes.toString('latin1', frame.tagAt, frame.tagAt + 4)
    if (tag === 'Xing' || tag === 'Info') this.#trimmed = trimmedBy(bytes, frame.tagAt)
    else if (bytes.toString('latin1', 36, 40) !== 'VBRI') this.add(frame)
  }

  seconds(): number {
    let seconds = 0
    for (const [rate, samples] of this.#samples) {
      const isOnly = this.#samples.size === 1
      seconds += Math.max(0, samples - (isOnly ? this.#trimmed : 0)) / rate
    }
    return seconds
  }
}

/** Behind the counts the encoder says what it has added: two numbers of twelve bits. */
function trimmedBy(bytes: Buffer, tagAt: number): number {
  if (bytes.length < tagAt + 8) return 0
  const flags = bytes.readUInt32BE(tagAt + 4)
  const sizes = [4, 4, 100, 4].map((size, bit) => ((flags >> bit) & 1) * size)
  const encoderAt = tagAt + 8 + sizes.reduce((sum, size) => sum + size, 0)
  if (!/^(?:LAME|Lav[cf])/.test(bytes.toString('latin1', encoderAt, encoderAt + 4))) return 0
  if (bytes.length < encoderAt + 24) return 0
  const both = bytes.readUIntBE(encoderAt + 21, 3)
  return (both >> 12) + (both & 0xfff)
}

// Sound files of the demo, true to their formats: beeps in a WAV, silence in an MP3, as long as the text takes to be
// spoken. Each carries its text where such files have room for a comment, so that it can be read back.

/** English prose at the usual speed. */
const CHARACTERS_A_SECOND = 16
const SPACE = /\s/u

const SAMPLE_RATE = 16_000
const SAMPLE_BYTES = 2
const TONE_HZ = 440
const TONE_LOUDNESS = 6000

/** One beep a character, none for a space: 16-bit PCM, one channel. */
export function writeWav(text: string, speed: number): Uint8Array {
  const samples = Math.round(SAMPLE_RATE / CHARACTERS_A_SECOND / speed)
  const tone = toneOf(samples)
  const silence = Buffer.alloc(tone.length)
  const beeps = Array.from(text, (character) => (SPACE.test(character) ? silence : tone))
  const format = Buffer.alloc(16)
  format.writeUInt16LE(1, 0)
  format.writeUInt16LE(1, 2)
  format.writeUInt32LE(SAMPLE_RATE, 4)
  format.writeUInt32LE(SAMPLE_RATE * SAMPLE_BYTES, 8)
  format.writeUInt16LE(SAMPLE_BYTES, 12)
  format.writeUInt16LE(8 * SAMPLE_BYTES, 14)
  const comment = Buffer.concat([Buffer.from('INFO'), riff('ICMT', Buffer.from(`${text}\0`))])
  const chunks = [riff('fmt ', format), riff('LIST', comment), riff('data', Buffer.concat(beeps))]
  return riff('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]))
}

/** A whole number of waves would be better music; that it begins and ends at nothing keeps it from clicking. */
function toneOf(samples: number): Buffer {
  const tone = Buffer.alloc(samples * SAMPLE_BYTES)
  for (let index = 0; index < samples; index++) {
    const swell = Math.sin((Math.PI * index) / samples)
    const wave = Math.sin((2 * Math.PI * TONE_HZ * index) / SAMPLE_RATE)
    tone.writeInt16LE(Math.round(TONE_LOUDNESS * swell * wave), index * SAMPLE_BYTES)
  }
  return tone
}

/** Chunks begin at even places; the byte that sees to it does not count. */
function riff(name: string, content: Buffer): Buffer {
  const head = Buffer.alloc(8, name, 'latin1')
  head.writeUInt32LE(content.length, 4)
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)])
}

/** MPEG-1 layer III, 32 kbit/s, 48 kHz, one channel: 1152 samples in exactly 96 bytes. */
const FRAME_HEAD = Buffer.from([0xff, 0xfb, 0x14, 0xc4])
const FRAME_BYTES = 96
const FRAME_SECONDS = 0.024

export function writeMp3(text: string, speed: number): Uint8Array {
  const seconds = Array.from(text).length / CHARACTERS_A_SECOND / speed
  // Where nothing follows the head, no sound is described: the decoder plays silence.
  const frame = Buffer.alloc(FRAME_BYTES)
  FRAME_HEAD.copy(frame)
  const frames = Math.max(1, Math.floor(seconds / FRAME_SECONDS))
  return Buffer.concat([writeTag(text), ...Array.from({ length: frames }, () => frame)])
}

const TAG_HEAD_BYTES = 10
const UTF8 = '\x03'
const NOTE = `${UTF8}eng\0`

/** An ID3v2.4 tag with one comment. */
function writeTag(text: string): Buffer {
  const note = Buffer.from(NOTE + text)
  const frame = Buffer.concat([Buffer.from('COMM'), spread(note.length), Buffer.alloc(2), note])
  return Buffer.concat([Buffer.from('ID3\x04\0\0'), spread(frame.length), frame])
}

/** Seven bits a byte, so that no length looks like the beginning of a frame of sound. */
function spread(length: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (length >>> shift) & 0x7f))
}

/** Undefined for a file that is not from here. */
export function readSpokenText(file: Buffer): string | undefined {
  return readComment(file) ?? readTag(file)
}

const WAV_COMMENT_AT = 12 + 24 + 8

function readComment(file: Buffer): string | undefined {
  const isOurs =
    file.toString('latin1', 0, 4) === 'RIFF' &&
    file.toString('latin1', WAV_COMMENT_AT, WAV_COMMENT_AT + 8) === 'INFOICMT'
  if (!isOurs || file.length < WAV_COMMENT_AT + 12) return undefined
  const from = WAV_COMMENT_AT + 12
  const length = file.readUInt32LE(WAV_COMMENT_AT + 8)
  return length < 1 ? undefined : file.subarray(from, from + length - 1).toString()
}

function readTag(file: Buffer): string | undefined {
  const head = file.toString('latin1', 0, 4)
  const frame = file.toString('latin1', TAG_HEAD_BYTES, TAG_HEAD_BYTES + 4)
  if (head !== 'ID3\x04' || frame !== 'COMM' || file.length < 2 * TAG_HEAD_BYTES) return undefined
  const from = 2 * TAG_HEAD_BYTES
  const sizes = file.subarray(TAG_HEAD_BYTES + 4, TAG_HEAD_BYTES + 8)
  const length = sizes.reduce((sum, byte) => (sum << 7) | (byte & 0x7f), 0)
  const note = file.subarray(from, from + length).toString()
  return note.startsWith(NOTE) ? note.slice(NOTE.length) : undefined
}

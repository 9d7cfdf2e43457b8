// What is asked and answered where nobody chats: a recording that is heard, texts that become numbers, and a text that
// is spoken; the sizes are those that people complain about.

export const TASK_PATHS = {
  transcription: '/v1/audio/transcriptions',
  embedding: '/v1/embeddings',
  speech: '/v1/audio/speech',
} as const

const MEGABYTE = 1_000_000
const TEXTS = 100
const DIMENSIONS = 1536
/** PCM of 16 bits, 16,000 a second. */
const BYTES_A_SECOND = 32_000
const WAVE_HEAD_BYTES = 44

export const UPLOAD_BYTES: number = 20 * MEGABYTE
const SECONDS = (UPLOAD_BYTES - WAVE_HEAD_BYTES) / BYTES_A_SECOND

/** Bytes that no compression and no luck makes shorter, the same in every process. */
function noise(length: number): Uint8Array<ArrayBuffer> {
  const words = new Uint32Array(Math.ceil(length / 4))
  let state = 0x9e3779b9
  for (let index = 0; index < words.length; index++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    words[index] = state
  }
  return new Uint8Array(words.buffer, 0, length)
}

/** Five minutes of speech, or so. */
export const SPEECH: Uint8Array<ArrayBuffer> = noise(5 * MEGABYTE)
SPEECH.set([0xff, 0xfb, 0x90, 0x00])

/** An uncompressed recording of ten minutes. */
function recording(): Uint8Array<ArrayBuffer> {
  const bytes = noise(UPLOAD_BYTES)
  const view = new DataView(bytes.buffer)
  const write = (at: number, text: string): void => bytes.set(Buffer.from(text), at)
  write(0, 'RIFF')
  view.setUint32(4, bytes.length - 8, true)
  write(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, BYTES_A_SECOND / 2, true)
  view.setUint32(28, BYTES_A_SECOND, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  write(36, 'data')
  view.setUint32(40, bytes.length - WAVE_HEAD_BYTES, true)
  return bytes
}

export const BOUNDARY = 'bench-form-boundary'

/** The form as a client writes it. */
export function uploadForm(model: string): Uint8Array {
  const part = (name: string): string =>
    `--${BOUNDARY}\r\ncontent-disposition: form-data; name="${name}"`
  const file = `${part('file')}; filename="talk.wav"\r\ncontent-type: audio/wav\r\n\r\n`
  return Buffer.concat([
    Buffer.from(`${part('model')}\r\n\r\n${model}\r\n${file}`),
    recording(),
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ])
}

export function embeddingRequest(model: string, format: 'float' | 'base64'): string {
  const sentence = 'What is to be found again by what it means, and not by its words. '
  const input = Array.from({ length: TEXTS }, (_, index) => `${index}: ${sentence.repeat(4)}`)
  return JSON.stringify({ model, input, encoding_format: format })
}

export function speechRequest(model: string): string {
  const input = 'The gateway speaks five minutes without a pause. '.repeat(80)
  return JSON.stringify({ model, voice: 'alloy', input })
}

function vectors(print: (vector: Float32Array) => unknown): string {
  const bytes = noise(TEXTS * DIMENSIONS * 4)
  const whole = new Int32Array(bytes.buffer)
  const data = Array.from({ length: TEXTS }, (_, index) => {
    const from = index * DIMENSIONS
    const numbers = whole.subarray(from, from + DIMENSIONS)
    const vector = Float32Array.from(numbers, (each) => each / 2 ** 33)
    return { object: 'embedding', index, embedding: print(vector) }
  })
  const usage = { prompt_tokens: 6000, total_tokens: 6000 }
  return JSON.stringify({ object: 'list', data, model: 'bench-upstream', usage })
}

export const TASK_ANSWERS = {
  heard: JSON.stringify({
    text: 'Ten minutes of talk, put down in words. '.repeat(200),
    usage: { type: 'duration', seconds: Math.ceil(SECONDS) },
  }),
  // As makers print them, with some nine digits.
  floats: vectors((vector) => Array.from(vector, (each) => Number(each.toPrecision(9)))),
  base64: vectors((vector) =>
    Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64'),
  ),
} as const

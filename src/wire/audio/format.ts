// The format of an audio file by its first bytes: what a file is called, or is said to be, proves nothing.
import { frameAt } from './mp3-frame.ts'

export type AudioFormat = 'wav' | 'mp3' | 'm4a' | 'flac' | 'ogg' | 'webm'

/** The type of a file of the format; its usual ending is the format's own name. */
export const AUDIO_TYPES: Readonly<Record<AudioFormat, string>> = {
  wav: 'audio/wav',
  mp3: 'audio/mpeg',
  m4a: 'audio/mp4',
  flac: 'audio/flac',
  ogg: 'audio/ogg',
  webm: 'audio/webm',
}

const EBML = '\x1a\x45\xdf\xa3'
const EBML_HEAD_BYTES = 64
/** Pictures and films in the container of M4A, by their brand. */
const OTHER_BRANDS = new Set(['heic', 'heix', 'hevc', 'avif', 'avis', 'mif1', 'msf1', 'qt  '])

/** Undefined for everything else. */
export function formatOf(head: Uint8Array): AudioFormat | undefined {
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.byteLength)
  const text = bytes.toString('latin1', 0, EBML_HEAD_BYTES)
  if (/^(?:RIFF|RF64|BW64)/.test(text) && text.startsWith('WAVE', 8)) return 'wav'
  if (text.startsWith('fLaC')) return 'flac'
  if (text.startsWith('OggS')) return 'ogg'
  if (text.startsWith('ftyp', 4)) return OTHER_BRANDS.has(text.slice(8, 12)) ? undefined : 'm4a'
  if (text.startsWith(EBML)) return /webm|matroska/.test(text) ? 'webm' : undefined
  if (text.startsWith('ID3')) return 'mp3'
  return frameAt(bytes, 0) === undefined ? undefined : 'mp3'
}

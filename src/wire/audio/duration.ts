// How long a file plays, in whole seconds, for whoever has to set money aside for it: never less than what can be read,
// and where nothing can, the most that so many bytes could hold.
import { readFlac } from './flac.ts'
import type { AudioFormat } from './format.ts'
import { readMp3 } from './mp3.ts'
import { readMp4 } from './mp4.ts'
import { readOgg } from './ogg.ts'
import { AudioFault, AudioWindow, type AudioSource } from './source.ts'
import { readWav } from './wav.ts'
import { readWebm } from './webm.ts'

export interface Duration {
  /** At least one; one that has begun counts. */
  readonly seconds: number
  /** The file tells it. Else it is the most that it can be. */
  readonly isTold: boolean
}

type Reader = (window: AudioWindow) => Promise<number | undefined>

const READERS: Readonly<Record<AudioFormat, Reader>> = {
  wav: readWav,
  mp3: readMp3,
  m4a: readMp4,
  flac: readFlac,
  ogg: readOgg,
  webm: readWebm,
}

/**
 * 4 kbit/s. Opus, the thriftiest codec in these containers, speaks at 6 kbit/s or more, and the rest of the way is for pauses,
 * which it leaves out if it is told to.
 */
const LEAST_BYTES_A_SECOND = 500
/** Eleven days: nobody means that, and sums of it would no longer be exact. */
const SECONDS_MAX = 1_000_000

export async function durationOf(source: AudioSource, format: AudioFormat): Promise<Duration> {
  const seconds = await READERS[format](new AudioWindow(source))
  if (seconds === undefined)
    return { seconds: Math.max(1, Math.ceil(source.bytes / LEAST_BYTES_A_SECOND)), isTold: false }
  if (!(seconds <= SECONDS_MAX))
    throw new AudioFault('The file says that it plays for longer than can be.')
  return { seconds: Math.max(1, Math.ceil(seconds)), isTold: true }
}

// How long the sound of an MP4 plays: the times of its samples, in the index or in the fragments of it, or what its
// header says where that is more. What is no sound is passed over.
import { boxesIn, type Box } from './mp4-box.ts'
import { readFragment, type Fragments } from './mp4-fragment.ts'
import { AudioFault, type AudioWindow } from './source.ts'

/** Undefined where no time is told at all. */
export async function readMp4(window: AudioWindow): Promise<number | undefined> {
  const movies: Movie[] = []
  const fragments: Fragments = { ticks: new Map(), samples: new Map(), defaults: new Map() }
  for await (const box of boxesIn(window, 0, window.bytes)) {
    if (box.type === 'moov') movies.push(await readMovie(window, box, fragments))
    if (box.type === 'moof') await readFragment(window, box, fragments)
  }
  // Of two indexes each player believes another one.
  if (movies.length > 1) throw new AudioFault('The MP4 file has more than one index.')
  const [movie] = movies
  if (movie === undefined || movie.tracks.some(({ codec }) => !isPacked(codec))) return undefined
  const seconds = movie.tracks.map((track) => secondsOf(track, fragments))
  const longest = Math.max(movie.seconds, ...seconds)
  return longest > 0 ? longest : undefined
}

/** What the times say, but never less than so many samples must play: they are played whatever is said of their times. */
function secondsOf({ id, scale, ticks, samples }: Track, fragments: Fragments): number {
  if (scale === 0) throw new AudioFault('The sound of the MP4 file counts in units of no time.')
  const said = (ticks + (fragments.ticks.get(id) ?? 0)) / scale
  return Math.max(said, (samples + (fragments.samples.get(id) ?? 0)) * SAMPLE_SECONDS_LEAST)
}

/** AAC, at the highest rate that is in use. */
const SAMPLE_SECONDS_LEAST = 1024 / 96_000
/** Codecs whose samples are packets that play for about as long, or longer. */
const PACKED = new Set(['mp4a', 'Opus', 'alac', 'fLaC', 'ac-3', 'ec-3', 'samr', 'sawb', '.mp3'])

/** Elsewhere a sample may be a single one, or a whole file. Without any codec nobody can play it. */
function isPacked(codec: string | undefined): boolean {
  return codec === undefined || PACKED.has(codec)
}

interface Movie {
  /** What the header says; 0 where that is nothing. */
  readonly seconds: number
  /** Those that are sound. */
  readonly tracks: readonly Track[]
}

interface Track {
  id: number
  /** Ticks a second. */
  scale: number
  ticks: number
  /** How many there are; 0 where that is not told. */
  samples: number
  /** Four letters. */
  codec: string | undefined
  isSound: boolean
}

async function readMovie(window: AudioWindow, movie: Box, fragments: Fragments): Promise<Movie> {
  const tracks: Track[] = []
  let seconds = 0
  for await (const box of boxesIn(window, movie.from, movie.to)) {
    if (box.type === 'mvhd') {
      const { scale, ticks } = await readTimes(window, box)
      seconds = scale === 0 ? 0 : ticks / scale
    }
    if (box.type === 'trak') tracks.push(await readTrack(window, box))
    if (box.type === 'mvex') await readDefaults(window, box, fragments)
  }
  const sound = tracks.filter(({ isSound }) => isSound)
  // The header is about pictures as well: it counts where nothing is known of the sound.
  const isKnown = sound.some(({ id, ticks }) => ticks > 0 || fragments.defaults.has(id))
  return { seconds: isKnown ? 0 : seconds, tracks: sound }
}

/** The way down to the times of the samples. */
const INSIDE: Readonly<Record<string, string>> = { trak: 'mdia', mdia: 'minf', minf: 'stbl' }

async function readTrack(window: AudioWindow, box: Box): Promise<Track> {
  const track: Track = {
    id: 0,
    scale: 1,
    ticks: 0,
    samples: 0,
    codec: undefined,
    isSound: false,
  }
  await readInside(window, box, track)
  return track
}

async function readInside(window: AudioWindow, parent: Box, track: Track): Promise<void> {
  for await (const box of boxesIn(window, parent.from, parent.to)) {
    if (box.type === INSIDE[parent.type]) await readInside(window, box, track)
    else await readPart(window, box, track)
  }
}

async function readPart(window: AudioWindow, box: Box, track: Track): Promise<void> {
  if (box.type === 'tkhd') track.id = await readTrackId(window, box)
  if (box.type === 'hdlr')
    track.isSound = (await window.load(box.from, 12)).toString('latin1', 8, 12) === 'soun'
  if (box.type === 'mdhd') {
    const { scale, ticks } = await readTimes(window, box)
    track.scale = scale
    track.ticks = Math.max(track.ticks, ticks)
  }
  if (box.type === 'stsz' || box.type === 'stz2') track.samples = await wordAt(window, box, 8)
  if (box.type === 'stsd' && (await wordAt(window, box, 4)) > 0)
    track.codec = (await window.load(box.from, 16)).toString('latin1', 12, 16)
  if (box.type === 'stts') track.ticks = Math.max(track.ticks, await readSamples(window, box))
}

async function wordAt(window: AudioWindow, { from, to }: Box, place: number): Promise<number> {
  if (from + place + 4 > to) return 0
  const bytes = await window.load(from, place + 4)
  return bytes.length < place + 4 ? 0 : bytes.readUInt32BE(place)
}

async function readTrackId(window: AudioWindow, { from }: Box): Promise<number> {
  const bytes = await window.load(from, 24)
  const at = bytes[0] === 1 ? 20 : 12
  return bytes.length < at + 4 ? 0 : bytes.readUInt32BE(at)
}

/** Of a header: ticks a second, and how many there are. */
async function readTimes(
  window: AudioWindow,
  { from }: Box,
): Promise<{ readonly scale: number; readonly ticks: number }> {
  const bytes = await window.load(from, 32)
  if (bytes.length < 32) return { scale: 1, ticks: 0 }
  if (bytes[0] === 1) {
    const ticks = bytes.readBigUInt64BE(24)
    const isOpen = ticks === 0xffff_ffff_ffff_ffffn
    return { scale: bytes.readUInt32BE(20), ticks: isOpen ? 0 : Number(ticks) }
  }
  const ticks = bytes.readUInt32BE(16)
  return { scale: bytes.readUInt32BE(12), ticks: ticks === 0xffff_ffff ? 0 : ticks }
}

/** Pairs of how many samples and how long each of them is. */
async function readSamples(window: AudioWindow, { from, to }: Box): Promise<number> {
  let ticks = 0
  for (let at = from + 8; at + 8 <= to;) {
    const pair = window.peek(at, 8) ?? (await window.load(at, 8))
    if (pair.length < 8) break
    ticks += pair.readUInt32BE(0) * pair.readUInt32BE(4)
    at += 8
  }
  return ticks
}

async function readDefaults(
  window: AudioWindow,
  { from, to }: Box,
  { defaults }: Fragments,
): Promise<void> {
  for await (const box of boxesIn(window, from, to)) {
    if (box.type !== 'trex') continue
    const bytes = await window.load(box.from, 16)
    if (bytes.length === 16) defaults.set(bytes.readUInt32BE(4), bytes.readUInt32BE(12))
  }
}

// The fragments of an MP4, as recorders write it who do not know its end: each tells the times of its own samples.
import { boxesIn, type Box } from './mp4-box.ts'
import type { AudioWindow } from './source.ts'

export interface Fragments {
  /** So far, by track. */
  readonly ticks: Map<number, number>
  /** How many there are so far, by track. */
  readonly samples: Map<number, number>
  /** Ticks of a sample of which nothing else is said, by track. */
  readonly defaults: Map<number, number>
}

interface Run {
  track: number
  sampleTicks: number
}

const HAS_OFFSET = 0x1
const HAS_DESCRIPTION = 0x2
const HAS_TICKS = 0x8
const RUN_HAS_OFFSET = 0x1
const RUN_HAS_FIRST = 0x4
const RUN_HAS_TICKS = 0x100
const RUN_EXTRAS = [0x200, 0x400, 0x800]

export async function readFragment(
  window: AudioWindow,
  fragment: Box,
  fragments: Fragments,
): Promise<void> {
  for await (const part of boxesIn(window, fragment.from, fragment.to)) {
    if (part.type !== 'traf') continue
    const run: Run = { track: 0, sampleTicks: 0 }
    for await (const box of boxesIn(window, part.from, part.to)) {
      if (box.type === 'tfhd') await readHead(window, box, run, fragments)
      if (box.type !== 'trun') continue
      const { ticks, samples } = await readRun(window, box, run)
      fragments.ticks.set(run.track, (fragments.ticks.get(run.track) ?? 0) + ticks)
      fragments.samples.set(run.track, (fragments.samples.get(run.track) ?? 0) + samples)
    }
  }
}

async function readHead(
  window: AudioWindow,
  { from }: Box,
  run: Run,
  { defaults }: Fragments,
): Promise<void> {
  const bytes = await window.load(from, 24)
  if (bytes.length < 8) return
  const flags = bytes.readUIntBE(1, 3)
  run.track = bytes.readUInt32BE(4)
  const at = 8 + (flags & HAS_OFFSET ? 8 : 0) + (flags & HAS_DESCRIPTION ? 4 : 0)
  const isSaid = (flags & HAS_TICKS) !== 0 && bytes.length >= at + 4
  run.sampleTicks = isSaid ? bytes.readUInt32BE(at) : (defaults.get(run.track) ?? 0)
}

async function readRun(
  window: AudioWindow,
  { from, to }: Box,
  { sampleTicks }: Run,
): Promise<{ readonly ticks: number; readonly samples: number }> {
  const head = await window.load(from, 8)
  if (head.length < 8) return { ticks: 0, samples: 0 }
  const flags = head.readUIntBE(1, 3)
  const count = head.readUInt32BE(4)
  if ((flags & RUN_HAS_TICKS) === 0) return { ticks: count * sampleTicks, samples: count }
  const stride = 4 + RUN_EXTRAS.reduce((sum, flag) => sum + (flags & flag ? 4 : 0), 0)
  let at = from + 8 + (flags & RUN_HAS_OFFSET ? 4 : 0) + (flags & RUN_HAS_FIRST ? 4 : 0)
  let ticks = 0
  let samples = 0
  while (samples < count && at + stride <= to) {
    const bytes = window.peek(at, 4) ?? (await window.load(at, 4))
    if (bytes.length < 4) break
    ticks += bytes.readUInt32BE(0)
    samples++
    at += stride
  }
  return { ticks, samples }
}

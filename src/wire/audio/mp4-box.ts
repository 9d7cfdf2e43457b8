// The boxes that an MP4 is made of, one behind the other. None reaches beyond the one that it stands in, so that
// to walk through them takes no longer than the file is.
import type { AudioWindow } from './source.ts'

export interface Box {
  readonly type: string
  /** Where its content begins. */
  readonly from: number
  readonly to: number
}

const HEAD_BYTES = 8
const LONG_HEAD_BYTES = 16
const BOX_STEPS = 10

export async function* boxesIn(
  window: AudioWindow,
  from: number,
  to: number,
): AsyncGenerator<Box, void, undefined> {
  for (let at = from; at + HEAD_BYTES <= to;) {
    window.step(BOX_STEPS)
    const head = window.peek(at, LONG_HEAD_BYTES) ?? (await window.load(at, LONG_HEAD_BYTES))
    const box = readBox(head, at, to)
    if (box === undefined) return
    yield box
    at = box.to
  }
}

function readBox(head: Buffer, at: number, end: number): Box | undefined {
  if (head.length < HEAD_BYTES) return undefined
  const short = head.readUInt32BE(0)
  const isLong = short === 1
  if (isLong && head.length < LONG_HEAD_BYTES) return undefined
  const size = isLong ? Number(head.readBigUInt64BE(8)) : short === 0 ? end - at : short
  const headBytes = isLong ? LONG_HEAD_BYTES : HEAD_BYTES
  if (size < headBytes) return undefined
  const type = head.toString('latin1', 4, 8)
  return { type, from: at + headBytes, to: Math.min(at + size, end) }
}

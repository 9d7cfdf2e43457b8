// How long one packet of Opus plays: its first byte says it, and no player goes by anything else (RFC 6716, 3.1).

/** Samples are counted at this rate, whatever was recorded. */
export const OPUS_RATE = 48_000
/** 120 ms: no packet is longer. */
export const OPUS_PACKET_MOST = 5760

/** By configuration: speech, both, and music. */
const SPEECH = [480, 960, 1920, 2880] as const
const MUSIC = [120, 240, 480, 960] as const
const FIRST_BOTH = 12
const FIRST_MUSIC = 16
const MANY_FRAMES = 3

/** Samples; 0 for an empty packet. */
export function opusSamples(packet: Uint8Array): number {
  const first = packet[0]
  if (first === undefined) return 0
  const configuration = first >> 3
  const frame =
    configuration < FIRST_BOTH
      ? SPEECH[configuration & 3]!
      : configuration < FIRST_MUSIC
        ? SPEECH[configuration & 1]!
        : MUSIC[configuration & 3]!
  const code = first & 3
  const frames = code === MANY_FRAMES ? (packet[1] ?? 0) & 0x3f : Math.min(2, code + 1)
  return Math.min(frames * frame, OPUS_PACKET_MOST)
}

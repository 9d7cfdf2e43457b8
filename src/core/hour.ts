// The hour in which money is counted: hours since 1970, in UTC. Days and months are made of whole ones.

export const HOUR_MS = 3_600_000

/** No period of a budget looks back further, so nothing older is asked for. */
export const HOURS_KEPT = 32 * 24

export function hourOf(at: number): number {
  return Math.floor(at / HOUR_MS)
}

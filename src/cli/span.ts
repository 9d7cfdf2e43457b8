// Lengths of time as people write them: 90s, 30m, 2h, 7d, 1w.

const SPAN = /^(\d{1,6})([smhdw])$/
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
}

/** Undefined for what is no length of time. */
export function findSpanMs(text: string): number | undefined {
  const [, amount, unit = ''] = SPAN.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * (UNIT_MS[unit] ?? 0)
}

// How management writes what JSON has no form for.

/** ISO 8601 in UTC; null for a moment that there is not. */
export function printTime(at: number | undefined): string | null {
  return at === undefined ? null : new Date(at).toISOString()
}

// The few figures that a benchmark needs: medians, percentiles, and how far rounds lie apart.

export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((left, right) => left - right)
  const index = Math.min(sorted.length - 1, Math.floor((sorted.length * rank) / 100))
  return sorted[index] ?? Number.NaN
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right)
  const middle = (sorted.length - 1) / 2
  const low = sorted[Math.floor(middle)] ?? Number.NaN
  const high = sorted[Math.ceil(middle)] ?? Number.NaN
  return (low + high) / 2
}

/** Half of the distance between the extremes, as a share of the median: the ± of a figure. */
export function spread(values: readonly number[]): number {
  return (Math.max(...values) - Math.min(...values)) / 2 / median(values)
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

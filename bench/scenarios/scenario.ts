// The contract of a scenario: what it may use, and what it hands to the report. A goal that is missed
// is a figure; a problem means that the run is worth nothing.
import type { Contender, Site } from '../candidates/candidate.ts'
import type { Load } from '../load/load.ts'
import type { Options } from '../options.ts'
import type { Running } from '../processes.ts'

export interface Stage {
  readonly options: Options
  readonly site: Site
  readonly supplier: Running
  readonly load: Load
  /** Those who are measured beside each other; empty where no scenario needs them. */
  readonly contenders: readonly Contender[]
  /** Tells whoever waits what is going on. */
  readonly say: (text: string) => void
}

export interface Scenario {
  readonly id: string
  readonly title: string
  /** Measures the candidates beside each other. */
  readonly needsField: boolean
  run(stage: Stage): Promise<Outcome>
}

export interface Outcome {
  readonly rows?: readonly Row[]
  readonly measures?: readonly Measure[]
  readonly problems?: readonly string[]
  /** Who was left out of it, and why. */
  readonly absent?: readonly string[]
  /** Why it was not run. */
  readonly skipped?: string
}

/** A figure, with what it should be where there is a goal. */
export interface Measure {
  readonly label: string
  readonly value: number
  readonly unit: '×' | '%' | 'MB' | 'ms' | 'calls'
  readonly atMost?: number
}

/** One candidate in one scenario; medians over the rounds. */
export interface Row {
  readonly candidate: string
  readonly cpuMicros: number
  readonly cpuSpread: number
  readonly cpuRounds: readonly number[]
  /** CPU beside the bare proxy of the same round. */
  readonly ratio: number | undefined
  readonly callsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Latency beyond asking the supplier directly in the same round. */
  readonly addedP50Ms: number
  readonly addedP99Ms: number
  readonly rssMb: number
  readonly peakMb: number
  /** CPU a call by the name of the thread. */
  readonly threadMicros: Readonly<Record<string, number>>
}

// Where the figures were taken. Without it a figure means nothing.
import { readFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'

export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly kernel: string
  readonly bun: string
  /** Processes that wanted to run in the minute before: above zero, others were at work, too. */
  readonly loadBefore: number
}

export function describeMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model ?? 'unknown',
    cores: all.length,
    kernel: `Linux ${release()}`,
    bun: Bun.version,
    loadBefore: Number((loadavg()[0] ?? 0).toFixed(2)),
  }
}

/** Share of the machine's time that a host took away since the earlier reading. */
export function stolenSince(before: readonly number[]): number {
  const spent = readTimes().map((value, index) => value - (before[index] ?? 0))
  const total = spent.reduce((sum, value) => sum + value, 0)
  return total === 0 ? 0 : (spent[7] ?? 0) / total
}

/** The first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
export function readTimes(): readonly number[] {
  const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
  return line.split(/\s+/).slice(1, 9).map(Number)
}

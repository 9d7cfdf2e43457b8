// What a process has used, from /proc. CPU is counted over all its threads, because the runtime reads
// its sockets and collects its garbage on threads of its own.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'

export interface CpuReading {
  readonly micros: number
  /** By the name of the thread. */
  readonly threads: ReadonlyMap<string, number>
}

export interface MemoryReading {
  readonly rssMb: number
  readonly peakMb: number
}

/** The unit of /proc/<pid>/stat, one hundredth of a second on every Linux that Bun runs on. */
const TICK_MICROS = 10_000

export function isSupported(): boolean {
  return process.platform === 'linux'
}

export function readCpu(pid: number): CpuReading {
  // The name in parentheses may hold blanks, so fields are counted from its end.
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = Number(fields[11]) + Number(fields[12])
  return { micros: ticks * TICK_MICROS, threads: readThreads(pid) }
}

function readThreads(pid: number): ReadonlyMap<string, number> {
  const threads = new Map<string, number>()
  for (const id of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${id}`
    try {
      const name = readFileSync(`${folder}/comm`, 'utf8').trim()
      const nanos = Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0])
      threads.set(name, (threads.get(name) ?? 0) + nanos / 1000)
    } catch {
      // A thread may end between the listing and the look at it; the total above still has it.
    }
  }
  return threads
}

export function cpuBetween(before: CpuReading, after: CpuReading): CpuReading {
  const threads = new Map<string, number>()
  for (const [name, micros] of after.threads)
    threads.set(name, Math.max(0, micros - (before.threads.get(name) ?? 0)))
  return { micros: after.micros - before.micros, threads }
}

export function readMemory(pid: number): MemoryReading {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const read = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? Number.NaN) / 1024
  return { rssMb: read('VmRSS'), peakMb: read('VmHWM') }
}

/** Forgets the peak so far, so that the next reading tells of what comes. */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
}

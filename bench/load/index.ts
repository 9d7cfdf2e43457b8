// Picks the load generator: wrk where it is installed, unless another one is asked for.
import type { Processes } from '../processes.ts'
import type { Load, LoadId } from './load.ts'
import { createOwn } from './own.ts'
import { createWrk, findWrk } from './wrk.ts'

export function pickLoad(wanted: LoadId | undefined, processes: Processes): Load {
  const program = findWrk()
  if (wanted === 'own') return createOwn(processes)
  if (program !== undefined) return createWrk(program, processes)
  if (wanted === 'wrk') throw new Error('wrk is not installed; `--load own` needs nothing')
  return createOwn(processes)
}

// From the start of the process to the first answer of its health check, with an empty data folder and
// everything that it reads in the file cache.
import { gateway } from '../candidates/gateway.ts'
import { median } from '../figures.ts'
import type { Scenario, Stage } from './scenario.ts'

const STARTS = 5

export const coldStart: Scenario = {
  id: 'cold-start',
  title: 'cold start',
  needsField: false,
  async run(stage) {
    const times: number[] = []
    // The first one fills the file cache and does not count.
    for (let start = 0; start <= STARTS; start++) {
      const ms = await time(stage)
      if (start > 0) times.push(ms)
    }
    const label = `cold start, median of ${STARTS}`
    return { measures: [{ label, value: median(times), unit: 'ms', atMost: 300 }] }
  },
}

async function time({ site, say }: Stage): Promise<number> {
  const started = performance.now()
  const { running } = await gateway.open(site)
  const { status } = await fetch(`${running.url}/health`)
  const ms = performance.now() - started
  await running.stop()
  if (status !== 200) throw new Error(`the health check said ${status}`)
  say(`cold-start  ${ms.toFixed(0)} ms`)
  return ms
}

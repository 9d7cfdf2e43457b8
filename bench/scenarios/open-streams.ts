// Many streams open at once: what the gateway needs at rest, while it holds them all, and whether every
// one of them ends as it should, with what it used in the books.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bookProblem, readBooks } from '../audit.ts'
import type { Contender } from '../candidates/candidate.ts'
import { gateway } from '../candidates/gateway.ts'
import { readMemory } from '../meter.ts'
import type { Processes } from '../processes.ts'
import { orderFor, probe } from './probe.ts'
import type { Outcome, Scenario, Stage } from './scenario.ts'

const KIND = { bytes: 1024, isStream: true }
/** After this long a process is at rest: what its start left behind is collected. */
const REST_MS = 2_000
const LIMIT_MS = 60_000

export const openStreams: Scenario = {
  id: 'open-streams',
  title: 'streams held open at once',
  needsField: false,
  async run(stage) {
    const contender = await gateway.open(stage.site)
    try {
      return await hold(contender, stage)
    } finally {
      await control(stage, 'release')
      await contender.running.stop()
    }
  },
}

async function hold(contender: Contender, stage: Stage): Promise<Outcome> {
  const { pid } = contender.running
  const count = stage.options.openStreams
  await probe(contender, KIND, stage.supplier.url)
  await Bun.sleep(REST_MS)
  const atRest = readMemory(pid)
  const before = readBooks(contender.dataFolder!)
  await control(stage, 'hold')
  stage.say(`open-streams  opening ${count}`)
  const holders = holdStreams(contender, count, stage.site.processes)
  await untilOpen(stage, count)
  await Bun.sleep(REST_MS)
  const open = readMemory(pid)
  await control(stage, 'release')
  const { code, output } = await holders
  const after = readMemory(pid)
  const problem = bookProblem(before, readBooks(contender.dataFolder!), count)
  const isRight = code === 0 && /^failed 0 /m.test(output)
  return {
    measures: [
      { label: 'memory at rest', value: atRest.rssMb, unit: 'MB', atMost: 80 },
      { label: `memory with ${count} open streams`, value: open.rssMb, unit: 'MB', atMost: 150 },
      { label: 'memory at its peak in between', value: after.peakMb, unit: 'MB' },
      { label: 'memory after they ended', value: after.rssMb, unit: 'MB' },
    ],
    problems: [
      ...(isRight ? [] : [`open streams: ${output.slice(-400)}`]),
      ...(problem === undefined ? [] : [`open streams: ${problem}`]),
    ],
  }
}

function holdStreams(
  contender: Contender,
  callers: number,
  processes: Processes,
): ReturnType<Processes['run']> {
  const path = join(processes.createFolder('holders'), 'order.json')
  writeFileSync(path, JSON.stringify({ ...orderFor(contender, KIND), callers, seconds: 0 }))
  const launch = {
    name: 'holders',
    command: [process.execPath, join(import.meta.dir, '../load/holders.ts'), path],
    environment: { BUN_CONFIG_MAX_HTTP_REQUESTS: '65535' },
  }
  return processes.run(launch, LIMIT_MS)
}

/** Until the supplier has them all, half-way through their events. */
async function untilOpen({ supplier }: Stage, count: number): Promise<void> {
  const deadline = performance.now() + LIMIT_MS / 2
  for (;;) {
    const open = Number(await (await fetch(`${supplier.url}/control/streams`)).text())
    if (open >= count) return
    if (performance.now() > deadline) throw new Error(`only ${open} of ${count} streams came open`)
    await Bun.sleep(100)
  }
}

async function control({ supplier }: Stage, word: 'hold' | 'release'): Promise<void> {
  await fetch(`${supplier.url}/control/${word}`, { method: 'POST' })
}

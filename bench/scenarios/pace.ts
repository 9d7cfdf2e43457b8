// What a call waits for beyond its supplier at a pace that leaves the machine time: a thousand calls a second, each
// with its hold and its settlement durable on the way.
import { CallCount } from '../audit.ts'
import { HEADERS, type Contender } from '../candidates/candidate.ts'
import { median } from '../figures.ts'
import type { Tally } from '../load/load.ts'
import { createOwn } from '../load/own.ts'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { orderFor } from './probe.ts'
import type { Outcome, Scenario, Stage } from './scenario.ts'

const CALLS_PER_SECOND = 1000
const KIND = { bytes: 1024, isStream: false }
const WARM_SECONDS = 2
const MEASURED = ['bare', 'gateway']

export const pace: Scenario = {
  id: 'pace-1000',
  title: 'a thousand calls a second',
  needsField: true,
  run: measure,
}

async function measure({ options, site, supplier, contenders, say }: Stage): Promise<Outcome> {
  const load = createOwn(site.processes)
  const running = contenders.filter(({ id }) => MEASURED.includes(id))
  const direct = {
    id: 'direct',
    running: supplier,
    model: SUPPLIER_MODEL,
    headers: HEADERS,
    isPeer: false,
  }
  const field: readonly Contender[] = [direct, ...running]
  const count = new CallCount(field)
  const ask = async (contender: Contender, seconds: number): Promise<Tally> => {
    const order = { ...orderFor(contender, KIND), callers: 1, seconds }
    const tally = await load.run({ ...order, callsPerSecond: CALLS_PER_SECOND })
    count.add(contender, tally)
    return tally
  }
  for (const contender of field) await ask(contender, WARM_SECONDS)
  const added = new Map<string, number[]>(running.map(({ id }) => [id, []]))
  for (let round = 0; round < options.rounds; round++) {
    const base = await ask(direct, options.seconds)
    for (const contender of running) {
      const { p50Ms } = await ask(contender, options.seconds)
      added.get(contender.id)!.push(p50Ms - base.p50Ms)
      say(
        `pace-1000  round ${round + 1}/${options.rounds}  ${contender.id}  ${p50Ms.toFixed(2)} ms`,
      )
    }
  }
  return {
    measures: running.map(({ id }) => toMeasure(id, added.get(id)!)),
    problems: count.problems(),
  }
}

function toMeasure(
  id: string,
  values: readonly number[],
): NonNullable<Outcome['measures']>[number] {
  const label = `${CALLS_PER_SECOND} calls a second: added p50 of ${id}`
  const value = median(values)
  return { label, value, unit: 'ms', ...(id === 'gateway' && { atMost: 1 }) }
}

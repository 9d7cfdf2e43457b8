// What a call costs on its way through each candidate. They take turns in short rounds, because a shared
// machine is never as fast twice, and each is compared with the bare proxy of the same round.
import { CallCount } from '../audit.ts'
import { HEADERS, type Contender } from '../candidates/candidate.ts'
import { median, spread } from '../figures.ts'
import type { Tally } from '../load/load.ts'
import { cpuBetween, readCpu, readMemory, resetPeak } from '../meter.ts'
import { SUPPLIER_MODEL } from '../traffic.ts'
import { orderFor, probe, type Kind } from './probe.ts'
import type { Outcome, Row, Scenario, Stage } from './scenario.ts'

interface RelayKind extends Kind {
  readonly id: string
  readonly title: string
  /** The goal: CPU of the gateway as a multiple of the bare proxy's. */
  readonly atMost: number
}

const KINDS: readonly RelayKind[] = [
  { id: 'unary-1k', title: 'unary, 1 KB prompt', bytes: 1024, isStream: false, atMost: 2 },
  { id: 'unary-64k', title: 'unary, 64 KB prompt', bytes: 65_536, isStream: false, atMost: 2.6 },
  { id: 'stream-50', title: 'stream of 50 chunks', bytes: 1024, isStream: true, atMost: 1.4 },
]

export const relayCosts: readonly Scenario[] = KINDS.map(createRelayCost)

export function findKind(id: string): Kind | undefined {
  return KINDS.find((kind) => kind.id === id)
}

/** What one candidate did in one round, for each call. */
interface Sample {
  readonly cpuMicros: number
  readonly threads: ReadonlyMap<string, number>
  readonly tally: Tally
  readonly rssMb: number
  readonly peakMb: number
}

type Samples = ReadonlyMap<string, Sample[]>
type LoadFor = (contender: Contender, seconds: number) => Promise<Tally>

const WARM_SECONDS = 1
const WARM_RUNS_MAX = 15
/** Work that a call leaves behind, such as collecting garbage, belongs to it. */
const AFTERMATH_MS = 250

function createRelayCost(kind: RelayKind): Scenario {
  return {
    id: kind.id,
    title: kind.title,
    needsField: true,
    run: (stage) => measure(kind, stage),
  }
}

async function measure(kind: RelayKind, stage: Stage): Promise<Outcome> {
  const { present, absent } = await probeAll(kind, stage)
  const count = new CallCount(present)
  const load: LoadFor = async (contender, seconds) => {
    const order = { ...orderFor(contender, kind), callers: stage.options.callers, seconds }
    const tally = await stage.load.run(order)
    count.add(contender, tally)
    return tally
  }
  for (const contender of present) {
    stage.say(`${kind.id}  warming ${contender.id}`)
    await warm((seconds) => load(contender, seconds), stage.options.warmCalls)
  }
  const samples = await takeTurns(present, stage, kind, load)
  const rows = present.map(({ id }) => toRow(id, samples))
  const ratio = rows.find(({ candidate }) => candidate === 'gateway')?.ratio
  const label = `${kind.title}: CPU beside bare`
  return {
    rows,
    measures: ratio === undefined ? [] : [{ label, value: ratio, unit: '×', atMost: kind.atMost }],
    problems: count.problems(),
    absent,
  }
}

interface Present {
  readonly present: readonly Contender[]
  readonly absent: readonly string[]
}

/** The supplier itself and everyone who answers rightly; of those who do not, only a peer is let off. */
async function probeAll(kind: Kind, { supplier, contenders }: Stage): Promise<Present> {
  const direct = {
    id: 'direct',
    running: supplier,
    model: SUPPLIER_MODEL,
    headers: HEADERS,
    isPeer: false,
  }
  const present: Contender[] = [direct]
  const absent: string[] = []
  for (const contender of contenders)
    try {
      await probe(contender, kind, supplier.url)
      present.push(contender)
    } catch (thrown) {
      if (!contender.isPeer) throw thrown
      absent.push(String(thrown))
    }
  return { present, absent }
}

async function warm(load: (seconds: number) => Promise<Tally>, calls: number): Promise<void> {
  let done = 0
  for (let run = 0; run < WARM_RUNS_MAX && done < calls; run++)
    done += (await load(WARM_SECONDS)).calls
}

async function takeTurns(
  field: readonly Contender[],
  { options, say }: Stage,
  { id }: RelayKind,
  load: LoadFor,
): Promise<Samples> {
  const samples = new Map<string, Sample[]>(field.map((each) => [each.id, []]))
  for (let round = 0; round < options.rounds; round++)
    for (let turn = 0; turn < field.length; turn++) {
      // Each round begins with another one, so that nobody always follows the same neighbour.
      const contender = field[(turn + round) % field.length]!
      const sample = await take(contender, () => load(contender, options.seconds))
      samples.get(contender.id)!.push(sample)
      const cpu = sample.cpuMicros.toFixed(1)
      say(`${id}  round ${round + 1}/${options.rounds}  ${contender.id}  ${cpu} µs`)
    }
  return samples
}

async function take({ running }: Contender, load: () => Promise<Tally>): Promise<Sample> {
  running.assertRuns()
  resetPeak(running.pid)
  const before = readCpu(running.pid)
  const tally = await load()
  await Bun.sleep(AFTERMATH_MS)
  running.assertRuns()
  const { micros, threads } = cpuBetween(before, readCpu(running.pid))
  return {
    cpuMicros: micros / tally.calls,
    threads: new Map([...threads].map(([name, each]) => [name, each / tally.calls])),
    tally,
    ...readMemory(running.pid),
  }
}

function toRow(candidate: string, samples: Samples): Row {
  const own = samples.get(candidate)!
  const cpuRounds = own.map(({ cpuMicros }) => cpuMicros)
  const beside = (other: string, of: (sample: Sample, base: Sample) => number): number =>
    median(own.flatMap((sample, round) => of(sample, samples.get(other)![round]!)))
  return {
    candidate,
    cpuMicros: median(cpuRounds),
    cpuSpread: spread(cpuRounds),
    cpuRounds,
    ratio:
      candidate === 'direct'
        ? undefined
        : beside('bare', (sample, base) => sample.cpuMicros / base.cpuMicros),
    callsPerSecond: median(own.map(({ tally }) => tally.calls / tally.seconds)),
    p50Ms: median(own.map(({ tally }) => tally.p50Ms)),
    p99Ms: median(own.map(({ tally }) => tally.p99Ms)),
    addedP50Ms: beside('direct', (sample, base) => sample.tally.p50Ms - base.tally.p50Ms),
    addedP99Ms: beside('direct', (sample, base) => sample.tally.p99Ms - base.tally.p99Ms),
    rssMb: own.at(-1)!.rssMb,
    peakMb: Math.max(...own.map(({ peakMb }) => peakMb)),
    threadMicros: threadsOf(own),
  }
}

/** The threads that matter, the busiest first. */
function threadsOf(samples: readonly Sample[]): Readonly<Record<string, number>> {
  const names = new Set(samples.flatMap(({ threads }) => [...threads.keys()]))
  const all = [...names].map((name) => {
    const micros = median(samples.map(({ threads }) => threads.get(name) ?? 0))
    return [name, micros] as const
  })
  const busy = all.filter(([, micros]) => micros >= 0.05)
  return Object.fromEntries(busy.toSorted(([, left], [, right]) => right - left))
}

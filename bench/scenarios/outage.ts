// Outages under load: of three suppliers one is killed, the next falls silent, the last answers with 500, each comes
// back, and nobody who calls may notice anything but the time that it takes.
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { HEADERS, ROOT_KEY, type Site } from '../candidates/candidate.ts'
import type { Load, Tally } from '../load/load.ts'
import { createOwn } from '../load/own.ts'
import { findFreePort, type Running } from '../processes.ts'
import { chatRequest, PATH, STREAM_ANSWER, SUPPLIER_MODEL, UNARY_ANSWER } from '../traffic.ts'
import type { Measure, Outcome, Scenario, Stage } from './scenario.ts'

const CALLS_PER_SECOND = 500
const MODEL = 'bench-model'
const MAIN = resolve(import.meta.dir, '../../src/main.ts')
const SUPPLIER = resolve(import.meta.dir, '../outage/supplier.ts')

export const outage: Scenario = {
  id: 'outage',
  title: 'three suppliers, and one of them down',
  needsField: false,
  async run({ site, say }) {
    const ports = [findFreePort(), findFreePort(), findFreePort()]
    const suppliers = await Promise.all(ports.map((port) => startSupplier(site, port)))
    const gateway = await startGateway(site, ports)
    try {
      return await measure({ site, say }, suppliers, ports, gateway)
    } finally {
      await gateway.stop()
      await Promise.all(suppliers.map((supplier) => supplier.stop()))
    }
  },
}

function startSupplier({ processes }: Site, port: number): Promise<Running> {
  return processes.start({
    name: `supplier ${port}`,
    command: [process.execPath, SUPPLIER, String(port)],
    environment: {},
  })
}

/** Shared out evenly, so that each outage meets a third of the calls. */
function startGateway({ processes }: Site, ports: readonly number[]): Promise<Running> {
  const folder = processes.createFolder('outage')
  const file = join(folder, 'gateway.yaml')
  const suppliers = ports.map(
    (port, index) => `
  supplier-${index + 1}:
    kind: openai-compatible
    origin: http://127.0.0.1:${port}
    allow_private: true
    credential: bench-credential
    models: { ${MODEL}: { as: ${SUPPLIER_MODEL}, price: { input: 0.15, output: 0.6 } } }`,
  )
  writeFileSync(
    file,
    `suppliers:${suppliers.join('')}
routing: { policy: weight }
defaults: { timeouts: { total: 2, first_byte: 2, first_content: 2 } }
`,
  )
  return processes.start({
    name: 'gateway',
    command: [process.execPath, MAIN, 'start', '--config', file],
    environment: { PORT: '0', GATEWAY_DATA: folder, GATEWAY_ROOT_KEY: ROOT_KEY },
    hasTerminal: true,
  })
}

interface Phase {
  readonly name: string
  readonly seconds: number
  begin(): Promise<unknown>
}

async function measure(
  { site, say }: Pick<Stage, 'site' | 'say'>,
  suppliers: Running[],
  ports: readonly number[],
  gateway: Running,
): Promise<Outcome> {
  const tell = (index: number, mood: string): Promise<unknown> =>
    fetch(`${suppliers[index]!.url}/control/${mood}`, { method: 'POST' })
  const revive = async (): Promise<void> => {
    suppliers[0] = await startSupplier(site, ports[0]!)
  }
  const phases: readonly Phase[] = [
    { name: 'before', seconds: 5, begin: nothing },
    { name: 'one is killed', seconds: 5, begin: () => suppliers[0]!.stop() },
    { name: 'it is back', seconds: 2, begin: revive },
    { name: 'one is silent', seconds: 5, begin: () => tell(1, 'silent') },
    { name: 'it speaks again', seconds: 2, begin: () => tell(1, 'good') },
    { name: 'one answers 500', seconds: 5, begin: () => tell(2, 'broken') },
    { name: 'after', seconds: 12, begin: () => tell(2, 'good') },
  ]
  const callers = new Callers(createOwn(site.processes), gateway.url)
  await callers.callFor(WARM_SECONDS)
  const outcomes: Phased[] = []
  for (const phase of phases) {
    say(`outage: ${phase.name}`)
    const calling = callers.callFor(phase.seconds)
    await phase.begin()
    outcomes.push({ phase, tallies: await calling })
  }
  return { measures: outcomes.flatMap(toMeasures), problems: outcomes.flatMap(findProblems) }
}

const WARM_SECONDS = 2
const nothing = (): Promise<void> => Promise.resolve()

interface Phased {
  readonly phase: Phase
  /** Of calls whose answer comes whole, and of streams. */
  readonly tallies: readonly [Tally, Tally]
}

function toMeasures({ phase: { name }, tallies: [whole, streamed] }: Phased): readonly Measure[] {
  const label = (what: string): string => `outage, ${name}: ${what}`
  const calls = whole.calls + streamed.calls
  return [
    { label: label('p50'), value: Math.max(whole.p50Ms, streamed.p50Ms), unit: 'ms' },
    { label: label('p99'), value: Math.max(whole.p99Ms, streamed.p99Ms), unit: 'ms' },
    {
      label: label(`failed of ${calls}`),
      value: whole.failed + streamed.failed,
      unit: 'calls',
      atMost: 0,
    },
  ]
}

function findProblems({ phase: { name }, tallies }: Phased): readonly string[] {
  return tallies.flatMap(({ failed, complaint }) =>
    failed === 0 ? [] : [`outage: ${failed} calls failed (${name}): ${complaint}`],
  )
}

/** Half of the calls are streams, from a process of their own. */
class Callers {
  readonly #load: Load
  readonly #url: string

  constructor(load: Load, gateway: string) {
    this.#load = load
    this.#url = `${gateway}${PATH}`
  }

  callFor(seconds: number): Promise<[Tally, Tally]> {
    return Promise.all([this.#ask(false, seconds), this.#ask(true, seconds)])
  }

  #ask(isStream: boolean, seconds: number): Promise<Tally> {
    return this.#load.run({
      url: this.#url,
      headers: HEADERS,
      body: chatRequest(MODEL, 1024, isStream),
      answer: { text: isStream ? STREAM_ANSWER : UNARY_ANSWER, isLoose: false },
      callers: 1,
      seconds,
      callsPerSecond: CALLS_PER_SECOND / 2,
    })
  }
}

// What the largest things cost that are no chat: a recording that is sent, sound that comes back, and a hundred texts
// turned into numbers. By turns through the bare proxy and through a gateway, each held against the bare one of its round.
import { Database } from 'bun:sqlite'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { bare } from '../candidates/bare.ts'
import { HEADERS, ROOT_KEY } from '../candidates/candidate.ts'
import { median } from '../figures.ts'
import { digestOf } from '../load/check.ts'
import type { Load, Order } from '../load/load.ts'
import { createOwn } from '../load/own.ts'
import { cpuBetween, readCpu, readMemory, resetPeak } from '../meter.ts'
import type { Running } from '../processes.ts'
import {
  BOUNDARY,
  embeddingRequest,
  SPEECH,
  speechRequest,
  TASK_ANSWERS,
  TASK_PATHS,
  uploadForm,
} from '../task-traffic.ts'
import type { Measure, Outcome, Scenario, Stage } from './scenario.ts'

const MAIN = resolve(import.meta.dir, '../../src/main.ts')
const MODELS = { hear: 'bench-hear', embed: 'bench-embed', speak: 'bench-speak' } as const
/** Of what is so large that more of them would only wait for the machine. */
const CALLERS = 4
const AFTERMATH_MS = 250
const AT_MOST = 1.5
const WARM_SECONDS = 1

interface Way {
  readonly label: string
  readonly order: Pick<Order, 'body' | 'file' | 'answer'> & { readonly path: string }
  readonly type?: string
  /** The memory that it takes is worth a figure. */
  readonly isLarge?: true
}

/** `folder`: for what is sent from a file. */
function waysIn(folder: string): readonly Way[] {
  const file = join(folder, 'upload.form')
  writeFileSync(file, uploadForm(MODELS.hear))
  const embedding = (format: 'float' | 'base64', answer: string): Way['order'] => ({
    path: TASK_PATHS.embedding,
    body: embeddingRequest(MODELS.embed, format),
    answer: exactly(answer),
  })
  return [
    {
      label: '20 MB of sound to be heard',
      type: `multipart/form-data; boundary=${BOUNDARY}`,
      order: {
        path: TASK_PATHS.transcription,
        body: '',
        file,
        answer: exactly(TASK_ANSWERS.heard),
      },
      isLarge: true,
    },
    {
      label: '5 MB of speech',
      order: {
        path: TASK_PATHS.speech,
        body: speechRequest(MODELS.speak),
        answer: exactly(SPEECH),
      },
    },
    { label: '100 embeddings, as base64', order: embedding('base64', TASK_ANSWERS.base64) },
    { label: '100 embeddings, as floats', order: embedding('float', TASK_ANSWERS.floats) },
  ]
}

function exactly(bytes: string | Uint8Array): Order['answer'] {
  return { text: '', isLoose: false, digest: digestOf(bytes) }
}

export const tasks: Scenario = {
  id: 'tasks',
  title: 'large things that are no chat',
  needsField: false,
  async run(stage) {
    const { running: plain } = await bare.open(stage.site)
    const folder = stage.site.processes.createFolder('tasks')
    const gateway = await startGateway(stage, folder)
    try {
      return await new Trial(stage, plain, gateway, folder).run()
    } finally {
      await Promise.all([plain.stop(), gateway.stop()])
    }
  },
}

function startGateway({ site: { processes, supplier } }: Stage, folder: string): Promise<Running> {
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, configuration(supplier))
  return processes.start({
    name: 'tasks',
    command: [process.execPath, MAIN, 'start', '--config', file],
    environment: { PORT: '0', GATEWAY_DATA: folder, GATEWAY_ROOT_KEY: ROOT_KEY },
    hasTerminal: true,
  })
}

/** The models keep their names, since the bare proxy changes none and both send the same. */
function configuration(origin: string): string {
  return `
models:
  ${MODELS.hear}: { kind: transcription }
  ${MODELS.embed}: { kind: embedding }
  ${MODELS.speak}: { kind: speech }
suppliers:
  bench:
    kind: openai-compatible
    origin: ${origin}
    allow_private: true
    credential: bench-credential
    region: EU
    models:
      ${MODELS.hear}: { price: { minute: 0.006 } }
      ${MODELS.embed}: { price: { input: 0.02, output: 0 } }
      ${MODELS.speak}: { price: { character: 15 } }
`
}

interface Sample {
  readonly micros: number
  readonly peakMb: number
}

class Trial {
  readonly #stage: Stage
  readonly #bare: Running
  readonly #gateway: Running
  readonly #folder: string
  readonly #load: Load
  readonly #problems: string[] = []
  #answered = 0

  constructor(stage: Stage, bare: Running, gateway: Running, folder: string) {
    this.#stage = stage
    this.#bare = bare
    this.#gateway = gateway
    this.#folder = folder
    this.#load = createOwn(stage.site.processes)
  }

  async run(): Promise<Outcome> {
    const measures: Measure[] = []
    for (const way of waysIn(this.#folder)) measures.push(...(await this.#measure(way)))
    const rows = countRows(this.#folder)
    if (rows !== this.#answered)
      this.#problems.push(`the audit has ${rows} whole rows for ${this.#answered} answered calls`)
    return { measures, problems: this.#problems }
  }

  async #measure(way: Way): Promise<readonly Measure[]> {
    const { options, say } = this.#stage
    for (const each of [this.#bare, this.#gateway]) await this.#take(way, each, WARM_SECONDS)
    const ratios: number[] = []
    const peaks = { bare: 0, gateway: 0 }
    for (let round = 0; round < options.rounds; round++) {
      const plain = await this.#take(way, this.#bare, options.seconds)
      const own = await this.#take(way, this.#gateway, options.seconds)
      ratios.push(own.micros / plain.micros)
      peaks.bare = Math.max(peaks.bare, plain.peakMb)
      peaks.gateway = Math.max(peaks.gateway, own.peakMb)
      const both = `${own.micros.toFixed(0)} µs beside ${plain.micros.toFixed(0)} µs`
      say(`tasks  round ${round + 1}/${options.rounds}  ${way.label}  ${both}`)
    }
    const { label } = way
    const ratio = { label: `${label}: CPU beside bare`, value: median(ratios), unit: '×' } as const
    const memory = (['gateway', 'bare'] as const).map((name): Measure => {
      const what = `${label}, ${CALLERS} at once: peak of ${name}`
      return { label: what, value: peaks[name], unit: 'MB' }
    })
    return [{ ...ratio, atMost: AT_MOST }, ...(way.isLarge ? memory : [])]
  }

  async #take({ label, order, type }: Way, running: Running, seconds: number): Promise<Sample> {
    const { path, ...rest } = order
    const url = running.url + path
    const headers = type === undefined ? HEADERS : { ...HEADERS, 'content-type': type }
    resetPeak(running.pid)
    const before = readCpu(running.pid)
    const tally = await this.#load.run({ ...rest, url, headers, callers: CALLERS, seconds })
    await Bun.sleep(AFTERMATH_MS)
    running.assertRuns()
    const { calls, failed, complaint } = tally
    if (failed > 0) this.#problems.push(`${label}: ${failed} of ${calls} failed: ${complaint}`)
    if (running === this.#gateway) this.#answered += calls - failed
    const { micros } = cpuBetween(before, readCpu(running.pid))
    return { micros: micros / calls, peakMb: readMemory(running.pid).peakMb }
  }
}

/** Calls that went well, with a price. */
function countRows(folder: string): number {
  const database = new Database(join(folder, 'gateway.db'), { readonly: true })
  try {
    const query = 'SELECT count(*) AS rows FROM audit WHERE status = 200 AND cost > 0'
    return database.query<{ rows: number }, []>(query).get()!.rows
  } finally {
    database.close(true)
  }
}

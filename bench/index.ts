// `npm run bench`: starts a supplier, the candidates and a load generator on this machine's loopback,
// measures, reports and leaves nothing behind. A missed goal is a result; a wrong answer is a failure.
import { join } from 'node:path'
import type { Site } from './candidates/candidate.ts'
import { openField, pickCandidates } from './candidates/index.ts'
import { pickLoad } from './load/index.ts'
import { describeMachine, readTimes, stolenSince } from './machine.ts'
import { isSupported } from './meter.ts'
import { HELP, readOptions, UsageError, type Options } from './options.ts'
import { Processes, type Running } from './processes.ts'
import { takeProfile } from './profile.ts'
import { problemsOf, toJson, toTerminal, type Ran, type Result } from './report.ts'
import { writeResults } from './results.ts'
import { pickScenarios } from './scenarios/index.ts'
import type { Stage } from './scenarios/scenario.ts'

/** However slow the machine is, it ends. */
const LIMIT_MS = 30 * 60_000

const processes = new Processes()
let leaving: Promise<never> | undefined
// Every time: Ctrl-C comes from the terminal and again from npm, and the second must not cut the cleaning.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => void leave(130))
for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (thrown: unknown) => void complain(thrown))
setTimeout(() => void complain('the benchmark took too long'), LIMIT_MS).unref()

await leave(await main())

async function main(): Promise<number> {
  try {
    const options = readOptions(process.argv.slice(2))
    if (options === undefined) {
      process.stdout.write(HELP)
      return 0
    }
    if (!isSupported()) throw new UsageError('the benchmark reads /proc and needs Linux')
    const supplier = await startSupplier(options)
    const site: Site = { processes, supplier: supplier.url, hasLog: options.hasLog }
    if (options.profile === undefined) return await bench(options, supplier, site)
    process.stdout.write(await takeProfile(options, site))
    return 0
  } catch (thrown) {
    tell(thrown)
    return thrown instanceof UsageError ? 2 : 1
  }
}

function tell(thrown: unknown): void {
  process.stderr.write(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
}

/** What nobody waited for must not leave processes behind either. */
function complain(thrown: unknown): Promise<never> {
  tell(thrown)
  return leave(1)
}

async function bench(options: Options, supplier: Running, site: Site): Promise<number> {
  const picked = pickScenarios(options.only)
  const candidates = pickCandidates(options)
  const machine = describeMachine()
  const times = readTimes()
  const needsField = picked.some((scenario) => scenario.needsField)
  const { contenders, absent } = await openField(needsField ? candidates : [], site)
  const load = pickLoad(options.load, processes)
  const stage: Stage = { options, site, supplier, load, contenders, say }
  const scenarios: Ran[] = []
  for (const scenario of picked) {
    say(scenario.id)
    const { id, title } = scenario
    scenarios.push({ id, title, ...(await scenario.run(stage)) })
  }
  return publish(options, {
    date: new Date().toISOString(),
    command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
    machine,
    stolen: stolenSince(times),
    load: load.id,
    rounds: options.rounds,
    seconds: options.seconds,
    callers: options.callers,
    absent,
    scenarios,
  })
}

function publish(options: Options, result: Result): number {
  const page = writeResults(result, options.isLatest)
  say('')
  process.stdout.write(
    options.isJson ? toJson(result) : `${toTerminal(result)}\n\nKept in ${page}\n`,
  )
  return problemsOf(result).length > 0 ? 1 : 0
}

function startSupplier({ gapMs, eventsAFlush }: Options): Promise<Running> {
  const file = join(import.meta.dir, 'fake.ts')
  return processes.start({
    name: 'supplier',
    command: [process.execPath, file, String(gapMs), String(eventsAFlush)],
    environment: {},
  })
}

/** One line that is written over at a terminal, and nothing elsewhere but its end. */
function say(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
  else if (text !== '') process.stderr.write(`${text}\n`)
}

/** The first reason to leave decides the code; a cut run fails in other ways while it is cleaned up. */
function leave(code: number): Promise<never> {
  leaving ??= processes.close().then(() => process.exit(code))
  return leaving
}

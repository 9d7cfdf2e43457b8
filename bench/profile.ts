// Where the gateway's time goes under the load of a scenario, by the runtime's own profiler. The load
// is long and the start short, so the start does not matter in it.
import { mkdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Site } from './candidates/candidate.ts'
import { createGateway } from './candidates/gateway.ts'
import { pickLoad } from './load/index.ts'
import { UsageError, type Options } from './options.ts'
import { orderFor, probe } from './scenarios/probe.ts'
import { findKind } from './scenarios/relay-cost.ts'

const SECONDS = 15
const SHOWN_LINES = 40
const FOLDER = join(import.meta.dir, 'results')

/** The hottest functions; the whole profile is kept beside the results. */
export async function takeProfile(options: Options, site: Site): Promise<string> {
  const { profile: id = '', callers } = options
  const kind = findKind(id)
  if (kind === undefined) throw new UsageError('--profile takes unary-1k, unary-64k or stream-50')
  mkdirSync(FOLDER, { recursive: true })
  const place = [`--cpu-prof-dir=${FOLDER}`, `--cpu-prof-name=${id}`]
  const flags = ['--cpu-prof', '--cpu-prof-md', ...place]
  const contender = await createGateway('gateway', { flags }).open(site)
  await probe(contender, kind, site.supplier)
  const { pid } = contender.running
  process.stderr.write(`The gateway is process ${pid}, under load for ${SECONDS} s.\n`)
  const load = pickLoad(options.load, site.processes)
  const tally = await load.run({ ...orderFor(contender, kind), callers, seconds: SECONDS })
  await contender.running.stop()
  const path = join(FOLDER, id)
  const page = readFileSync(`${path}.md`, 'utf8').split('\n').slice(0, SHOWN_LINES).join('\n')
  const told = `${tally.calls} calls; the whole of it: ${relative(process.cwd(), path)}.md, .cpuprofile`
  return `${page}\n\n${told}\n`
}

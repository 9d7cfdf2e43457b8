// The callers of the own load, as a process: `bun callers.ts <order.json>`. Each asks, reads its answer
// to the end and asks again, or all of them ask at a pace; when the time is up, nobody asks any more.
import { readFileSync } from 'node:fs'
import { percentile } from '../figures.ts'
import { complaintOf, digestComplaintOf } from './check.ts'
import type { Order, Tally } from './load.ts'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own process
const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Order
const sent = order.file === undefined ? order.body : readFileSync(order.file)
const latencies: number[] = []
let failed = 0
let complaint = ''

const started = performance.now()
const deadline = started + order.seconds * 1000
if (order.callsPerSecond === undefined)
  await Promise.all(Array.from({ length: order.callers }, callOn))
else await callAtPace(order.callsPerSecond)
const tally: Tally = {
  calls: latencies.length,
  failed,
  seconds: (performance.now() - started) / 1000,
  p50Ms: percentile(latencies, 50),
  p99Ms: percentile(latencies, 99),
  complaint,
}
process.stdout.write(JSON.stringify(tally))

async function judge(response: Response): Promise<string | undefined> {
  const { answer } = order
  if (answer.digest === undefined)
    return complaintOf(response.status, await response.text(), answer)
  return digestComplaintOf(response.status, await response.bytes(), answer.digest)
}

async function callOn(): Promise<void> {
  while (performance.now() < deadline) await call()
}

/** Whoever is late is not waited for: the next call begins when it is due. */
async function callAtPace(callsPerSecond: number): Promise<void> {
  const calls: Promise<void>[] = []
  while (performance.now() < deadline) {
    const due = ((performance.now() - started) / 1000) * callsPerSecond
    while (calls.length < due) calls.push(call())
    await Bun.sleep(1)
  }
  await Promise.all(calls)
}

async function call(): Promise<void> {
  const { url, headers } = order
  const asked = performance.now()
  const found = await fetch(url, { method: 'POST', headers, body: sent }).then(judge).catch(String)
  latencies.push(performance.now() - asked)
  if (found === undefined) return
  failed++
  complaint ||= found
}

// The callers of the own load, as a process: `bun callers.ts <order.json>`. Each asks, reads its answer
// to the end and asks again; when the time is up, it asks no more.
import { readFileSync } from 'node:fs'
import { percentile } from '../figures.ts'
import { complaintOf } from './check.ts'
import type { Order, Tally } from './load.ts'

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own process
const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Order
const latencies: number[] = []
let failed = 0
let complaint = ''

const started = performance.now()
const deadline = started + order.seconds * 1000
await Promise.all(Array.from({ length: order.callers }, call))
const tally: Tally = {
  calls: latencies.length,
  failed,
  seconds: (performance.now() - started) / 1000,
  p50Ms: percentile(latencies, 50),
  p99Ms: percentile(latencies, 99),
  complaint,
}
process.stdout.write(JSON.stringify(tally))

async function call(): Promise<void> {
  const { url, headers, body, answer } = order
  while (performance.now() < deadline) {
    const asked = performance.now()
    const found = await fetch(url, { method: 'POST', headers, body })
      .then(async (response) => complaintOf(response.status, await response.text(), answer))
      .catch(String)
    latencies.push(performance.now() - asked)
    if (found === undefined) continue
    failed++
    complaint ||= found
  }
}

// Callers that all hold a stream open at once, as a process: `bun holders.ts <order.json>`. It says
// when all of them have begun to receive, and at the end how many were right.
import { readFileSync } from 'node:fs'
import { complaintOf } from './check.ts'
import type { Order } from './load.ts'

/** Connections opened at a time: a listening socket's queue is shorter than a thousand. */
const BATCH = 100

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by our own process
const order = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8')) as Order
const ends: Promise<string | undefined>[] = []
for (let opened = 0; opened < order.callers; opened += BATCH) {
  const count = Math.min(BATCH, order.callers - opened)
  await Promise.all(Array.from({ length: count }, open))
}
process.stdout.write('open\n')
const complaints = (await Promise.all(ends)).filter((each) => each !== undefined)
process.stdout.write(`failed ${complaints.length} ${complaints[0] ?? ''}\n`)

/** Resolves with the first bytes; the rest is read in the background. */
async function open(): Promise<void> {
  const { url, headers, body } = order
  const began = Promise.withResolvers<void>()
  const end = fetch(url, { method: 'POST', headers, body })
    .then((response) => read(response, began.resolve))
    .catch(String)
    .finally(began.resolve)
  ends.push(end)
  await began.promise
}

async function read(response: Response, begin: () => void): Promise<string | undefined> {
  const decoder = new TextDecoder()
  let text = ''
  if (response.body !== null)
    for await (const chunk of response.body) {
      text += decoder.decode(chunk, { stream: true })
      begin()
    }
  return complaintOf(response.status, text, order.answer)
}

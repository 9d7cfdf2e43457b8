// One call before any load, looked at closely: what came back, and what had arrived at the supplier.
import type { Contender } from '../candidates/candidate.ts'
import { complaintOf } from '../load/check.ts'
import type { Answer, Order } from '../load/load.ts'
import { chatRequest, PATH, STREAM_ANSWER, SUPPLIER_MODEL, UNARY_ANSWER } from '../traffic.ts'

export interface Kind {
  readonly bytes: number
  readonly isStream: boolean
}

/** What a gateway may add to a request, to learn what a stream used. */
const USAGE_OPTION = ',"stream_options":{"include_usage":true}'

export function orderFor(contender: Contender, kind: Kind): Omit<Order, 'callers' | 'seconds'> {
  const { running, headers, model, isPeer } = contender
  const answer: Answer = { text: kind.isStream ? STREAM_ANSWER : UNARY_ANSWER, isLoose: isPeer }
  const body = chatRequest(model, kind.bytes, kind.isStream)
  return { url: running.url + PATH, headers, body, answer }
}

/** Throws unless it is a proxy to this supplier that keeps every byte but the model's name. */
export async function probe(contender: Contender, kind: Kind, supplier: string): Promise<void> {
  const { url, headers, body, answer } = orderFor(contender, kind)
  const response = await fetch(url, { method: 'POST', headers, body })
  const complaint = complaintOf(response.status, await response.text(), answer)
  if (complaint !== undefined) throw new Error(`${contender.id} answered wrongly: ${complaint}`)
  if (contender.isPeer) return
  const arrived = await (await fetch(`${supplier}/control/last`)).text()
  const expected = body.replace(JSON.stringify(contender.model), JSON.stringify(SUPPLIER_MODEL))
  if (arrived.replace(USAGE_OPTION, '') !== expected)
    throw new Error(`${contender.id} sent the supplier other bytes: ${arrived.slice(0, 300)}`)
}

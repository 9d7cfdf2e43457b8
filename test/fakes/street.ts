// A gateway with its suppliers in a row, each doing as it is told: the scene of most tests.
import type { Limits } from '../../src/pipeline/call.ts'
import { createFakeClock, type FakeClock } from './clock.ts'
import { startGateway, supplierAt, type Gateway } from './gateway.ts'
import {
  chunk,
  completion,
  DONE,
  startFakeSupplier,
  USAGE_CHUNK,
  type FakeReply,
  type FakeSupplier,
  type Script,
} from './supplier.ts'

export interface Street {
  readonly gateway: Gateway
  readonly suppliers: readonly FakeSupplier[]
  readonly clock: FakeClock
}

interface Stoppable {
  stop(): Promise<void>
}

const open: Stoppable[] = []

/** Has it stopped by `closeStreet`. */
export function tidy<Each extends Stoppable>(each: Each): Each {
  open.push(each)
  return each
}

/** Stops everything that was opened since the last time, the latest first. */
export async function closeStreet(): Promise<void> {
  for (const each of open.splice(0).toReversed()) await each.stop()
}

/** Suppliers `fake`, `fake-2`, … serve one model in this order; time stands still. */
export async function openStreet(
  scripts: readonly Script[],
  limits: Partial<Limits> = {},
): Promise<Street> {
  const clock = createFakeClock()
  const suppliers = await Promise.all(scripts.map((script) => startFakeSupplier(script)))
  const gateway = await startGateway({
    clock,
    limits,
    suppliers: suppliers.map(({ origin }, index) =>
      supplierAt(origin, index === 0 ? {} : { id: `fake-${index + 1}`, region: 'US' }),
    ),
  })
  for (const each of [...suppliers, gateway]) tidy(each)
  return { gateway, suppliers, clock }
}

export const ROLE = chunk({ role: 'assistant', content: '' })
export const HI = chunk({ content: 'Hi' })
export const STOP = chunk({}, 'stop')
export const ANSWER = [ROLE, HI, STOP]

export function sendEvents(reply: FakeReply, events: readonly string[]): void {
  const stream = reply.stream()
  for (const event of events) stream.send(event)
  stream.end()
}

/** Answers as it was asked, whole or as a stream. */
export const good: Script = (request, reply) => {
  const { stream } = JSON.parse(request.body.toString()) as { stream?: boolean }
  if (stream === true) sendEvents(reply, [...ANSWER, USAGE_CHUNK, DONE])
  else reply.json(200, completion('Hi'))
}

export function refuse(
  status: number,
  error: object,
  headers: Readonly<Record<string, string>> = {},
): Script {
  return (_, reply) => reply.json(status, { error }, headers)
}

export interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    readonly human_message: string
    readonly retryable: boolean
    readonly provider?: unknown
  }
}

/** A door that someone waits at until someone else opens it. */
export function createGate(): { readonly opened: Promise<void>; readonly open: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: resolve }
}

export interface TextReader {
  /** Reads until the text so far holds this, and returns all of it. */
  until(text: string): Promise<string>
  /** Reads until the text so far holds this so many times. */
  count(text: string, times: number): Promise<string>
  /** Reads to the end and returns all of it. */
  rest(): Promise<string>
}

export function readText(response: Response): TextReader {
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
  let all = ''
  const readWhile = async (isShort: () => boolean): Promise<string> => {
    while (isShort()) {
      const { done, value } = await reader.read()
      if (done) return all
      all += value
    }
    return all
  }
  return {
    until: (text) => readWhile(() => !all.includes(text)),
    count: (text, times) => readWhile(() => all.split(text).length <= times),
    rest: () => readWhile(() => true),
  }
}

/** Waits for something that no promise tells of; a test that waits in vain runs into its own limit. */
export async function until(isReached: () => boolean): Promise<void> {
  while (!isReached()) await new Promise((resolve) => setImmediate(resolve))
}

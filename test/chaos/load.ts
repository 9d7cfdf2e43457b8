// Callers that never rest: each asks again as soon as it has its answer, whole or streamed, and remembers what
// it was told. When nobody answers they wait for the next gateway, and ask it again what has an Idempotency-Key.
import { HELLO } from '../fakes/gateway.ts'
import { DONE } from '../fakes/supplier.ts'
import type { Door } from './door.ts'
import type { Random } from './random.ts'
import { FIRST_MARKER, type Caller } from './town.ts'

export interface Delivery {
  readonly marker: number
  /** What the caller was told of its bill. */
  readonly settlement: string
  readonly costUsd: string
}

export interface Crowd {
  /** Answers that came to their very end. */
  readonly deliveries: readonly Delivery[]
  /** Calls that were refused for want of money: nothing may have come of them. */
  readonly unpaid: readonly number[]
  /** Calls that are done for good, by what their Idempotency-Key was told. */
  readonly carriedOut: readonly number[]
  /** Calls with an Idempotency-Key. */
  readonly once: ReadonlySet<number>
  /** Secrets that did not open, although nobody was changing them. */
  readonly lockedOut: readonly string[]
  /** Calls that were sent, whatever became of them. */
  sent(): number
  /** Refusals by status and code; answers from before by how they came. */
  readonly told: ReadonlyMap<string, number>
  /** Resolves when every caller has gone home. */
  end(): Promise<void>
}

export interface CrowdOptions {
  readonly size: number
  readonly callers: readonly Caller[]
  readonly random: Random
  readonly door: Door
}

interface Errand {
  readonly marker: number
  readonly caller: Caller
  readonly project: string | undefined
  readonly stream: boolean
  readonly isOnce: boolean
}

interface Answer {
  readonly response: Response
  readonly text: string
}

const UNPAID = new Set([
  '402 budget_exceeded',
  '403 billing_limit_reached',
  '429 capacity_exceeded',
])
const UNDECIDED = new Set(['409 operation_unknown', '409 operation_in_progress'])

export function gather({ size, callers, random, door }: CrowdOptions): Crowd {
  const deliveries: Delivery[] = []
  const unpaid: number[] = []
  const carriedOut: number[] = []
  const lockedOut: string[] = []
  const once = new Set<number>()
  const told = new Map<string, number>()
  const again: Errand[] = []
  const state = { sent: 0, isOver: false }

  const think = (): Errand => {
    const known = random.oneIn(3) ? again.shift() : undefined
    if (known !== undefined) return known
    const marker = FIRST_MARKER + state.sent
    state.sent += 1
    const caller = callers[random.between(0, callers.length - 1)]!
    const project = caller.projects[random.between(0, caller.projects.length)]
    const isOnce = random.oneIn(4)
    if (isOnce) once.add(marker)
    return { marker, caller, project, stream: random.oneIn(2), isOnce }
  }

  const count = (what: string): void => void told.set(what, (told.get(what) ?? 0) + 1)

  /** True when there is nothing more to ask. */
  const hear = (errand: Errand, { response, text }: Answer): boolean => {
    const { marker, stream } = errand
    const code = /"code":"(\w+)"/.exec(text)?.[1]
    const what = `${response.status} ${code ?? 'without an end'}`
    if (response.status === 200 && (!stream || text.endsWith(DONE))) {
      deliveries.push({ marker, ...billOf(response, text) })
      if (response.headers.has('idempotency-replayed')) count('200 replayed')
      // Some forget that they were answered.
      return !random.oneIn(4)
    }
    count(what)
    if (UNPAID.has(what)) unpaid.push(marker)
    if (what === '409 payload_not_durable') carriedOut.push(marker)
    return !UNDECIDED.has(what) && response.status !== 401 && code !== undefined
  }

  const run = async (url: string, errand: Errand): Promise<boolean> => {
    const { caller } = errand
    const rotations = caller.rotations
    const secret = (random.oneIn(3) ? caller.previous : undefined) ?? caller.secret
    const answer = await ask(url, errand, secret)
    const isDone = hear(errand, answer)
    const isQuiet = rotations % 2 === 0 && rotations === caller.rotations
    if (answer.response.status === 401 && isQuiet) lockedOut.push(caller.id)
    if (answer.response.status !== 200) await Bun.sleep(random.between(5, 20))
    return isDone
  }

  const loop = async (): Promise<void> => {
    while (!state.isOver) {
      const url = await door.opened()
      if (url === undefined) return
      const errand = think()
      // The gateway may die under this call, and what became of it only the books can tell.
      const isDone = await door.within(() => run(url, errand).catch(() => false))
      if (!isDone && errand.isOnce) again.push(errand)
      if (!isDone) await Bun.sleep(1)
    }
  }

  const loops = Array.from({ length: size }, loop)
  return {
    deliveries,
    unpaid,
    carriedOut,
    once,
    lockedOut,
    told,
    sent: () => state.sent,
    async end() {
      state.isOver = true
      door.end()
      await Promise.all(loops)
    },
  }
}

async function ask(url: string, errand: Errand, secret: string): Promise<Answer> {
  const { marker, project, stream, isOnce } = errand
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      ...(project !== undefined && { 'x-svc-project': project }),
      ...(isOnce && { 'idempotency-key': `call ${marker}` }),
    },
    body: JSON.stringify({ ...HELLO, model: 'm', stream, max_tokens: marker }),
  })
  return { response, text: await response.text() }
}

/** In the headers of a whole answer, in the comments of a stream. */
function billOf(response: Response, text: string): Omit<Delivery, 'marker'> {
  const tell = (name: string): string =>
    response.headers.get(name) ?? new RegExp(`^: ${name}: (.*)$`, 'm').exec(text)?.[1] ?? ''
  return { settlement: tell('x-svc-settlement'), costUsd: tell('x-svc-cost-usd') }
}

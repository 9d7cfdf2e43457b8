// Callers that never rest: each asks again as soon as it has its answer, whole or streamed, and remembers what
// it was told. When nobody answers they wait for the next gateway.
import { HELLO } from '../fakes/gateway.ts'
import { DONE } from '../fakes/supplier.ts'
import type { Random } from './random.ts'

export interface Delivery {
  readonly marker: number
  /** What the caller was told of its bill. */
  readonly settlement: string
  readonly costUsd: string
}

export interface Crowd {
  /** Answers that came to their very end. */
  readonly deliveries: readonly Delivery[]
  /** Calls that were sent, whatever became of them. */
  sent(): number
  /** Refusals by status and code. */
  readonly refusals: ReadonlyMap<string, number>
  /** From now on there is a gateway at this address. */
  go(url: string): void
  /** From now on there is none. */
  wait(): void
  /** Resolves when every caller has gone home. */
  end(): Promise<void>
}

export interface CrowdOptions {
  readonly callers: number
  readonly keys: readonly string[]
  readonly random: Random
}

const FIRST_MARKER = 1000

export function gather({ callers, keys, random }: CrowdOptions): Crowd {
  const deliveries: Delivery[] = []
  const refusals = new Map<string, number>()
  const state = { sent: 0, isOpen: false, isOver: false }
  let door = createDoor()

  const call = async (url: string): Promise<void> => {
    const marker = FIRST_MARKER + state.sent
    state.sent += 1
    const stream = random.oneIn(2)
    const key = keys[random.between(0, keys.length - 1)]!
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...HELLO, model: 'm', stream, max_tokens: marker }),
    })
    const text = await response.text()
    if (response.status === 200 && (!stream || text.endsWith(DONE)))
      deliveries.push({ marker, ...billOf(response, text) })
    else {
      const what = `${response.status} ${/"code":"(\w+)"/.exec(text)?.[1]}`
      refusals.set(what, (refusals.get(what) ?? 0) + 1)
    }
  }

  const loop = async (): Promise<void> => {
    while (!state.isOver) {
      const url = await door.opened
      if (url === undefined) return
      try {
        await call(url)
      } catch {
        // The gateway died under this call, and what became of it only the books can tell.
        await Bun.sleep(1)
      }
    }
  }

  const loops = Array.from({ length: callers }, loop)
  return {
    deliveries,
    refusals,
    sent: () => state.sent,
    go(url) {
      state.isOpen = true
      door.open(url)
    },
    wait() {
      // Whoever waits already must not be left behind at a door that nobody opens.
      if (state.isOpen) door = createDoor()
      state.isOpen = false
    },
    async end() {
      state.isOver = true
      door.open(undefined)
      await Promise.all(loops)
    },
  }
}

function createDoor() {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  return { opened: promise, open: resolve }
}

/** In the headers of a whole answer, in the comments of a stream. */
function billOf(response: Response, text: string): Omit<Delivery, 'marker'> {
  const tell = (name: string): string =>
    response.headers.get(name) ?? new RegExp(`^: ${name}: (.*)$`, 'm').exec(text)?.[1] ?? ''
  return { settlement: tell('x-svc-settlement'), costUsd: tell('x-svc-cost-usd') }
}

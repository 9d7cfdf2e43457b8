// A server of the demo on the loopback address, and who is being answered by it. A caller who left is forgotten at
// once, so that nobody waits for one.
import { DemoRefusal } from './refusal.ts'

export interface DemoServer {
  readonly origin: string
  /** How many requests came in, refused ones included. */
  readonly calls: () => number
  /** Resolves as soon as no call is under way: a caller who left must not be waited for. */
  idle(): Promise<void>
  stop(): Promise<void>
}

export interface Presence {
  /** The returned function may be called more than once. */
  enter(): () => void
  idle(): Promise<void>
}

export interface Manners {
  respond(request: Request, presence: Presence): Promise<Response>
  /** How a refusal is said to whoever sent this. */
  refuse(refusal: DemoRefusal, request: Request): Response
}

export function listen(manners: Manners): DemoServer {
  let calls = 0
  const presence = trackPresence()
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    // A model that falls silent must stay silent until its caller gives up.
    idleTimeout: 0,
    development: false,
    async fetch(request) {
      calls += 1
      const leave = presence.enter()
      try {
        return await manners.respond(request, presence)
      } catch (thrown) {
        if (thrown instanceof DemoRefusal) return manners.refuse(thrown, request)
        if (request.signal.aborted) return leftAlone()
        throw thrown
      } finally {
        leave()
      }
    },
  })
  return {
    origin: server.url.origin,
    calls: () => calls,
    idle: () => presence.idle(),
    stop: () => server.stop(true),
  }
}

/** For a caller who has gone: nobody reads it, but the runtime wants a reply. */
export function leftAlone(): Response {
  return new Response(null, { status: 499 })
}

export function pathOf({ url }: Request): string {
  return new URL(url).pathname
}

function trackPresence(): Presence {
  const present = new Set<object>()
  let waiting: (() => void)[] = []
  return {
    enter() {
      const visit = {}
      present.add(visit)
      return () => {
        present.delete(visit)
        if (present.size > 0) return
        for (const resolve of waiting) resolve()
        waiting = []
      }
    },
    async idle() {
      if (present.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push(resolve)
      await promise
    },
  }
}

// Sends a body part by part and ends it well or badly on purpose. Whoever leaves ends it at once: no
// pause and no silence outlives its reader.

export interface Script {
  readonly parts: readonly (string | Uint8Array)[]
  readonly ending: 'close' | 'hang' | 'cut'
  /** Before the first byte, the head included. */
  readonly delayMs: number
  /** Between two parts. */
  readonly pauseMs: number
}

/** A reset may overtake what the reader has not taken in yet; this lets the parts arrive before. */
const CUT_PAUSE_MS = 200

const encoder = new TextEncoder()

export function openBody(
  script: Script,
  signal: AbortSignal,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  let sent = 0
  let isOver = false
  const end = (): void => {
    isOver = true
    onEnd()
  }
  if (signal.aborted) end()
  else signal.addEventListener('abort', end, { once: true })

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const part = script.parts[sent]
      await (part === undefined ? waitForEnding(script, signal) : waitForPart(script, sent, signal))
      if (isOver) return
      sent += 1
      if (part !== undefined) {
        controller.enqueue(typeof part === 'string' ? encoder.encode(part) : part)
        return
      }
      end()
      if (script.ending === 'close') controller.close()
      // Without a reason, since the runtime prints any other as a fault of the process. The reader
      // sees a chunked body without its last chunk.
      else controller.error(undefined)
    },
    cancel: end,
  })
}

async function waitForPart(script: Script, sent: number, signal: AbortSignal): Promise<void> {
  if (sent > 0) await pause(script.pauseMs, signal)
}

async function waitForEnding(script: Script, signal: AbortSignal): Promise<void> {
  if (script.ending === 'hang') await pause(Infinity, signal)
  if (script.ending === 'cut') await pause(CUT_PAUSE_MS, signal)
}

/** Ends after the time or with the reader, whichever is first; an infinite pause sets no timer. */
export async function pause(durationMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted || durationMs === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const wake = (): void => resolve()
  const timer = durationMs === Infinity ? undefined : setTimeout(wake, durationMs)
  signal.addEventListener('abort', wake, { once: true })
  await promise
  clearTimeout(timer)
  signal.removeEventListener('abort', wake)
}

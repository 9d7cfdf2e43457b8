// Waits for a person who is elsewhere: as long as is reasonable, and until Ctrl-C. Whatever ends the waiting is the
// reason of the signal, so that everything that waits on it says the same.
import type { Clock } from '../core/clock.ts'
import { CliFailure } from './failure.ts'

export interface Patience {
  readonly clock: Clock
  readonly ms: number
}

export async function whileWaiting<T>(
  { clock, ms }: Patience,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController()
  const interrupt = (): void =>
    controller.abort(new CliFailure('interrupted', 'Interrupted: nobody was signed in.'))
  const deadline = clock.after(ms, {
    tick: () =>
      controller.abort(
        new CliFailure('refused', `Nobody signed in within ${Math.ceil(ms / 60_000)} minutes.`, {
          advice: 'Run the command again.',
        }),
      ),
  })
  process.on('SIGINT', interrupt)
  try {
    return await work(controller.signal)
  } finally {
    process.off('SIGINT', interrupt)
    deadline.leave()
  }
}

/** Whatever comes first; the other is left to itself. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(signal.reason)
  if (signal.aborted) end()
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([promise, aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

export async function pause(ms: number, clock: Clock, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const place = clock.after(ms, { tick: resolve })
  try {
    await orAborted(promise, signal)
  } finally {
    place.leave()
  }
}

// The process: raises the runtime's connection limit, starts the gateway, tells the person in front of
// it what to do next, and drains on a signal.
import { startApp, type App } from './app.ts'
import { readSettings } from './config/environment.ts'
import { hasRaisedLimits, raiseLimits } from './config/runtime.ts'
import { createSystemClock } from './core/clock.ts'
import { createLog, type Log } from './observe/log.ts'
import { welcome } from './observe/welcome.ts'

/** How long a running call may go on after a signal. */
const LIMIT_MS = 120_000
/** What load balancers need to see a failing health check and look elsewhere. */
const NOTICE_MS = 5_000

if (!hasRaisedLimits()) raiseLimits()
await start()

async function start(): Promise<void> {
  const clock = createSystemClock()
  const isTerminal = process.stderr.isTTY
  const log = createLog({
    write: (text) => void process.stderr.write(text),
    now: () => clock.now(),
    isTerminal,
  })
  try {
    const settings = readSettings()
    const app = await startApp({ settings, clock, log })
    // Before anyone learns that it runs, and may want it to stop.
    drainOnSignal(app)
    watchForBugs(app, log)
    process.stdout.write(
      welcome({
        ...app,
        dataFolder: settings.dataFolder,
        hasOwnRootKey: settings.rootKey !== undefined,
      }),
    )
  } catch (thrown) {
    process.stderr.write(`error: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`)
    process.exit(1)
  }
}

/** A bug that no call caught: told aloud, and where state may be bad the process ends in good order. */
function watchForBugs(app: App, log: Log): void {
  process.on('unhandledRejection', (reason) => log.note('error', `unhandled: ${describe(reason)}`))
  process.on('uncaughtException', (thrown) => {
    log.note('error', `uncaught: ${describe(thrown)}`)
    void app.drain({ noticeMs: 0, limitMs: LIMIT_MS }).then(() => process.exit(1))
  })
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/** The first signal lets running calls finish, the second ends them with an error. */
function drainOnSignal(app: App): void {
  let isDraining = false
  const onSignal = (noticeMs: number): void => {
    if (isDraining) return app.cut()
    isDraining = true
    void app.drain({ noticeMs, limitMs: LIMIT_MS }).then(() => process.exit(0))
  }
  process.on('SIGTERM', () => onSignal(NOTICE_MS))
  // Sent by a person at the terminal, with no load balancer in front.
  process.on('SIGINT', () => onSignal(0))
}

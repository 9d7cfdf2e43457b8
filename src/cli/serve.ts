// The life of the process that serves: starts the gateway, tells the person in front of it what to do
// next, reads the configuration again on SIGHUP, and drains on a signal to end.
import { isatty } from 'node:tty'
import { startApp, type App } from '../app.ts'
import { ConfigurationError, type Settings } from '../config/environment.ts'
import { createSystemClock } from '../core/clock.ts'
import { createLog, type Log } from '../observe/log.ts'
import { welcome } from '../observe/welcome.ts'
import { findSuppliers } from '../snapshot.ts'
import type { Desk } from './command.ts'
import { CliFailure } from './failure.ts'
import { findAddressTroubles, readFiles, type FileOptions } from './files.ts'

const STDIN = 0
const SECOND_MS = 1000
/** What load balancers need to see a failing health check and look elsewhere. */
const NOTICE_MS = 5_000

export async function serve(options: FileOptions, desk: Desk): Promise<void> {
  const { terminal } = desk
  const clock = createSystemClock()
  const log = createLog({
    write: terminal.stderr,
    now: () => clock.now(),
    isTerminal: terminal.isTerminal.stderr,
  })
  const { settings, app } = await open(options, log, clock)
  for (const { file, line, column, message } of settings.warnings)
    log.note('warn', `${file}:${line}:${column}  ${message}`)
  // How long a running call may go on after a signal.
  const limitMs = settings.config.limits.drain * SECOND_MS
  // Before anyone learns that it runs, and may want it to stop.
  listenForSignals(app, limitMs, terminal.isTerminal.stdin)
  watchForBugs(app, limitMs, log)
  greet(app, settings, desk)
  for (const trouble of await findAddressTroubles(findSuppliers(settings)))
    log.note('warn', trouble)
}

async function open(
  options: FileOptions,
  log: Log,
  clock: ReturnType<typeof createSystemClock>,
): Promise<{ readonly settings: Settings; readonly app: App }> {
  try {
    const settings = await readFiles(options)
    const app = await startApp({ settings, clock, log, readSettings: () => readFiles(options) })
    return { settings, app }
  } catch (thrown) {
    // The text of a configuration that is wrong is laid out line by line.
    const isLaidOut = thrown instanceof ConfigurationError
    const message = thrown instanceof Error ? thrown.message : String(thrown)
    throw new CliFailure('refused', message, { isLaidOut, cause: thrown })
  }
}

function greet(app: App, settings: Settings, { screen, terminal }: Desk): void {
  const { url, newRootKey, models, suppliers } = app
  const { dataFolder, file, rootKey, config } = settings
  if (screen.isMachine) {
    screen.json({
      object: 'gateway',
      url,
      root_key: newRootKey ?? null,
      suppliers,
      models,
      data: dataFolder,
      file: file ?? null,
    })
    return
  }
  const own = rootKey === config.root_key ? 'file' : 'environment'
  const rootKeyFrom = rootKey === undefined ? undefined : own
  terminal.stdout(welcome({ ...app, dataFolder, file, rootKeyFrom }))
}

/** A bug that no call caught: told aloud, and where state may be bad the process ends in good order. */
function watchForBugs(app: App, limitMs: number, log: Log): void {
  process.on('unhandledRejection', (reason) => log.note('error', `unhandled: ${describe(reason)}`))
  process.on('uncaughtException', (thrown) => {
    log.note('error', `uncaught: ${describe(thrown)}`)
    void app.drain({ noticeMs: 0, limitMs }).then(() => process.exit(1))
  })
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/** The first signal lets running calls finish, the second ends them with an error. */
function listenForSignals(app: App, limitMs: number, hadTerminal: boolean): void {
  let isDraining = false
  const end = (noticeMs: number): void => {
    if (isDraining) return app.cut()
    isDraining = true
    void app.drain({ noticeMs, limitMs }).then(() => process.exit(0))
  }
  process.on('SIGTERM', () => end(NOTICE_MS))
  // Sent by a person at the terminal, with no load balancer in front.
  process.on('SIGINT', () => end(0))
  process.on('SIGHUP', () => {
    // Also what a window sends that is being closed, and then nobody is left to end the process.
    if (hadTerminal && !isatty(STDIN)) end(0)
    else void app.reload()
  })
}

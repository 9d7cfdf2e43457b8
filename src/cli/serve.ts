// The life of the process that serves: starts the gateway, tells the person in front of it what to do
// next, reads the configuration again on SIGHUP, and drains on a signal to end.
import { existsSync } from 'node:fs'
import { isatty } from 'node:tty'
import { startApp, type App } from '../app.ts'
import { ConfigurationError, findUsualFile, type Settings } from '../config/environment.ts'
import { createSystemClock } from '../core/clock.ts'
import { createLog, type Log } from '../observe/log.ts'
import { welcome } from '../observe/welcome.ts'
import { findSuppliers } from '../snapshot.ts'
import type { Desk } from './command.ts'
import { CliFailure } from './failure.ts'
import {
  asConfigurationFailure,
  findAddressTroubles,
  readFiles,
  type FileOptions,
} from './files.ts'
import { wrapLines } from './text.ts'

const STDIN = 0
const WIDTH_DEFAULT = 80
const SECOND_MS = 1000
/** What load balancers need to see a failing health check and look elsewhere. */
const NOTICE_MS = 5_000

export async function serve(options: FileOptions, desk: Desk): Promise<void> {
  const { terminal } = desk
  const clock = createSystemClock()
  const log = createLog({
    write: (text) => terminal.stderr(fitted(text, terminal)),
    now: () => clock.now(),
    isTerminal: terminal.isTerminal.stderr,
  })
  const { settings, app } = await open(options, log, clock)
  for (const { file, line, column, message } of settings.warnings)
    log.note('warn', `${file}:${line}:${column}  ${message}`)
  // Before anyone learns that it runs, and may want it to stop.
  listenForSignals(app, terminal.isTerminal.stdin)
  watchForBugs(app, log)
  greet(app, settings, desk)
  for (const trouble of await findAddressTroubles(findSuppliers(settings), settings.lookup))
    log.note('warn', trouble)
}

/** A person's window breaks long lines in the middle of words; a file keeps each note on one. */
function fitted(text: string, { isTerminal, columns }: Desk['terminal']): string {
  return isTerminal.stderr ? wrapLines(text, columns || WIDTH_DEFAULT) : text
}

async function open(
  options: FileOptions,
  log: Log,
  clock: ReturnType<typeof createSystemClock>,
): Promise<{ readonly settings: Settings; readonly app: App }> {
  let folder = ''
  try {
    const settings = await readFiles(options)
    folder = settings.dataFolder
    const app = await startApp({ settings, clock, log, readSettings: againOf(settings, options) })
    return { settings, app }
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) return asConfigurationFailure(thrown)
    throw explainStart(thrown, folder)
  }
}

const NO_RIGHT = /^(?:EACCES|EPERM|EROFS|ENOTDIR|SQLITE_(?:READONLY|CANTOPEN|PERM).*)$/

function explainStart(thrown: unknown, folder: string): CliFailure {
  const message = thrown instanceof Error ? thrown.message : String(thrown)
  const code = thrown instanceof Error && 'code' in thrown ? String(thrown.code) : ''
  if (!NO_RIGHT.test(code)) return new CliFailure('refused', message, { cause: thrown })
  return new CliFailure(
    'refused',
    `The data folder ${folder} cannot be written by this user (${code}).`,
    {
      advice: 'Name another folder with --data or GATEWAY_DATA, or give this one to the user.',
      cause: thrown,
    },
  )
}

/**
 * For a reload: the file that is in force and no other. To search again would take a file that is gone for
 * a wish to have none, and put whatever the environment names in the place of its suppliers. Who began
 * without a file gets the first that appears.
 */
function againOf(started: Settings, options: FileOptions): () => Promise<Settings> {
  let { file } = started
  return async () => {
    const now = file ?? findUsualFile()
    if (now === undefined) return started
    if (!existsSync(now))
      throw new ConfigurationError(
        `${now} is gone; the one before stays in force. Put it back, or restart the gateway to run without it.`,
      )
    const settings = await readFiles({ ...options, config: now })
    file = settings.file
    return settings
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
function watchForBugs(app: App, log: Log): void {
  process.on('unhandledRejection', (reason) => log.note('error', `unhandled: ${describe(reason)}`))
  process.on('uncaughtException', (thrown) => {
    log.note('error', `uncaught: ${describe(thrown)}`)
    void app.drain({ noticeMs: 0, limitMs: drainMs(app) }).then(() => process.exit(1))
  })
}

function describe(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}

/** How long running calls may go on, by the configuration that is in force when the signal comes. */
function drainMs(app: App): number {
  return app.config().limits.drain * SECOND_MS
}

/** The first signal lets running calls finish, the second ends them with an error. */
function listenForSignals(app: App, hadTerminal: boolean): void {
  let isDraining = false
  const end = (noticeMs: number): void => {
    if (isDraining) return app.cut()
    isDraining = true
    void app.drain({ noticeMs, limitMs: drainMs(app) }).then(() => process.exit(0))
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

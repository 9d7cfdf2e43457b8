// Limits of the runtime that can only be set before a process starts. The process replaces itself once,
// with the same arguments, so that nobody has to know.

const VARIABLE = 'BUN_CONFIG_MAX_HTTP_REQUESTS'
/** The default of 256 would make call 257 wait in a queue inside the runtime. */
const CALLS_MAX = '65535'

export function hasRaisedLimits(): boolean {
  return process.env[VARIABLE] !== undefined || process.execve === undefined
}

/** Does not return: the new process has the same id. */
export function raiseLimits(): void {
  const isCompiled = Bun.main.startsWith('/$bunfs/')
  const words = isCompiled ? process.argv.slice(2) : process.argv.slice(1)
  process.execve?.(process.execPath, [process.execPath, ...process.execArgv, ...words], {
    ...process.env,
    [VARIABLE]: CALLS_MAX,
  })
}

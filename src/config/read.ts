// The bytes of a configuration file. Whatever is not readable text is refused before anybody parses it.
import { closeSync, constants, fstatSync, openSync, readSync, statSync, type Stats } from 'node:fs'
import { parseConfig, type Known, type LoadedConfig } from './load.ts'
import { ConfigurationError, refuseFile } from './problem.ts'
import type { Environment } from './variables.ts'

const BYTES_MAX = 1_048_576

/** Throws a `ConfigurationError` for a file that cannot be read or is wrong. */
export function readConfig(
  file: string,
  environment: Environment,
  known: Known = {},
): LoadedConfig {
  const { bytes, mode } = readBytes(file)
  return parseConfig({ file, mode, text: decodeConfig(file, bytes) }, environment, known)
}

function readBytes(file: string): { readonly bytes: Uint8Array; readonly mode: number } {
  try {
    // Before it is opened: to open a pipe waits for a writer, and to open a device may do anything.
    checkStats(file, statSync(file))
    const descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      // What was opened may be another one by now.
      const stats = fstatSync(descriptor)
      checkStats(file, stats)
      return { bytes: readAll(descriptor), mode: stats.mode }
    } finally {
      closeSync(descriptor)
    }
  } catch (thrown) {
    if (thrown instanceof ConfigurationError) throw thrown
    throw new ConfigurationError(`${file} cannot be read: ${describeFailure(thrown)}`)
  }
}

function checkStats(file: string, stats: Stats): void {
  if (stats.isDirectory())
    throw new ConfigurationError(`${file} cannot be read: it is a folder. Name the file in it.`)
  if (!stats.isFile())
    throw new ConfigurationError(
      `${file} cannot be read: it is a pipe or a device. A configuration is an ordinary file, which can be read again while the gateway runs.`,
    )
  checkSize(file, stats.size)
}

function checkSize(file: string, size: number): void {
  if (size <= BYTES_MAX) return
  const mebibytes = (size / BYTES_MAX).toFixed(1)
  throw new ConfigurationError(
    `${file} has ${mebibytes} MiB, and a configuration may have 1 MiB. Is it the right file?`,
  )
}

/** No more than may be there, also of a file that grows meanwhile. */
function readAll(descriptor: number): Uint8Array {
  const bytes = new Uint8Array(BYTES_MAX + 1)
  let length = 0
  for (;;) {
    const count = readSync(descriptor, bytes, length, bytes.length - length, null)
    length += count
    if (count === 0 || length === bytes.length) return bytes.subarray(0, length)
  }
}

function describeFailure(thrown: unknown): string {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  if (code === 'ENOENT') return 'there is no such file. Correct the path.'
  if (code === 'EACCES')
    return 'this user may not read it. Change its owner or its permissions (`chmod 600` and `chown`).'
  return thrown instanceof Error ? thrown.message : String(thrown)
}

/** The text of a file, which must be UTF-8 and of a size that a person could have written. */
export function decodeConfig(file: string, bytes: Uint8Array): string {
  checkSize(file, bytes.length)
  const [first, second] = bytes
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    throw new ConfigurationError(`${file} is UTF-16 text. Save it as UTF-8 in your editor.`)
  if (bytes.includes(0))
    throw new ConfigurationError(`${file} is not a text file. Is it the right one?`)
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // The decoder does not say where, and that is what somebody has to know.
    throw refuseFile(file, [
      {
        file,
        line: findBadLine(bytes),
        column: 1,
        path: [],
        message: 'this line holds a character that is not UTF-8: save the file as UTF-8',
        excerpt: '',
      },
    ])
  }
}

function findBadLine(bytes: Uint8Array): number {
  const valid = new TextDecoder().decode(bytes).split('\uFFFD')[0] ?? ''
  return valid.split('\n').length
}

// The address that the process on a data folder wrote down. The folder may have come with somebody else's
// files, and the root key goes to this address: only what this machine itself answers at is believed.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import type { RunFile } from '../store/sqlite/lock.ts'
import { CliFailure } from './failure.ts'
import type { DataFolder } from './files.ts'
import { parseJson, toRecord } from './json.ts'

export const HOW_TO_START =
  'Start one with `gateway start`. If it runs elsewhere (a container, another machine, another folder), name it with --url or --data.'
const HOW_TO_NAME =
  'If it is your gateway, name its address with --url; the root key is sent nowhere else.'

/** A process id and an address; whatever is longer is something else. */
const BYTES_MAX = 4096

/** Throws where nobody wrote one, or where it names what no gateway of this machine would. */
export function readRunFile({ path, isNamed }: DataFolder): RunFile {
  const file = join(path, 'run.json')
  const read = readBriefly(file)
  const run = read && parseRunFile(read.text)
  if (read === undefined || run === undefined)
    throw new CliFailure('unreachable', `No gateway is running on the data folder ${path}.`, {
      advice: HOW_TO_START,
    })
  if (!isNamed) checkOwner(file, read.owner)
  return { pid: run.pid, address: toReachable(checkAddress(file, run.address)) }
}

interface Read {
  readonly text: string
  readonly owner: number
}

/** One descriptor for all that is asked of the file, so that nothing can be put in its place between. */
function readBriefly(file: string): Read | undefined {
  let descriptor: number
  try {
    descriptor = openSync(
      file,
      // A pipe would else wait for a writer.
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    )
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : ''
    if (code === 'ELOOP') throw disbelieved(file, 'is a link, and a gateway writes a file')
    if (code === 'EACCES')
      throw new CliFailure('unreachable', `${file} cannot be read by you.`, {
        advice:
          'Run this as the user of the gateway, or name its address with --url or its data folder with --data.',
      })
    return undefined
  }
  try {
    const { uid, size } = checkFile(file, descriptor)
    const bytes = Buffer.alloc(size)
    return { text: bytes.toString('utf8', 0, readSync(descriptor, bytes)), owner: uid }
  } finally {
    closeSync(descriptor)
  }
}

function checkFile(
  file: string,
  descriptor: number,
): { readonly uid: number; readonly size: number } {
  const stats = fstatSync(descriptor)
  if (!stats.isFile() || stats.size > BYTES_MAX)
    throw disbelieved(file, 'is nothing that a gateway has written')
  return stats
}

function parseRunFile(text: string): RunFile | undefined {
  const { pid, address } = toRecord(parseJson(text))
  if (!Number.isSafeInteger(pid) || Number(pid) <= 0 || typeof address !== 'string')
    return undefined
  return URL.canParse(address) ? { pid: Number(pid), address } : undefined
}

/** In a folder that happens to be the working directory, a stranger may have laid it out. */
function checkOwner(file: string, owner: number): void {
  const me = process.getuid?.()
  if (me === undefined || owner === me || owner === 0) return
  throw new CliFailure('unreachable', `${file} belongs to another user (uid ${owner}).`, {
    advice: 'If it is your gateway, name its data folder with --data or its address with --url.',
  })
}

function checkAddress(file: string, address: string): URL {
  const url = new URL(address)
  if (url.protocol !== 'http:' || url.username !== '' || url.password !== '')
    throw disbelieved(file, 'names an address that no gateway writes')
  if (!isUnspecified(url.hostname) && !isOwnHost(url.hostname))
    throw disbelieved(file, `names ${url.host}, which is no address of this machine`)
  return url
}

function disbelieved(file: string, why: string): CliFailure {
  return new CliFailure('unreachable', `${file} ${why}: it is not believed.`, {
    advice: HOW_TO_NAME,
  })
}

/** A gateway that listens on every address writes one that nobody can call. */
function toReachable(url: URL): string {
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url.origin
}

function isUnspecified(host: string): boolean {
  return host === '0.0.0.0' || host === '[::]'
}

/** An address of this machine. No name but the one of the machine itself: others decide where names lead. */
export function isOwnHost(host: string): boolean {
  if (host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)) return true
  const bare = host.replaceAll(/^\[|\]$/g, '')
  return Object.values(networkInterfaces()).some((each) =>
    each?.some(({ address }) => address.toLowerCase() === bare),
  )
}

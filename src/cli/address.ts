// Where the gateway is: the address that was named, or the one that the process on the data folder wrote
// down. The root key goes to this address, so it is never taken from a stranger's file.
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { findRunFile, type RunFile } from '../store/sqlite/lock.ts'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { findDataFolder, type DataFolder } from './files.ts'

const HOW_TO_START =
  'Start one with `gateway start`. If it runs elsewhere (a container, another machine, another folder), name it with --url or --data.'

export async function findAddress(words: Words, desk: Desk): Promise<string> {
  const named = words.text('url') ?? desk.lookup('GATEWAY_URL')
  if (named !== undefined) return readAddress(named, desk)
  const folder = await findDataFolder({
    data: words.text('data'),
    config: words.text('config'),
    environment: desk.terminal.environment,
  })
  return toReachable(readRunFile(folder).address)
}

/** Takes `host:port`, and the base address that SDKs are given, as well. */
function readAddress(text: string, { screen }: Desk): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw wrongUsage(
      'The address of the gateway is none. Write it as http://host:port or https://host.',
    )
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    screen.warn(`The key travels unencrypted to ${url.host}. Use https where others listen.`)
  return url.origin + url.pathname.replace(/(\/v1)?\/*$/, '')
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '[::1]' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** A gateway that listens on every address writes one that nobody can call. */
function toReachable(address: string): string {
  const url = new URL(address)
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1'
  if (url.hostname === '[::]') url.hostname = '[::1]'
  return url.origin
}

function readRunFile({ path, isNamed }: DataFolder): RunFile {
  const run = findRunFile(path)
  if (run === undefined || !URL.canParse(run.address))
    throw new CliFailure('unreachable', `No gateway is running on the data folder ${path}.`, {
      advice: HOW_TO_START,
    })
  if (!isNamed) checkOwner(join(path, 'run.json'))
  if (!isAlive(run.pid))
    throw new CliFailure(
      'unreachable',
      `The gateway on ${path} is gone: process ${run.pid}, which was at ${run.address}, has ended.`,
      { advice: HOW_TO_START },
    )
  return run
}

/**
 * In a folder that happens to be the working directory, a stranger may have laid out an address that
 * collects root keys.
 */
function checkOwner(file: string): void {
  const me = process.getuid?.()
  const owner = statSync(file).uid
  if (me === undefined || owner === me || owner === 0) return
  throw new CliFailure('unreachable', `${file} belongs to another user (uid ${owner}).`, {
    advice: 'If it is your gateway, name its data folder with --data or its address with --url.',
  })
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    // Someone else's process cannot be signalled, but it is there.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

// Where the gateway is: the address that was named, or the one that the process on the data folder wrote
// down. The root key goes to this address, so a file may name nothing but this machine.
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { findDataFolder } from './files.ts'
import { HOW_TO_START, isOwnHost, readRunFile } from './run-file.ts'

export async function findAddress(words: Words, desk: Desk): Promise<string> {
  const named = words.text('url') ?? desk.lookup('GATEWAY_URL')
  if (named !== undefined) return readAddress(named, desk)
  const folder = await findDataFolder({
    data: words.text('data'),
    config: words.text('config'),
    environment: desk.terminal.environment,
  })
  const { pid, address } = readRunFile(folder)
  if (isAlive(pid)) return address
  throw new CliFailure(
    'unreachable',
    `The gateway on ${folder.path} is gone: process ${pid}, which was at ${address}, has ended.`,
    { advice: HOW_TO_START },
  )
}

/** Takes `host:port`, and the base address that SDKs are given, as well. */
function readAddress(text: string, { screen }: Desk): string {
  const url = URL.parse(text.includes('://') ? text : `http://${text}`)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username || url.password)
    throw wrongUsage(
      'The address of the gateway is none. Write it as http://host:port or https://host.',
    )
  if (url.protocol === 'http:' && !isOwnHost(url.hostname))
    screen.warn(`The key travels unencrypted to ${url.host}. Use https where others listen.`)
  return url.origin + url.pathname.replace(/(\/v1)?\/*$/, '')
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (thrown) {
    // Someone else's process cannot be signalled, but it is there.
    return thrown instanceof Error && 'code' in thrown && thrown.code === 'EPERM'
  }
}

// Who asks: the key from a file, the environment or a person, in this order of preference. A key on the
// command line works, too, and is warned about, because others can read it there.
import { readFileSync } from 'node:fs'
import { Secret } from '../core/secret.ts'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'

const VARIABLES = ['GATEWAY_KEY', 'GATEWAY_ROOT_KEY'] as const
/** What a header can carry. */
const SENDABLE = /^[\x21-\x7e]+$/

export async function findCredential(words: Words, desk: Desk): Promise<Secret> {
  const text = (await findText(words, desk))?.trim()
  if (!text)
    throw new CliFailure('credential', 'There is no key to show to the gateway.', {
      advice:
        'Set GATEWAY_KEY to the root key that the first start has shown, or name a file that holds it with --key-file.',
    })
  if (!SENDABLE.test(text))
    throw new CliFailure('credential', 'The key holds characters that no key has.', {
      advice: 'Check that it is the key alone, on one line.',
    })
  return new Secret(text)
}

async function findText(words: Words, desk: Desk): Promise<string | undefined> {
  const { screen, lookup, input, terminal } = desk
  const typed = words.text('key')
  const file = words.text('key-file')
  if (typed !== undefined && file !== undefined)
    throw wrongUsage('Give --key or --key-file, not both.')
  if (typed !== undefined) {
    screen.warn(
      'A key on the command line shows in the list of processes and in the history of the shell. Set GATEWAY_KEY, or use --key-file.',
    )
    return typed
  }
  if (file !== undefined) return file === '-' ? input.all() : readKeyFile(file)
  const variable = VARIABLES.find((name) => lookup(name) !== undefined)
  if (variable !== undefined) return lookup(variable)
  if (!terminal.isTerminal.stdin || !terminal.isTerminal.stderr) return undefined
  screen.ask('Root key (not shown): ')
  try {
    return await input.hidden()
  } finally {
    screen.ask('\n')
  }
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (thrown) {
    throw new CliFailure('credential', `The key file ${file} cannot be read.`, { cause: thrown })
  }
}

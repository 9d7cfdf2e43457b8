// Starts the gateway. Before anything is loaded, the process replaces itself once with one whose limits
// are raised; what was typed wrongly is told before that.
import { hasRaisedLimits, raiseLimits } from '../config/runtime.ts'
import type { Desk, Words } from './command.ts'
import { wrongUsage } from './failure.ts'

const PORT_MAX = 65_535

export async function start(words: Words, desk: Desk): Promise<void> {
  checkPort(words.text('port'))
  if (!hasRaisedLimits()) raiseLimits()
  const { serve } = await import('./serve.ts')
  await serve({ config: words.text('config'), environment: overlay(words, desk) }, desk)
}

/** Flags outrank the environment, which outranks the file. */
function overlay(words: Words, { terminal }: Desk): Desk['terminal']['environment'] {
  const given = {
    PORT: words.text('port'),
    HOST: words.text('host'),
    GATEWAY_DATA: words.text('data'),
  }
  const named = Object.entries(given).filter(([, value]) => value !== undefined)
  return { ...terminal.environment, ...Object.fromEntries(named) }
}

function checkPort(text: string | undefined): void {
  if (text === undefined || (/^\d{1,5}$/.test(text) && Number(text) <= PORT_MAX)) return
  throw wrongUsage(`--port takes a number from 0 to ${PORT_MAX}; 0 takes any free port.`)
}

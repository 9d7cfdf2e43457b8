// The entrance: hands what was typed, and the terminal it was typed at, to the command line.
import { run } from './cli/index.ts'
import { openTerminal } from './cli/process.ts'

process.exitCode = await run(process.argv.slice(2), openTerminal())

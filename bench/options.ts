// What can be said on the command line. A wrong word ends the run before anything is started.
import { parseArgs } from 'node:util'
import type { LoadId } from './load/load.ts'

export interface Options {
  readonly only: readonly string[]
  readonly rounds: number
  /** How long one candidate is loaded in one round. */
  readonly seconds: number
  readonly callers: number
  readonly warmCalls: number
  readonly gapMs: number
  readonly eventsAFlush: number
  readonly openStreams: number
  readonly load: LoadId | undefined
  readonly peers: readonly string[]
  /** Another checkout, measured beside this one. */
  readonly against: string | undefined
  readonly isQuick: boolean
  readonly isJson: boolean
  readonly isLatest: boolean
  readonly profile: string | undefined
  readonly hasLog: boolean
}

export const HELP = `npm run bench -- [options]

  --quick              half a minute: one short round, the gateway and bare alone
  --only <ids>         these scenarios, with commas between them
  --rounds <n>         interleaved rounds, the median counts (3)
  --seconds <n>        load on each candidate in each round (4)
  --callers <n>        calls at the same time (32)
  --gap <ms>           between two flushes of a stream (1; 0 is back to back)
  --flush <n>          events in one flush (1)
  --open <n>           streams held open at once (1000)
  --load wrk|own       the load generator (wrk where it is installed)
  --log                the gateway logs every request, as it does without a terminal
  --peer portkey       also install and measure this peer, in a scratch folder
  --against <folder>   also measure the gateway of another checkout
  --profile <id>       no figures: a CPU profile of the gateway under this load
  --json               the result as JSON on standard output
  --latest             also write bench/results/latest.md and latest.json
`

const FULL = { rounds: 3, seconds: 4, warmCalls: 3000 }
const QUICK = { rounds: 1, seconds: 1, warmCalls: 500 }

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Undefined when only the help was asked for. */
export function readOptions(words: readonly string[]): Options | undefined {
  const { values } = parse(words)
  if (values.help) return undefined
  const defaults = values.quick ? QUICK : FULL
  return {
    only: listOf(values.only),
    rounds: readNumber('rounds', values.rounds, defaults.rounds, 1),
    seconds: readNumber('seconds', values.seconds, defaults.seconds, 1),
    callers: readNumber('callers', values.callers, 32, 1),
    warmCalls: defaults.warmCalls,
    gapMs: readNumber('gap', values.gap, 1, 0),
    eventsAFlush: readNumber('flush', values.flush, 1, 1),
    openStreams: readNumber('open', values.open, 1000, 1),
    load: readLoad(values.load),
    peers: listOf(values.peer),
    against: values.against,
    isQuick: values.quick,
    isJson: values.json,
    isLatest: values.latest,
    profile: values.profile,
    hasLog: values.log,
  }
}

const FLAG = { type: 'boolean', default: false } as const
const TEXT = { type: 'string' } as const

function parse(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: {
        quick: FLAG,
        json: FLAG,
        latest: FLAG,
        log: FLAG,
        help: { ...FLAG, short: 'h' },
        only: TEXT,
        rounds: TEXT,
        seconds: TEXT,
        callers: TEXT,
        gap: TEXT,
        flush: TEXT,
        open: TEXT,
        load: TEXT,
        peer: TEXT,
        against: TEXT,
        profile: TEXT,
      },
    })
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new UsageError(`${reason}; --help lists the options`)
  }
}

function listOf(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split(',').filter((word) => word !== '')
}

function readNumber(name: string, text: string | undefined, fallback: number, min: number): number {
  if (text === undefined) return fallback
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min) return value
  throw new UsageError(`--${name} must be a whole number, ${min} or more`)
}

function readLoad(text: string | undefined): LoadId | undefined {
  if (text === undefined || text === 'wrk' || text === 'own') return text
  throw new UsageError('--load must be wrk or own')
}

// Why a command ends without success: a sentence, what to do about it, and the exit code that scripts
// read. Commands throw these; only `run` catches them.

/** What the process ends with. Scripts rely on the numbers. */
export const EXIT = {
  ok: 0,
  /** The gateway, or what it was asked for, refused. */
  refused: 1,
  usage: 2,
  unreachable: 3,
  credential: 4,
  notFound: 5,
  configuration: 6,
  /** As shells have it for Ctrl-C. */
  interrupted: 130,
} as const

export type FailureKind = Exclude<keyof typeof EXIT, 'ok'>

/** The codes of failures that no gateway has named. */
const CODES: Readonly<Record<FailureKind, string>> = {
  refused: 'command_failed',
  usage: 'wrong_usage',
  unreachable: 'gateway_unreachable',
  credential: 'credential_missing',
  notFound: 'not_found',
  configuration: 'configuration_invalid',
  interrupted: 'interrupted',
}

export interface FailureOptions extends ErrorOptions {
  /** What to do, as one or more whole lines. */
  readonly advice?: string
  /** The message is laid out already, and lines must stay as they are. */
  readonly isLaidOut?: boolean
  /** The error object of the gateway, where it was the gateway that refused. */
  readonly error?: Readonly<Record<string, unknown>>
  /** Whatever else the machine form tells. */
  readonly details?: Readonly<Record<string, unknown>>
}

export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly kind: FailureKind
  readonly advice: string | undefined
  readonly isLaidOut: boolean
  readonly error: Readonly<Record<string, unknown>> | undefined
  readonly details: Readonly<Record<string, unknown>>

  constructor(kind: FailureKind, message: string, options: FailureOptions = {}) {
    super(message, options)
    this.kind = kind
    this.advice = options.advice
    this.isLaidOut = options.isLaidOut === true
    this.error = options.error
    this.details = options.details ?? {}
  }

  get exitCode(): number {
    return EXIT[this.kind]
  }

  /** One object in the shape of the gateway's own errors, with the exit code beside it. */
  toMachine(): object {
    const own = {
      code: CODES[this.kind],
      message: `${CODES[this.kind]} - ${this.message}`,
      human_message: this.message,
      ...(this.advice === undefined ? {} : { action: this.advice }),
    }
    return { error: this.error ?? own, ...this.details, exit_code: this.exitCode }
  }
}

/** A command that was written wrongly; the advice names the help that tells how. */
export function wrongUsage(message: string, advice?: string): CliFailure {
  return new CliFailure('usage', message, advice === undefined ? {} : { advice })
}

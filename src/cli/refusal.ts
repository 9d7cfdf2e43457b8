// What a gateway refuses, in the words of the command line: the gateway speaks of fields and paths, and
// whoever reads this has typed flags and commands.
import { CliFailure, type FailureKind } from './failure.ts'
import type { FlagName } from './flags.ts'
import { toText, type JsonRecord } from './json.ts'

export function toRefusal(status: number, error: JsonRecord): CliFailure {
  const code = toText(error['code'])
  const told = translate(toText(error['human_message']) || toText(error['message']))
  const param = toText(error['param'])
  const flag = FLAGS_OF_FIELDS.get(param)
  const field = param === '' ? '' : ` [${flag === undefined ? param : `--${flag}`}]`
  const isCredential = status === 401 || status === 403
  // What to do about a key is said below, in the words of who holds it here.
  const text = isCredential ? firstSentence(told) : told
  const kind = status === 400 && flag !== undefined ? 'usage' : kindOf(status, code)
  return new CliFailure(kind, `${text} (HTTP ${status} ${code})${field}`, {
    error,
    details: { status },
    ...(isCredential && {
      advice: 'Set GATEWAY_KEY to the root key, or name a file that holds it with --key-file.',
    }),
  })
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text
}

/** The flags under which fields of the interface are given here. */
const FLAGS_OF_FIELDS: ReadonlyMap<string, FlagName> = new Map([
  ['allowed_models', 'models'],
  ['allowed_regions', 'regions'],
  ['budget_limit', 'budget'],
  ['budget_period', 'period'],
  ['fit', 'fit'],
  ['rate_limit_rpm', 'rpm'],
  ['expires_at', 'expires'],
  ['key_id', 'key-id'],
  ['name', 'name'],
  ['metadata', 'metadata'],
  ['status', 'status'],
  ['state', 'state'],
  ['cost_usd', 'cost'],
  ['reason', 'reason'],
  ['before', 'before'],
  ['region', 'region'],
  ['model', 'model'],
  ['supplier', 'supplier'],
  ['code', 'code'],
  ['cursor', 'cursor'],
])

const COMMANDS: readonly (readonly [path: RegExp, command: string])[] = [
  [/\bGET \/v1\/manage\/keys\b(?!\/)/g, '`gateway keys list`'],
  [/\bGET \/v1\/manage\/audit\b/g, '`gateway calls`'],
  [/\bGET \/v1\/manage\/calls\/\{request_id\}/g, '`gateway calls show`'],
  [/\bGET \/v1\/manage\/reviews\b(?!\/)/g, '`gateway reviews`'],
  [/\bGET \/v1\/models\b/g, '`gateway models --live`'],
]

function translate(text: string): string {
  const fields = text.replaceAll(/`(\w+)`/g, (whole, name: string) => {
    const flag = FLAGS_OF_FIELDS.get(name)
    return flag === undefined ? whole : `--${flag}`
  })
  const words = fields.replaceAll('Send --', 'Give --').replaceAll(/\bor null\b/g, 'or none')
  return COMMANDS.reduce((told, [path, command]) => told.replaceAll(path, command), words)
}

function kindOf(status: number, code: string): FailureKind {
  if (code === 'configuration_error') return 'configuration'
  if (status === 401 || status === 403) return 'credential'
  return status === 404 ? 'notFound' : 'refused'
}

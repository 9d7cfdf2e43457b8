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
  // A key that may do this, but not with such a value, needs another value and not another key.
  const isCredential = kindOf(status, code) === 'credential' && param === ''
  // What to do about a key is said below, in the words of who holds it here.
  const text = isCredential ? firstSentence(told) : told
  const kind = status === 400 && flag !== undefined ? 'usage' : kindOf(status, code)
  return new CliFailure(kind, `${text} (HTTP ${status} ${code})${field}`, {
    error,
    details: { status },
    ...(isCredential && { advice: adviceFor(told) }),
  })
}

/** A token that manages will often do, and what must be the root key the gateway says. */
function adviceFor(told: string): string {
  const who = told.includes('a token that manages')
    ? 'the root key, or to a token that manages'
    : 'the root key'
  return `Set GATEWAY_KEY to ${who}, or name a file that holds it with --key-file.`
}

function firstSentence(text: string): string {
  return /^.*?\.(?=\s|$)/.exec(text)?.[0] ?? text
}

/** The flags under which fields of the interface are given here. */
const FLAGS_OF_FIELDS: ReadonlyMap<string, FlagName> = new Map([
  ['allowed_models', 'models'],
  ['allowed_regions', 'regions'],
  ['account_id', 'account-id'],
  ['action', 'action'],
  ['amount_usd', 'amount'],
  ['billing_user_id', 'billing-user'],
  ['budget_limit', 'budget'],
  ['budget_period', 'period'],
  ['fit', 'fit'],
  ['rate_limit_rpm', 'rpm'],
  ['by', 'by'],
  ['credit_line', 'credit-line'],
  ['delegate_user_id', 'delegate'],
  ['email', 'email'],
  ['estimate_usd', 'estimate'],
  ['expires_at', 'expires'],
  ['from', 'from'],
  ['manage', 'manage'],
  ['organisation_id', 'organisation'],
  ['overlap_seconds', 'overlap'],
  ['payer', 'payer'],
  ['per', 'per'],
  ['project_id', 'project'],
  ['project_ids', 'projects'],
  ['reference', 'reference'],
  ['spending_limit', 'spending-limit'],
  ['spending_period', 'period'],
  ['target', 'target'],
  ['team_id', 'team'],
  ['to', 'to'],
  ['token_id', 'token-id'],
  ['user_id', 'user'],
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
  ['native', 'native'],
  ['parallel_max', 'parallel-max'],
  ['requests_per_minute', 'rpm'],
  ['supplier', 'supplier'],
  ['code', 'code'],
  ['cursor', 'cursor'],
])

const COMMANDS: readonly (readonly [path: RegExp, command: string])[] = [
  [
    /\bGET \/v1\/manage\/(keys|tokens|projects|teams|users|organisations|accounts|wallets)\b(?!\/)/g,
    '`gateway $1 list`',
  ],
  [/\bGET \/v1\/manage\/native\/identities\b(?!\/)/g, '`gateway native list`'],
  [/\bGET \/v1\/manage\/actions\b/g, '`gateway actions`'],
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
  const given = fields === text ? fields : fields.replaceAll(/\bSend (?=[^.]*--)/g, 'Give ')
  const words = given.replaceAll(/\bor null\b/g, 'or none')
  return COMMANDS.reduce((told, [path, command]) => told.replaceAll(path, command), words)
}

/** 403 also says that money is missing, which no other key helps against. */
const DENIALS: ReadonlySet<string> = new Set(['permission_denied', 'account_status'])

function kindOf(status: number, code: string): FailureKind {
  if (code === 'configuration_error') return 'configuration'
  if (status === 401 || DENIALS.has(code)) return 'credential'
  return status === 404 ? 'notFound' : 'refused'
}

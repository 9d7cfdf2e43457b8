// Every flag of every command. A name means one thing wherever it stands, so that nobody has to look up
// twice what it takes.

export interface Flag {
  /** What the help shows in the place of the value; without it the flag is a switch. */
  readonly value?: string
  readonly short?: string
  /** May be given several times. */
  readonly isList?: true
  readonly text: string
}

export const FLAGS = {
  after: { value: 'N', text: 'only records behind this number' },
  all: { text: 'all there is' },
  'allow-drop': { text: 'also take away models that keys name or calls have lately used' },
  archive: {
    value: 'FILE',
    isList: true,
    text: 'also walk this file, or folder, of archived records',
  },
  before: { value: 'MONTH', text: 'the months before this one, in UTC: 2026-11' },
  budget: { value: 'USD', text: 'most dollars to spend in a period' },
  code: { value: 'CODE', text: 'only calls that ended with this error code' },
  config: { value: 'FILE', text: 'the configuration file (GATEWAY_CONFIG)' },
  cost: { value: 'USD', text: 'what the call is to cost; without it the estimate' },
  cursor: { value: 'CURSOR', text: 'go on where an earlier list stopped' },
  data: { value: 'FOLDER', text: 'the data folder (GATEWAY_DATA)' },
  expires: { value: 'TIME', text: 'when the key ends, in UTC: 2027-01-01 or an ISO time' },
  fit: { value: 'ON|OFF', text: 'shorten answers to what is left of the budget (on), or refuse' },
  force: { text: 'overwrite a file that exists' },
  from: { value: 'TIME', text: 'calls since then: 2h, 7d, 2026-11-01 or an ISO time in UTC' },
  help: { short: 'h', text: 'show this help' },
  host: { value: 'HOST', text: 'listen on this address (HOST)' },
  ids: { text: 'show request ids, for `gateway calls show`' },
  json: { text: 'machine form: JSON on stdout, errors as JSON on stderr' },
  key: { value: 'KEY', text: 'the key itself; others see it in the list of processes' },
  'key-file': { value: 'FILE', text: 'read the key from a file, or from stdin with -' },
  'key-id': { value: 'ID', text: 'only calls of this key' },
  limit: { value: 'N', text: 'at most this many' },
  live: { text: 'ask the running gateway instead of reading the files' },
  metadata: { value: 'K=V', isList: true, text: 'a label; may be repeated' },
  model: { value: 'MODEL', text: 'only calls of this model' },
  models: { value: 'A,B', text: 'models the key may call' },
  name: { value: 'NAME', text: 'label of the key' },
  out: { value: 'FILE', text: 'write here instead of to stdout' },
  period: { value: 'PERIOD', text: 'of the budget: daily, monthly (the default) or rolling' },
  port: { value: 'N', text: 'listen on this port; 0 takes any free one (PORT)' },
  quiet: { short: 'q', text: 'print the bare value and nothing else' },
  reason: { value: 'TEXT', text: 'why, for whoever reads the audit' },
  region: { value: 'REGION', text: 'only calls answered in this region' },
  regions: { value: 'A,B', text: 'regions the key is locked to' },
  resolve: { text: 'also look up where the names of suppliers lead' },
  rpm: { value: 'N', text: 'requests a minute' },
  state: { value: 'STATE', text: 'only calls that are settled, voided or refused' },
  status: { value: 'STATUS', text: 'only calls with this HTTP status' },
  supplier: { value: 'ID', text: 'only calls that this supplier answered' },
  to: { value: 'TIME', text: 'calls before then' },
  url: { value: 'URL', text: 'the address of the gateway (GATEWAY_URL)' },
  version: { short: 'v', text: 'show the version' },
  yes: { short: 'y', text: 'do not ask' },
} as const satisfies Readonly<Record<string, Flag>>

export type FlagName = keyof typeof FLAGS

export function isFlagName(name: string): name is FlagName {
  return Object.hasOwn(FLAGS, name)
}

export function flagOf(name: FlagName): Flag {
  return FLAGS[name]
}

/** How commands find the gateway and prove who asks. */
export const LIVE_FLAGS = ['url', 'data', 'config', 'key-file', 'key'] as const

/** What every command understands. */
export const COMMON_FLAGS = ['json', 'help'] as const

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
  account: { text: 'of the account itself' },
  'account-id': { value: 'ID', text: 'of this account, for whoever runs the gateway' },
  action: { value: 'ACTION', text: 'only this, such as key.rotate or wallet.credit' },
  after: { value: 'N', text: 'only records behind this number' },
  all: { text: 'all there is' },
  'allow-drop': { text: 'also take away models that keys name or calls have lately used' },
  amount: { value: 'USD', text: 'dollars to put in; below zero they are taken back' },
  archive: {
    value: 'FILE',
    isList: true,
    text: 'also walk this file, or folder, of archived records',
  },
  'billing-user': { value: 'ID', text: 'the user whose wallet pays for its projects' },
  before: { value: 'MONTH', text: 'the months before this one, in UTC: 2026-11' },
  budget: { value: 'USD', text: 'most dollars to spend in a period' },
  by: { value: 'A,B', text: 'apart by team, key, project, payer, model, supplier, region, code' },
  code: { value: 'CODE', text: 'only calls that ended with this error code' },
  config: { value: 'FILE', text: 'the configuration file (GATEWAY_CONFIG)' },
  cost: { value: 'USD', text: 'what the call is to cost; without it the estimate' },
  'credit-line': { value: 'USD', text: 'how far below zero a wallet may go' },
  csv: { text: 'as a table for a spreadsheet' },
  cursor: { value: 'CURSOR', text: 'go on where an earlier list stopped' },
  data: { value: 'FOLDER', text: 'the data folder (GATEWAY_DATA)' },
  delegate: { value: 'ID', text: 'the user who pays after the organisation' },
  device: { text: 'sign in by a code that is entered elsewhere, without a browser here' },
  email: { value: 'ADDRESS', text: 'one user of an account for each address' },
  endpoint: { value: 'PATH', text: 'a call at this endpoint, such as /v1/messages' },
  estimate: { value: 'USD', text: 'the most that the call may cost' },
  expires: { value: 'TIME', text: 'when it ends, in UTC: 2027-01-01 or an ISO time' },
  file: { value: 'FILE', text: 'the body of the call, as JSON' },
  fit: { value: 'ON|OFF', text: 'shorten answers to what is left of the budget (on), or refuse' },
  force: { text: 'overwrite a file that exists' },
  from: { value: 'TIME', text: 'calls since then: 2h, 7d, 2026-11-01 or an ISO time in UTC' },
  help: { short: 'h', text: 'show this help' },
  host: { value: 'HOST', text: 'listen on this address (HOST)' },
  id: { value: 'ID', text: 'sign in again, in the place of this one' },
  ids: { text: 'show request ids, for `gateway calls show`' },
  json: { text: 'machine form: JSON on stdout, errors as JSON on stderr' },
  key: { value: 'KEY', text: 'the key itself; others see it in the list of processes' },
  'key-file': { value: 'FILE', text: 'read the key from a file, or from stdin with -' },
  'key-id': { value: 'ID', text: 'only calls of this key' },
  limit: { value: 'N', text: 'at most this many' },
  live: { text: 'ask the running gateway instead of reading the files' },
  manage: { text: 'it also manages the keys and tokens of its project or team' },
  metadata: { value: 'K=V', isList: true, text: 'a label; may be repeated' },
  model: { value: 'MODEL', text: 'only calls of this model' },
  models: { value: 'A,B', text: 'models it may call' },
  name: { value: 'NAME', text: 'label; in a list, a part of it' },
  native: { value: 'ON|OFF', text: 'whether its projects may use native sign-ins' },
  'no-browser': { text: 'only print the address to open' },
  organisation: { value: 'ID', text: 'of this organisation' },
  out: { value: 'FILE', text: 'write here instead of to stdout' },
  overlap: { value: 'TIME', text: 'how long the old secret goes on: 30m, 2h, 7d or none' },
  'parallel-max': { value: 'N', text: 'calls at once' },
  payer: { value: 'ID', text: 'only what this wallet paid for' },
  per: { value: 'STEP', text: 'steps of time: hour, day (the default) or total' },
  period: {
    value: 'PERIOD',
    text: 'of the budget or limit: daily, monthly (the default), rolling',
  },
  pin: { value: 'PLACE', text: 'who alone pays: project, organisation, delegate or caller' },
  port: { value: 'N', text: 'listen on this port; 0 takes any free one (PORT)' },
  project: { value: 'ID', text: 'of this project' },
  projects: { value: 'A,B', text: 'its projects, by id; calls are for the first' },
  quiet: { short: 'q', text: 'print the bare value and nothing else' },
  reason: { value: 'TEXT', text: 'why, for whoever reads the audit' },
  reference: { value: 'TEXT', text: 'what it is called elsewhere, such as an invoice' },
  region: { value: 'REGION', text: 'only calls answered in this region' },
  regions: { value: 'A,B', text: 'regions it is locked to' },
  resolve: { text: 'also look up where the names of suppliers lead' },
  rpm: { value: 'N', text: 'requests a minute' },
  session: { value: 'ID', text: 'a call of this session' },
  'spending-limit': { value: 'USD', text: 'most dollars that a wallet spends in a period' },
  state: { value: 'STATE', text: 'only calls that are settled, voided or refused' },
  status: { value: 'STATUS', text: 'only those that are active, or ended' },
  stream: { text: 'a call whose answer is streamed' },
  supplier: { value: 'ID', text: 'only calls that this supplier answered' },
  team: { value: 'ID', text: 'of this team' },
  target: { value: 'ID', text: 'only what was done to this one' },
  to: { value: 'TIME', text: 'calls before then' },
  'token-id': { value: 'ID', text: 'of this token' },
  tokens: { value: 'N', text: 'a call that allows so many output tokens' },
  url: { value: 'URL', text: 'the address of the gateway (GATEWAY_URL)' },
  user: { value: 'ID', text: 'of this user' },
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

// The roster of commands: how each is called and what its help says. Their code is elsewhere and loaded
// only when it runs.
import type { Command } from './command.ts'
import { keyCommands } from './key-roster.ts'
import { nativeCommands } from './native-roster.ts'
import { payerCommands } from './payer-roster.ts'
import { tenancyCommands } from './tenancy-roster.ts'

const start: Command = {
  words: ['start'],
  summary: 'run the gateway; also what no command at all does',
  details: [
    'Reads the configuration file, opens the data folder and listens. Without a file, suppliers are those whose usual variables are set, or the demo where none is.',
    'What is given here outranks the environment, and the environment outranks the file. SIGTERM and Ctrl-C let running calls finish; a second one cuts them.',
  ],
  flags: ['config', 'port', 'host', 'data'],
  examples: [
    ['gateway', 'as the file or the environment says'],
    ['gateway start --config /etc/gateway.yaml', 'with another file'],
    ['gateway start --host 0.0.0.0 --port 9000', 'open to the network'],
  ],
  load: async () => (await import('./start.ts')).start,
}

const configCheck: Command = {
  words: ['config', 'check'],
  summary: 'say what is wrong with a configuration file',
  details: [
    'Reads the file as a start would and lists every problem with its line and column, and warnings about what works and should still be changed. Nothing is started and nobody is called; names are looked up only with --resolve.',
  ],
  argument: { name: 'FILE', text: 'the file; without it the one that a start would take' },
  flags: ['config', 'resolve'],
  examples: [
    ['gateway config check', 'the file that a start would take'],
    ['gateway config check new.yaml && mv new.yaml gateway.yaml', 'before it counts'],
  ],
  load: async () => (await import('./config.ts')).checkFile,
}

const configInit: Command = {
  words: ['config', 'init'],
  summary: 'write a first configuration file, with comments',
  details: [
    'At a terminal it asks which suppliers to put in; those whose usual variables are set are chosen already. In a script, or with --yes, it takes these.',
    'The file refers to variables and holds no secret itself. Only its owner may read it.',
  ],
  argument: { name: 'FILE', text: 'where to write it; without it gateway.yaml' },
  flags: ['force', 'yes'],
  examples: [
    ['gateway config init', 'asks, then writes gateway.yaml'],
    ['gateway config init /etc/gateway.yaml --yes', 'asks nothing'],
  ],
  load: async () => (await import('./config.ts')).writeFirstFile,
}

const models: Command = {
  words: ['models'],
  summary: 'list models, with their suppliers and prices',
  details: [
    'What a gateway started here would serve, from the files and the environment, without one running. Prices are dollars a million tokens of input and output unless another unit is named.',
    'With --live, --url or GATEWAY_URL it asks a running gateway what the key may call.',
  ],
  argument: { name: 'TEXT', text: 'only models whose id contains this' },
  flags: ['all', 'live'],
  isLive: true,
  examples: [
    ['gateway models', 'what would be served'],
    ['gateway models --all mini', 'whatever the catalogue knows by that name'],
    ['gateway models --live', 'what a key may call'],
  ],
  load: async () => (await import('./models.ts')).listModels,
}

const suppliers: Command = {
  words: ['suppliers'],
  summary: 'show how suppliers are doing, route by route',
  details: [
    'Who can be asked for which model, who is left alone, for how many seconds more and why, and how long answers have been taking lately. Needs the root key that runs the gateway.',
  ],
  flags: ['model', 'supplier'],
  says: {
    model: { text: 'only those who serve this model' },
    supplier: { text: 'only this supplier' },
  },
  isLive: true,
  examples: [
    ['gateway suppliers', ''],
    ['gateway suppliers --model demo/chat', 'who serves it, and how'],
  ],
  load: async () => (await import('./suppliers.ts')).listSuppliers,
}

const calls: Command = {
  words: ['calls'],
  summary: 'list calls, newest first, with filters',
  details: [
    'One line for every call of a valid key: when, which model, who answered, tokens, cost, time and which key asked. Without --limit the last 20. A narrow window shows what fits; a pipe gets every column.',
  ],
  flags: [
    'key-id',
    'project',
    'model',
    'supplier',
    'region',
    'status',
    'code',
    'state',
    'from',
    'to',
    'limit',
    'all',
    'cursor',
    'ids',
  ],
  says: {
    project: { text: 'only calls for this project' },
    status: { text: 'only calls with this HTTP status' },
  },
  isLive: true,
  examples: [
    ['gateway calls --from 2h --status 429', 'who was turned away lately'],
    ['gateway calls --key-id key_5cVh… --all --json', 'everything of a key'],
    ['gateway calls --ids', 'with ids for `gateway calls show`'],
  ],
  load: async () => (await import('./calls.ts')).listCalls,
}

const callsShow: Command = {
  words: ['calls', 'show'],
  summary: 'show one call whole, by its request id',
  details: [
    'The id is the x-request-id of the answer. A call under way is shown too: what is held for it, and whom it may reach at which prices.',
  ],
  argument: { name: 'REQUEST_ID', isRequired: true, text: 'the id, such as req_…' },
  flags: [],
  isLive: true,
  examples: [['gateway calls show req_0193a…', '']],
  load: async () => (await import('./calls.ts')).showCall,
}

const explain: Command = {
  words: ['explain'],
  summary: 'tell what a call would meet, without making it',
  details: [
    'Who would be asked, in order, and why nobody else; what would be held and who would pay; or why it would be refused. Nobody is called, and nothing is counted or changed. Without --key-id for a call of your own key.',
  ],
  flags: [
    'model',
    'endpoint',
    'key-id',
    'project',
    'region',
    'session',
    'stream',
    'tokens',
    'file',
  ],
  says: {
    model: { text: 'the model that it asks for' },
    'key-id': { text: 'a call of this key or token' },
    project: { text: 'a call for this project' },
    region: { text: 'a call that must stay in this region' },
  },
  isLive: true,
  examples: [
    ['gateway explain --model demo/chat', 'a call of your own'],
    ['gateway explain --model demo/chat --key-id key_5cVh… --region EU', 'why a key is refused'],
    ['gateway explain --model demo/chat --endpoint /v1/messages', 'what a conversion would lose'],
    ['gateway explain --model demo/embed --endpoint /v1/embeddings', 'what is no chat'],
    ['gateway explain --file request.json --json', 'all of it, for a call as it is'],
  ],
  load: async () => (await import('./explain.ts')).explainCall,
}

const usage: Command = {
  words: ['usage'],
  summary: 'show what was used and spent, by day, hour or in total',
  details: [
    'Calls, tokens and cost of the last 30 days, or of --from and --to, in UTC. A call counts in the hour in which it was held. --by tells figures apart; a project of two teams counts in both.',
  ],
  flags: [
    'from',
    'to',
    'per',
    'by',
    'key-id',
    'project',
    'team',
    'payer',
    'model',
    'supplier',
    'region',
    'code',
    'csv',
  ],
  says: {
    project: { text: 'only calls for this project' },
    team: { text: 'only calls for the projects of this team' },
  },
  isLive: true,
  examples: [
    ['gateway usage --by model', 'each day, each model'],
    ['gateway usage --from 24h --per hour --key-id key_5cVh…', 'a day of a key'],
    ['gateway usage --per total --by project --csv > usage.csv', 'for a spreadsheet'],
  ],
  load: async () => (await import('./usage.ts')).showUsage,
}

const reviews: Command = {
  words: ['reviews'],
  summary: 'list calls whose end nobody saw, oldest first',
  details: [
    'A process that dies leaves calls behind of which nobody knows what they cost. What was held for them stays held until somebody decides here, or the rule `ledger.recovery` of the configuration does.',
  ],
  flags: ['limit', 'cursor', 'quiet'],
  isLive: true,
  examples: [
    ['gateway reviews', ''],
    ['gateway reviews --quiet', 'the ids alone'],
  ],
  load: async () => (await import('./reviews.ts')).listReviews,
}

const REVIEWED = { name: 'REQUEST_ID', isRequired: true, text: 'the id, such as req_…' } as const

const reviewsShow: Command = {
  words: ['reviews', 'show'],
  summary: 'explain one: what was held, whom it may have reached',
  details: ['Also what each rule would charge for it, and when the one in force will.'],
  argument: REVIEWED,
  flags: [],
  isLive: true,
  examples: [['gateway reviews show req_0193a…', '']],
  load: async () => (await import('./reviews.ts')).showReview,
}

const reviewsSettle: Command = {
  words: ['reviews', 'settle'],
  summary: 'charge the key for one of them',
  details: [
    'Without --cost what the call is thought to have cost, and at most what was held for it. That is final, and the audit says who decided it and why.',
  ],
  argument: REVIEWED,
  flags: ['cost', 'reason'],
  needs: ['reason'],
  isLive: true,
  examples: [
    ['gateway reviews settle req_0193a… --reason "answered in full"', 'at the estimate'],
    ['gateway reviews settle req_0193a… --cost 0.0123 --reason "from the bill"', 'exactly'],
  ],
  load: async () => (await import('./reviews.ts')).settleReview,
}

const reviewsVoid: Command = {
  words: ['reviews', 'void'],
  summary: 'charge the key nothing for one of them',
  details: [
    'What was held is free again. That is final, and the audit says who decided it and why.',
  ],
  argument: REVIEWED,
  flags: ['reason'],
  needs: ['reason'],
  isLive: true,
  examples: [['gateway reviews void req_0193a… --reason "never reached the supplier"', '']],
  load: async () => (await import('./reviews.ts')).voidReview,
}

const ledgerVerify: Command = {
  words: ['ledger', 'verify'],
  summary: 'check the books: the chain, every hold, every end',
  details: [
    'Reads the files of the data folder, also while a gateway runs on it, and walks through all records. Whatever does not follow from the records before it is listed with its number, and the command ends with code 1.',
    'Without --archive it begins behind what was archived. With it, files may also reach into what is still there; an export can be checked in the same way.',
  ],
  flags: ['data', 'config', 'archive'],
  examples: [
    ['gateway ledger verify', ''],
    ['gateway ledger verify --archive data/archive', 'from the first record on'],
    ['gateway ledger verify --json | jq .last', 'where the chain stands, to keep elsewhere'],
  ],
  load: async () => (await import('./ledger.ts')).verifyLedger,
}

const ledgerExport: Command = {
  words: ['ledger', 'export'],
  summary: 'write the records of the books as lines of JSON',
  details: [
    'Each with its number, its hash and the one before, all its fields and what it books. Amounts are whole nano-dollars. Reads the files of the data folder, also while a gateway runs on it.',
  ],
  flags: ['data', 'config', 'out', 'after', 'force'],
  examples: [
    ['gateway ledger export --out books.jsonl', ''],
    ['gateway ledger export --after 120000 | gzip > more.jsonl.gz', 'what came since'],
  ],
  load: async () => (await import('./ledger.ts')).exportLedger,
}

const ledgerArchive: Command = {
  words: ['ledger', 'archive'],
  summary: 'move the records of closed months into files',
  details: [
    'One file a month, in the folder archive of the data folder. Each is read back and proved before a record is removed. A month is closed an hour after its end, once every call of it has ended; where nothing is older, nothing is done.',
  ],
  flags: ['before'],
  needs: ['before'],
  isLive: true,
  examples: [['gateway ledger archive --before 2026-11', 'October 2026 and what is older']],
  load: async () => (await import('./ledger.ts')).archiveLedger,
}

const reload: Command = {
  words: ['reload'],
  summary: 'make the gateway read its configuration again',
  details: [
    'Says what changed. A file with a problem changes nothing, and neither does one that takes away models that are in use, unless --allow-drop is given.',
  ],
  flags: ['allow-drop'],
  isLive: true,
  examples: [['gateway config check && gateway reload', 'check here, then apply there']],
  load: async () => (await import('./reload.ts')).reload,
}

const version: Command = {
  words: ['version'],
  summary: 'show the version',
  details: ['Of this program and of the runtime it runs on. Also as -v and --version.'],
  flags: ['version'],
  examples: [['gateway version', '']],
  load: async () => (await import('./version.ts')).showVersion,
}

const help: Command = {
  words: ['help'],
  summary: 'show the help of a command',
  details: ['The same as --help behind the command.'],
  flags: [],
  examples: [['gateway help keys create', '']],
  // Answered before any command is loaded: it takes the words of a command and not one argument.
  load: () => Promise.reject(new Error('help is shown by run')),
}

export const commands: readonly Command[] = [
  start,
  configCheck,
  configInit,
  ...keyCommands,
  ...tenancyCommands,
  ...payerCommands,
  ...nativeCommands,
  models,
  suppliers,
  calls,
  callsShow,
  explain,
  usage,
  reviews,
  reviewsShow,
  reviewsSettle,
  reviewsVoid,
  ledgerVerify,
  ledgerExport,
  ledgerArchive,
  reload,
  version,
  help,
]

/** First words that mean nothing alone. */
export const groups: Readonly<Record<string, string>> = {
  config: 'the configuration file',
  keys: 'keys and their limits',
  tokens: 'tokens of projects and teams',
  users: 'who calls, and who pays',
  organisations: 'who is billed for several projects',
  teams: 'projects that belong together',
  accounts: 'accounts of others, for whoever runs the gateway',
  projects: 'what calls are made for',
  wallets: 'what pays for calls',
  native: 'sign-ins at native suppliers',
  ledger: 'the books: checking, exporting, archiving',
}

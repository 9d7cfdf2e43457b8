// The commands about sign-ins at native suppliers, for the roster.
import type { Command } from './command.ts'
import type { FlagName } from './flags.ts'

const IDENTITY = { name: 'ID', isRequired: true, text: 'the id, such as nid_7gTq…' } as const
const SETTINGS = ['account-id', 'organisation', 'projects', 'parallel-max', 'rpm'] as const

const SAYS: Command['says'] = {
  name: { text: 'what it is called here' },
  supplier: { text: 'the native supplier; may be left out where there is one alone' },
  'account-id': { text: 'the account at the supplier, where its tokens do not tell' },
  organisation: { text: 'only for calls of this organisation' },
  projects: { text: 'only for calls of these projects, by id' },
  'parallel-max': { text: 'at most so many calls at once by it' },
  rpm: { text: 'at most so many calls a minute by it' },
}

const MADE: readonly FlagName[] = ['supplier', 'name', 'id', ...SETTINGS]

const login: Command = {
  words: ['native', 'login'],
  summary: 'sign in at a native supplier',
  details: [
    'Prints an address, opens it in a browser and waits up to ten minutes for the browser to come back to a port of this machine. With --device it prints a code to enter on any other machine. A supplier that takes a client id and a secret has them asked for here, or reads them as JSON from standard input.',
    'The tokens go to the gateway, which keeps them sealed and renews them. Nothing is written to this disk.',
  ],
  flags: [...MADE, 'device', 'no-browser', 'quiet'],
  says: SAYS,
  isLive: true,
  examples: [
    ['gateway native login --name team', 'where there is one native supplier'],
    ['gateway native login --name team --device', 'without a browser here'],
    ['gateway native login --id nid_7gTq…', 'again, after it was refused'],
  ],
  load: async () => (await import('./native-login.ts')).login,
}

const importFile: Command = {
  words: ['native', 'import'],
  summary: 'hand a sign-in that was made elsewhere to the gateway',
  details: [
    'Takes the file in which a native program keeps its tokens, the answer of an OAuth issuer, or an object with access_token, refresh_token, client_id, client_secret, expires_at or account_id. Whatever else stands there is not sent. At a terminal, without a FILE, those that programs keep here are offered by name.',
    'From then on the gateway renews it, and many issuers refuse whoever else still holds the old token: better give the gateway a sign-in of its own, with `gateway native login`.',
  ],
  argument: { name: 'FILE', text: 'the file; - or nothing in a script: standard input' },
  flags: [...MADE, 'quiet'],
  says: SAYS,
  isLive: true,
  examples: [
    ['gateway native import auth.json --name team', ''],
    ['ssh laptop cat auth.json | gateway native import --name team', 'from standard input'],
    ['gateway native import auth.json --id nid_7gTq…', 'new tokens for one that is there'],
  ],
  load: async () => (await import('./native-import.ts')).importIdentity,
}

const list: Command = {
  words: ['native', 'list'],
  summary: 'list sign-ins at native suppliers, newest first',
  details: ['All of them, or those that the flags select. No token is shown.'],
  flags: ['supplier', 'organisation', 'name', 'status', 'limit', 'cursor', 'quiet'],
  says: {
    supplier: { text: 'only those at this supplier' },
    organisation: { text: 'only those for this organisation' },
    status: { text: 'only active, disabled, refused, sealed or removed ones' },
  },
  isLive: true,
  examples: [
    ['gateway native list', ''],
    ['gateway native list --status refused', 'who must sign in again'],
  ],
  load: async () => (await import('./native.ts')).identities.list,
}

const show: Command = {
  words: ['native', 'show'],
  summary: 'show one sign-in',
  details: ['Its scope, its limits and how its tokens are doing; never the tokens.'],
  argument: IDENTITY,
  flags: [],
  isLive: true,
  examples: [['gateway native show nid_7gTq…', '']],
  load: async () => (await import('./native.ts')).identities.show,
}

const update: Command = {
  words: ['native', 'update'],
  summary: 'change what a sign-in is used for',
  details: ['Changes what is named and leaves the rest. The word none takes a value away.'],
  argument: IDENTITY,
  flags: ['name', ...SETTINGS],
  says: SAYS,
  isLive: true,
  examples: [
    ['gateway native update nid_7gTq… --projects prj_…', ''],
    ['gateway native update nid_7gTq… --parallel-max none', 'any number at once'],
  ],
  load: async () => (await import('./native.ts')).identities.update,
}

const disable: Command = {
  words: ['native', 'disable'],
  summary: 'use a sign-in no more, until it is enabled',
  details: ['Calls that run go on. Its tokens are kept.'],
  argument: IDENTITY,
  flags: [],
  isLive: true,
  examples: [['gateway native disable nid_7gTq…', '']],
  load: async () => (await import('./native.ts')).disable,
}

const enable: Command = {
  words: ['native', 'enable'],
  summary: 'use a sign-in again that was disabled',
  details: ['One whose issuer has refused it stays refused: sign it in again.'],
  argument: IDENTITY,
  flags: [],
  isLive: true,
  examples: [['gateway native enable nid_7gTq…', '']],
  load: async () => (await import('./native.ts')).enable,
}

const remove: Command = {
  words: ['native', 'remove'],
  summary: 'remove a sign-in and wipe its tokens, for good',
  details: [
    'The issuer is not told: end the sign-in there, too, if others may hold its tokens. Asks first at a terminal. In a script it needs --yes.',
  ],
  argument: IDENTITY,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway native remove nid_7gTq… --yes', 'without asking']],
  load: async () => (await import('./native.ts')).identities.end,
}

export const nativeCommands: readonly Command[] = [
  login,
  importFile,
  list,
  show,
  update,
  disable,
  enable,
  remove,
]

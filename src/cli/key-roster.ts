// The commands about keys and tokens, for the roster.
import type { Command } from './command.ts'

const SETTINGS = [
  'name',
  'models',
  'regions',
  'budget',
  'period',
  'fit',
  'rpm',
  'expires',
  'metadata',
] as const

const STATUS = { text: 'only those that are active, revoked or expired' }
const FILTERS = ['project', 'team', 'user', 'name', 'metadata', 'status'] as const

const KEY = { name: 'KEY_ID', isRequired: true, text: 'the id, such as key_…' } as const
const TOKEN = { name: 'TOKEN_ID', isRequired: true, text: 'the id, such as tok_…' } as const

const ROTATION =
  'Shows a new secret once. The one before goes on for a day, or for as long as --overlap says, so that whoever uses it can change over; one that was still going on from an earlier rotation ends at once.'

const CHANGES =
  'Changes what is named and leaves the rest. The word none takes a limit away. Labels are replaced as a whole.'

const keysCreate: Command = {
  words: ['keys', 'create'],
  summary: 'make a key and show its secret once',
  details: [
    'A key calls models within its limits and manages nothing. What is left out is not limited. The secret cannot be shown again.',
  ],
  flags: [...SETTINGS, 'project', 'user', 'quiet'],
  needs: ['name'],
  isLive: true,
  examples: [
    ['gateway keys create --name "billing bot" --rpm 60', 'sixty calls a minute'],
    ['gateway keys create --name eu --models demo/chat --regions EU', 'one model, one region'],
    ['KEY=$(gateway keys create --name ci --quiet)', 'the secret alone'],
  ],
  load: async () => (await import('./keys.ts')).keys.create,
}

const keysList: Command = {
  words: ['keys', 'list'],
  summary: 'list keys, newest first, with what they have spent',
  details: [
    'All of them, or as many as --limit says. Spending is that of the current period. With several filters a key must meet them all; with --team it is of one of the projects of the team.',
  ],
  flags: [...FILTERS, 'limit', 'cursor', 'quiet'],
  says: { status: STATUS },
  isLive: true,
  examples: [
    ['gateway keys list', ''],
    ['gateway keys list --metadata team=search --status active', 'by a label'],
    ['gateway keys list --quiet', 'the ids alone'],
  ],
  load: async () => (await import('./keys.ts')).keys.list,
}

const keysShow: Command = {
  words: ['keys', 'show'],
  summary: 'show one key: its limits, its spending, its state',
  details: ['The secret is not among it: nobody has it but the one who made the key.'],
  argument: KEY,
  flags: [],
  isLive: true,
  examples: [['gateway keys show key_5cVh…', '']],
  load: async () => (await import('./keys.ts')).keys.show,
}

const keysSet: Command = {
  words: ['keys', 'set'],
  summary: 'change the limits of a key',
  details: [CHANGES],
  argument: KEY,
  flags: SETTINGS,
  isLive: true,
  examples: [
    ['gateway keys set key_5cVh… --budget 25', 'raise or lower the limit'],
    ['gateway keys set key_5cVh… --rpm none', 'no limit of requests any more'],
  ],
  load: async () => (await import('./keys.ts')).keys.update,
}

/** Everything else that can be changed is updated, so nobody should have to know that keys are set. */
const keysUpdate: Command = {
  ...keysSet,
  words: ['keys', 'update'],
  summary: 'the same as keys set',
  examples: [['gateway keys update key_5cVh… --budget 25', 'raise or lower the limit']],
}

const keysRotate: Command = {
  words: ['keys', 'rotate'],
  summary: 'give a key another secret, without an outage',
  details: [ROTATION],
  argument: KEY,
  flags: ['overlap', 'quiet'],
  isLive: true,
  examples: [
    ['gateway keys rotate key_5cVh… --overlap 1h', 'the old one works for another hour'],
    ['gateway keys rotate key_5cVh… --overlap none', 'after a leak: it ends now'],
  ],
  load: async () => (await import('./keys.ts')).keys.rotate,
}

const keysRevoke: Command = {
  words: ['keys', 'revoke'],
  summary: 'end a key, at once and for good',
  details: ['Asks first at a terminal. In a script it needs --yes.'],
  argument: KEY,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway keys revoke key_5cVh… --yes', 'without asking']],
  load: async () => (await import('./keys.ts')).keys.end,
}

const tokensCreate: Command = {
  words: ['tokens', 'create'],
  summary: 'make a token of a project or a team and show it once',
  details: [
    'A token calls for its project, or for the projects of its team, within its limits. With --manage it also makes, changes and ends the keys and tokens there, none of them with more than it has itself.',
  ],
  flags: [...SETTINGS, 'project', 'team', 'user', 'manage', 'quiet'],
  needs: ['name'],
  isLive: true,
  examples: [
    ['gateway tokens create --name search --project prj_8aQx…', 'calls for the project'],
    ['gateway tokens create --name lead --team team_3bFk… --manage', 'manages the team, too'],
  ],
  load: async () => (await import('./keys.ts')).tokens.create,
}

const tokensList: Command = {
  words: ['tokens', 'list'],
  summary: 'list tokens, newest first, with what they have spent',
  details: ['All of them, or as many as --limit says. With several filters all must be met.'],
  flags: [...FILTERS, 'limit', 'cursor', 'quiet'],
  says: { status: STATUS },
  isLive: true,
  examples: [
    ['gateway tokens list', ''],
    ['gateway tokens list --project prj_8aQx…', 'of one project'],
  ],
  load: async () => (await import('./keys.ts')).tokens.list,
}

const tokensShow: Command = {
  words: ['tokens', 'show'],
  summary: 'show one token: its limits, its spending, its state',
  details: ['The secret is not among it: nobody has it but the one who made the token.'],
  argument: TOKEN,
  flags: [],
  isLive: true,
  examples: [['gateway tokens show tok_7dWm…', '']],
  load: async () => (await import('./keys.ts')).tokens.show,
}

const tokensUpdate: Command = {
  words: ['tokens', 'update'],
  summary: 'change the limits of a token',
  details: [CHANGES],
  argument: TOKEN,
  flags: SETTINGS,
  isLive: true,
  examples: [['gateway tokens update tok_7dWm… --budget 25', 'raise or lower the limit']],
  load: async () => (await import('./keys.ts')).tokens.update,
}

const tokensRotate: Command = {
  words: ['tokens', 'rotate'],
  summary: 'give a token another secret, without an outage',
  details: [ROTATION],
  argument: TOKEN,
  flags: ['overlap', 'quiet'],
  isLive: true,
  examples: [['gateway tokens rotate tok_7dWm… --overlap 7d', 'a week to change over']],
  load: async () => (await import('./keys.ts')).tokens.rotate,
}

const tokensRevoke: Command = {
  words: ['tokens', 'revoke'],
  summary: 'end a token, at once and for good',
  details: ['Asks first at a terminal. In a script it needs --yes.'],
  argument: TOKEN,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway tokens revoke tok_7dWm… --yes', 'without asking']],
  load: async () => (await import('./keys.ts')).tokens.end,
}

export const keyCommands: readonly Command[] = [
  keysCreate,
  keysList,
  keysShow,
  keysSet,
  keysUpdate,
  keysRotate,
  keysRevoke,
  tokensCreate,
  tokensList,
  tokensShow,
  tokensUpdate,
  tokensRotate,
  tokensRevoke,
]

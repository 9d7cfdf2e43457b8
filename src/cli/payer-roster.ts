// The commands about projects, wallets and payers, for the roster.
import type { Command } from './command.ts'

const PROJECT = { name: 'PROJECT_ID', isRequired: true, text: 'the id, such as prj_…' } as const
const WALLET = { name: 'WALLET_ID', isRequired: true, text: 'the id, such as wal_…' } as const

const PROJECT_SETTINGS = ['name', 'organisation', 'delegate', 'pin', 'metadata'] as const
const WALLET_SETTINGS = ['name', 'credit-line', 'spending-limit', 'period'] as const
const OWNERS = ['project', 'user', 'account'] as const
const LISTS = ['limit', 'cursor', 'quiet'] as const

const projectsCreate: Command = {
  words: ['projects', 'create'],
  summary: 'make a project, which keys and tokens can be made for',
  details: [
    'Its calls are paid by the first that can: its own wallet, that of the billing user of its organisation, that of its delegate, that of the caller. With --pin by that one alone.',
  ],
  flags: [...PROJECT_SETTINGS, 'quiet'],
  needs: ['name'],
  isLive: true,
  examples: [
    ['gateway projects create --name search', ''],
    ['gateway projects create --name pilot --pin project', 'it pays for itself or not at all'],
    ['PROJECT=$(gateway projects create --name ci --quiet)', 'the id alone'],
  ],
  load: async () => (await import('./projects.ts')).projects.create,
}

const projectsList: Command = {
  words: ['projects', 'list'],
  summary: 'list projects, newest first',
  details: ['All of them, or those that a part of the name, a label or an organisation selects.'],
  flags: ['name', 'status', 'organisation', 'metadata', ...LISTS],
  isLive: true,
  examples: [
    ['gateway projects list --status active', 'active, or ended'],
    ['gateway projects list --metadata tier=gold', ''],
  ],
  load: async () => (await import('./projects.ts')).projects.list,
}

const projectsShow: Command = {
  words: ['projects', 'show'],
  summary: 'show one project',
  details: ['Who would pay for its calls, `gateway payers --project ID` tells.'],
  argument: PROJECT,
  flags: [],
  isLive: true,
  examples: [['gateway projects show prj_5cVh…', '']],
  load: async () => (await import('./projects.ts')).projects.show,
}

const projectsUpdate: Command = {
  words: ['projects', 'update'],
  summary: 'change a project',
  details: [
    'Changes what is named and leaves the rest. The word none takes a value away. Labels are replaced as a whole.',
  ],
  argument: PROJECT,
  flags: PROJECT_SETTINGS,
  isLive: true,
  examples: [
    ['gateway projects update prj_5cVh… --delegate usr_…', ''],
    ['gateway projects update prj_5cVh… --pin none', 'the whole chain pays again'],
  ],
  load: async () => (await import('./projects.ts')).projects.update,
}

const projectsEnd: Command = {
  words: ['projects', 'end'],
  summary: 'end a project, for good',
  details: [
    'Refused while credentials call for it, a team has it, or money is in its wallet: the answer names them. Asks first at a terminal. In a script it needs --yes.',
  ],
  argument: PROJECT,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway projects end prj_5cVh… --yes', 'without asking']],
  load: async () => (await import('./projects.ts')).projects.end,
}

const walletsCreate: Command = {
  words: ['wallets', 'create'],
  summary: 'open a wallet of a project, of a user or of the account',
  details: [
    'Each has at most one that is open. A wallet of a project or a user begins prepaid: without --credit-line it pays for nothing until something is put in. One of the account has an open end unless --credit-line says otherwise; to open that of another, `gateway wallets update ID --credit-line none`.',
  ],
  flags: [...OWNERS, ...WALLET_SETTINGS, 'quiet'],
  isLive: true,
  examples: [
    ['gateway wallets create --project prj_5cVh…', 'prepaid'],
    ['gateway wallets create --user usr_… --spending-limit 500', 'at most 500 a month'],
  ],
  load: async () => (await import('./wallets.ts')).wallets.create,
}

const walletsList: Command = {
  words: ['wallets', 'list'],
  summary: 'list wallets, newest first, with what is in them',
  details: ['What is available is what the next call may take: less what is held for calls.'],
  flags: [...OWNERS, 'name', 'status', ...LISTS],
  says: { status: { text: 'only those that are active, exhausted or closed' } },
  isLive: true,
  examples: [
    ['gateway wallets list', ''],
    ['gateway wallets list --status exhausted', 'active, exhausted or closed'],
  ],
  load: async () => (await import('./wallets.ts')).wallets.list,
}

const walletsShow: Command = {
  words: ['wallets', 'show'],
  summary: 'show one wallet: what is in it, is held and may be spent',
  details: ['As calls are held to it at this moment.'],
  argument: WALLET,
  flags: [],
  isLive: true,
  examples: [['gateway wallets show wal_5cVh…', '']],
  load: async () => (await import('./wallets.ts')).wallets.show,
}

const walletsUpdate: Command = {
  words: ['wallets', 'update'],
  summary: 'change how far a wallet may go',
  details: [
    'Changes what is named and leaves the rest. --credit-line none opens its end, --spending-limit none takes the limit away. What is in it only `wallets credit` and calls change.',
  ],
  argument: WALLET,
  flags: WALLET_SETTINGS,
  says: {
    'credit-line': { text: 'how far below zero it may go; none: open end' },
    'spending-limit': { text: 'most dollars that it spends in a period; none: no limit' },
  },
  isLive: true,
  examples: [
    ['gateway wallets update wal_5cVh… --credit-line 10', 'may go 10 below zero'],
    ['gateway wallets update wal_5cVh… --spending-limit none', ''],
  ],
  load: async () => (await import('./wallets.ts')).wallets.update,
}

const walletsCredit: Command = {
  words: ['wallets', 'credit'],
  summary: 'put money into a wallet, or take it back',
  details: [
    'One entry of its statement, with who and why. A wallet takes each --reference once, so that whoever is not sure can send it again.',
  ],
  argument: WALLET,
  flags: ['amount', 'reason', 'reference', 'quiet'],
  needs: ['amount', 'reason'],
  isLive: true,
  examples: [
    ['gateway wallets credit wal_… --amount 100 --reason "March" --reference INV-7', ''],
    ['gateway wallets credit wal_… --amount=-20 --reason "sent back"', 'takes back'],
  ],
  load: async () => (await import('./wallets.ts')).creditWallet,
}

const walletsEntries: Command = {
  words: ['wallets', 'entries'],
  summary: 'list what was put into a wallet and taken back',
  details: ['Newest first. What calls took, `gateway usage --payer WALLET_ID` adds up.'],
  argument: WALLET,
  flags: ['limit', 'cursor'],
  isLive: true,
  examples: [['gateway wallets entries wal_5cVh…', '']],
  load: async () => (await import('./wallets.ts')).listEntries,
}

const walletsClose: Command = {
  words: ['wallets', 'close'],
  summary: 'close a wallet, for good',
  details: [
    'It pays for nothing from then on, as if it were not there. Refused while money is in it. Asks first at a terminal. In a script it needs --yes.',
  ],
  argument: WALLET,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway wallets close wal_5cVh… --yes', 'without asking']],
  load: async () => (await import('./wallets.ts')).wallets.end,
}

const payers: Command = {
  words: ['payers'],
  summary: 'show who would pay for a call, place by place',
  details: [
    'As things stand, with the reason of each that would not: none (no wallet), closed, funds, limit, or busy with calls under way. Without --project, --key-id or --token-id for a call of your own.',
  ],
  flags: ['project', 'key-id', 'token-id', 'estimate', 'quiet'],
  says: {
    project: { text: 'for a call for this project' },
    'key-id': { text: 'for a call of this key' },
    'token-id': { text: 'for a call of this token' },
  },
  isLive: true,
  examples: [
    ['gateway payers --project prj_5cVh…', ''],
    ['gateway payers --key-id key_… --estimate 0.50', 'a call that may cost that much'],
  ],
  load: async () => (await import('./wallets.ts')).showPayers,
}

export const payerCommands: readonly Command[] = [
  projectsCreate,
  projectsList,
  projectsShow,
  projectsUpdate,
  projectsEnd,
  walletsCreate,
  walletsList,
  walletsShow,
  walletsUpdate,
  walletsCredit,
  walletsEntries,
  walletsClose,
  payers,
]

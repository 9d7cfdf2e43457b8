// The commands about users, organisations, teams, accounts and actions, for the roster. What the first three have in
// common is written once.
import type { Command } from './command.ts'
import type { FlagName } from './flags.ts'
import type { RecordCommands } from './records.ts'

/** What is said of a kind; the five commands follow. */
interface Group {
  readonly word: 'users' | 'organisations' | 'teams'
  readonly noun: string
  /** An id to show. */
  readonly id: string
  /** What one is for. */
  readonly purpose: string
  readonly settings: readonly FlagName[]
  readonly filters: readonly FlagName[]
  /** What keeps one from being ended. */
  readonly keeps: string
  /** Flags of an example of a creation, of a list and of a change. */
  readonly examples: readonly [create: string, list: string, update: string]
}

const LISTS = ['name', 'status', 'limit', 'cursor', 'quiet'] as const

function commandsOf(group: Group): readonly Command[] {
  const { word, noun, id, purpose, settings, filters, keeps, examples } = group
  const [article, argumentName] = [/^[aou]/.test(noun) && noun !== 'user' ? 'an' : 'a', idOf(noun)]
  const argument = { name: argumentName, isRequired: true, text: `the id, such as ${id}` } as const
  const [forCreate, forList, forUpdate] = examples
  const command = (
    verb: keyof RecordCommands,
    rest: Omit<Command, 'words' | 'isLive' | 'load'>,
  ): Command => ({
    words: [word, verb],
    ...rest,
    isLive: true,
    load: async () => (await import('./tenancy.ts'))[word][verb],
  })
  return [
    command('create', {
      summary: `make ${article} ${noun}: ${purpose}`,
      details: ['Only the root key makes one. What is left out can be said later.'],
      flags: ['name', ...settings, 'quiet'],
      needs: ['name'],
      examples: [
        [`gateway ${word} create ${forCreate}`, ''],
        [`ID=$(gateway ${word} create --name NAME --quiet)`, 'the id alone'],
      ],
    }),
    command('list', {
      summary: `list ${word}, newest first`,
      details: ['All of them, or those that the flags select.'],
      flags: [...filters, ...LISTS],
      examples: [[`gateway ${word} list ${forList}`, '']],
    }),
    command('show', {
      summary: `show one ${noun}`,
      details: ['It stays readable after its end.'],
      argument,
      flags: [],
      examples: [[`gateway ${word} show ${id}`, '']],
    }),
    command('update', {
      summary: `change ${article} ${noun}`,
      details: ['Changes what is named and leaves the rest. The word none takes a value away.'],
      argument,
      flags: ['name', ...settings],
      examples: [[`gateway ${word} update ${id} ${forUpdate}`, '']],
    }),
    command('end', {
      summary: `end ${article} ${noun}, for good`,
      details: [
        `Refused while it has ${keeps}: the answer names them. Asks first at a terminal. In a script it needs --yes.`,
      ],
      argument,
      flags: ['yes'],
      examples: [[`gateway ${word} end ${id} --yes`, 'without asking']],
    }),
  ]
}

function idOf(noun: string): string {
  return `${noun.toUpperCase()}_ID`
}

const GROUPS: readonly Group[] = [
  {
    word: 'users',
    noun: 'user',
    id: 'usr_4kRt…',
    purpose: 'who calls, or is billed',
    settings: ['email'],
    filters: ['email'],
    keeps:
      'an organisation that bills it, a project that delegates to it, credentials that work, or an open wallet',
    examples: ['--name Jo --email jo@example.com', '--name jo', '--email none'],
  },
  {
    word: 'organisations',
    noun: 'organisation',
    id: 'org_2mXc…',
    purpose: 'who is billed for several projects',
    settings: ['billing-user', 'native'],
    filters: [],
    keeps: 'projects',
    examples: ['--name Research --billing-user usr_…', '--status active', '--billing-user usr_…'],
  },
  {
    word: 'teams',
    noun: 'team',
    id: 'team_3bFk…',
    purpose: 'projects that share tokens',
    settings: ['projects'],
    filters: ['project'],
    keeps: 'tokens that work',
    examples: ['--name apps --projects prj_…,prj_…', '--project prj_…', '--projects prj_…'],
  },
]

const ACCOUNT = { name: 'ACCOUNT_ID', isRequired: true, text: 'the id, such as acc_…' } as const

const accountsCreate: Command = {
  words: ['accounts', 'create'],
  summary: 'open an account and show its root key once',
  details: [
    'Nothing of an account is seen from another one. Only the root key of the first account, which runs the gateway, may use these commands.',
  ],
  flags: ['name', 'quiet'],
  needs: ['name'],
  isLive: true,
  examples: [
    ['gateway accounts create --name "Customer A"', ''],
    ['KEY=$(gateway accounts create --name "Customer A" --quiet)', 'the root key alone'],
  ],
  load: async () => (await import('./accounts.ts')).accounts.create,
}

const accountsList: Command = {
  words: ['accounts', 'list'],
  summary: 'list accounts, newest first',
  details: ['All of them, or those that a part of the name or the status selects.'],
  flags: LISTS,
  says: { status: { text: 'only those that are active, or closed' } },
  isLive: true,
  examples: [['gateway accounts list --status active', '']],
  load: async () => (await import('./accounts.ts')).accounts.list,
}

const accountsShow: Command = {
  words: ['accounts', 'show'],
  summary: 'show one account',
  details: ['With the id of its wallet.'],
  argument: ACCOUNT,
  flags: [],
  isLive: true,
  examples: [['gateway accounts show acc_8sVd…', '']],
  load: async () => (await import('./accounts.ts')).accounts.show,
}

const accountsUpdate: Command = {
  words: ['accounts', 'update'],
  summary: 'rename an account',
  details: ['Nothing else about it can be changed.'],
  argument: ACCOUNT,
  flags: ['name'],
  needs: ['name'],
  isLive: true,
  examples: [['gateway accounts update acc_8sVd… --name "Customer B"', '']],
  load: async () => (await import('./accounts.ts')).accounts.update,
}

const accountsRotate: Command = {
  words: ['accounts', 'rotate'],
  summary: 'give an account another root key, shown once',
  details: [
    'The one before ends at once, or goes on for as long as --overlap says. It is the only way to a root key that was lost.',
  ],
  argument: ACCOUNT,
  flags: ['overlap', 'quiet'],
  isLive: true,
  examples: [['gateway accounts rotate acc_8sVd… --overlap 1h', 'an hour to change over']],
  load: async () => (await import('./accounts.ts')).accounts.rotate,
}

const accountsClose: Command = {
  words: ['accounts', 'close'],
  summary: 'close an account, at once and for good',
  details: [
    'Its credentials are refused from then on. Asks first at a terminal. In a script it needs --yes.',
  ],
  argument: ACCOUNT,
  flags: ['yes'],
  isLive: true,
  examples: [['gateway accounts close acc_8sVd… --yes', 'without asking']],
  load: async () => (await import('./accounts.ts')).accounts.end,
}

const actions: Command = {
  words: ['actions'],
  summary: 'list what was changed by whom, newest first',
  details: [
    'Every change by management, as it stands in the books: when, what, to which record, what differs, and who asked. Without --limit the last 20. --json has the whole of before and after.',
  ],
  flags: ['target', 'action', 'by', 'from', 'to', 'account-id', 'limit', 'cursor'],
  says: {
    by: { value: 'ID', text: 'only what this key or token has done' },
    from: { text: 'actions since then: 2h, 7d, 2026-11-01 or an ISO time in UTC' },
    to: { text: 'actions before then' },
  },
  isLive: true,
  examples: [
    ['gateway actions --target key_5cVh…', 'what became of a key'],
    ['gateway actions --action wallet.credit --from 30d', 'what was put into wallets'],
  ],
  load: async () => (await import('./actions.ts')).listActions,
}

export const tenancyCommands: readonly Command[] = [
  accountsCreate,
  accountsList,
  accountsShow,
  accountsUpdate,
  accountsRotate,
  accountsClose,
  ...GROUPS.flatMap(commandsOf),
  actions,
]

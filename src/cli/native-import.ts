// `gateway native import`: hands a sign-in that was made elsewhere to the gateway. It is read from a file or from
// standard input and never from a flag, which the history of the shell and the list of processes would keep.
import { readFileSync, statSync, type Stats } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Desk, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { toText, type JsonRecord } from './json.ts'
import { reach, type Live } from './live.ts'
import { dropEnded, readSignIn, type Source } from './native-file.ts'
import { bring, readTarget } from './native-sign-in.ts'
import { chooseSupplier } from './native-suppliers.ts'

/** A sign-in is a few kilobytes; whatever is longer is something else. */
const BYTES_MAX = 262_144
const OTHERS = 0o077

export async function importIdentity(words: Words, desk: Desk): Promise<void> {
  const { text, source } = await readSource(words, desk)
  const found = readSignIn(text, source)
  const target = readTarget(words, found.settings)
  const fields = dropEnded(found.fields, source, desk.now())
  const live = await reach(words, desk)
  const whole =
    target.id === undefined ? { ...(await toNew(words, found.settings, live)), ...fields } : fields
  await bring(target, whole, { words, desk, live })
  if ('refresh_token' in fields && !words.has('quiet'))
    desk.screen.note(
      '\nFrom now on the gateway renews this sign-in. Where it came from it may soon be refused: `gateway native login` makes one that nobody else uses.',
    )
}

/** What a new one has beside its tokens. */
async function toNew(words: Words, settings: JsonRecord, live: Live): Promise<JsonRecord> {
  const named = words.text('supplier') ?? (toText(settings['supplier']) || undefined)
  const supplier = named ?? (await chooseSupplier(undefined, live)).id
  return { ...settings, supplier }
}

interface Read {
  readonly text: string
  readonly source: Source
}

async function readSource(words: Words, desk: Desk): Promise<Read> {
  const { argument } = words
  const { terminal, screen, input } = desk
  if (argument !== undefined && argument !== '-') return readNamed(argument, desk)
  if (argument === undefined && terminal.isTerminal.stdin) {
    if (terminal.isTerminal.stderr && !screen.isMachine) return readNamed(await offer(desk), desk)
    throw wrongUsage('Name the FILE that holds the sign-in, or - for standard input.')
  }
  if (words.text('key-file') === '-')
    throw wrongUsage('Standard input has room for the key or for the sign-in, not for both.')
  return { text: await input.all(), source: { name: 'standard input' } }
}

/** What a native program keeps is taken only after its name was read and agreed to. */
async function offer({ screen, input, lookup }: Desk): Promise<string> {
  const { programs } = await import('../suppliers/oauth/programs.ts')
  const home = lookup('HOME') ?? homedir()
  const kept = programs
    .map(({ name, variable, folder, file }) => ({
      name,
      path: join(lookup(variable) ?? join(home, folder), file),
    }))
    .filter(({ path }) => statSync(path, { throwIfNoEntry: false })?.isFile() === true)
  for (const { name, path } of kept) {
    screen.ask(`Import the sign-in of ${name} from ${path}? [y/N] `)
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    if (/^y(es)?$/i.test(((await input.line()) ?? '').trim())) return path
  }
  throw kept.length === 0
    ? wrongUsage('No program keeps a sign-in here. Name the FILE, or - for standard input.')
    : new CliFailure('refused', 'Nothing was imported.')
}

function readNamed(file: string, { screen }: Desk): Read {
  const { text, stats } = readBriefly(file)
  // A pipe is nobody else's, and was written just now.
  if (!stats.isFile()) return { text, source: { name: file } }
  // Elsewhere the bits say nothing.
  if (process.platform !== 'win32' && (stats.mode & OTHERS) !== 0)
    screen.warn(
      `Others can read ${file}, and whoever has read it can sign in with it. Write chmod 600 ${file}.`,
    )
  return { text, source: { name: file, writtenAt: stats.mtimeMs } }
}

function readBriefly(file: string): { readonly text: string; readonly stats: Stats } {
  try {
    const stats = statSync(file)
    if (stats.size <= BYTES_MAX) return { text: readFileSync(file, 'utf8'), stats }
  } catch (thrown) {
    throw new CliFailure('refused', `The file ${file} cannot be read.`, {
      advice: 'Check its name, and whether you may read it.',
      cause: thrown,
    })
  }
  throw new CliFailure('refused', `The file ${file} is too long to hold a sign-in.`)
}

// `gateway native login`: somebody, or a program, signs in at a native supplier, and the tokens go to the gateway and
// nowhere else. Nothing of them is shown or written down here.
import { createSystemClock, type Clock } from '../core/clock.ts'
import type { Desk, RunCommand, Words } from './command.ts'
import { CliFailure, wrongUsage } from './failure.ts'
import { toList, toRecord, toText, type JsonRecord } from './json.ts'
import { reach, type Live } from './live.ts'
import { readSignIn } from './native-file.ts'
import { addressOfTarget, bring, readTarget, type Target } from './native-sign-in.ts'
import { chooseSupplier, type NativeSupplier } from './native-suppliers.ts'
import { signInByBrowser, signInByDevice } from './native-ways.ts'

export interface LoginParts {
  readonly clock: Clock
  /** Fails in silence: the address is printed as well. */
  readonly openBrowser: (url: string) => void
}

export const login: RunCommand = async (words, desk) =>
  loginWith({ clock: createSystemClock(), openBrowser: openInBrowser })(words, desk)

export function loginWith(parts: LoginParts): RunCommand {
  return async (words, desk) => {
    const target = readTarget(words)
    const live = await reach(words, desk)
    const supplier = await chooseSupplier(await findSupplierName(words, target, live), live)
    await checkScope(target, live)
    const tokens = await signIn(supplier, { words, desk, parts })
    if (supplier.grant === 'refresh_token' && tokens['refresh_token'] === undefined)
      desk.screen.warn(
        `${supplier.id} gave nothing to renew this sign-in with: it works until its token ends. Check \`oauth.scope\` of the supplier in the configuration.`,
      )
    const fields = target.id === undefined ? { supplier: supplier.id, ...tokens } : tokens
    await bring(target, fields, { words, desk, live })
  }
}

/** Before anybody is sent away: what nobody can keep would be signed in for in vain. Throws for what there is not. */
async function checkScope({ settings }: Target, live: Live): Promise<void> {
  const organisation = toText(settings['organisation_id'])
  const places = toList(settings['project_ids']).map(
    (id) => `projects/${encodeURIComponent(toText(id))}`,
  )
  if (organisation !== '') places.unshift(`organisations/${encodeURIComponent(organisation)}`)
  for (const place of places) await live.call('GET', `/v1/manage/${place}`)
}

/** Who is signed in again is signed in where it was. */
async function findSupplierName(
  words: Words,
  { id }: Target,
  live: Live,
): Promise<string | undefined> {
  const named = words.text('supplier')
  if (id === undefined) return named
  const own = toText(toRecord((await live.call('GET', addressOfTarget(id))).value)['supplier'])
  if (named === undefined || named === own) return own
  throw wrongUsage(`${id} is a sign-in at ${own}, and not at ${named}. Leave --supplier out.`)
}

interface Asked {
  readonly words: Words
  readonly desk: Desk
  readonly parts: LoginParts
}

async function signIn(
  supplier: NativeSupplier,
  { words, desk, parts }: Asked,
): Promise<JsonRecord> {
  const isDevice = words.has('device')
  const { id, grant, clientId, authorizeUrl, deviceUrl } = supplier
  if (grant === 'client_credentials') {
    if (isDevice) throw wrongUsage(`${id} takes a client id and a secret. Leave --device out.`)
    return askForClient(supplier, words, desk)
  }
  if (isDevice && deviceUrl === undefined)
    throw wrongUsage(`${id} has no codes to enter elsewhere. Leave --device out.`)
  if (authorizeUrl === undefined && deviceUrl === undefined)
    throw new CliFailure('refused', `Nobody can sign in at ${id} from here.`, {
      advice:
        'Its configuration has neither `oauth.authorize_url` nor `oauth.device_url`. Bring tokens with `gateway native import`.',
    })
  if (clientId === undefined)
    throw new CliFailure('refused', `There is no client id to sign in at ${id} with.`, {
      advice:
        'Set `oauth.client_id` of the supplier in the configuration, or bring tokens with `gateway native import`.',
    })
  const openBrowser = words.has('no-browser') ? undefined : parts.openBrowser
  const way = { supplier, clientId, desk, clock: parts.clock, openBrowser }
  const isByCode = isDevice || authorizeUrl === undefined
  return isByCode ? signInByDevice(way) : signInByBrowser(way)
}

/** Never by a flag: others could read it in the list of processes. */
async function askForClient(
  { id, clientId }: NativeSupplier,
  words: Words,
  { screen, input, terminal }: Desk,
): Promise<JsonRecord> {
  const { stdin, stderr } = terminal.isTerminal
  if (!stdin || !stderr) {
    if (words.text('key-file') === '-')
      throw wrongUsage(
        'Standard input has room for the key or for the client secret, not for both.',
      )
    const { fields } = readSignIn(await input.all(), { name: 'standard input' })
    if (fields['client_secret'] !== undefined) return fields
    throw new CliFailure('refused', 'Standard input holds no client_secret.', {
      advice: `Write {"client_id": "…", "client_secret": "…"} to it, from ${id}.`,
    })
  }
  const usual = clientId === undefined ? '' : ` [${clientId}]`
  screen.ask(`Client id${usual}: `)
  const typed = ((await input.line()) ?? '').trim()
  screen.ask('Client secret (not shown): ')
  const secret = ((await input.hidden()) ?? '').trim()
  screen.ask('\n')
  if (secret === '') throw new CliFailure('refused', 'Without a client secret nobody is signed in.')
  return { ...(typed === '' ? {} : { client_id: typed }), client_secret: secret }
}

const OPENERS: Partial<Readonly<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** No shell has a part in it: the address came over the network. */
function openInBrowser(url: string): void {
  const opener = OPENERS[process.platform] ?? ['xdg-open']
  try {
    const child = Bun.spawn([...opener, url], {
      stdin: 'ignore',
      stdout: 'ignore',
      stderr: 'ignore',
    })
    child.unref()
  } catch {
    // A machine without a browser: the address is printed, and can be opened on another one.
  }
}

// Suppliers that native agents are at home at: they are called by somebody's sign-in and never by a credential. What is
// known of them, and how the sign-ins that a file describes become what renewals need.
import { ConfigFault, Faults, type ConfigPath } from '../config/fault.ts'
import type { OAuthConfig } from '../config/oauth.ts'
import type { SupplierConfig } from '../config/schema.ts'
import { nativeResponses } from '../dialects/native-responses/index.ts'
import type { Quirks } from '../dialects/quirk.ts'
import { checkOrigin } from '../upstream/address.ts'
import type { Kind, KindService } from './kind.ts'
import type { OAuth, Supplier } from './supplier.ts'

/** Usage is part of every answer in this language. */
function responses(path: string, quirks: Partial<Quirks> = {}): KindService {
  const all: Quirks = { usage: 'always', ...quirks }
  return { dialect: nativeResponses, path, signature: 'bearer', quirks: all }
}

export const native: readonly Kind[] = [
  {
    // The backend of plans, as the maker's own program calls it: addresses, id, scopes, the port that its issuer lets a
    // browser come back to, and renewals as JSON (openai/codex, codex-rs/login/src/{server,auth/manager}.rs, seen
    // 2026-11). Its codes for other devices are no RFC 8628 (device_code_auth.rs there), so that there is no address for
    // these. It refuses `max_output_tokens` (reports of other clients, 2026). Which models there are depends on the plan; they are priced as at the maker's interface.
    id: 'codex',
    origin: 'https://chatgpt.com',
    environment: [],
    services: [responses('/backend-api/codex/responses', { outputLimit: 'refused' })],
    servesOwn: true,
    listedAs: 'openai',
    oauth: {
      tokenUrl: 'https://auth.openai.com/oauth/token',
      clientId: 'app_EMoamEEZ73f0CkXaXp7hrann',
      format: 'json',
      scope: 'openid profile email offline_access api.connectors.read api.connectors.invoke',
      authorizeUrl: 'https://auth.openai.com/oauth/authorize',
      authorizeParameters: {
        id_token_add_organizations: 'true',
        codex_cli_simplified_flow: 'true',
        // Who asks, in its own name.
        originator: 'inference-gateway',
      },
      redirectUrl: 'http://localhost:1455/auth/callback',
      subjectHeader: 'chatgpt-account-id',
    },
  },
  {
    // Whoever else speaks the language and is signed in at.
    id: 'native-compatible',
    environment: [],
    services: [responses('/v1/responses')],
    isGeneric: true,
    servesOwn: true,
    oauth: {},
  },
]

export interface SignInSource {
  readonly kind: Kind
  readonly config: SupplierConfig
  readonly path: ConfigPath
  readonly allowPrivate: boolean
}

/** How sign-ins are renewed and paid; nothing for a kind that is called by a credential. Throws a `ConfigFault`. */
export function findSignIns(source: SignInSource): Pick<Supplier, 'oauth' | 'billing'> {
  const { kind, config, path } = source
  const { billing = 'metered' } = config
  if (kind.oauth === undefined) {
    refuseNative(source)
    return {}
  }
  const faults = new Faults()
  faults.collect(() => refuseCredential(source))
  const said = { ...DEFAULTS, ...kind.oauth, ...readOAuth(config.oauth ?? {}) }
  const addresses = faults.collect(() => findAddresses(said, source))
  faults.collect(() => checkClient(said, path))
  if (addresses === undefined || !faults.isEmpty) throw faults.gather()
  return { oauth: { ...said, ...addresses }, billing }
}

const DEFAULTS: Omit<OAuth, 'tokenUrl'> = {
  grant: 'refresh_token',
  clientId: undefined,
  clientSecret: undefined,
  clientAuth: 'body',
  format: 'form',
  scope: undefined,
  audience: undefined,
  authorizeUrl: undefined,
  authorizeParameters: {},
  redirectUrl: undefined,
  deviceUrl: undefined,
  subjectHeader: undefined,
}

/** What the file says of sign-ins is ours, in its own spelling. */
function readOAuth(given: OAuthConfig): Partial<OAuth> {
  return dropAbsent({
    grant: given.grant,
    tokenUrl: given.token_url,
    clientId: given.client_id,
    clientSecret: given.client_secret,
    clientAuth: given.client_auth,
    format: given.format,
    scope: given.scope,
    audience: given.audience,
    authorizeUrl: given.authorize_url,
    authorizeParameters: given.authorize_parameters,
    redirectUrl: given.redirect_url,
    deviceUrl: given.device_url,
    subjectHeader: given.subject_header,
  })
}

/** What was not said outranks nothing. */
function dropAbsent(said: { [Name in keyof OAuth]: OAuth[Name] | undefined }): Partial<OAuth> {
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined))
}

/** What only makes sense where people sign in. */
function refuseNative({ kind, config, path }: SignInSource): void {
  const name = (['oauth', 'billing'] as const).find((field) => config[field] !== undefined)
  if (name === undefined) return
  const ids = native.map(({ id }) => id).join(', ')
  throw new ConfigFault(
    [...path, name],
    `is for kinds that are called by sign-ins (${ids}), and ${kind.id} is called by a credential: remove it`,
  )
}

function refuseCredential({ kind, config, path }: SignInSource): void {
  const name = (['credential', 'credentials'] as const).find((field) => config[field] !== undefined)
  if (name === undefined) return
  throw new ConfigFault(
    [...path, name],
    `is nothing that ${kind.id} is called by: remove it, and sign in with \`gateway native login\``,
  )
}

type Addresses = Pick<OAuth, 'tokenUrl' | 'authorizeUrl' | 'deviceUrl'>

function findAddresses(
  said: Partial<OAuth>,
  { kind, path, allowPrivate }: SignInSource,
): Addresses {
  const faults = new Faults()
  const check = (name: string, text: string | undefined): string | undefined =>
    text === undefined
      ? undefined
      : faults.collect(() => checkAddress(text, [...path, 'oauth', name], allowPrivate))
  const found = {
    tokenUrl: check('token_url', said.tokenUrl),
    authorizeUrl: check('authorize_url', said.authorizeUrl),
    deviceUrl: check('device_url', said.deviceUrl),
  }
  faults.collect(() => {
    if (said.tokenUrl === undefined)
      throw new ConfigFault(
        [...path, 'oauth', 'token_url'],
        `is missing: ${kind.id} has another issuer for everybody; write where tokens are renewed`,
      )
  })
  if (found.tokenUrl === undefined || !faults.isEmpty) throw faults.gather()
  return { ...found, tokenUrl: found.tokenUrl }
}

function checkAddress(text: string, path: ConfigPath, allowPrivate: boolean): string {
  const checked = checkOrigin(text, { allowPrivate })
  if ('reason' in checked) throw new ConfigFault(path, checked.reason)
  // Not put together from what was checked: to some issuers a slash at the end makes another address.
  return new URL(text).href
}

/** Without an id of the program nobody can sign in, and a secret proves nothing. */
function checkClient(oauth: Partial<OAuth>, path: ConfigPath): void {
  const { clientId, clientSecret, authorizeUrl, deviceUrl } = oauth
  if (clientId !== undefined) return
  const place = [...path, 'oauth', 'client_id']
  if (clientSecret !== undefined)
    throw new ConfigFault(place, 'is missing: client_secret proves nothing without it')
  if (authorizeUrl !== undefined || deviceUrl !== undefined)
    throw new ConfigFault(
      place,
      'is missing: people sign in for the program that it names; write the id that the issuer has given it',
    )
}

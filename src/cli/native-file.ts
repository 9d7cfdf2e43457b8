// A sign-in as files have it: as native programs keep theirs, as an issuer answers, or as the management interface
// takes it. Only what is known is taken over, so that whatever else stands beside it stays where it is.
import { CliFailure } from './failure.ts'
import { isRecord, parseJson, toText, type JsonRecord } from './json.ts'
import { distance } from './print.ts'

const SECRETS = ['access_token', 'refresh_token', 'client_id', 'client_secret', 'account_id']
const SETTINGS = [
  'name',
  'supplier',
  'organisation_id',
  'project_ids',
  'parallel_max',
  'requests_per_minute',
]

export interface Source {
  /** For messages. */
  readonly name: string
  /** When it was written, where anybody knows; `expires_in` counts from then. */
  readonly writtenAt?: number | undefined
}

export interface SignIn {
  /** Tokens and what belongs to them. */
  readonly fields: JsonRecord
  readonly settings: JsonRecord
}

export function readSignIn(text: string, source: Source): SignIn {
  const whole = parseJson(text)
  if (!isRecord(whole)) throw noSignIn(source, 'is no JSON object')
  // Programs put them below, beside things that are none of ours.
  const isNested = isRecord(whole['tokens'])
  const tokens = isRecord(whole['tokens']) ? whole['tokens'] : whole
  const fields = { ...pickTexts(tokens), ...pickEnd(tokens, source) }
  if (!['access_token', 'refresh_token', 'client_secret'].some((name) => name in fields))
    throw noSignIn(source, 'has no access_token, refresh_token or client_secret')
  const settings = SETTINGS.filter((name) => !isNested && whole[name] !== undefined)
  return { fields, settings: Object.fromEntries(settings.map((name) => [name, whole[name]])) }
}

/** An access token that has ended is left out where another can be got for it. */
export function dropEnded(fields: JsonRecord, source: Source, now: number): JsonRecord {
  const endsAt = Date.parse(toText(fields['expires_at']))
  if (Number.isNaN(endsAt) || endsAt > now) return fields
  const { access_token: _ended, expires_at: at, ...rest } = fields
  if ('refresh_token' in rest || 'client_secret' in rest) return rest
  throw new CliFailure(
    'refused',
    `The sign-in of ${source.name} ended ${distance(at, now)}, and nothing renews it.`,
    { advice: 'Sign in again with `gateway native login`.' },
  )
}

function pickTexts(tokens: JsonRecord): JsonRecord {
  return Object.fromEntries(
    SECRETS.flatMap((name) => {
      const text = tokens[name]
      return typeof text === 'string' && text.trim() !== '' ? [[name, text.trim()]] : []
    }),
  )
}

function pickEnd(tokens: JsonRecord, { writtenAt }: Source): JsonRecord {
  const { access_token: access, expires_at: at, expires_in: lifetime } = tokens
  // Without the token that ends then, it says nothing.
  if (typeof access !== 'string') return {}
  if (typeof at === 'string' && at !== '') return { expires_at: toMoment(at) }
  const seconds = Math.floor(Number(lifetime ?? Number.NaN))
  if (!(seconds > 0)) return {}
  if (writtenAt === undefined) return { expires_in: seconds }
  return { expires_at: new Date(writtenAt + seconds * 1000).toISOString() }
}

/** In UTC, as the gateway takes it; what is none, the gateway refuses. */
function toMoment(text: string): string {
  const at = Date.parse(text)
  return Number.isNaN(at) ? text : new Date(at).toISOString()
}

function noSignIn({ name }: Source, why: string): CliFailure {
  return new CliFailure('refused', `There is no sign-in in ${name}: it ${why}.`, {
    advice:
      'A program may keep its sign-in with the system and not in a file. `gateway native login` makes one of its own.',
  })
}

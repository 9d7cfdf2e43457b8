// The two ways in which a person signs in: in a browser of this machine (RFC 6749 with PKCE, RFC 8252), or by a code
// that is entered elsewhere (RFC 8628). Both end with tokens, of which nothing is written down.
import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import type { Desk } from './command.ts'
import { CliFailure } from './failure.ts'
import { toText, type JsonRecord } from './json.ts'
import { askIssuer, checkAddress, errorOf, toIssuerFailure, toTokens } from './native-issuer.ts'
import type { Issued } from './native-issuer.ts'
import { orAborted, pause, whileWaiting } from './native-patience.ts'
import { openRedirect } from './native-redirect.ts'
import type { NativeSupplier } from './native-suppliers.ts'
import { clean } from './text.ts'

/** How long somebody is waited for. */
const PATIENCE_MS = 10 * 60_000
const INTERVAL_MS = 5000
const INTERVAL_MS_MAX = 60_000

export interface Way {
  readonly supplier: NativeSupplier
  readonly clientId: string
  readonly desk: Desk
  readonly clock: Clock
  /** Undefined: somebody opens it by hand. */
  readonly openBrowser: ((url: string) => void) | undefined
}

export async function signInByBrowser(way: Way): Promise<JsonRecord> {
  const { supplier, clientId, desk, clock, openBrowser } = way
  const authorize = checkAddress(supplier.authorizeUrl ?? '', 'authorize_url')
  const token = checkAddress(supplier.tokenUrl, 'token_url')
  const [state, verifier] = [randomWord(), randomWord()]
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  using redirect = openRedirect(supplier.redirectUrl, { state, issuer: authorize.host })
  const asked = {
    ...supplier.authorizeParameters,
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirect.url,
    ...(supplier.scope === undefined ? {} : { scope: supplier.scope }),
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  for (const [name, value] of Object.entries(asked)) authorize.searchParams.set(name, value)
  // The listener must be there before anybody can come back, and the waiting before anybody is sent away.
  return await whileWaiting({ clock, ms: PATIENCE_MS }, async (signal) => {
    tell(desk, { open: authorize.href }, ['Open this address and sign in:', authorize.href])
    openBrowser?.(authorize.href)
    const code = await orAborted(redirect.code, signal)
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect.url,
      client_id: clientId,
      code_verifier: verifier,
    }
    return toTokens(await askIssuer(token, fields, signal), token.host)
  })
}

export async function signInByDevice(way: Way): Promise<JsonRecord> {
  const { supplier, clientId, desk, clock } = way
  const device = checkAddress(supplier.deviceUrl ?? '', 'device_url')
  const token = checkAddress(supplier.tokenUrl, 'token_url')
  return whileWaiting({ clock, ms: PATIENCE_MS }, async (signal) => {
    const fields = { client_id: clientId, scope: supplier.scope }
    const offer = readOffer(await askIssuer(device, fields, signal), device.host)
    const { address, userCode } = offer
    tell(desk, { open: address, user_code: userCode }, [
      `Open ${address}`,
      `and enter the code ${userCode}`,
    ])
    return poll(token, offer, { way, signal, endsAt: clock.elapsed() + offer.lifetimeMs })
  })
}

interface Offer {
  readonly deviceCode: string
  readonly userCode: string
  readonly address: string
  readonly intervalMs: number
  readonly lifetimeMs: number
}

function readOffer(issued: Issued, host: string): Offer {
  const { body, status } = issued
  const [deviceCode, userCode] = [toText(body['device_code']), toText(body['user_code'])]
  const address = toText(body['verification_uri']) || toText(body['verification_url'])
  if (status !== 200 || deviceCode === '' || userCode === '' || address === '')
    throw toIssuerFailure(errorOf(issued), host, status)
  const [interval, lifetime] = [Number(body['interval']), Number(body['expires_in'])]
  return {
    deviceCode,
    userCode,
    address,
    intervalMs: interval > 0 ? Math.min(interval * 1000, INTERVAL_MS_MAX) : INTERVAL_MS,
    lifetimeMs: lifetime > 0 ? lifetime * 1000 : PATIENCE_MS,
  }
}

interface Polling {
  readonly way: Way
  readonly signal: AbortSignal
  readonly endsAt: number
}

async function poll(
  token: URL,
  { deviceCode, intervalMs }: Offer,
  { way, signal, endsAt }: Polling,
): Promise<JsonRecord> {
  const fields = {
    grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
    device_code: deviceCode,
    client_id: way.clientId,
  }
  let wait = intervalMs
  while (way.clock.elapsed() < endsAt) {
    // oxlint-disable-next-line no-await-in-loop -- one question after the other
    await pause(wait, way.clock, signal)
    // oxlint-disable-next-line no-await-in-loop -- as above
    const issued = await askIssuer(token, fields, signal).catch(asSilence(signal))
    const code = issued === undefined || issued.status >= 500 ? 'slow_down' : errorOf(issued)
    if (issued !== undefined && !UNDECIDED.has(code)) return toTokens(issued, token.host)
    // An issuer that is out of reach is asked less often, too.
    if (code === 'slow_down') wait = Math.min(wait + INTERVAL_MS, INTERVAL_MS_MAX)
  }
  throw toIssuerFailure('expired_token', token.host)
}

const UNDECIDED: ReadonlySet<string> = new Set(['authorization_pending', 'slow_down'])

/** Whoever is entering the code elsewhere need not know that it could not be asked about. */
function asSilence(signal: AbortSignal): (thrown: unknown) => undefined {
  return (thrown) => {
    if (signal.aborted || !(thrown instanceof CliFailure)) throw thrown
  }
}

/** 256 bits: what RFC 7636 asks of a verifier, and more than a state needs. */
function randomWord(): string {
  return randomBytes(32).toString('base64url')
}

/** On stderr, also where the answer goes into a program: without it nobody gets on. */
function tell({ screen, terminal }: Desk, machine: object, lines: readonly string[]): void {
  const text = screen.isMachine ? [JSON.stringify(machine)] : lines.map(clean)
  terminal.stderr(text.map((line) => `${line}\n`).join(''))
}

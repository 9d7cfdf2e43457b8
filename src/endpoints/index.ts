// The roster of endpoints, and the one door they stand behind: draining, credential, body, and whatever
// goes wrong rendered in the endpoint's own language.
import type { ClaimedWork } from '../access/claim-refusal.ts'
import { readIdempotencyKey } from '../access/claims.ts'
import { PROJECT_HEADER } from '../access/directory.ts'
import type { Role } from '../access/keyring.ts'
import { retryHeaders, toEnvelope } from '../core/envelope.ts'
import type { Place } from '../core/chain.ts'
import type { KeyRecord } from '../core/key.ts'
import { asGatewayError, chatType, GatewayError } from '../core/problem.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { readRequestBody, requireJson } from '../http/body.ts'
import { readForm, requireForm, type ReadForm } from '../http/form.ts'
import { singleHeader } from '../http/edge.ts'
import { empty, text } from '../http/reply.ts'
import type { Route } from '../http/router.ts'
import type { Exchange, Handler } from '../http/server.ts'
import type { Plant, Received } from '../pipeline/call.ts'
import { answerCount } from '../pipeline/count.ts'
import { handle } from '../pipeline/handle.ts'
import { recordRefusal } from '../pipeline/refuse.ts'
import { CALLER_LEFT, CallerGone } from '../upstream/lifeline.ts'
import { chatCompletions } from './chat-completions.ts'
import { countTokens } from './count-tokens.ts'
import { embeddings } from './embeddings.ts'
import type { Endpoint, House } from './endpoint.ts'
import { getError, listErrors } from './errors.ts'
import { checkPhase, health, healthLive, healthReady, probes } from './health.ts'
import { accountEndpoints } from './manage/accounts.ts'
import { actionEndpoints } from './manage/actions.ts'
import { auditEndpoints } from './manage/audit.ts'
import { getCall } from './manage/calls.ts'
import { explainCall } from './manage/explain.ts'
import { identityEndpoints } from './manage/identities.ts'
import { keyEndpoints } from './manage/keys.ts'
import { ledgerEndpoints } from './manage/ledger.ts'
import { listNativeSuppliers } from './manage/native-suppliers.ts'
import { organisationEndpoints } from './manage/organisations.ts'
import { payerEndpoints } from './manage/payers.ts'
import { projectEndpoints } from './manage/projects.ts'
import { reload } from './manage/reload.ts'
import { reviewEndpoints } from './manage/reviews.ts'
import { listSuppliers } from './manage/suppliers.ts'
import { teamEndpoints } from './manage/teams.ts'
import { tokenEndpoints } from './manage/tokens.ts'
import { usageEndpoints } from './manage/usage.ts'
import { userEndpoints } from './manage/users.ts'
import { walletEndpoints } from './manage/wallets.ts'
import { messages } from './messages.ts'
import { getModel, listModels } from './models.ts'
import { nativeResponsesEndpoint } from './native-responses.ts'
import { answerOnce, claim } from './once.ts'
import { rerankEndpoints } from './rerank.ts'
import { responses } from './responses.ts'
import { speech } from './speech.ts'
import { transcriptions } from './transcriptions.ts'
import { orUpgrade } from './upgrade.ts'

export const endpoints: readonly Endpoint[] = [
  health,
  healthLive,
  healthReady,
  ...probes,
  listErrors,
  getError,
  listModels,
  getModel,
  chatCompletions,
  messages,
  countTokens,
  responses,
  nativeResponsesEndpoint,
  embeddings,
  ...rerankEndpoints,
  transcriptions,
  speech,
  ...accountEndpoints,
  ...organisationEndpoints,
  ...userEndpoints,
  ...projectEndpoints,
  ...teamEndpoints,
  ...keyEndpoints,
  ...tokenEndpoints,
  ...walletEndpoints,
  ...payerEndpoints,
  ...usageEndpoints,
  ...actionEndpoints,
  ...auditEndpoints,
  ...ledgerEndpoints,
  getCall,
  explainCall,
  ...reviewEndpoints,
  ...identityEndpoints,
  listNativeSuppliers,
  listSuppliers,
  reload,
]

export function routesOf(house: House): readonly Route<Handler>[] {
  return endpoints.map((endpoint) => ({
    method: endpoint.method,
    path: endpoint.path,
    handler: guarded(endpoint, house),
  }))
}

function guarded(endpoint: Endpoint, house: House): Handler {
  if (endpoint.role === 'open') return (exchange) => endpoint.answer(exchange, house)
  const { path } = endpoint
  if ('dialect' in endpoint) {
    const { dialect, takesForm = false } = endpoint
    const door: Door = { path, dialect, work: 'call', takesForm }
    return (exchange) => speak(door, exchange, house, infer)
  }
  if ('counts' in endpoint) {
    const door: Door = { path, dialect: endpoint.counts, work: undefined, takesForm: false }
    return (exchange) => speak(door, exchange, house, count)
  }
  return (exchange) => {
    checkPhase(house.state)
    const key = authenticate(exchange, endpoint.role, house)
    return answerOnce(endpoint, exchange, key, house)
  }
}

/** Who guesses keys is told to wait; only wrong ones are counted, and only they pay for it. */
function authenticate(exchange: Exchange, role: Exclude<Role, 'open'>, house: House): KeyRecord {
  try {
    return house.keyring.authenticate(exchange.request.headers, role)
  } catch (thrown) {
    if (thrown instanceof GatewayError && thrown.code === 'invalid_api_key')
      house.guesses.wrong(exchange.address(), house.plant.clock.elapsed())
    throw thrown
  }
}

/** Where callers are spoken to in a language of models. */
interface Door {
  readonly path: string
  readonly dialect: Dialect
  /** What an Idempotency-Key stands for; undefined where it is only asked, and nothing is kept. */
  readonly work: ClaimedWork | undefined
  /** It is sent a form, and not JSON. */
  readonly takesForm: boolean
}

type Serve = (door: Door, exchange: Exchange, key: KeyRecord, house: House) => Promise<Response>

async function speak(
  door: Door,
  exchange: Exchange,
  house: House,
  serve: Serve,
): Promise<Response> {
  try {
    checkPhase(house.state)
    const key = authenticate(exchange, 'infer', house)
    return await serve(door, exchange, key, house)
  } catch (thrown) {
    if (hasLeft(thrown, exchange)) return empty(exchange.id, CALLER_LEFT)
    const error = asGatewayError(thrown)
    noteBug(error, exchange, house.plant)
    return problemReply(error, exchange, door.dialect.problem.encode(error, exchange.id))
  }
}

async function infer(
  door: Door,
  exchange: Exchange,
  key: KeyRecord,
  house: House,
): Promise<Response> {
  const sent: Sent = { form: undefined, place: undefined }
  try {
    const call = await receive(door, exchange, key, { house, sent })
    // What is on disk is needed until somebody has answered.
    return call instanceof Response ? call : await handle(call, house.plant)
  } finally {
    sent.form?.dispose()
    sent.place?.leave()
  }
}

/** What must be let go of at the end. */
interface Sent {
  form: ReadForm | undefined
  place: Place | undefined
}

/** Costs nobody anything, so that only so many may ask at a time, from before their bodies are read. */
async function count(
  door: Door,
  exchange: Exchange,
  key: KeyRecord,
  house: House,
): Promise<Response> {
  const place = takePlace(key, house.plant)
  try {
    const call = await receive(door, exchange, key, {
      house,
      sent: { form: undefined, place: undefined },
    })
    return call instanceof Response ? call : await answerCount(call, house.plant)
  } finally {
    place.leave()
  }
}

function takePlace({ id }: KeyRecord, { counts }: Plant): Place {
  const place = counts.join(id)
  if (place !== undefined) return place
  throw new GatewayError(
    'capacity_exceeded',
    'As many requests are being counted as may be at a time, of this key or of all. Try again in a moment.',
    { retryAfter: 1 },
  )
}

/** A disk is soon full, and what a key may send in a minute is asked only of what has come whole. */
function takeUpload({ id }: KeyRecord, { uploads }: House): Place {
  const place = uploads.join(id)
  if (place !== undefined) return place
  throw new GatewayError(
    'capacity_exceeded',
    'As many files are being sent or worked on as may be at a time, of this key or of all. Try again in a moment.',
    { retryAfter: 1 },
  )
}

/**
 * Reads the body of a caller that is known; an answer where the same was asked before. Whoever is refused from here
 * on leaves a trace.
 */
async function receive(
  door: Door,
  exchange: Exchange,
  caller: KeyRecord,
  { house, sent }: { readonly house: House; readonly sent: Sent },
): Promise<Received | Response> {
  const { path, dialect, work } = door
  const { request, id, at, startedMs } = exchange
  const asked = { model: '', stream: false }
  let key = caller
  let { projectId } = key
  try {
    const header = readIdempotencyKey(request.headers)
    const named = singleHeader(request.headers, PROJECT_HEADER)
    projectId = house.directory.projectOf(key, named)
    house.plant.gate.check(house.plant.limits)
    if (door.takesForm) sent.place = takeUpload(key, house)
    const body = await readBody(door, request, house, sent)
    const content = header === undefined ? NOTHING : await contentOf(sent, body)
    // A body may take its time: nothing may be sent once the end has begun, and the key counts as it is now.
    checkPhase(house.state)
    key = house.keyring.current(caller)
    projectId = house.directory.projectOf(key, named)
    const sessionHeader = singleHeader(request.headers, 'x-session-id')
    const ticket =
      header === undefined || work === undefined
        ? undefined
        : await claim({ key, header, requestId: id, request, body: content, work }, house)
    if (ticket instanceof Response) return ticket
    const known = { id, path, dialect, key, projectId, at, startedMs, asked }
    const { headers } = request
    const form = await peekForm(door, sent, house.plant).catch((thrown: unknown) => {
      // What is refused here has not run: its key is free for a better form.
      ticket?.release()
      throw thrown
    })
    return {
      ...known,
      body,
      form,
      claim: ticket,
      headers,
      sessionHeader,
      caller: exchange,
    }
  } catch (thrown) {
    if (!hasLeft(thrown, exchange))
      recordRefusal(
        { id, path, key, projectId, at, startedMs, asked },
        asGatewayError(thrown),
        house.plant,
      )
    throw thrown
  }
}

const NOTHING = new Uint8Array(0)

/** A form is kept in its own place. */
async function readBody(
  { takesForm }: Door,
  request: Request,
  { plant, formLimits }: House,
  sent: Sent,
): Promise<Uint8Array> {
  if (!takesForm) {
    requireJson(request)
    return readRequestBody(request, plant.limits.bodyBytesMax, plant.clock)
  }
  requireForm(request)
  sent.form = await readForm(request, formLimits, plant.clock)
  return NOTHING
}

/** What tells this request from any other; of a form, which may be large, a digest. */
async function contentOf({ form }: Sent, body: Uint8Array): Promise<Uint8Array> {
  return form === undefined ? body : form.digest()
}

async function peekForm(
  { dialect }: Door,
  { form: read }: Sent,
  { transcriptionModel }: Plant,
): Promise<Received['form']> {
  if (read === undefined) return undefined
  const facts = await dialect.peekForm!(read.form, transcriptionModel)
  return { form: read.form, facts }
}

/** Who leaves in the middle of a body has no use for an answer, and nothing here is at fault. */
function hasLeft(thrown: unknown, { request }: Exchange): boolean {
  return thrown instanceof CallerGone || request.signal.aborted
}

/** For everything that no endpoint answers itself. */
export function renderProblem(thrown: unknown, exchange: Exchange, { plant }: House): Response {
  if (hasLeft(thrown, exchange)) return empty(exchange.id, CALLER_LEFT)
  const error = orUpgrade(asGatewayError(thrown), exchange)
  noteBug(error, exchange, plant)
  return problemReply(error, exchange, encodeProblem(error, exchange))
}

/** Whoever has got the method or the rest of a path wrong still reads the language that is spoken there. */
function encodeProblem(error: GatewayError, { id, path }: Exchange): string {
  for (const endpoint of endpoints)
    if ('dialect' in endpoint && `${path}/`.startsWith(`${endpoint.path}/`))
      return endpoint.dialect.problem.encode(error, id)
  return JSON.stringify({ error: toEnvelope(error, chatType) })
}

const UNBOOKED = new Set(['billing_unavailable', 'supplier_settlement_unavailable'])

/**
 * What nobody foresaw must leave a trace: the caller is told nothing of it. Books that are down refuse every
 * call; the ledger has told that, and only a cause is worth another line.
 */
function noteBug(error: GatewayError, { id }: Exchange, { log, trouble }: Plant): void {
  const { code, cause, message } = error
  if (code === 'internal_error')
    log.note('error', code, { id, cause: cause === undefined ? message : describeCause(cause) })
  else if (UNBOOKED.has(code) && cause !== undefined)
    trouble.unbooked(id, code, describeCause(cause))
}

function describeCause(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause === undefined
    ? (cause.stack ?? cause.message)
    : `${cause.message}: ${describeCause(cause.cause)}`
}

function problemReply(error: GatewayError, exchange: Exchange, body: string): Response {
  const headers = { ...error.headers, ...retryHeaders(error) }
  // What is left of a body that was refused half-way cannot be told from the next request.
  if (error.status === 408 || error.status === 413 || error.code === 'pod_draining')
    headers['connection'] = 'close'
  return text(exchange.id, body, error.status, headers)
}

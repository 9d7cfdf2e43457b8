// What a call would meet if it were made now: who would be asked and why nobody else, what could be spent and by whom,
// or why it would be refused. Nothing is sent, counted or kept.
import { checkNames, missing, readId, readText } from '../../access/fields.ts'
import { projectKind } from '../../access/kinds.ts'
import { getRecord } from '../../access/tenancy.ts'
import { isInScope } from '../../access/ties.ts'
import type { KeyRecord } from '../../core/key.ts'
import { GatewayError, invalid } from '../../core/problem.ts'
import { SESSION_LENGTH_MAX } from '../../dialects/dialect.ts'
import { readRequestBody, requireJson } from '../../http/body.ts'
import type { Exchange } from '../../http/server.ts'
import { explain, type Supposed } from '../../pipeline/explain.ts'
import { chatCompletions } from '../chat-completions.ts'
import { embeddings } from '../embeddings.ts'
import type { House, InferenceEndpoint, KeyedEndpoint } from '../endpoint.ts'
import { messages } from '../messages.ts'
import { nativeResponsesEndpoint } from '../native-responses.ts'
import { rerankEndpoints } from '../rerank.ts'
import { responses } from '../responses.ts'
import { speech } from '../speech.ts'
import { transcriptions } from '../transcriptions.ts'
import { splitDocument } from './body.ts'
import { describeExplanation } from './explain-entry.ts'
import { managed } from './resource.ts'
import { supposeForm } from './supposed-form.ts'

const FIELDS = new Map(
  ['key_id', 'project_id', 'endpoint', 'session_id', 'request'].map((name) => [name, undefined]),
)

export const explainCall: KeyedEndpoint = managed(
  { method: 'POST', path: '/v1/manage/explain', role: 'manage', isQuestion: true },
  async (exchange, caller, house) => {
    const { plant } = house
    plant.gate.check(plant.limits)
    const place = plant.questions.join(caller.accountId)
    if (place === undefined) throw tooMany()
    try {
      const supposed = await readSupposed(exchange, caller, house)
      return describeExplanation(await explain(supposed, plant), plant)
    } finally {
      place.leave()
    }
  },
)

function tooMany(): GatewayError {
  return new GatewayError(
    'capacity_exceeded',
    'As many questions are being answered as may be at a time. Ask again in a moment.',
    { retryAfter: 1 },
  )
}

async function readSupposed(
  exchange: Exchange,
  asking: KeyRecord,
  house: House,
): Promise<Supposed> {
  const { clock, limits } = house.plant
  requireJson(exchange.request)
  const bytes = await readRequestBody(exchange.request, limits.bodyBytesMax, clock)
  const { body, member } = splitDocument(bytes, 'request')
  checkNames(body, FIELDS)
  if (member === undefined)
    throw missing('request', 'Send `request`: the body of the call that is to be explained.')
  const { path, dialect, takesForm = false } = endpointOf(body['endpoint'])
  const { transcriptionModel } = house.plant
  const form = takesForm ? await supposeForm(member, dialect, transcriptionModel) : undefined
  // It may have taken its time, and whoever asks may have lost the right to.
  const caller = house.keyring.current(asking)
  const key = keyOf(body['key_id'], caller, house)
  const projectId = projectOf(body['project_id'], caller, house)
  return {
    id: exchange.id,
    path,
    dialect,
    key,
    projectOf: (current) => house.directory.projectOf(current, projectId),
    body: form === undefined ? member : NOTHING,
    form,
    sessionHeader: sessionOf(body['session_id']),
    caller: exchange,
  }
}

const NOTHING = new Uint8Array(0)

/** Where models are called; the first is meant where nothing is said. */
const PLACES: readonly InferenceEndpoint[] = [
  chatCompletions,
  messages,
  responses,
  nativeResponsesEndpoint,
  embeddings,
  ...rerankEndpoints,
  transcriptions,
  speech,
]

function endpointOf(value: unknown): InferenceEndpoint {
  const found = PLACES.find(({ path }) => path === (value ?? PLACES[0]?.path))
  if (found !== undefined) return found
  const paths = PLACES.map(({ path }) => path).join(', ')
  throw invalid('endpoint', `Send \`endpoint\` as one of ${paths}, or leave it out.`)
}

/** One answer for no credential, another account's and one out of scope. Whoever asks may always ask for itself. */
function keyOf(value: unknown, caller: KeyRecord, { directory, keyring }: House): KeyRecord {
  if (value === undefined || value === null) return caller
  const id = readId('key_id', value)
  if (id === caller.id) return caller
  const scope = directory.scopeOf(caller)
  for (const key of keyring.keys())
    if (key.id === id && key.kind !== 'root' && key.accountId === scope.accountId)
      if (isInScope(key, scope)) return key
  throw new GatewayError(
    'not_found',
    'No such credential belongs to this account. GET /v1/manage/keys and GET /v1/manage/tokens list those that do.',
    { param: 'key_id' },
  )
}

function projectOf(value: unknown, caller: KeyRecord, house: House): string | undefined {
  if (value === undefined || value === null) return undefined
  const scope = house.directory.scopeOf(caller)
  return getRecord(house, projectKind, scope, readId('project_id', value)).id
}

function sessionOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined
  return readText('session_id', value, SESSION_LENGTH_MAX)
}

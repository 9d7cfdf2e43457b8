// The models that a key may call. Everyone gets a plain array but the clients that would silently read
// one as an empty list.
import type { KeyRecord } from '../core/key.ts'
import { GatewayError } from '../core/problem.ts'
import { readsListObjects } from '../dialects/clients.ts'
import type { Exchange } from '../http/server.ts'
import { json } from '../http/reply.ts'
import type { Plant } from '../pipeline/call.ts'
import { AUTO } from '../routing/auto.ts'
import type { ListedModel } from '../routing/routes.ts'
import type { KeyedEndpoint } from './endpoint.ts'

export const listModels: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/models',
  role: 'infer',
  answer(exchange, key, { plant }) {
    const models = modelsOf(key, plant).map(describe)
    if (!wantsList(exchange, plant)) return json(exchange.id, models)
    return json(exchange.id, {
      object: 'list',
      data: models,
      has_more: false,
      first_id: models[0]?.id ?? null,
      last_id: models.at(-1)?.id ?? null,
    })
  },
}

export const getModel: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/models/{id*}',
  role: 'infer',
  answer(exchange, key, { plant }) {
    const id = exchange.params['id']
    const model = modelsOf(key, plant).find((each) => each.id === id)
    if (model === undefined)
      throw new GatewayError(
        'model_not_found',
        'No model with this id is open to this key. GET /v1/models lists those that are.',
      )
    return json(exchange.id, describe(model))
  },
}

type Shown = Pick<ListedModel, 'id' | 'ownedBy' | 'task'>

/** The gateway's own choice among all that comes before it. */
const CHOICE: Shown = { id: AUTO, ownedBy: 'gateway', task: 'chat' }

/** Each may be asked for where its task is; native ones by native agents alone, and `auto` not everywhere. */
function modelsOf(key: KeyRecord, { routes, natives, auto }: Plant): readonly Shown[] {
  const known = new Set(routes.models.map(({ id }) => id))
  const native = natives.of(key.accountId).models.filter(({ id }) => !known.has(id))
  const models = [...routes.models, ...native].filter((model) => isVisible(key, model))
  const isChoice = auto.isListed && models.length > 0 && routes.find(AUTO) === undefined
  return isChoice ? [...models, CHOICE] : models
}

/** A key sees what it could call: its own models, served somewhere in its regions. */
function isVisible(key: KeyRecord, model: ListedModel): boolean {
  const { allowedModels, allowedRegions } = key
  if (allowedModels !== undefined && !model.names.some((name) => allowedModels.includes(name)))
    return false
  return allowedRegions?.some((region) => model.regions.has(region)) !== false
}

// When a model was made is not known for all of them; typed clients want a date all the same.
const CREATED = '2025-01-01T00:00:00Z'
const CREATED_SECONDS = Date.parse(CREATED) / 1000

interface ModelObject {
  readonly id: string
  readonly object: 'model'
  readonly owned_by: string
  readonly created: number
  readonly type: 'model'
  readonly display_name: string
  /** What it does: chat, embedding, rerank, transcription or speech. */
  readonly task: string
  readonly created_at: string
}

function describe({ id, ownedBy, task }: Shown): ModelObject {
  return {
    id,
    object: 'model',
    owned_by: ownedBy,
    created: CREATED_SECONDS,
    type: 'model',
    display_name: id,
    task,
    created_at: CREATED,
  }
}

function wantsList({ request }: Exchange, { modelsShape }: Plant): boolean {
  if (modelsShape !== 'auto') return modelsShape === 'list'
  return request.url.includes('?') || readsListObjects(request.headers)
}

// Reads the configuration again, on request: the answer says what changed, or why nothing did.
import { GatewayError, quoteName } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { ConfigChanges, KeyedEndpoint, ReloadOutcome } from '../endpoint.ts'
import { checkOrigin, readManagementBody } from './body.ts'

export const reload: KeyedEndpoint = {
  method: 'POST',
  path: '/v1/manage/reload',
  role: 'operate',
  async answer(exchange, key, house) {
    checkOrigin(exchange.request)
    const hasBody = exchange.request.headers.get('content-length') !== '0' && exchange.request.body
    const body = hasBody ? await readManagementBody(exchange.request, house.plant.clock) : {}
    house.keyring.current(key)
    const outcome = await house.reload(readAllowDrop(body))
    if (!outcome.applied) throw notApplied(outcome)
    const { applied, changes, problems } = outcome
    return json(exchange.id, { object: 'reload', applied, ...describe(changes), problems })
  },
}

type NotApplied = Extract<ReloadOutcome, { readonly applied: false }>

function notApplied({ problems, advice }: NotApplied): GatewayError {
  const [first = '', ...others] = problems
  const parts = [first, ...tellMore(others.length), ...(advice === undefined ? [] : [advice])]
  return new GatewayError(
    'configuration_error',
    `The configuration was not applied; the one before stays in force. ${parts.join(' ')}`,
    { retryable: false, details: { problems, ...(advice !== undefined && { advice }) } },
  )
}

function tellMore(others: number): readonly string[] {
  if (others === 0) return []
  return [others === 1 ? 'There is one more problem.' : `There are ${others} more problems.`]
}

function describe(changes: ConfigChanges): object {
  return {
    suppliers_added: changes.suppliersAdded,
    suppliers_removed: changes.suppliersRemoved,
    suppliers_changed: changes.suppliersChanged,
    models_added: changes.modelsAdded,
    models_removed: changes.modelsRemoved,
    settings_changed: changes.settingsChanged,
    need_restart: changes.needRestart,
  }
}

function readAllowDrop(body: Readonly<Record<string, unknown>>): boolean {
  const { allow_drop: allowDrop = false, ...others } = body
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw new GatewayError('unsupported_parameter', 'Send only `allow_drop`, or no body at all.', {
      param: quoteName(unknown),
    })
  if (typeof allowDrop === 'boolean') return allowDrop
  throw new GatewayError('validation_error', 'Send `allow_drop` as true or false.', {
    param: 'allow_drop',
  })
}

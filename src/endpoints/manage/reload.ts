// Reads the configuration again, on request: the answer says what changed, or why nothing did.
import { GatewayError, quoteName } from '../../core/problem.ts'
import { json } from '../../http/reply.ts'
import type { ConfigChanges, KeyedEndpoint } from '../endpoint.ts'
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
    const { applied, changes, problems } = await house.reload(readAllowDrop(body))
    if (!applied) throw notApplied(problems)
    return json(exchange.id, { object: 'reload', applied, ...describe(changes), problems })
  },
}

function notApplied(problems: readonly string[]): GatewayError {
  const [first = '', ...others] = problems
  const more = others.length > 0 ? ` There are ${others.length} more problems.` : ''
  return new GatewayError(
    'configuration_error',
    `The configuration was not applied; the one before stays in force. ${first}${more}`,
    { retryable: false, details: { problems } },
  )
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

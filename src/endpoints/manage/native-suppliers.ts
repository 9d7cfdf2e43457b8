// Where one can sign in: the native suppliers of the configuration, and what a program must know to send somebody there.
// What it would prove itself by stays here.
import type { OAuth, Supplier } from '../../suppliers/supplier.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { checkParameters, readFilters } from './page.ts'
import { managed } from './resource.ts'

export const listNativeSuppliers: KeyedEndpoint = managed(
  { method: 'GET', path: '/v1/manage/native/suppliers', role: 'administer' },
  ({ request }, _caller, house) => {
    checkParameters(request, ['model', 'supplier'])
    const filters = readFilters(request)
    const [model, wanted] = [filters.get('model'), filters.get('supplier')]
    const found = house
      .nativeSuppliers()
      .filter(({ id }) => wanted === undefined || id === wanted)
      .filter(({ models }) => model === undefined || models.has(model))
    return { object: 'list', data: found.flatMap(describe) }
  },
)

function describe(supplier: Supplier): readonly object[] {
  const { id, origin, region, models, oauth, billing = 'metered' } = supplier
  if (oauth === undefined) return []
  const host = new URL(origin).host
  const served = { models: [...models.keys()], billing }
  const common = { id, object: 'native_supplier', host, region, ...served }
  return [{ ...common, ...describeSignIn(oauth) }]
}

function describeSignIn(oauth: OAuth): object {
  return {
    grant: oauth.grant,
    client_id: oauth.clientId ?? null,
    scope: oauth.scope ?? null,
    authorize_url: oauth.authorizeUrl ?? null,
    authorize_parameters: oauth.authorizeParameters,
    redirect_url: oauth.redirectUrl ?? null,
    device_url: oauth.deviceUrl ?? null,
    token_url: oauth.tokenUrl,
  }
}

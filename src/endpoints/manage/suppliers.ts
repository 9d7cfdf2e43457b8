// How suppliers are doing: who can be asked, who is left alone, for how long and why. For whoever runs the gateway,
// because suppliers are shared by all accounts. Credentials are numbers here: nothing that is made of a secret is shown.
import { json } from '../../http/reply.ts'
import type { CircuitView } from '../../routing/circuit.ts'
import type { Candidate, Routes } from '../../routing/routes.ts'
import { candidatesOf } from '../../routing/watch.ts'
import type { KeyedEndpoint } from '../endpoint.ts'
import { checkOrigin } from './body.ts'
import { checkParameters, readFilters } from './page.ts'

export const listSuppliers: KeyedEndpoint = {
  method: 'GET',
  path: '/v1/manage/suppliers',
  role: 'operate',
  answer(exchange, _key, { plant }) {
    const { request, id } = exchange
    checkOrigin(request)
    checkParameters(request, ['model', 'supplier'])
    const filters = readFilters(request)
    const supplier = filters.get('supplier')
    const candidates = findCandidates(plant.routes, filters.get('model')).filter(
      (candidate) => supplier === undefined || candidate.supplier.id === supplier,
    )
    return json(id, {
      object: 'list',
      snapshot: plant.snapshotId,
      data: describeSuppliers(candidates, plant.clock.elapsed()),
    })
  },
}

/** By any name that the model may be asked for by. Models that only callers know are found by name alone. */
function findCandidates(routes: Routes, model: string | undefined): readonly Candidate[] {
  if (model === undefined) return candidatesOf(routes).flat()
  return routes.find(model)?.candidates.filter(({ rank }) => rank === 0) ?? []
}

/** One entry for each supplier, in the order of the configuration. */
function describeSuppliers(candidates: readonly Candidate[], now: number): readonly object[] {
  const groups = Map.groupBy(candidates, ({ supplier }) => supplier.id)
  return [...groups.values()]
    .toSorted(([one], [other]) => one!.place - other!.place)
    .map((group) => describeSupplier(group, now))
}

function describeSupplier(group: readonly Candidate[], now: number): object {
  const { supplier } = group[0]!
  return {
    id: supplier.id,
    object: 'supplier',
    host: new URL(supplier.origin).host,
    region: supplier.region,
    weight: supplier.weight ?? 1,
    credentials: describeCredentials(group, now),
    routes: group.map((candidate) => describeRoute(candidate, now)),
  }
}

function describeCredentials(group: readonly Candidate[], now: number): readonly object[] {
  const credentials = Map.groupBy(group, numberOf)
  return [...credentials]
    .toSorted(([one], [other]) => one - other)
    .map(([credential, candidates]) => {
      const { account } = candidates[0]!.lane
      return {
        credential,
        ...describeState(account.circuit.view(now)),
        in_flight: account.inFlight,
        // Of all that it may call, where least is left.
        quota_share: Math.min(...candidates.map(({ lane }) => lane.quota.share(now))),
      }
    })
}

function describeRoute(candidate: Candidate, now: number): object {
  const { modelId, supplier, weight, lane } = candidate
  const { first, whole } = lane
  const view = lane.view(now)
  return {
    model: modelId,
    credential: numberOf(candidate),
    region: supplier.region,
    weight,
    ...describeState(view),
    local_failures: view.localFailures,
    remote_failures: view.remoteFailures,
    rests: view.rests,
    first_token_ms: first.count === 0 ? null : Math.round(first.ms),
    latency_ms: whole.count === 0 ? null : Math.round(whole.ms),
    samples: first.count + whole.count,
  }
}

function describeState({ state, remainingMs, why }: CircuitView): object {
  return { state, retry_in_seconds: Math.ceil(remainingMs / 1000), why: why ?? null }
}

function numberOf({ credential }: Candidate): number {
  return credential ?? 1
}
